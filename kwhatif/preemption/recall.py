"""`Recall`: what was found on a node for an earlier pod that asked for the same, until a pod comes there or goes.

Workloads of one release often request the same. Whom a pod evicts hangs on its priority, on what it requests, and on
the budgets: if nothing else that it asks for concerns pods, the next pod with the same request need not try it again.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, cast

from kwhatif.framework.cycle import Cycle
from kwhatif.framework.plugin import Reads
from kwhatif.framework.status import SUCCESS, Code, Status, Verdict
from kwhatif.preemption.budgets import Budgets, Split
from kwhatif.preemption.candidate import Candidate
from kwhatif.preemption.policy import Policy
from kwhatif.snapshot.node_info import NodeInfo

#: So many different questions are remembered on each node.
_KEPT = 4


class _Answer(NamedTuple):
    #: What the filter that was asked says once all evictable pods are gone.
    emptied: Status
    found: Candidate | None
    #: The budgets that count those pods, and how many disruptions each allowed.
    allowed: tuple[tuple[str, int], ...] = ()


class Recall:
    """For one cycle: remembers, and recalls, what one filter alone decided about the pods on a node."""

    def __init__(self, cycle: Cycle, policy: Policy, budgets: Budgets) -> None:
        self._cycle = cycle
        self._budgets = budgets
        #: The filter whose answers are kept; "" where nothing is.
        self.asked = ""
        self._question: Hashable = None
        volatile = [(name, plugin) for name, plugin in cycle.filters if plugin.reads >= Reads.PODS]
        asked = [(name, plugin) for name, plugin in volatile if plugin.question is not None]
        others = [plugin for _, plugin in volatile if plugin.question is None]
        is_simple = all(plugin.monotone or plugin.reads is Reads.CLUSTER for plugin in others)
        if type(policy) is Policy and len(asked) == 1 and is_simple:
            self.asked, plugin = asked[0]
            self._question = budgets.epoch, cycle.pod.priority, self.asked, plugin.question

    def on(self, node: NodeInfo) -> Candidate | Verdict | None:
        """What is known of the node, after the cycle's other filters were asked; None: it has to be tried."""
        if not self.asked or node.remembered is None or self._cycle.nominated_on(node):
            return None
        answer = cast("_Answer | None", node.remembered.get(self._question))
        if answer is None:
            return None
        for budget, allowed in answer.allowed:
            if self._budgets.allowed(budget) != allowed:
                return None
        for name, plugin in self._cycle.filters:
            if plugin.reads is Reads.CLUSTER and plugin.heeds_on(node) and any(map(plugin.heeds, node.pods)):
                return None
            status = answer.emptied if name == self.asked else plugin.filter(node)
            if status is not SUCCESS and status.code is not Code.SUCCESS:
                if plugin.reads is Reads.PODS and name != self.asked:
                    return None  # it may say otherwise once pods are gone
                return Verdict(status, name)
        return answer.found

    def keep(self, node: NodeInfo, emptied: Status, found: Candidate | None = None, split: Split | None = None) -> None:
        """Remember what was found on the node: the filter alone decided about the pods there."""
        names = {name for counting in split.counting.values() for name in counting} if split else ()
        allowed = tuple((name, self._budgets.allowed(name)) for name in names)
        if node.remembered is None:
            node.remembered = {}
        elif len(node.remembered) >= _KEPT:
            del node.remembered[next(iter(node.remembered))]
        node.remembered[self._question] = _Answer(emptied, found, allowed)
