"""What the DaemonSet controller does next (`pkg/controller/daemon/`: `daemon_controller.go`, `update.go`).

Upstream goes through a DaemonSet's nodes in the random order of a Go map. Here they are taken in the order given.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum, auto
from itertools import islice
from typing import NamedTuple

from kwhatif.model.workload import RollingUpdate, UpdateStrategy
from kwhatif.workloads.rolling.update import resolved


class Standing(Enum):
    """What stands on a node."""

    #: No pod, and there should be one.
    BARE = auto()
    #: The same, and the API server has refused the pod.
    REFUSED = auto()
    #: A pod of the old template that is not available.
    IDLE = auto()
    #: One that is.
    WORKING = auto()
    #: One that is, and beside it a new one that is not.
    BESIDE = auto()
    #: One that is, and beside it a new one that is, too.
    DOUBLED = auto()
    #: A new one that is not available.
    WAITING = auto()
    #: A new one that is.
    UPDATED = auto()


#: The nodes, by what stands there, each in its order.
Nodes = Mapping[Standing, Mapping[str, None]]


class Bounds(NamedTuple):
    """How many nodes a DaemonSet wants a pod on, how many may be without, and how many may have two meanwhile."""

    wanted: int
    unavailable: int
    surge: int


class Moves(NamedTuple):
    """Nodes that get a new pod, and nodes that lose their old one."""

    create: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()


def bounds_of(strategy: UpdateStrategy, wanted: int) -> Bounds:
    """The bounds of a rolling update (`updatedDesiredNodeCounts`)."""
    rolling = strategy.rolling_update or RollingUpdate()
    surge = resolved(rolling.max_surge, wanted, default=0, round_up=True)
    unavailable = resolved(rolling.max_unavailable, wanted, default=1, round_up=True)
    return Bounds(wanted, unavailable if unavailable or surge else 1, surge)


def sync(nodes: Nodes, leaving: AbstractSet[str], bounds: Bounds | None) -> Moves:
    """One step of the controller: nodes without a pod get one; if there are none, the update goes on.

    Args:
        nodes: all nodes that have a pod, or should.
        leaving: of these, the ones whose old pod may run on, while no new one is made there: they have a taint that
            the pods do not tolerate.
        bounds: those of a rolling update; None where only deleted pods are updated.
    """
    bare = tuple(nodes[Standing.BARE])
    if bare or bounds is None:
        return Moves(create=bare)
    return _beside(nodes, leaving, bounds) if bounds.surge else Moves(delete=_instead(nodes, bounds))


def _instead(nodes: Nodes, bounds: Bounds) -> tuple[str, ...]:
    """Old pods that are not available go at once, and as many others as may be missing."""
    idle, working = nodes[Standing.IDLE], nodes[Standing.WORKING]
    missing = len(nodes[Standing.REFUSED]) + len(nodes[Standing.WAITING]) + len(idle)
    return *idle, *islice(working, max(0, bounds.unavailable - missing))


def _beside(nodes: Nodes, leaving: AbstractSet[str], bounds: Bounds) -> Moves:
    """New pods come beside old ones, which go once the new ones are available, or if they are not available themselves.

    The order of upstream, where an old pod that is not available goes one step after the new one has come, is left out.
    """
    idle, working, doubled = nodes[Standing.IDLE], nodes[Standing.WORKING], nodes[Standing.DOUBLED]
    more = max(0, bounds.surge - len(nodes[Standing.BESIDE]))
    create = (node for node in working if node not in leaving)
    available = len(working) + len(nodes[Standing.BESIDE]) + len(doubled) + len(nodes[Standing.UPDATED])
    spare = max(0, available - bounds.wanted)
    gone = islice((node for node in working if node in leaving), spare) if leaving else ()
    return Moves((*(node for node in idle if node not in leaving), *islice(create, more)), (*idle, *doubled, *gone))
