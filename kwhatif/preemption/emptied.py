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

    __slots__ = ("_allowed", "answers", "node", "removed", "split", "tried", "whole")

    def __init__(self, whole: NodeInfo, removed: list[PodInfo], policy: Policy, budgets: Budgets) -> None:
        self.whole = whole
        #: In the node's order.
        self.removed = tuple(removed)
        #: What is left of it. It belongs to many: to put pods on it, make a copy.
        self.node = whole.clone_without(removed)
        self.split = split = budgets.split(policy.by_importance(removed))
        #: The same pods in the order in which they are tried back: those that break a budget first.
        self.tried = (*split.violating, *split.others)
        #: What budgets allowed.
        self._allowed = budgets.told
        #: What was found, by what it depends on beyond the node itself.
        self.answers: dict[Hashable, object] = {}

    def holds(self, budgets: Budgets) -> bool:
        """Whether the budgets still allow as many disruptions of these pods."""
        allowed = self._allowed
        if budgets.told is allowed:
            return True
        for names in self.split.counting.values():
            for name in names:
                if budgets.allowed(name) != allowed[name]:
                    return False
        self._allowed = budgets.told
        return True


def emptied(
    node: NodeInfo, pod: PodInfo, policy: Policy, budgets: Budgets, *, remember: bool = False
) -> Emptied | None:
    """The node without the pods that `pod` may evict; None when there are none.

    `remember`: it is kept at the node, for pods of the same priority and under the same policy.
    """
    if not remember:
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
