"""`SoleFilter`: nodes where one filter alone decides which pods can stay.

What a pod requests is mostly all that matters there. A filter that looks at nothing but the node need not be tried out
together with the others; and as workloads of one release often request about the same, what it said is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import cast

from msgspec.structs import replace

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.incremental import Reprieving, is_affected, is_relaxing, tracks_pods
from kwhatif.scheduler.framework.plugin import Reads
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status, Verdict
from kwhatif.scheduler.preemption.candidate import Candidate, Reprieval
from kwhatif.scheduler.preemption.dry_run import as_node_status
from kwhatif.scheduler.preemption.emptied_node import EmptiedNode
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

#: For so many signatures the answer is kept with each node: that of the workload whose pods are placed one after
#: another, and that of one whose pods come in between.
_KEPT = 2

AfterReprieves = Callable[[EmptiedNode, Reprieval], Candidate | Verdict]


class _Answer:
    """What the filter says of a node once all evictable pods are gone, and what comes of putting them back."""

    __slots__ = ("found", "status")

    def __init__(self, status: Status) -> None:
        self.status = status
        #: None: nobody has asked yet.
        self.found: Candidate | Verdict | None = None


class SoleFilter:
    """For one cycle: asks that filter."""

    def __init__(self, cycle: Cycle, name: str, decides: Reprieving) -> None:
        self._cycle = cycle
        self._name = name
        self._decides = decides
        self._signature: Hashable = name, decides.signature

    def on(self, emptied: EmptiedNode, settle: AfterReprieves) -> Candidate | Verdict | None:
        """What becomes of the node; None: other filters have a say in it.

        Args:
            emptied: the node.
            settle: what follows from what came of putting its pods back.
        """
        node = emptied.whole
        if self._cycle.nominated_on(node):
            return None
        answer = self._answer(emptied)
        for name, plugin in self._cycle.filters:
            if plugin is self._decides:
                status = answer.status
            elif plugin.reads is Reads.CLUSTER and is_affected(plugin, node, emptied.removed):
                return None
            else:
                status = plugin.filter(node)
            if status is not SUCCESS and status.code is not Code.SUCCESS:
                if plugin.reads is Reads.PODS and plugin is not self._decides:
                    return None  # it may say otherwise once pods are gone
                return as_node_status(Verdict(status, name))
        if answer.found is None:
            answer.found = self._reprieve(emptied, settle)
        return answer.found

    def _answer(self, emptied: EmptiedNode) -> _Answer:
        answer = cast("_Answer | None", emptied.answers.get(self._signature))
        if answer is None:
            if len(emptied.answers) >= _KEPT:
                emptied.answers.clear()
            answer = emptied.answers[self._signature] = _Answer(self._decides.filter(emptied.node))
        return answer

    def _reprieve(self, emptied: EmptiedNode, settle: AfterReprieves) -> Candidate | Verdict | None:
        plugin = self._decides
        for scope, known in emptied.scopes:
            if plugin.has_same_answer(scope):
                return replace(known, reprieval=self._reprieval(emptied, known.reprieval.refused))
        found = plugin.reprieve_all(emptied.tried, emptied.node)
        if found is None:
            return None
        settled = settle(emptied, self._reprieval(emptied, found.refused))
        if isinstance(settled, Candidate):
            emptied.scopes = [*emptied.scopes[1 - _KEPT :], (found.scope, settled)]
        return settled

    def _reprieval(self, emptied: EmptiedNode, refused: Sequence[PodInfo]) -> Reprieval:
        pods = emptied.tried.pods
        return Reprieval(pods, refused, partial(_objections, self._name, self._decides, pods, refused, emptied.node))


def sole_filter_of(cycle: Cycle) -> SoleFilter | None:
    """For the one filter that looks at the pods of a node and at nothing else, if to no other a pod less can matter."""
    if is_reference():
        return None
    decides: list[tuple[str, Reprieving]] = []
    for name, plugin in cycle.filters:
        if plugin.reads < Reads.PODS:
            continue
        if isinstance(plugin, Reprieving) and not tracks_pods(plugin):
            decides.append((name, plugin))
        elif plugin.reads is not Reads.CLUSTER and not is_relaxing(plugin):
            return None
    return SoleFilter(cycle, *decides[0]) if len(decides) == 1 else None


def _objections(
    name: str, plugin: Reprieving, pods: Sequence[PodInfo], refused: Sequence[PodInfo], node: NodeInfo
) -> dict[PodInfo, Verdict]:
    return {pod: Verdict(status, name) for pod, status in plugin.statuses_with(pods, refused, node).items()}
