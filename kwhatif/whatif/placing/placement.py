"""`Placement`: what became of one pod of many. What costs time is made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from kwhatif.framework.attempt import Attempt
from kwhatif.framework.status import Code, Verdict
from kwhatif.preemption.candidate import Candidate, Preemption, Victim
from kwhatif.report import Decision, Outcome
from kwhatif.state.pod_info import PodInfo


class Placement(msgspec.Struct, frozen=True):
    """What became of one pod."""

    pod: PodInfo
    outcome: Outcome
    #: Where it is from then on; a preempting pod is taken to be on the node that it is nominated to.
    node: str | None = None
    #: The scheduler's own words; "" for a pod that was placed.
    message: str = ""
    #: Of a placed pod: the node's scores by plugin, normalised and weighted, and their sum with extenders.
    score: int = 0
    scores: Mapping[str, int] = {}
    #: Of a pod that was not placed: the plugins that rejected it, sorted.
    rejectors: tuple[str, ...] = ()
    #: What keeps a gated pod out of the queue.
    gated: Verdict | None = None
    #: Of a preempting pod: whom it evicts, and which lower nominations fall.
    candidate: Candidate | None = None
    cleared_nominations: tuple[PodInfo, ...] = ()
    find_ties: Callable[[], tuple[str, ...]] = tuple
    #: The full decision, where it was wanted.
    decision: Decision | None = None

    @property
    def ties(self) -> tuple[str, ...]:
        """All nodes that were equally good, `node` included, sorted."""
        return self.find_ties()

    @property
    def victims(self) -> tuple[Victim, ...]:
        """The pods that it evicts, the most important one first."""
        return self.candidate.victims if self.candidate else ()


def placement_of(result: Attempt) -> Placement:
    """What one whole attempt comes to."""
    pod = result.cycle.pod
    scores = result.scores
    if result.gated is not None:
        return Placement(pod, "Gated", rejectors=(result.gated.plugin,), gated=result.gated)
    if scores is not None:
        ties = tuple(scores.best())
        place = next(index for index, node in enumerate(scores.nodes) if node.name == ties[0])
        return Placement(
            pod,
            "Placed",
            ties[0],
            score=scores.total[place],
            scores={name: column[place] for name, column in scores.by_plugin.items()},
            find_ties=partial(tuple, ties),
        )
    rejectors = tuple(sorted(result.cycle.unschedulable_plugins))
    outcome = result.post_filter.outcome if result.post_filter else None
    if isinstance(outcome, Preemption) and outcome.node is not None:
        return Placement(
            pod,
            "Preempts",
            outcome.node,
            result.message,
            rejectors=rejectors,
            candidate=outcome.candidates[0],
            cleared_nominations=outcome.cleared_nominations,
            find_ties=partial(tuple, outcome.ties),
        )
    found = result.post_filter
    if found is not None and found.nominated and found.status.code is Code.SUCCESS:
        # A PostFilter of your own, which need not evict anybody.
        nominated = found.nominated
        find_ties = partial(tuple, (nominated,))
        return Placement(pod, "Preempts", nominated, result.message, rejectors=rejectors, find_ties=find_ties)
    return Placement(pod, "Unschedulable", message=result.message, rejectors=rejectors)
