"""The report for people: a verdict per pod, then the tables that back it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace
from rich.console import RenderableType
from rich.text import Text

from kwhatif.kube.model.caveat.manifests import NothingJudged
from kwhatif.render.advise import advise
from kwhatif.render.aftermath import aftermath_lines
from kwhatif.render.answer import answer, growth
from kwhatif.render.caveats import besides_findings
from kwhatif.render.caveats.manifests import NOTHING_JUDGED
from kwhatif.render.detail import MANY, Detail
from kwhatif.render.edits import edit_lines
from kwhatif.render.gate import gate, queued_before
from kwhatif.render.node_names import NodeNames, nodes_in
from kwhatif.render.nodes import feasible_table, rejected_table
from kwhatif.render.outcomes import SIGNS, Part, parts_of, severity, verb
from kwhatif.render.pod_groups import group_parts, without_members
from kwhatif.render.preemption import candidates_table, story
from kwhatif.render.qualifiers import qualifier, shared, story_qualifier
from kwhatif.render.queue import queue
from kwhatif.render.rejections import may_evict
from kwhatif.render.release import release_line
from kwhatif.render.scenarios import scenarios_table
from kwhatif.render.terminal import draw
from kwhatif.render.text import FAINT, STRONG, WARN, indented, signed, text
from kwhatif.render.verdict import verdict, workload_verdict
from kwhatif.render.victims import victims_table
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison
from kwhatif.report.decision import Decision
from kwhatif.words.amounts import but, plural, seconds


def tables(report: Report, detail: Detail) -> Iterator[RenderableType]:
    """Everything that is printed, top to bottom; the verdict is the first line, but for edits that it rests on."""
    if report.snapshot.taken_at:
        detail = replace(detail, now=seconds(report.snapshot.taken_at))
    if not detail.quiet:
        detail = replace(detail, names=NodeNames(nodes_in(report)))
        report = detail.names.cut_stories(report)
    for line in () if detail.quiet else edit_lines(report):
        yield text(line, FAINT)
    first, *others = _answer(report, detail)
    yield first
    if not detail.quiet:
        yield text(release_line(report.scheduler), FAINT)
    if detail.names.note:
        yield text(detail.names.note, FAINT)
    yield from others
    if not detail.quiet:
        yield from draw(growth(report, detail), detail)
        yield from _caveats(report)


def comparison_tables(comparison: Comparison, detail: Detail) -> Iterator[RenderableType]:
    """The edits, one line that says it all, then what is different."""
    detail = replace(detail, names=NodeNames((*nodes_in(comparison.before), *nodes_in(comparison.after))))
    for line in () if detail.quiet else edit_lines(comparison.after):
        yield text(line, FAINT)
    from kwhatif.render.comparison import comparison_blocks  # not for one report

    first, *others = draw(comparison_blocks(comparison, detail), detail)
    yield first
    if detail.names.note and others:
        yield text(detail.names.note, FAINT)
    yield from others


def _answer(report: Report, detail: Detail) -> Iterator[RenderableType]:
    if report.scenarios:
        return scenarios_table(report, detail)
    if report.story is not None and not report.is_judged:
        from kwhatif.render.story import story_tables

        return story_tables(report.story, detail, story_qualifier(report))
    if report.queue is not None:
        return queue(report, report.queue, detail)
    if report.advise is not None and report.command == "advise":
        return advise(report, report.advise, detail)
    blocks = answer(report, detail)
    if blocks is not None:
        return draw(blocks, detail)
    return _with_aftermath(report, (_gate if report.command == "gate" else _judged)(report, detail))


def _with_aftermath(report: Report, parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """What follows stands below the verdict, and above what it rests on."""
    first, *others = parts
    yield first
    if report.story is not None:
        for line in aftermath_lines(report.story):
            yield text(line)
    yield from others


def _gate(report: Report, detail: Detail) -> Iterator[RenderableType]:
    yield from gate(report, detail)
    if detail.quiet:
        return
    yield from queued_before(report)
    backed = [decision for decision in report.decisions if decision.rejected] if detail.wide else ()
    for decision in backed:
        yield ""
        yield verdict(decision, report, detail.names)
        yield from _placement(decision, detail)
        hidden = sum(row.alike for row in decision.rejected)
        if hidden:
            yield text(f"Not shown: {plural(hidden, 'node')} with the same reasons", FAINT)


def _judged(report: Report, detail: Detail) -> Iterator[RenderableType]:
    """Workload by workload, then the pods that belong to none: the worst first, pending pods in queue order."""
    parts = without_members(parts_of(report), report.pod_groups)
    yield from group_parts(report.pod_groups, detail)
    if not parts and report.pod_groups is None:
        yield _nothing(report)
    brief = detail.quiet or (len(parts) > MANY and not (detail.wide or detail.explain))
    if brief and len(parts) > 1:
        detail = replace(detail, said=shared(report, parts))
    hidden = _hidden(parts, report, detail) if brief else []
    for number, (row, decisions) in enumerate(parts[: len(parts) - len(hidden)]):
        if number and not brief:
            yield ""
        if row is not None:
            yield workload_verdict(row, report, decisions, detail.names, detail.said)
        if row is None or not brief:
            yield from _pods(decisions, report, detail, brief=brief)
    if hidden:
        pods = sum(len(decisions) for _, decisions in hidden)
        sign = SIGNS["Preempts" if detail.said else "Placed"]
        yield Text.assemble(sign, f" {len(hidden):,} more: all their {pods:,} pods fit ", ("(-o wide)", FAINT))
    if len(parts) > 1:
        yield _sum(report, detail)
    if not detail.quiet:
        yield from queued_before(report)


def _hidden(parts: Sequence[Part], report: Report, detail: Detail) -> Sequence[Part]:
    """The last of the parts, of which every pod is placed: nobody needs a line for each."""
    if detail.quiet or report.command == "preempt":
        return []
    good = [part for part in parts if part[1] and all(decision.outcome == "Placed" for decision in part[1])]
    return parts[len(parts) - len(good) :] if len(good) > 1 else []


def _pods(decisions: Sequence[Decision], report: Report, detail: Detail, *, brief: bool) -> Iterator[RenderableType]:
    """The first pod of each outcome, with what its decision says why; with `-o wide`, all."""
    counts = Counter(decision.outcome for decision in decisions)
    shown: set[str] = set()
    for decision in decisions:
        is_first = decision.outcome not in shown
        shown.add(decision.outcome)
        if not (is_first or detail.wide):
            continue
        if len(decisions) > 1:
            yield ""
        yield _head(decision, report, detail, alike=counts[decision.outcome] if is_first else 1, of=len(decisions))
        if not brief and decision.detail != "short":
            yield from (_preemption if report.command == "preempt" else _placement)(decision, detail)


def _head(decision: Decision, report: Report, detail: Detail, *, alike: int, of: int) -> Text:
    """The verdict; shorter where the line about the workload has said why."""
    said = verdict(decision, report, detail.names, detail.said)
    if of > 1 and decision.outcome in ("Unschedulable", "Denied"):
        sign, style = SIGNS[decision.outcome]
        said = Text.assemble((sign, style), " ", text(decision.pod, STRONG), (f" {verb(decision.outcome, 1)}", style))
    if alike > 1:
        said.append(f" (the first of {alike:,})", FAINT)
    return said


def _nothing(report: Report) -> Text:
    if not any(isinstance(caveat, NothingJudged) for caveat in report.caveat_details):
        return text("No pod is pending: nothing to decide.", FAINT)
    doubt = qualifier(report, lambda caveat: not isinstance(caveat, NothingJudged))
    return signed(SIGNS["Preempts"], f"{NOTHING_JUDGED}{f'; {doubt}' if doubt else ''}")


def _sum(report: Report, detail: Detail) -> Text:
    counts = Counter(decision.outcome for decision in sorted(report.decisions, key=severity))
    parts = [f"{count} {verb(outcome, count)}" for outcome, count in counts.items()]
    how = "each judged as if it were the only one" if report.alone else "one after another"
    said = f"{plural(len(report.decisions), 'pod')}, {how}: {', '.join(parts) or 'none'}"
    return text(but(said, qualifier(report, detail.said.__contains__)), STRONG)


def _placement(decision: Decision, detail: Detail) -> Iterator[RenderableType]:
    if decision.feasible:
        yield feasible_table(decision.feasible, decision.ties, detail)
    if decision.rejected:
        yield rejected_table(decision.rejected, detail, may_evict=may_evict(decision))
    yield from _victims(decision, detail)
    yield from _message(decision)


def _preemption(decision: Decision, detail: Detail) -> Iterator[RenderableType]:
    preemption = decision.preemption
    if preemption is not None and preemption.candidates:
        yield candidates_table(preemption, detail)
        yield from _victims(decision, detail)
    elif decision.rejected:
        yield rejected_table(decision.rejected, detail, may_evict=may_evict(decision))
    if detail.explain:
        yield from story(decision, detail)
    yield from _message(decision)


def _victims(decision: Decision, detail: Detail) -> Iterator[RenderableType]:
    chosen = decision.preemption.chosen if decision.preemption else None
    if chosen is not None:
        yield text(f"Victims on {detail.names.cut(chosen.node)}", STRONG)
        yield victims_table(chosen, detail)


def _message(decision: Decision) -> Iterator[RenderableType]:
    if decision.message and decision.outcome not in ("Denied", "Ignored"):
        yield text(f"kube-scheduler's words: {decision.message}", FAINT)


def _caveats(report: Report) -> Iterator[RenderableType]:
    others = [caveat for caveat in besides_findings(report) if report.decisions or caveat != NOTHING_JUDGED]
    if others:
        yield ""
        yield text("Caveats", STRONG)
        for caveat in others:
            yield indented(text(f"• {caveat}", WARN))
