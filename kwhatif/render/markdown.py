"""Markdown for pull request comments and step summaries, as GitHub and GitLab render it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

from kwhatif.kube.model.caveat.manifests import NothingJudged
from kwhatif.render.aftermath import aftermath_lines
from kwhatif.render.answer import answer, growth
from kwhatif.render.caveats import besides_findings
from kwhatif.render.caveats.manifests import NOTHING_JUDGED
from kwhatif.render.detail import MANY, Detail
from kwhatif.render.edits import edit_lines
from kwhatif.render.issues import Issue, grouped, issues, place
from kwhatif.render.markdown_advise import advise_parts, smallest_fixes
from kwhatif.render.markdown_queue import queue_parts
from kwhatif.render.markdown_story import story_parts
from kwhatif.render.markdown_text import (
    MAX_SENTENCE,
    SIGNS,
    ZERO_WIDTH_SPACE,
    cell,
    code,
    draw,
    limited,
    prose,
    rows_of,
)
from kwhatif.render.node_names import NodeNames, nodes_in
from kwhatif.render.outcomes import Part, parts_of, workload_groups, workload_severity
from kwhatif.render.qualifiers import qualifier, story_qualifier
from kwhatif.render.rejections import RejectedGroup, may_evict, rejected_groups
from kwhatif.render.safe import safe
from kwhatif.render.scenario_files import scenarios_parts
from kwhatif.render.verdict import sentence_about, workload_sentence
from kwhatif.render.victims import VictimGroup, victim_groups
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison
from kwhatif.report.decision import Decision
from kwhatif.report.workload import WorkloadRow
from kwhatif.words.amounts import plural

#: So many subjects of equal findings are named, and so many characters are left for evidence.
_MAX_SUBJECTS = 5
_MAX_EVIDENCE = 30_000

_VERDICTS = {"pass": "✅ The gate passes", "warn": "⚠️ The gate passes, with warnings", "fail": "❌ The gate fails"}


def to_markdown(report: Report) -> str:
    """A heading with the verdict, a table, the findings; everything from manifests and cluster is inert."""
    if report.scenarios:
        parts = scenarios_parts(report)
    elif report.story is not None and not report.is_judged:
        parts = story_parts(report.story, story_qualifier(report))
    elif report.queue is not None:
        parts = queue_parts(report.queue)
    elif report.advise is not None and report.command == "advise":
        parts = advise_parts(report.advise, report)
    elif (blocks := answer(report, Detail())) is not None:
        parts = draw(blocks)
    else:
        parts = _with_aftermath(report, _gate(report) if report.command == "gate" else _decisions(report))
    added = [*draw(growth(report, Detail()))]
    return "\n".join([*_edits(report), *parts, *([""] if added else []), *added, *_caveats(report)]) + "\n"


def _with_aftermath(report: Report, parts: Iterable[str]) -> Iterator[str]:
    """What follows stands below the gate's verdict, or above the table of the pods."""
    lines = [] if report.story is None else [f"- {prose(line)}" for line in aftermath_lines(report.story)]
    if report.command != "gate":
        yield from (*lines, "") if lines else ()
        yield from parts
        return
    first, *others = parts
    yield from (first, "", *lines) if lines else (first,)
    yield from others


def comparison_to_markdown(comparison: Comparison) -> str:
    """The edits, one line that says it all, then what is different."""
    from kwhatif.render.comparison import comparison_blocks  # not for one report

    return "\n".join([*_edits(comparison.after), *draw(comparison_blocks(comparison, Detail()))]) + "\n"


def fixes_to_markdown(report: Report) -> str:
    """What the gate says about the smallest fix, and nothing else."""
    parts = () if report.advise is None else smallest_fixes(report.advise)
    return "".join(f"{line}\n" for line in parts).removeprefix("\n")


def _edits(report: Report) -> Iterator[str]:
    if report.changes:
        yield from (*(f"- {prose(line)}" for line in edit_lines(report)), "")


def _gate(report: Report) -> Iterator[str]:
    verdict = report.policy.verdict if report.policy else "pass"
    doubt = qualifier(report) if verdict == "warn" and not report.problems else ""
    yield f"### {_VERDICTS['fail' if report.problems else verdict]}{f', but {prose(doubt)}' if doubt else ''}"
    rows = map(_workloads, workload_groups(report.workloads, many=MANY))
    if report.workloads:
        yield ""
        yield from rows_of(("", "Workload", "Manifest", "Placed", "Result"), rows)
    found = issues(report)
    counting = grouped(issue for issue in found if issue.suppressed is None)
    if counting:
        yield from ("", "#### Findings", "", *limited(map(_finding, counting), len(counting)))
        yield from _all_evidence((alike[0].decision for alike in counting), report)
    yield from () if report.advise is None else smallest_fixes(report.advise)
    suppressed = grouped(issue for issue in found if issue.suppressed is not None)
    if suppressed:
        yield from ("", "<details><summary>Suppressed findings</summary>", "")
        yield from (*limited(map(_finding, suppressed), len(suppressed)), "", "</details>")


