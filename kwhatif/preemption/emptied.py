"""`Emptied`: a node without the pods that may be evicted, in the order in which they are tried back.

Of pods of one priority all find it the same until a pod comes to the node or goes: so it is kept there, and with it
what was found for those that requested the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

from kwhatif.framework.cycle import Cycle
from kwhatif.preemption.budgets import Budgets, Split
from kwhatif.preemption.candidate import Candidate
from kwhatif.preemption.policy import Policy
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.pod_row import PodRow

#: For so many priorities a node is kept emptied.
_KEPT = 2


class Emptied:
    """See the module."""

    __slots__ = ("answers", "node", "ordered", "outdated", "removed", "scopes", "split", "tried", "whole")

    def __init__(self, whole: NodeInfo, removed: Sequence[PodInfo], ordered: Sequence[PodInfo]) -> None:
        self.whole = whole
        #: In the node's order.
        self.removed = removed
        #: By importance.
        self.ordered = ordered
        #: What is left of it. It belongs to many: to put pods on it, make a copy.
        self.node = whole.clone_without(removed)

    def take(self, budgets: Budgets) -> None:
        """Judge the pods by what the budgets allow now."""
        self.split: Split = budgets.split(self.ordered)
        #: The pods in the order in which they are tried back: those that break a budget first.
        self.tried = PodRow((*self.split.violating, *self.split.others))
        #: What was found, by what it depends on beyond the node itself.
        self.answers: dict[Hashable, object] = {}
        #: Candidates that it became, each with the scope of the requests that make it one (`NodeFilter.in_scope`).
        self.scopes: Sequence[tuple[object, Candidate]] = ()
        #: Whether a budget has come to allow less.
        self.outdated = False


class Emptying:
    """Empties nodes for one pod."""

    def __init__(self, cycle: Cycle, policy: Policy, budgets: Budgets) -> None:
        """Set up.

        Args:
            cycle: of the pod that others may be evicted for.
            policy: tells which ones.
            budgets: what they allow now.
        """
        self._pod = cycle.pod
        self._policy = policy
        self._budgets = budgets
        memory = cycle.snapshot.remembers
        # Nobody knows what a policy of your own looks at.
        is_known = memory is not None and type(policy) is Policy
        self._key = (memory, budgets.epoch, self._pod.priority) if is_known else None

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
        elif known.outdated:
            known.take(self._budgets)
        return known

    def _empty(self, node: NodeInfo) -> Emptied | None:
        policy = self._policy
        removed = policy.potential_victims(self._pod, node)
        if not removed:
            return None
        found = Emptied(node, removed, policy.by_importance(removed))
        found.take(self._budgets)
        return found


def outdate(node: NodeInfo) -> None:
    """A budget that may count pods of the node has come to allow less."""
    for known in (node.remembered or {}).values():
        cast("Emptied", known).outdated = True
