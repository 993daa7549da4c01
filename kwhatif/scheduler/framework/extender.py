"""Extenders: external programs that the cycle calls (`pkg/scheduler/extender.go`). The HTTP client is in `sources`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from enum import Enum
from typing import Protocol

import msgspec

from kwhatif.kube.model.caveat.scheduling import ExtenderOddity
from kwhatif.kube.model.quantity import wrap
from kwhatif.scheduler.framework.status import Verdict, unresolvable, unschedulable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: Scores of an extender go to 10, those of plugins to 100 (`extenderv1.MaxExtenderPriority`).
MAX_EXTENDER_SCORE = 10
EXTENDER_SCORE_FACTOR = 10


class ExtenderError(Exception):
    """The extender failed; the consequences depend on the verb and on `ignorable`."""


class Oddity(Enum):
    """Odd answers of extenders that kube-scheduler accepts silently, or reports without naming the extender."""

    #: It failed, and the scheduler goes on without it.
    IGNORED_FAILURE = "ignored failure"
    #: It failed, and so did the attempt.
    FAILURE = "failure"
    #: It returned nodes that it was not asked about.
    UNKNOWN_NODES = "unknown nodes"
    #: It returned the same node more than once.
    REPEATED_NODES = "repeated nodes"
    #: It gave nodes scores outside 0…10, which count as they are.
    SCORE_OUT_OF_RANGE = "score out of range"
    #: It returned nodes without victims, which are then not candidates.
    NO_VICTIMS = "no victims"


class ExtenderVictims(msgspec.Struct, frozen=True):
    """Victims on one node, as exchanged with an extender."""

    pods: tuple[PodInfo, ...]
    pdb_violations: int


class FilterOutcome(msgspec.Struct, frozen=True):
    """The nodes that an extender keeps, and its messages about rejected nodes, by node name."""

    nodes: tuple[NodeInfo, ...]
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str]


class Extender(Protocol):
    """One configured extender, as the cycle uses it."""

    name: str
    ignorable: bool
    weight: int
    filters: bool
    prioritizes: bool
    preempts: bool

    def interested(self, pod: PodInfo) -> bool:
        """Whether the pod uses a resource that the extender manages, or the extender handles all pods."""

    def filter(self, pod: PodInfo, nodes: Sequence[NodeInfo], state: State) -> FilterOutcome:
        """Ask which of the nodes remain.

        Raises:
            ExtenderError: it could not be asked, or answered nonsense.
        """

    def prioritize(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Sequence[tuple[str, int]]:
        """Ask for scores: (node name, score) pairs, unweighted.

        Raises:
            ExtenderError: it could not be asked, or answered nonsense.
        """

    def preempt(
        self, pod: PodInfo, victims: Mapping[str, ExtenderVictims], state: State
    ) -> Mapping[str, ExtenderVictims]:
        """Ask which of the candidate nodes remain, and with which victims.

        Raises:
            ExtenderError: it could not be asked, or answered nonsense.
        """


class ExtenderCalls:
    """The extenders that are interested in one pod, and what was odd about their answers.

    (`findNodesThatPassExtenders` and `prioritizeNodes` in `pkg/scheduler/schedule_one.go`.)
    """

    def __init__(self, extenders: Sequence[Extender], pod: PodInfo, state: State) -> None:
        self._pod = pod
        self._state = state
        #: Extenders that are not ignorable come first, as in `buildExtenders`.
        self.interested = [
            extender
            for extender in sorted(extenders, key=lambda extender: extender.ignorable)
            if extender.interested(pod)
        ]
        self.remarks: list[ExtenderOddity] = []

    def failed(self, extender: Extender, verb: str, failure: ExtenderError, *, ignored: bool) -> None:
        """Record that the extender failed."""
        oddity = Oddity.IGNORED_FAILURE if ignored else Oddity.FAILURE
        self.remarks.append(ExtenderOddity(extender=extender.name, verb=verb, oddity=oddity.value, error=str(failure)))

    def filter(self, nodes: Sequence[NodeInfo], verdicts: MutableMapping[str, Verdict]) -> Sequence[NodeInfo]:
        """The nodes that all extenders keep, each called with what the previous one kept; the others get verdicts.

        Raises:
            ExtenderError: one that is not ignorable failed.
        """
        left = nodes
        for extender in self.interested:
            if not left:
                break
            if not extender.filters:
                continue
            try:
                outcome = extender.filter(self._pod, left, self._state)
            except ExtenderError as failure:
                self.failed(extender, "filter", failure, ignored=extender.ignorable)
                if extender.ignorable:
                    continue
                raise
            for name, message in outcome.failed.items():
                if name not in outcome.unresolvable:
                    verdicts[name] = Verdict(unschedulable(message))
            for name, message in outcome.unresolvable.items():
                verdicts[name] = Verdict(unresolvable(message))
            left = self._passed(extender, outcome, left)
        return left

    def _passed(self, extender: Extender, outcome: FilterOutcome, asked: Sequence[NodeInfo]) -> list[NodeInfo]:
        known = {node.name for node in asked}
        passed = Counter(node.name for node in outcome.nodes)
        self._remark(Oddity.UNKNOWN_NODES, extender, "filter", (name for name in passed if name not in known))
        self._remark(Oddity.REPEATED_NODES, extender, "filter", (name for name, times in passed.items() if times > 1))
        return list({node.name: node for node in outcome.nodes}.values())

    def prioritize(self, nodes: Sequence[NodeInfo], total: list[int]) -> None:
        """Add each extender's scores, times its weight and 10; scores of other nodes are ignored."""
        if not self.interested:
            return
        indexes = {node.name: index for index, node in enumerate(nodes)}
        for extender in self.interested:
            if not extender.prioritizes:
                continue
            try:
                answer = extender.prioritize(self._pod, nodes)
            except ExtenderError as failure:
                self.failed(extender, "prioritize", failure, ignored=True)
                continue
            for host, score in answer:
                if host in indexes:
                    added = total[indexes[host]] + score * extender.weight * EXTENDER_SCORE_FACTOR
                    # QUIRK: (schedule_one.go) extenders' scores have no limit, so the sum can overflow.
                    total[indexes[host]] = wrap(added)
            unknown = (host for host, _ in answer if host not in indexes)
            self._remark(Oddity.UNKNOWN_NODES, extender, "prioritize", unknown)
            beyond = (host for host, score in answer if host in indexes and not 0 <= score <= MAX_EXTENDER_SCORE)
            self._remark(Oddity.SCORE_OUT_OF_RANGE, extender, "prioritize", beyond)

    def _remark(self, oddity: Oddity, extender: Extender, verb: str, nodes: Iterable[str]) -> None:
        names = tuple(sorted(set(nodes)))
        if names:
            self.remarks.append(ExtenderOddity(extender=extender.name, verb=verb, oddity=oddity.value, nodes=names))
