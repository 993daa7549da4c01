"""Many drains or outages, each alone: which may go, in one line; all of them; and what becomes of the worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.render.audit import command
from kwhatif.render.blocks import (
    Block,
    Cell,
    Heading,
    Item,
    Listing,
    Row,
    Table,
    Verdict,
    exact,
    folded,
    node,
    number,
    shown,
    verdict,
    words,
)
from kwhatif.render.certainty import of_story
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Quality
from kwhatif.render.qualifiers import of_command, qualifier
from kwhatif.render.story import assumed, blocked, first_line, waves, what_becomes
from kwhatif.render.story_rows import of_question
from kwhatif.render.timeline import timeline
from kwhatif.report import Report
from kwhatif.report.story import ScenarioRow, Story
from kwhatif.words.amounts import plural, some, took


def _summary(rows: Sequence[ScenarioRow], command: str) -> str:
    """Which of them may go, and what is worst."""
    is_drain = command == "drain"
    may, may_not = ("can be drained", "cannot be drained") if is_drain else ("may fail", "may not fail")
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


def scenarios(report: Report, rows: Sequence[ScenarioRow], detail: Detail) -> Iterator[Block]:
    """The summary, all scenarios, and the stories of the worst."""
    is_harmless = all(row.verdict.ok for row in rows)
    quality: Quality = "good" if is_harmless else "bad"
    yield verdict((quality, _summary(rows, report.command)), qualifier(report, of_command(report)))
    if detail.quiet:
        return
    numbers = (number("Pods"), number("Pending"), number("In turn"), number("After"))
    columns = (node("Which"), words("May go"), *numbers, words("Why not"))
    yield Table(columns, [_scenario(row) for row in rows], most=None)
    for row in rows:
        if row.story is not None and row.story.verdict is not None:
            yield Heading(f"{row.scenario}:")
            yield from _worst(row, row.story, report, detail)
    yield from _others(report, rows, detail)
    explained = next((row.story for row in rows if row.story is not None), None)
    if explained is not None:
        yield assumed(explained)


def _others(report: Report, rows: Sequence[ScenarioRow], detail: Detail) -> Iterator[Block]:
    """The scenarios whose stories are not kept, and what plays them: on a page, which plays the others."""
    others = [row for row in rows if row.story is None and row.command]
    if detail.page and others:
        title = f"{plural(len(others), 'story', 'stories')} not kept here, and the commands that play them"
        commands = [(row.scenario, exact(command(row.command, report))) for row in others]
        columns = node("Which"), words("Command, with the other options of this one")
        yield from folded(title, Table(columns, commands, named=True))


def _scenario(row: ScenarioRow) -> Row:
    """Its name, whether it may go, the numbers, and why not."""
    verdict = row.verdict
    numbers = (verdict.moved, len(verdict.pending), verdict.preempted)
    may = Cell("yes", "good") if verdict.ok else Cell("no", "bad")
    return row.scenario, may, *map(str, numbers), took(verdict.seconds), verdict.why or "-"


def _worst(row: ScenarioRow, story: Story, report: Report, detail: Detail) -> Iterator[Block]:
    quality, said = first_line(story)
    if detail.page:
        yield Verdict(said, quality, minor=True, sure=of_story(story, report))
    else:
        yield Listing([Item(said, sign=quality)], "lines")
    asked = of_question(story)
    yield from shown(waves(asked), blocked(asked))
    yield from what_becomes(asked)
    if detail.has_room:
        yield from folded("Timeline", *timeline(story, detail))
        if row.command:
            yield Listing([Item("This command plays it alone:", (command(row.command, report),))])
