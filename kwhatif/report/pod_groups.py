"""What becomes of groups of pods."""

from __future__ import annotations

from typing import Literal

from kwhatif.kube.model.meta import Row
from kwhatif.scheduler.framework.evidence import Evidence

#: `scheduled`: at least `minCount` pods have a node; `unscheduled`: it was tried, and fewer have one; `waiting`: it was
#: not tried, as pods of it are missing or gated.
GroupState = Literal["scheduled", "unscheduled", "waiting"]


class GroupPlacementRow(Row):
    """One value of the topology key: how many of the pods find a node there, and what the scheduler says of it."""

    name: str
    nodes: int
    placed: int
    fits: bool
    message: str = ""
    #: Where several fit: the sum of all scores, by which they are compared.
    score: int | None = None


class GroupShortageRow(Row):
    """What the first pod of a group that finds no node runs into, and on how many nodes."""

    pod: str
    reason: str
    nodes: int
    #: On the node that comes nearest to having enough of it.
    node: str
    evidence: tuple[Evidence, ...] = ()


class GroupRow(Row, kw_only=True):
    """What becomes of a PodGroup."""

    group: str
    outcome: GroupState
    #: What its condition PodGroupInitiallyScheduled says; "" of one that is scheduled, or was not tried.
    message: str = ""
    #: Of one that waits: what keeps its pods out of the queue.
    waits_for: str = ""
    min_count: int
    #: Whether it has a minimum at all (`gang`), or any pod will do (`basic`).
    policy: Literal["gang", "basic"]
    priority: int = 0
    #: How many pods there are, how many had a node before, and how many have one now.
    pods: int
    bound: int
    placed: int
    #: Of an attempt that failed: how many found a node before it was given up.
    fitting: int = 0
    topology_key: str = ""
    #: The value that it has got, or that comes nearest.
    placement: str = ""
    placements: tuple[GroupPlacementRow, ...] = ()
    shortages: tuple[GroupShortageRow, ...] = ()
    #: The pods that it has evicted, and groups that went as a whole.
    victims: tuple[str, ...] = ()
    victim_groups: tuple[str, ...] = ()
    #: Budgets that this breaks.
    violations: tuple[str, ...] = ()
    #: An order of its pods in which it would fit; the scheduler tries only its own.
    fits_in_order: tuple[str, ...] = ()


class GroupPodRow(Row, kw_only=True):
    """A pod that had no node before: where it is now, or what its condition PodScheduled says."""

    pod: str
    #: Its PodGroup; null for a pod that is of none.
    group: str | None = None
    node: str | None = None
    nominated_node: str | None = None
    message: str = ""


class PodGroupsRow(Row):
    """What becomes of all groups, and of the pods beside them; `victims` are the pods that were evicted for any."""

    groups: tuple[GroupRow, ...] = ()
    pods: tuple[GroupPodRow, ...] = ()
    victims: tuple[str, ...] = ()
