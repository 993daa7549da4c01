"""`ScheduleResult`: the result of one attempt. Expensive details are computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.status import Code, Verdict
from kwhatif.scheduler.preemption.candidate import Candidate, Preemption, Victim
from kwhatif.scheduler.preemption.evaluator import cleared_nominations
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


def _nowhere_else(node: str) -> None:
    del node


#: `Ignored`: no profile has the pod's scheduler name.
AttemptOutcome = Literal["Placed", "Preempts", "Unschedulable", "Gated", "Ignored"]


def _nothing_to_reserve(node: NodeInfo) -> tuple[KubernetesObject, ...]:
    del node
    return ()


class ScheduleResult(msgspec.Struct, frozen=True):
    """The result of one attempt to schedule a pod, by a full attempt or from a `BatchCache`."""

    pod: PodInfo
    outcome: AttemptOutcome
    #: The node of the pod, or its nominated node.
    node: str | None = None
    #: The scheduler's message; "" for a placed pod.
    message: str = ""
    #: For a placed pod: the node's scores by plugin, normalised and weighted, and their sum with extenders.
    score: int = 0
    scores: Mapping[str, int] = {}
    #: For a pod that was not placed: the plugins that rejected it, sorted.
    rejectors: tuple[str, ...] = ()
    #: Why a gated pod is not queued.
    gated: Verdict | None = None
    #: For a preempting pod: its victims, and lower nominations that are cleared.
    candidate: Candidate | None = None
    cleared_nominations: tuple[PodInfo, ...] = ()
    #: For a pod that was not placed: its new nominated node; "": none.
    nominated: str = ""
    find_ties: Callable[[], tuple[str, ...]] = tuple
    #: Whether `ties` has more than one node.
    tied: bool = False
    #: For a preempting pod, before the state changes: the result for another one of `ties`.
    elsewhere: Callable[[str], ScheduleResult | None] = _nowhere_else
    #: The objects after Reserve on the node; call it after victims are removed, and before the next attempt.
    reserve: Callable[[NodeInfo], tuple[KubernetesObject, ...]] = _nothing_to_reserve
    #: Whether the node is the next one in the previous pod's ranking (OpportunisticBatching), and a new ranking would
    #: give another node.
    hinted: bool = False
    #: Whether the attempt ended with an error.
    failed: bool = False
    #: The full attempt, if one was made.
    whole: Attempt | None = None

    @property
    def settled(self) -> ScheduleResult:
        """The result without the parts that are valid only until the state changes."""
        return replace(self, whole=None, reserve=_nothing_to_reserve, elsewhere=_nowhere_else)

    @property
    def ties(self) -> tuple[str, ...]:
        """All nodes that were equally good, including `node`, sorted."""
        return self.find_ties()

    @property
    def victims(self) -> tuple[Victim, ...]:
        """The pods that it evicts, the most important first."""
        return self.candidate.victims if self.candidate else ()


def result_of(whole: Attempt) -> ScheduleResult:
    """The result of a full attempt: the only place where the outcome is decided."""
    pod, scores, found = whole.cycle.pod, whole.scores, whole.post_filter
    reserve = whole.cycle.reserve
    if whole.gated is not None:
        return gated_result(pod, whole.gated)
    if scores is not None:
        ties = tuple(scores.best())
        index = next(index for index, node in enumerate(scores.nodes) if node.name == ties[0])
        return ScheduleResult(
            pod,
            "Placed",
            ties[0],
            score=scores.total[index],
            scores={name: column[index] for name, column in scores.by_plugin.items()},
            find_ties=partial(tuple, ties),
            tied=len(ties) > 1,
            reserve=reserve,
            whole=whole,
        )
    rejectors = tuple(sorted(whole.cycle.unschedulable_plugins))
    outcome = found.outcome if found else None
    if isinstance(outcome, Preemption) and outcome.node is not None:
        return _preempting(whole, outcome, outcome.node)
    if found is not None and found.nominated and found.status.code is Code.SUCCESS:
        # A custom PostFilter plugin, which need not evict pods.
        return ScheduleResult(
            pod,
            "Preempts",
            found.nominated,
            whole.message,
            rejectors=rejectors,
            find_ties=partial(tuple, (found.nominated,)),
            reserve=reserve,
            whole=whole,
        )
    nominated = pod.pod.status.nominated_node_name if found is None or found.nominated is None else found.nominated
    return ScheduleResult(
        pod,
        "Unschedulable",
        message=whole.message,
        rejectors=rejectors,
        nominated=nominated,
        failed=whole.failed,
        whole=whole,
    )


def _preempting(whole: Attempt, outcome: Preemption, node: str) -> ScheduleResult:
    """The result of preemption on this node, one of the best candidates."""
    candidate = next(each for each in outcome.candidates if each.node == node)
    return ScheduleResult(
        whole.cycle.pod,
        "Preempts",
        node,
        whole.message,
        rejectors=tuple(sorted(whole.cycle.unschedulable_plugins)),
        candidate=candidate,
        cleared_nominations=cleared_nominations(whole.cycle, candidate),
        nominated=node,
        find_ties=partial(tuple, outcome.ties),
        tied=len(outcome.ties) > 1,
        elsewhere=partial(_preempting, whole, outcome),
        reserve=whole.cycle.reserve,
        whole=whole,
    )


def gated_result(pod: PodInfo, gated: Verdict) -> ScheduleResult:
    """The result for a pod that is not queued."""
    return ScheduleResult(pod, "Gated", rejectors=(gated.plugin,), gated=gated)
