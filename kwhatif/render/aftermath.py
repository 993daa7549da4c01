"""What follows an answer, in three lines."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.anyway import of_question
from kwhatif.render.blocks import Item, Listing
from kwhatif.render.story import first_line
from kwhatif.render.story_rows import gone_rows, pending_rows
from kwhatif.report.story import Story
from kwhatif.words.amounts import plural, some


def aftermath(story: Story) -> Listing:
    """How it ends; who goes and who waits in the end; how budgets fare."""
    quality, said = first_line(story)
    story = of_question(story)
    budgets = "; ".join(_budgets(story)) or "no budget allows less than before"
    items = (Item(f"What follows: {said}", sign=quality), Item(_people(story)), Item(f"Budgets: {budgets}"))
    return Listing(items, "lines")


def _people(story: Story) -> str:
    gone = [f"{who} ({count}, {why})" if count > 1 else f"{who} ({why})" for who, count, why in gone_rows(story)]
    waiting = [f"{who} ({count})" if count > 1 else who for who, count, _ in pending_rows(story)]
    refused = f"; refused: {some([row.workload for row in story.refused])}" if story.refused else ""
    return f"Gone: {some(gone) or 'none'}; pending in the end: {some(waiting) or 'none'}{refused}"


def _budgets(story: Story) -> Iterator[str]:
    overruns = {row.budget: row.overrun - row.overrun_anyway for row in story.budgets}
    broken = [f"{budget} by {plural(overrun, 'pod')}" for budget, overrun in overruns.items() if overrun]
    low = [f"{row.budget} {row.before} to {row.lowest}" for row in story.budgets if row.lowest < row.before]
    if broken:
        yield f"broken {some(broken)}"
    if low:
        yield f"lowest {some(low)}"
