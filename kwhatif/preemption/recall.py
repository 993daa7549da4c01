"""`Recall`: what was found on a node for an earlier pod that asked for the same.

Workloads of one release often request the same. Whom a pod evicts hangs on its priority, on what it requests, and on
the budgets: if nothing else that it asks for concerns pods, the next pod with the same request need not try it again.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, cast

from kwhatif.framework.cycle import Cycle
from kwhatif.framework.plugin import Reads
from kwhatif.framework.status import SUCCESS, Code, Status, Verdict
from kwhatif.preemption.candidate import Candidate
from kwhatif.preemption.emptied import Emptied

#: So many different questions are remembered on each node.
_KEPT = 4


class _Answer(NamedTuple):
    #: What the filter that was asked says once all evictable pods are gone.
    status: Status
    #: None where even that does not help.
    found: Candidate | None


class Recall:
    """For one cycle: remembers, and recalls, what one filter alone decided about the pods on a node."""

    def __init__(self, cycle: Cycle, *, remember: bool) -> None:
        self._cycle = cycle
        #: The filter whose answers are kept; "" where nothing is.
        self.asked = ""
        self._question: Hashable = None
        volatile = [(name, plugin) for name, plugin in cycle.filters if plugin.reads >= Reads.PODS]
        asked = [(name, plugin) for name, plugin in volatile if plugin.question is not None]
        others = [plugin for _, plugin in volatile if plugin.question is None]
        is_simple = all(plugin.monotone or plugin.reads is Reads.CLUSTER for plugin in others)
        if remember and len(asked) == 1 and is_simple:
            self.asked, plugin = asked[0]
            self._question = self.asked, plugin.question

    def on(self, emptied: Emptied) -> Candidate | Verdict | None:
        """What is known of the node, after the cycle's other filters were asked; None: it has to be tried."""
        answer = cast("_Answer | None", emptied.answers.get(self._question))
        node = emptied.whole
        if answer is None or self._cycle.nominated_on(node):
            return None
        for name, plugin in self._cycle.filters:
            if plugin.reads is Reads.CLUSTER and plugin.heeds_on(node) and any(map(plugin.heeds, emptied.removed)):
                return None
            status = answer.status if name == self.asked else plugin.filter(node)
            if status is not SUCCESS and status.code is not Code.SUCCESS:
                if plugin.reads is Reads.PODS and name != self.asked:
                    return None  # it may say otherwise once pods are gone
                return Verdict(status, name)
        return answer.found

    def keep(self, emptied: Emptied, status: Status, found: Candidate | None = None) -> None:
        """Remember what was found on the node: the filter alone decided about the pods there."""
        if len(emptied.answers) >= _KEPT:
            emptied.answers.clear()
        emptied.answers[self._question] = _Answer(status, found)
