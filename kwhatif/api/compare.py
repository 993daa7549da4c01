"""`kwhatif.compare`: two answers to one question, and what is different; `compare_clusters`: two clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, Unpack

from kwhatif.api.arguments import require_known, require_session
from kwhatif.api.options import CompareArguments
from kwhatif.api.pages import answered
from kwhatif.api.questions import preempt
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.model.caveat.scheduling import BudgetComputed, BudgetNotComputed
from kwhatif.questions.session.session import Session
from kwhatif.render.comparison import answers, ends
from kwhatif.report import Report
from kwhatif.report.comparison import (
    Comparison,
    Difference,
    DifferenceRow,
    EndDifferenceRow,
    FateRow,
    PodDifferenceRow,
)
from kwhatif.report.decision import Decision
from kwhatif.report.story import Story, StoryWorkloadRow

T = TypeVar("T")
#: The kinds of differences, the most important first.
_ORDER: Sequence[Difference] = ("flipped", "victims", "moved", "new", "gone")


def compare(before: Report, after: Report) -> Comparison:
    """What is different between two answers to one question.

    Raises:
        TypeError: one of them is not a report.
    """
    for given in (before, after):
        if not isinstance(given, Report):
            raise TypeError(f"compare() takes two reports; this is of type {type(given).__name__}")
    was, now = _decided(before), _decided(after)
    pods = [row for pod in {**now, **was} if (row := _difference(pod, was.get(pod), now.get(pod))) is not None]
    pods.sort(key=lambda row: _ORDER.index(row.difference))
    findings = [tuple(report.policy.findings) if report.policy else () for report in (before, after)]
    difference = DifferenceRow(
        pods=tuple(pods),
        ends=(
            *_end_differences(_how_it_ends(before, after), _how_it_ends(after, before)),
            *_end_differences(dict(ends(before)), dict(ends(after))),
            *_place_differences(before.story, after.story),
        ),
        unchanged=len({**was, **now}) - len(pods),
        new_findings=tuple(_beyond(findings[1], findings[0])),
        gone_findings=tuple(_beyond(findings[0], findings[1])),
        new_caveats=tuple(_beyond(after.caveats, (*before.caveats, *_of_edits(after)))),
        gone_caveats=tuple(_beyond(before.caveats, after.caveats)),
    )
    return Comparison(command=after.command, before=before, after=after, difference=difference)


def compare_clusters(
    before: Session,
    after: Session,
    questions: Mapping[str, Callable[[Session], Report]] | None = None,
    *,
    configured: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[CompareArguments],
) -> Report:
    """What is different between two clusters, and which answers differ because of which changes?

    Args:
        before: the first cluster.
        after: the second one: a later dump, or the same under another scheduler.
        questions: what is asked of both, by name: `{"web": lambda cluster: kwhatif.schedule(cluster, "web.yaml")}`;
            without it, where the pending pods go.
        configured: whether the two have different scheduler configurations.
        progress: is called with how many answers are explained, of how many.
        options: how far causes are looked for, see `CompareArguments`.

    Raises:
        InputError: as the questions do.
    """
    for session in (before, after):
        require_session(session, "compare_clusters")
    require_known(options, CompareArguments, "compare_clusters")
    from kwhatif.questions.comparing import ask_compare

    asked = {"preempt": preempt} if questions is None else questions
    said = {name: _said(question) for name, question in asked.items()}
    with rare_garbage_collection():
        report = ask_compare(
            before,
            after,
            said,
            most=options.get("tries", 500),
            configured=configured,
            progress=progress or (lambda _done, _total: None),
        )
        return answered(report, after)


def _said(question: Callable[[Session], Report]) -> Callable[[Session], Mapping[str, str]]:
    """Each subject's result in the report; in a story, also the nodes of pods at the end."""

    def ask(session: Session) -> Mapping[str, str]:
        report = question(session)
        story = report.story
        places = {} if story is None or report.is_judged else {row.workload: _counts(row) for row in story.workloads}
        landed = {name: _on(sorted(counts), counts) or "-" for name, counts in places.items()}
        return {**dict(answers(report)), **landed, **_how_it_ends(report, report)}

    return ask


def _decided(report: Report) -> Mapping[str, Decision]:
    """The outcome of each pod, except pods that are only counted and have generated names."""
    return {decision.pod: decision for decision in report.decisions} if report.capacity is None else {}


def _difference(pod: str, was: Decision | None, now: Decision | None) -> PodDifferenceRow | None:
    before, after = _fate(was), _fate(now)
    if before == after:
        return None
    kind: Difference
    if before is None or after is None:
        kind = "new" if before is None else "gone"
    elif before.outcome != after.outcome:
        kind = "flipped"
    else:
        kind = "moved" if before.victims == after.victims else "victims"
    return PodDifferenceRow(pod=pod, difference=kind, before=before, after=after)


def _fate(decision: Decision | None) -> FateRow | None:
    if decision is None:
        return None
    victims = tuple(victim.pod for victim in decision.victims)
    return FateRow(outcome=decision.outcome, node=decision.node, victims=victims)


def _end_differences(was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[EndDifferenceRow]:
    for subject in {**was, **now}:
        before, after = was.get(subject), now.get(subject)
        if before != after:
            yield EndDifferenceRow(subject=subject, before=before, after=after)


def _how_it_ends(report: Report, other: Report) -> Mapping[str, str]:
    """The worst outcome of the parts that both answers have."""
    if report.story is None or other.story is None:
        return {}
    is_asked = report.story.caused is not None and other.story.caused is not None
    return {"the end": report.story.outcome if is_asked else report.story.settled}


def _place_differences(before: Story | None, after: Story | None) -> Iterator[EndDifferenceRow]:
    """For each workload: the nodes with another number of its pods at the end, and how many are pending."""
    was, now = ({row.workload: row for row in story.workloads} if story else {} for story in (before, after))
    for workload in {**was, **now}:
        counts, others = _counts(was.get(workload)), _counts(now.get(workload))
        differ = [node for node in sorted({**counts, **others}) if counts.get(node, 0) != others.get(node, 0)]
        if differ:
            left, right = (_on(differ, each) for each in (counts, others))
            yield EndDifferenceRow(subject=workload, before=left, after=right)


#: Pods without a node are counted under this name, which sorts after all names.
_PENDING = "\uffff"


def _counts(row: StoryWorkloadRow | None) -> Mapping[str, int]:
    return {} if row is None else {**row.after, _PENDING: row.pending}


def _on(nodes: Sequence[str], counts: Mapping[str, int]) -> str | None:
    said = [
        f"{count} pending" if node == _PENDING else f"{node} ({count})"
        for node in nodes
        if (count := counts.get(node, 0))
    ]
    return ", ".join(said) or None


def _of_edits(report: Report) -> Iterator[str]:
    """Sentences that only exist because an edit has changed a budget, which was the question."""
    touched = {touched.object for change in report.changes for touched in change.touched}
    for caveat in report.caveat_details:
        if isinstance(caveat, BudgetComputed | BudgetNotComputed) and f"PodDisruptionBudget {caveat.budget}" in touched:
            yield caveat.message


def _beyond(some: Sequence[T], others: Sequence[T]) -> Iterator[T]:
    return (each for each in some if each not in others)
