"""Tables of preemption: candidates on their ladder, victims with their budgets, and the story of how it came about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kwhatif.render.amounts import age, plural, some
from kwhatif.render.nodes import rejected_table
from kwhatif.render.sentences import sentence
from kwhatif.render.text import BAD, FAINT, GOOD, STRONG, WARN, indented, lines, table, text
from kwhatif.report import CandidateRow, Decision, PreemptionRow, ReprieveRow, VictimRow

#: How many candidates are shown unless all are asked for.
BEST = 10

#: kube-scheduler's rungs of the ladder: column, and what makes a candidate better.
RUNGS = {
    "pdbViolations": ("BUDGETS BROKEN", "fewer violated budgets"),
    "highestPriority": ("HIGHEST PRIORITY", "a lower highest victim priority"),
    "prioritySum": ("PRIORITY SUM", "a lower sum of victim priorities"),
    "victims": ("VICTIMS", "fewer victims"),
    "earliestStart": ("EARLIEST START", "its most important victims started later"),
}


def candidates_table(preemption: PreemptionRow, *, wide: bool) -> Table:
    """Candidates best first; on each row the rung that decides against it is marked."""
    rows = preemption.candidates if wide else preemption.candidates[:BEST]
    rungs = dict.fromkeys(rung for row in preemption.candidates for rung in row.ladder)
    headers = [RUNGS[rung][0] if rung in RUNGS else rung.upper() for rung in rungs]
    made = table("NODE", *headers, right=headers)
    for row in rows:
        best = row.node in preemption.ties
        made.add_row(text(row.node, GOOD if best else ""), *_rungs(row))
    hidden = len(preemption.candidates) - len(rows)
    if hidden:
        made.add_row(text(f"… {plural(hidden, 'more candidate')} (-o wide)", FAINT))
    return made


def _rungs(row: CandidateRow) -> Iterator[Text]:
    for rung, value in row.ladder.items():
        content = "now" if rung == "earliestStart" and value is None else str(value)
        decides = rung == row.loses_by
        yield text(f"◂{content}" if decides else content, WARN if decides else "")


def victims_table(victims: Sequence[VictimRow], candidate: CandidateRow, now: int) -> Table:
    """Who goes, most important first, and what that does to the budgets."""
    budgets = {row.budget: f"{row.budget} {row.before} → {row.after}" for row in candidate.budgets}
    made = table("VICTIM", "PRIORITY", "AGE", "OWNER", "BUDGETS (BEFORE → AFTER)", right=("PRIORITY",))
    for victim in victims:
        said = [
            budgets.get(budget, budget) + (" VIOLATED" if budget in victim.violates else "")
            for budget in victim.budgets
        ]
        made.add_row(
            text(victim.pod + (" (terminating)" if victim.terminating else "")),
            text(victim.priority),
            text(age(victim.start_time, now)),
            text(victim.owner or "-"),
            lines(said or ["-"], BAD if victim.violates else ""),
        )
    return made


def story(decision: Decision) -> Iterator[RenderableType]:
    """The whole preemption, step by step."""
    preemption = decision.preemption
    if preemption is None:
        return
    yield text("Eligibility", STRONG)
    if not preemption.eligible:
        yield indented(text(f"{decision.pod} may not evict: {preemption.message}"))
        return
    below = f"pods of a priority below {decision.priority} (preemptionPolicy {decision.preemption_policy})"
    yield indented(text(f"{decision.pod} may evict {below}."))
    yield from _tried(decision, preemption)
    for row in preemption.candidates[:BEST]:
        yield from _candidate_story(row)
    yield from _choice(preemption)


def _tried(decision: Decision, preemption: PreemptionRow) -> Iterator[RenderableType]:
    tried = len(preemption.candidates) + len(preemption.rejected)
    hopeless = len(decision.rejected) - tried
    yield text("Nodes", STRONG)
    cannot = f"on {plural(hopeless, 'node')} evicting cannot help (UnschedulableAndUnresolvable)"
    yield indented(text(f"{plural(tried, 'node')} tried; {cannot}."))
    if preemption.rejected:
        yield indented(text("Without every lower-priority pod the pod would still not fit:"))
        yield rejected_table(preemption.rejected, wide=False)


def _candidate_story(row: CandidateRow) -> Iterator[RenderableType]:
    yield text(f"Candidate {row.node}", STRONG)
    removed = [step.pod for step in row.reprieves]
    count = plural(len(removed), "pod")
    yield indented(text(f"{count} of lower priority removed: the pod fits. Tried back in this order:"))
    for step in row.reprieves:
        yield indented(_reprieve(step), 4)


def _reprieve(step: ReprieveRow) -> Text:
    name = text(f"{step.pod} (priority {step.priority}) ")
    if step.kept:
        return Text.assemble(name, ("stays", GOOD))
    why = "; ".join([sentence(item) for item in step.evidence] or step.reasons)
    return Text.assemble(name, ("must go", BAD), text(f": with it, {step.plugin} says {why}"))


def _choice(preemption: PreemptionRow) -> Iterator[RenderableType]:
    chosen = preemption.chosen
    if chosen is None:
        return
    yield text("Choice", STRONG)
    others = [row for row in preemption.candidates if row.node not in preemption.ties]
    if len(preemption.ties) > 1:
        equal = some(list(preemption.ties), 5)
        yield indented(text(f"{equal} are equally good: kube-scheduler may take any of them."))
    if others:
        rung = others[0].loses_by
        _, better = RUNGS.get(rung, ("", rung))
        yield indented(text(f"{chosen.node} wins over {others[0].node} by {better}."))
    elif len(preemption.candidates) == 1:
        yield indented(text(f"{chosen.node} is the only candidate."))
    if preemption.cleared_nominations:
        fall = some(list(preemption.cleared_nominations), 10)
        yield indented(text(f"Nominations to {chosen.node} that fall: {fall}"))
