"""Many drains or outages, each alone: which may go, in one line; all of them; and what becomes of the worst."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from kwhatif.render.anyway import of_question
from kwhatif.render.detail import Detail
from kwhatif.render.drain import waves_and_blocked
from kwhatif.render.outcomes import QUALITIES, Quality, doubted
from kwhatif.render.qualifiers import story_qualifier
from kwhatif.render.story import counted, story_budgets, verdict_line
from kwhatif.render.story_rows import gone_rows, pending_rows
from kwhatif.render.text import FAINT, STRONG, signed, table, text
from kwhatif.report import Report
from kwhatif.words.amounts import but, some, took

#: What a table says of each scenario, besides its name and why it may not go.
NUMBERS = ("PODS", "PENDING", "IN TURN", "AFTER")


def headline(report: Report) -> tuple[Quality, str]:
    """Which of them may go, what is worst, and what that depends on."""
    doubt = story_qualifier(report)
    is_harmless = all(row.verdict.ok for row in report.scenarios)
    return doubted("good" if is_harmless else "bad", doubt), but(_summary(report), doubt)


def _summary(report: Report) -> str:
    rows = report.scenarios
    may, may_not = (
        ("can be drained", "cannot be drained") if report.command == "drain" else ("may fail", "may not fail")
    )
    bad, count = [row.scenario for row in rows if not row.verdict.ok], len(rows)
    if not bad:
        return f"{rows[0].scenario} {may}" if count == 1 else f"any one of the {count:,} {may}"
    worst = rows[0].verdict.why or "it does harm"
    if count == 1:
        return f"{rows[0].scenario} {may_not}: {worst}"
    worst = worst if len(bad) == 1 else f"at worst ({rows[0].scenario}), {worst}"
    if len(bad) == count:
        return f"none of the {count:,} {may}: {some(bad)}; {worst}"
    return f"{count - len(bad):,} of the {count:,} {may}, all but {some(bad)}: {worst}"


def scenario_cells(report: Report) -> Iterator[tuple[str, ...]]:
    """A row for each: its name, whether it may go, the numbers, and why not."""
    for row in report.scenarios:
        verdict = row.verdict
        numbers = (verdict.moved, len(verdict.pending), verdict.preempted, took(verdict.seconds))
        yield row.scenario, "yes" if verdict.ok else "no", *map(str, numbers), verdict.why or "-"


def scenarios_table(report: Report, detail: Detail) -> Iterator[RenderableType]:
    """The summary, all scenarios, and the stories of the worst."""
    quality, said = headline(report)
    yield signed(QUALITIES[quality], said)
    if detail.quiet:
        return
    made = table("WHICH", "MAY GO", *NUMBERS, "WHY NOT", right=NUMBERS)
    for cells in scenario_cells(report):
        made.add_row(*map(text, cells))
    yield made
    for row in report.scenarios:
        story = row.story
        if story is None or story.verdict is None:
            continue
        yield text(f"{row.scenario}:", STRONG)
        yield verdict_line(story)
        story = of_question(story)
        yield from waves_and_blocked(story)
        yield from counted("GONE", gone_rows(story))
        yield from counted("PENDING", pending_rows(story))
        yield from story_budgets(story)
    explained = next((row.story for row in report.scenarios if row.story is not None), None)
    if explained is not None:
        yield text(f"Assumed: {'; '.join(explained.assumptions)}.", FAINT)
