"""Rolling updates of DaemonSets (`pkg/controller/daemon/update.go`).

Upstream goes through the nodes in the random order of a Go map; here, by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kwhatif.kube.model.workload import RollingUpdate, UpdateStrategy
from kwhatif.workloads.numbers import resolved


class DesiredNodeCounts(NamedTuple):
    """How many nodes a DaemonSet wants a pod on, how many may be without, and how many may have two meanwhile."""

    wanted: int
    unavailable: int
    surge: int


class NodeMoves(NamedTuple):
    """Nodes that get a new pod, and nodes that lose their old one."""

    create: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()


def bounds_of(strategy: UpdateStrategy, wanted: int) -> DesiredNodeCounts:
    """The bounds of a rolling update (`updatedDesiredNodeCounts`)."""
    rolling = strategy.rolling_update or RollingUpdate()
    surge = resolved(rolling.max_surge, wanted, default=0, round_up=True)
    unavailable = resolved(rolling.max_unavailable, wanted, default=1, round_up=True)
    return DesiredNodeCounts(wanted, unavailable if unavailable or surge else 1, surge)


class DaemonPodsOnNode(NamedTuple):
    """The pods of the DaemonSet on one node that are not terminating, at most one of each template."""

    #: Their keys.
    old: str | None
    new: str | None
    old_available: bool
    new_available: bool
    #: Whether a pod is made there.
    should_run: bool
    #: There are more of one template: nothing is done there until there are not.
    is_crowded: bool

    @classmethod
    def of(cls, pods: Iterable[tuple[str, bool, bool]], *, should_run: bool) -> DaemonPodsOnNode:
        """From key, whether it is of the new template, and whether it is available, of each pod."""
        found: dict[bool, tuple[str, bool]] = {}
        is_crowded = False
        for key, is_new, available in pods:
            is_crowded |= is_new in found
            found.setdefault(is_new, (key, available))
        (old, old_available), (new, new_available) = found.get(False, (None, False)), found.get(True, (None, False))
        return cls(old, new, old_available, new_available, should_run, is_crowded)


def rolling_update(nodes: Mapping[str, DaemonPodsOnNode], strategy: UpdateStrategy, wanted: int) -> NodeMoves:
    """One step (`rollingUpdate`): nodes that get a new pod, and keys of the old pods that go.

    Args:
        nodes: that have any pod, terminating ones included, by name.
        strategy: of the DaemonSet.
        wanted: how many nodes should have a pod.
    """
    bounds = bounds_of(strategy, wanted)
    return _beside(nodes, bounds) if bounds.surge else _instead(nodes, bounds)


def _instead(nodes: Mapping[str, DaemonPodsOnNode], bounds: DesiredNodeCounts) -> NodeMoves:
    """Old pods that are not available go at once, and as many others as may be missing.

    QUIRK: a node whose only pod is terminating counts as one where it is missing, also if it never ends.
    """
    missing, idle, candidates = 0, [], []
    for node in nodes.values():
        if node.is_crowded or (node.old is None) == (node.new is None):
            missing += 1
        elif node.old is None:
            missing += not node.new_available
        elif node.old_available:
            candidates.append(node.old)
        else:
            missing += 1
            idle.append(node.old)
    return NodeMoves(delete=(*idle, *candidates[: max(0, bounds.unavailable - missing)]))


def _beside(nodes: Mapping[str, DaemonPodsOnNode], bounds: DesiredNodeCounts) -> NodeMoves:
    """New pods come beside old ones, which go once the new ones are available."""
    create: list[str] = []
    candidates: list[str] = []
    delete: list[str] = []
    leaving: list[str] = []
    surging = available = 0
    for name, node in nodes.items():
        if node.is_crowded:
            surging += 1
            continue
        available += node.new_available if node.old is None else node.old_available
        if node.old is None:
            continue
        if node.new is not None:
            if node.new_available:
                delete.append(node.old)
            else:
                surging += 1
        elif not node.should_run:
            (leaving if node.old_available else delete).append(node.old)
        else:
            (candidates if node.old_available else create).append(name)
    spare = max(0, available - bounds.wanted)
    more = max(0, bounds.surge - surging)
    return NodeMoves((*create, *candidates[:more]), (*delete, *leaving[:spare]))
