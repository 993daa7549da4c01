"""`Emptied`: a node without the pods that may be evicted, in the order in which they are tried back.

Of pods of one priority all find it the same until a pod comes to the node or goes: so it is kept there, and with it
what was found for those that requested the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

from kwhatif.preemption.budgets import Budgets, Split
from kwhatif.preemption.policy import Policy
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.pod_row import PodRow

#: For so many priorities a node is kept emptied.
_KEPT = 2


class Emptied:
    """See the module."""

    __slots__ = ("answers", "changes", "node", "ordered", "read", "removed", "split", "tried", "whole")

    def __init__(self, whole: NodeInfo, removed: Sequence[PodInfo], ordered: Sequence[PodInfo], node: NodeInfo) -> None:
        self.whole = whole
        #: In the node's order.
        self.removed = removed
        #: By importance.
        self.ordered = ordered
        #: What is left of it. It belongs to many: to put pods on it, make a copy.
        self.node = node

    def take(self, budgets: Budgets) -> None:
        """Judge the pods by what the budgets allow now."""
        self.split: Split = budgets.split(self.ordered)
        #: The pods in the order in which they are tried back: those that break a budget first.
        self.tried = PodRow((*self.split.violating, *self.split.others))
        #: What was found, by what it depends on beyond the node itself.
        self.answers: dict[Hashable, object] = {}
        #: Where it is told of budgets that came to allow less, and how much of that is read.
        self.changes = budgets.changes
        self.read = len(self.changes)

    def holds(self, budgets: Budgets) -> bool:
        """Whether the budgets still allow as many disruptions of these pods."""
        allowed, changes = self.split.allowed, budgets.changes
        if changes is not self.changes:  # the node belongs to other snapshots, too
            if any(budgets.allowed(name) != number for name, number in allowed.items()):
                return False
            self.changes = changes
        elif not allowed.keys().isdisjoint(changes[self.read :]):
            return False
        self.read = len(changes)
        return True


class Emptying:
    """Empties nodes for one pod."""

    def __init__(self, pod: PodInfo, policy: Policy, budgets: Budgets, *, remember: bool) -> None:
        """Set up.

        Args:
            pod: the pod that others may be evicted for.
            policy: tells which ones.
            budgets: what they allow now; they stay as they are.
            remember: keep what is found at the node, for pods of the same priority and under the same policy.
        """
        self._pod = pod
        self._policy = policy
        self._budgets = budgets
        self._key = (budgets.epoch, pod.priority) if remember else None
        self._changes = budgets.changes
        self._read = len(self._changes)

    def of(self, node: NodeInfo) -> Emptied | None:
        """The node without the pods that may be evicted; None when there are none."""
        key, remembered = self._key, node.remembered
        if key is None:
            return self._empty(node)
        if remembered is None:
            remembered = node.remembered = {}
        known = cast("Emptied | None", remembered.get(key))
        if known is None:
            if len(remembered) >= _KEPT:
                remembered.clear()
            known = self._empty(node)
            if known is not None:
                remembered[key] = known
        elif (known.read != self._read or known.changes is not self._changes) and not known.holds(self._budgets):
            known.take(self._budgets)
        return known

    def _empty(self, node: NodeInfo) -> Emptied | None:
        policy = self._policy
        removed = policy.potential_victims(self._pod, node)
        if not removed:
            return None
        found = Emptied(node, removed, policy.by_importance(removed), node.clone_without(removed))
        found.take(self._budgets)
        return found
