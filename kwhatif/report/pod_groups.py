"""The results of groups of pods."""

from __future__ import annotations

from typing import Literal

from kwhatif.kube.model.meta import Row
from kwhatif.scheduler.framework.evidence import Evidence

#: `scheduled`: at least `minCount` pods have a node; `unscheduled`: the group was tried, and fewer pods have a node;
#: `waiting`: it was not tried, because some of its pods are missing or gated.
GroupState = Literal["scheduled", "unscheduled", "waiting"]


class GroupPlacementRow(Row):
    """One value of the topology key: how many of the pods find a node there, and the scheduler's message."""

    name: str
    nodes: int
    placed: int
    fits: bool
    message: str = ""
    #: If several fit: the sum of all scores, by which they are compared.
    score: int | None = None


class GroupShortageRow(Row):
    """The obstacle of the first pod of a group that finds no node, and on how many nodes."""

    pod: str
    reason: str
    nodes: int
    #: The amount on the node that comes closest.
    node: str
    evidence: tuple[Evidence, ...] = ()


class GroupRow(Row, kw_only=True):
    """The result of a PodGroup."""

    group: str
    outcome: GroupState
    #: The message of its condition PodGroupInitiallyScheduled; "" if it is scheduled, or was not tried.
    message: str = ""
    #: If it waits: the reason why its pods are not in the queue.
    waits_for: str = ""
    min_count: int
    #: Whether it has a minimum (`gang`), or any number of pods is enough (`basic`).
    policy: Literal["gang", "basic"]
    priority: int = 0
    #: The number of pods, how many had a node before, and how many have one now.
    pods: int
    bound: int
    placed: int
    #: For a failed attempt: the number of pods that found a node before the attempt ended.
    fitting: int = 0
    topology_key: str = ""
    #: The chosen value of the topology key, or the one that comes closest.
    placement: str = ""
    placements: tuple[GroupPlacementRow, ...] = ()
    shortages: tuple[GroupShortageRow, ...] = ()
    #: The pods that it evicts, and groups that are evicted as a whole.
    victims: tuple[str, ...] = ()
    victim_groups: tuple[str, ...] = ()
    #: The budgets that these evictions violate.
    violations: tuple[str, ...] = ()
    #: An order of its pods in which it would fit; the scheduler only tries its own order.
    fits_in_order: tuple[str, ...] = ()


class GroupPodRow(Row, kw_only=True):
    """A pod that had no node before: its node now, or the message of its condition PodScheduled."""

    pod: str
    #: Its PodGroup; null for a pod without a group.
    group: str | None = None
    node: str | None = None
    nominated_node: str | None = None
    message: str = ""


class PodGroupsRow(Row):
    """The results of all groups, and of pods without a group; `victims` are the pods that were evicted for any."""

    groups: tuple[GroupRow, ...] = ()
    pods: tuple[GroupPodRow, ...] = ()
    victims: tuple[str, ...] = ()
