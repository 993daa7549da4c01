"""Units: who is evicted together, where pods are of groups: a pod, or all pods of a group that goes as a whole.

Follows `getCrossNodesVictims` and `NewVictim` in `pkg/scheduler/framework/preemption/types.go`, and
`MoreImportantVictim` and `FilterVictimsWithPDBViolation` in `util.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec

from kwhatif.kube.matching.groups import group_of, priority_of
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.preemption.budgets import Budgets, Split
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: Stands for the start of a pod that has not started. Upstream takes the current time; nothing that started is later.
_NOT_STARTED = 2**63


class Unit(msgspec.Struct, frozen=True, eq=False):
    """Pods that are evicted together or not at all."""

    pods: tuple[PodInfo, ...]
    #: That of the group, if there is one.
    priority: int
    #: Whether its pods are of a group, be they evicted one by one: then it is more important than a single pod.
    is_of_group: bool
    #: The key of the group that goes as a whole; "" for a pod.
    group: str = ""

    @property
    def start(self) -> int:
        """When the first of its pods has started."""
        return min(_NOT_STARTED if pod.start_time is None else pod.start_time for pod in self.pods)


def units_on(nodes: Iterable[NodeInfo], state: State) -> list[Unit]:
    """All units with pods on these nodes, in the order of the nodes; their other pods may be on others.

    Pods on nodes that do not exist are left out: upstream fails for them.
    """
    cluster, by_name = state.cluster, state.by_name
    found: list[Unit] = []
    seen: set[str] = set()
    for pod in chain.from_iterable(node.pods for node in nodes):
        key = group_of(pod.pod)
        group = cluster.get(PodGroup, key) if key else None
        if group is None or not group.is_evicted_whole:
            found.append(Unit((pod,), priority_of(pod.pod, cluster), pod.pod.spec.scheduling_group is not None))
        elif key not in seen:
            seen.add(key)
            members = state.members_of(key).values()
            pods = tuple(each for each in members if each.pod.spec.node_name in by_name)
            found.append(Unit(pods, group.priority, is_of_group=True, group=key))
    return found


def by_importance(units: Iterable[Unit]) -> list[Unit]:
    """The most important first: priority, then groups, then more pods, then the earlier start."""
    return sorted(units, key=lambda unit: (-unit.priority, not unit.is_of_group, -len(unit.pods), unit.start))


class SplitUnits(msgspec.Struct, frozen=True):
    """Units of which a pod breaks a budget, and the others; both by importance."""

    violating: Sequence[Unit]
    others: Sequence[Unit]
    #: What the budgets say of their pods.
    split: Split

    def violations(self, units: Iterable[Unit]) -> int:
        """How many pods of these units break a budget."""
        return sum(pod in self.split.broken for unit in units for pod in unit.pods)


def split_by_budgets(units: Sequence[Unit], budgets: Budgets) -> SplitUnits:
    """Count the budgets over all pods of the units, in their order: who breaks one takes the whole unit along."""
    split = budgets.split([pod for unit in units for pod in unit.pods])
    violating = [unit for unit in units if any(pod in split.broken for pod in unit.pods)]
    spared = set(map(id, violating))
    return SplitUnits(violating, [unit for unit in units if id(unit) not in spared], split)
