"""`Emptied`: a node without the pods that may be evicted, in the order in which they are tried back.

Of pods of one priority all find it the same until a pod comes to the node or goes: so it is kept there, and with it
what was found for those that requested the same.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from kwhatif.preemption.budgets import Budgets
from kwhatif.preemption.policy import Policy
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.pod_info import PodInfo

#: For so many priorities a node is kept emptied.
_KEPT = 2


class Emptied:
    """See the module."""

    __slots__ = ("_allowed", "answers", "node", "removed", "split", "whole")

    def __init__(self, whole: NodeInfo, removed: list[PodInfo], policy: Policy, budgets: Budgets) -> None:
        self.whole = whole
        #: In the node's order.
        self.removed = tuple(removed)
        #: What is left of it. It belongs to many: to put pods on it, make a copy.
        self.node = whole.clone_without(removed)
        #: The pods by importance: those that break a budget are tried back first.
        self.split = budgets.split(policy.by_importance(removed))
        names = {name for counting in self.split.counting.values() for name in counting}
        self._allowed = [(name, budgets.allowed(name)) for name in names]
        #: What was found, by what it depends on beyond the node itself.
        self.answers: dict[Hashable, object] = {}

    def holds(self, budgets: Budgets) -> bool:
        """Whether the budgets still allow as many disruptions of these pods."""
        for name, allowed in self._allowed:  # noqa: SIM110 - asked for every node: a generator would double the cost
            if budgets.allowed(name) != allowed:
                return False
        return True


def emptied(node: NodeInfo, pod: PodInfo, policy: Policy, budgets: Budgets) -> Emptied | None:
    """The node without the pods that `pod` may evict; None when there are none."""
    if type(policy) is not Policy:  # who knows what it looks at
        removed = policy.potential_victims(pod, node)
        return Emptied(node, removed, policy, budgets) if removed else None
    key = budgets.epoch, pod.priority
    remembered = node.remembered
    if remembered is None:
        remembered = node.remembered = {}
    known = cast("Emptied | None", remembered.get(key))
    if known is not None and known.holds(budgets):
        return known
    removed = policy.potential_victims(pod, node)
    if not removed:
        return None
    if len(remembered) >= _KEPT:
        remembered.clear()
    found = remembered[key] = Emptied(node, removed, policy, budgets)
    return found
