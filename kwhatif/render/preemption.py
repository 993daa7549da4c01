"""Preemption for people: the candidates with what they are compared by, and how the victims were chosen."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kwhatif.render.detail import Detail
from kwhatif.render.nodes import rejected_table
from kwhatif.render.sentences import sentence
from kwhatif.render.text import BAD, FAINT, GOOD, STRONG, WARN, indented, table, text
from kwhatif.report.decision import Decision
from kwhatif.report.preemption import CandidateRow, PreemptionRow, ReprieveRow
from kwhatif.words.amounts import plural, some

#: How many candidates are shown unless all are asked for.
BEST = 10

#: What kube-scheduler compares candidates by, in turn: column, and what makes a candidate better.
RUNGS = {
    "pdbViolations": ("VICTIMS VIOLATING A BUDGET", "fewer victims that violate a budget"),
    "highestPriority": ("HIGHEST PRIORITY", "a lower highest victim priority"),
    "prioritySum": ("PRIORITY SUM (EACH + 2^31)", "a lower sum of victim priorities, each raised by 2^31"),
    "victims": ("VICTIMS", "fewer victims"),
    "earliestStart": ("EARLIEST START", "a later start of its most important victims"),
}


def candidates_table(preemption: PreemptionRow, detail: Detail) -> Table:
    """Candidates best first; on each row the number that decides against it is marked."""
    rows = preemption.candidates if detail.wide else preemption.candidates[:BEST]
    rungs = dict.fromkeys(rung for row in preemption.candidates for rung in row.ladder)
    headers = [RUNGS[rung][0] if rung in RUNGS else rung.upper() for rung in rungs]
    made = table("NODE", *headers, right=headers, droppable=headers)
    for row in rows:
        best = row.node in preemption.ties
        made.add_row(text(detail.names.cut(row.node), GOOD if best else ""), *_rungs(row))
    hidden = len(preemption.candidates) - len(rows)
    if hidden:
        made.add_row(text(f"… {hidden:,} more (-o wide)", FAINT))
    return made


def _rungs(row: CandidateRow) -> Iterator[Text]:
    for rung, value in row.ladder.items():
        content = "now" if rung == "earliestStart" and value is None else str(value)
        if rung == "prioritySum" and isinstance(value, int):
            content = f"{len(row.victims)}*2^31{value:+}"
        if rung == "earliestStart":
            content = content.replace("T", " ")  # where a narrow table may break it
        decides = rung == row.loses_by
        yield text(f"◂{content}" if decides else content, WARN if decides else "")


def story(decision: Decision, detail: Detail) -> Iterator[RenderableType]:
    """The whole preemption, step by step."""
    preemption = decision.preemption
    if preemption is None:
        return
    yield text("Eligibility", STRONG)
    if not preemption.eligible:
        yield indented(text(f"{decision.pod} may not evict: {preemption.message}"))
        return
    below = f"pods with a priority below {decision.priority} (preemptionPolicy {decision.preemption_policy})"
    yield indented(text(f"{decision.pod} may evict {below}."))
    yield from _tried(decision, preemption, detail)
    for row in preemption.candidates[:BEST]:
        yield from _candidate_story(row, detail)
    yield from _choice(preemption, detail)


def _tried(decision: Decision, preemption: PreemptionRow, detail: Detail) -> Iterator[RenderableType]:
    tried = len(preemption.candidates) + len(preemption.rejected)
    hopeless = len(decision.rejected) - tried
    yield text("Nodes", STRONG)
    cannot = f"on {plural(hopeless, 'node')} evicting cannot help (UnschedulableAndUnresolvable)"
    yield indented(text(f"{plural(tried, 'node')} tried; {cannot}."))
    if preemption.rejected:
        yield indented(text("Even with all pods of lower priority removed, the pod would not fit:"))
        yield rejected_table(preemption.rejected, msgspec.structs.replace(detail, wide=False))


def _candidate_story(row: CandidateRow, detail: Detail) -> Iterator[RenderableType]:
    yield text(f"Candidate {detail.names.cut(row.node)}", STRONG)
    count = plural(len(row.reprieves), "pod")
    yield indented(
        text(f"With {count} of lower priority removed, the pod fits. Put back in this order, if it still fits:")
    )
    for step in row.reprieves:
        yield indented(_reprieve(step), 4)


def _reprieve(step: ReprieveRow) -> Text:
    name = text(f"{step.pod} (priority {step.priority}) ")
    if step.kept:
        return Text.assemble(name, ("stays", GOOD))
    why = "; ".join([sentence(item) for item in step.evidence] or step.reasons)
    return Text.assemble(name, ("is evicted", BAD), text(f": with it, {step.plugin} says {why}"))


def _choice(preemption: PreemptionRow, detail: Detail) -> Iterator[RenderableType]:
    chosen = preemption.chosen
    if chosen is None:
        return
    yield text("Choice", STRONG)
    others = [row for row in preemption.candidates if row.node not in preemption.ties]
    if len(preemption.ties) > 1:
        equal = some(preemption.ties, 5)
        yield _line(f"{equal} are equally good: kube-scheduler may take any of them.", detail)
    if others:
        rung = others[0].loses_by
        _, better = RUNGS.get(rung, ("", rung))
        sums = f" ({_raised(chosen)} against {_raised(others[0])})" if rung == "prioritySum" else ""
        yield _line(f"{chosen.node} wins over {others[0].node} by {better}{sums}.", detail)
    elif len(preemption.candidates) == 1:
        yield _line(f"{chosen.node} is the only candidate.", detail)
    if preemption.cleared_nominations:
        cleared = some(preemption.cleared_nominations, 10)
        yield _line(f"These pods lose their nomination to {chosen.node}: {cleared}", detail)


def _raised(row: CandidateRow) -> int:
    """The sum as it is compared: it makes more victims worse, even where their priorities are negative."""
    return len(row.victims) * 2**31 + int(row.ladder["prioritySum"] or 0)


def _line(content: str, detail: Detail) -> RenderableType:
    return indented(text(detail.names.cut(content)))