def _workloads(rows: Sequence[WorkloadRow]) -> tuple[str, ...]:
    """A workload, or those with equal results."""
    first = rows[0]
    name = " ".join([cell(first.name), *([f"and {len(rows) - 1:,} more"] if len(rows) > 1 else [])])
    where = cell(_location(*place(first.source)))
    placed = f"{sum(row.placed for row in rows):,}/{sum(row.replicas for row in rows):,}"
    return _workload_sign(first), name, where, placed, prose(first.message)


def _workload_sign(row: WorkloadRow) -> str:
    return SIGNS[
        "Unschedulable" if workload_severity(row) == 0 else "Preempts" if row.placed < row.replicas else "Placed"
    ]


def _finding(alike: Sequence[Issue]) -> str:
    """One line for all that are alike."""
    issue = alike[0]
    sign = "❌" if issue.level == "error" else "⚠️"
    subjects = [
        f" {code(each.subject)}" * bool(each.subject) + f" ({code(_location(each.file, each.line))})" * bool(each.file)
        for each in alike[:_MAX_SUBJECTS]
    ]
    more = f" and {len(alike) - _MAX_SUBJECTS:,} more" if len(alike) > _MAX_SUBJECTS else ""
    reason = "" if issue.suppressed is None else f" — {prose(issue.suppressed)}"
    return f"- {sign} **{prose(issue.rule)}**{','.join(subjects)}{more}: {prose(issue.message)}{reason}"


def _decisions(report: Report) -> Iterator[str]:
    parts = parts_of(report)
    if not parts:
        is_wrong = any(isinstance(caveat, NothingJudged) for caveat in report.caveat_details)
        yield f"⚠️ {NOTHING_JUDGED}" if is_wrong else "No pod is pending: nothing to decide."
        return
    yield from rows_of(("", "Pod", "Node", "Result"), (_part(part, report) for part in parts))
    explained = (decision for _, decisions in parts for decision in decisions if decision.outcome != "Placed")
    yield from _all_evidence(explained, report)


def _part(part: Part, report: Report) -> tuple[str, ...]:
    row, decisions = part
    if row is not None:
        return _workload_sign(row), cell(row.name), "", prose(workload_sentence(row, decisions))
    (decision,) = decisions
    node = cell(decision.node) if decision.node else ""
    return SIGNS[decision.outcome], cell(decision.pod), node, prose(sentence_about(decision, report))


def _all_evidence(decisions: Iterable[Decision | None], report: Report) -> Iterator[str]:
    """What stands behind each of the decisions, folded, as far as there is room in a comment."""
    by_pod = {decision.pod: decision for decision in decisions if decision and decision.rejected}
    names = NodeNames(nodes_in(report))
    room = _MAX_EVIDENCE
    left_out = 0
    for decision in by_pod.values():
        block = "\n".join(_evidence(decision, names))
        if len(block) > room:
            left_out += 1
            continue
        room -= len(block)
        yield block
    if left_out:
        yield f"\nLeft out here: the evidence for {plural(left_out, 'more pod')}"


def _evidence(decision: Decision, names: NodeNames) -> Iterator[str]:
    summary = html.escape(safe(decision.pod)).replace("@", f"@{ZERO_WIDTH_SPACE}")
    yield from ("", f"<details><summary>Evidence: {summary}</summary>", "")
    groups = rejected_groups(decision.rejected, may_evict=may_evict(decision))
    yield from rows_of(("Nodes", "Reason", "Evidence"), (_group(group, names) for group in groups))
    if names.note:
        yield f"\n{prose(names.note)}"
    chosen = decision.preemption.chosen if decision.preemption else None
    if chosen is not None:
        yield from ("", f"Victims on {code(chosen.node)}:", "")
        victims = map(_victims, victim_groups(chosen, each=False))
        yield from rows_of(("Victims", "Owner", "Priority", "Budgets left"), victims)
    yield from ("", f"kube-scheduler's words: {prose(decision.message)}", "", "</details>")


def _group(group: RejectedGroup, names: NodeNames) -> tuple[str, ...]:
    where = names.cut("; ".join([*group.evidence, group.where]))
    return f"{group.size:,}", prose("; ".join(group.reasons)), prose(where)


def _victims(group: VictimGroup) -> tuple[str, ...]:
    return prose(group.name), prose(group.owner), str(group.victims[0].priority), prose("; ".join(group.budgets))


def _location(file: str, line: int) -> str:
    return f"{file}:{line}" if line else file


def _caveats(report: Report) -> Iterator[str]:
    others = besides_findings(report)
    if others:
        yield from ("", f"<details><summary>{plural(len(others), 'caveat')}</summary>", "")
        yield from limited((f"- {prose(caveat, MAX_SENTENCE)}" for caveat in others), len(others))
        yield from ("", "</details>")
