"""`EmptiedNode`: a node without the pods that may be evicted, in the order in which they are tried back.

Of pods of one priority all find it the same until a pod comes to the node or goes, or a budget that counts its pods
allows something else: so it is kept there, and with it what was found for those that requested the same.
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
from kwhatif.state.pod_row import PodRow

#: For so many priorities a node is kept emptied: that of the workload whose pods are placed one after another, and that
#: of one whose pods come in between. Each one more is a copy of every node.
_KEPT = 2
#: The lowest priority of the pods on a node, among what is kept there.
_LOWEST = "lowest priority"


class EmptiedNode:
    """A node that its evictable pods have left, and what was found for pods that would go there."""

    __slots__ = ("answers", "generation", "node", "ordered", "removed", "scopes", "split", "tried", "whole")

    def __init__(
        self, node: NodeInfo, whole: NodeInfo, removed: Sequence[PodInfo], ordered: Sequence[PodInfo], budgets: Budgets
    ) -> None:
        #: What is left of it. It belongs to many: to put pods on it, make a copy.
        self.node = node
        self.whole = whole
        #: In the node's order.
        self.removed = removed
        #: By importance.
        self.ordered = ordered
        #: What the budgets allow; it is known to hold for this generation of them.
        self.split: Split = budgets.split(ordered)
        self.generation = budgets.generation
        #: The pods in the order in which they are tried back: those that break a budget first.
        self.tried = PodRow((*self.split.violating, *self.split.others))
        #: What was found, by what it depends on beyond the node itself.
        self.answers: dict[Hashable, object] = {}
        #: Candidates that it became, each with the scope of the requests that make it one (`NodeFilter.in_scope`).
        self.scopes: Sequence[tuple[object, Candidate]] = ()

    def judged_by(self, budgets: Budgets) -> EmptiedNode:
        """The emptied node under these budgets: itself, if those that count its pods allow as much as before."""
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
            cycle: of the pod that others may be evicted for.
            policy: says which ones.
            budgets: what they allow now.
        """
        self._pod = cycle.pod
        self._policy = policy
        self._budgets = budgets
        # Nobody knows what a policy of your own looks at.
        is_known = type(policy) in (Policy, PolicySince137) and not is_reference()
        self._key = (budgets.scope, self._pod.priority) if is_known else None

    def of(self, node: NodeInfo) -> EmptiedNode | None:
        """The node without the pods that may be evicted; None when there are none."""
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
