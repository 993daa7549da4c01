"""Results as decisions of a report: in short for most pods, in full for those that are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from operator import itemgetter

from msgspec.structs import replace

from kwhatif.questions.decisions.decide import decision_of
from kwhatif.questions.decisions.preemption_rows import preemption_row
from kwhatif.questions.rows import decision_about_result, feasible_row
from kwhatif.report.decision import Decision
from kwhatif.scheduler.batch import ScheduleResult, result_of
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.evidence import Evidence, InsufficientResource, UntoleratedTaint
from kwhatif.scheduler.framework.scoring import Scores
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.preemption.candidate import Preemption

#: The number of nodes or candidates to keep of a kind, where there may be thousands.
FEW = 5


def in_short(result: ScheduleResult) -> Decision:
    """The outcome for the pod, without reasons."""
    preemption = None
    if result.candidate is not None:
        found = Preemption(
            node=result.node,
            ties=result.ties,
            candidates=(result.candidate,),
            cleared_nominations=result.cleared_nominations,
        )
        preemption = preemption_row(found)
    row = feasible_row(result.node or "", result.score, result.scores)
    return decision_about_result(
        result, feasible=(row,) if result.outcome == "Placed" else (), preemption=preemption, detail="short"
    )


def in_full(result: Attempt) -> Decision:
    """The decision with its evidence, but only a few of the nodes with the same reasons."""
    whole, scores, found = result_of(result), result.scores, result.post_filter
    if scores is not None:
        result = replace(result, scores=_best_few(scores))
    elif found is not None and isinstance(found.outcome, Preemption):
        tried = found.outcome
        few = replace(tried, candidates=tried.candidates[:FEW], rejected=_few_of_each(tried.rejected))
        result = replace(result, post_filter=replace(found, outcome=few))
    return replace(decision_of(result, _few_alike), ties=whole.ties, detail="few")


def _best_few(scores: Scores) -> Scores:
    nodes, total = scores.nodes, scores.total
    places = nsmallest(FEW, range(len(nodes)), key=lambda place: (-total[place], nodes[place].name))
    take = itemgetter(*places) if len(places) > 1 else lambda row: (row[places[0]],)
    return Scores(take(nodes), {name: list(take(row)) for name, row in scores.by_plugin.items()}, list(take(total)))


def _few_of_each(verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Of the nodes with the same plugin and reasons, the first few by name."""
    names: dict[object, list[str]] = {}
    for name, verdict in verdicts.items():
        status = verdict.status
        names.setdefault((status.code, verdict.plugin, status.reasons), []).append(name)
    return {name: verdicts[name] for same in names.values() for name in nsmallest(FEW, same)}


def _few_alike(objections: Mapping[str, tuple[Verdict, ...]]) -> dict[str, int]:
    """Of the nodes with the same objections a few; the first of these stands for those left out."""
    groups: dict[object, list[str]] = {}
    for name, verdicts in objections.items():
        key = tuple([(verdict.plugin, verdict.status.reasons, _fixed(verdict.status.evidence)) for verdict in verdicts])
        groups.setdefault(key, []).append(name)
    shown: dict[str, int] = {}
    for names in groups.values():
        chosen = list(dict.fromkeys([*_roomiest(names, objections), *nsmallest(FEW, names)]))
        shown |= dict.fromkeys(chosen, 0) | {chosen[0]: len(names) - len(chosen)}
    return shown


def _fixed(evidence: Iterable[Evidence]) -> tuple[object, ...]:
    """What distinguishes kinds of nodes: taints, and whether they are too small even when they are empty."""
    return tuple(
        [
            item.requested > item.allocatable if isinstance(item, InsufficientResource) else item
            for item in evidence
            if isinstance(item, UntoleratedTaint | InsufficientResource)
        ]
    )


def _roomiest(names: Sequence[str], objections: Mapping[str, tuple[Verdict, ...]]) -> Iterator[str]:
    """For each resource that these nodes lack, the node with most of it left."""
    most: dict[str, tuple[int, str]] = {}
    for name in names:
        for verdict in objections[name]:
            for item in verdict.status.evidence:
                if isinstance(item, InsufficientResource):
                    free = item.used - item.allocatable, name
                    most[item.resource] = min(most.get(item.resource, free), free)
    yield from (name for _, name in most.values())
