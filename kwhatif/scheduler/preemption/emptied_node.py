"""`EmptiedNode`: a node without the pods that may be evicted, which are then put back in a certain order.

For pods of one priority it is the same until a pod of the node is added or removed, or a budget of its pods changes.
So it is cached with the node, together with the results for pods with equal requests.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.preemption.budgets import Budgets, Split
from kwhatif.scheduler.preemption.candidate import Candidate
from kwhatif.scheduler.preemption.policy import Policy, PolicySince137
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.rows import PodRow

#: The number of priorities to cache emptied nodes for: that of the workload whose pods are being placed, and that of
#: one whose pods come in between. Every additional one needs a copy of every node.
_KEPT = 2
#: The key of the lowest priority of a node's pods, in the node's cache.
_LOWEST = "lowest priority"


class EmptiedNode:
    """A node without its evictable pods, and cached results for pods that would be placed there."""

    __slots__ = ("answers", "generation", "node", "ordered", "removed", "scopes", "split", "tried", "whole")

    def __init__(
        self, node: NodeInfo, whole: NodeInfo, removed: Sequence[PodInfo], ordered: Sequence[PodInfo], budgets: Budgets
    ) -> None:
        #: The node without these pods. It is shared: copy it to put pods on it.
        self.node = node
        self.whole = whole
        #: The evictable pods in the node's order.
        self.removed = removed
        #: The evictable pods by importance.
        self.ordered = ordered
        #: The effect on budgets, valid for this generation of the budgets.
        self.split: Split = budgets.split(ordered)
        self.generation = budgets.generation
        #: The pods in the order in which they are put back: those that break a budget first.
        self.tried = PodRow((*self.split.violating, *self.split.others))
        #: Cached results, by what they depend on besides the node.
        self.answers: dict[Hashable, object] = {}
        #: Candidates for this node, each with the range of requests for which it is valid (`NodeFilter.in_scope`).
        self.scopes: Sequence[tuple[object, Candidate]] = ()

    def judged_by(self, budgets: Budgets) -> EmptiedNode:
        """The emptied node under these budgets: itself, if the budgets of its pods allow as much as before."""
        if self.generation != budgets.generation:
            if not self.split.allowed.items() <= budgets.allowed.items():
                return EmptiedNode(self.node, self.whole, self.removed, self.ordered, budgets)
            self.generation = budgets.generation
        return self


class Emptying:
    """Empties nodes for one pod."""

    def __init__(self, cycle: Cycle, policy: Policy, budgets: Budgets) -> None:
        """Set up.

        Args:
            cycle: the cycle of the pod that others may be evicted for.
            policy: decides which pods may be evicted.
            budgets: the current budgets.
        """
        self._pod = cycle.pod
        self._policy = policy
        self._budgets = budgets
        # It is not known what a custom policy reads.
        is_known = type(policy) in (Policy, PolicySince137) and not is_reference()
        self._key = (budgets.scope, self._pod.priority) if is_known else None

    def of(self, node: NodeInfo) -> EmptiedNode | None:
        """The node without the pods that may be evicted; None if there are none."""
        key = self._key
        if key is None:
            return self._empty(node)
        memos = node.memos
        if memos is None:
            memos = node.memos = {}
        lowest: int | None = memos.get(_LOWEST)
        if lowest is None:
            lowest = memos[_LOWEST] = min([pod.priority for pod in node.pods], default=self._pod.priority)
        if lowest >= self._pod.priority:
            return None
        kept: dict[object, EmptiedNode] | None = memos.get(EmptiedNode)
        if kept is None:
            kept = memos[EmptiedNode] = {}
        known = kept.get(key)
        found = self._empty(node) if known is None else known.judged_by(self._budgets)
        if found is not None and found is not known:
            if known is None and len(kept) >= _KEPT:
                kept.clear()
            kept[key] = found
        return found

    def _empty(self, node: NodeInfo) -> EmptiedNode | None:
        policy = self._policy
        removed = policy.potential_victims(self._pod, node)
        if not removed:
            return None
        return EmptiedNode(node.clone_without(removed), node, removed, policy.by_importance(removed), self._budgets)
