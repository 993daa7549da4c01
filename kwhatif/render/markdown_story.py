"""`kwhatif simulate` in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.anyway import anyway_rows, of_question
from kwhatif.render.markdown_text import QUALITIES, cell, prose, rows_of
from kwhatif.render.runs import fact_rows, runs_title
from kwhatif.render.story import first_line
from kwhatif.render.story_rows import (
    different_workloads,
    failed_rows,
    gone_rows,
    kinds_of,
    pending_rows,
    places,
    refused_rows,
)
from kwhatif.report.story import Story


def story_parts(story: Story, doubt: str) -> Iterator[str]:
    """A heading with the verdict, what is different, who is gone, who waits."""
    quality, said = first_line(story, doubt)
    yield f"### {QUALITIES[quality]} {prose(said)}"
    yield from story_details(story)
    yield from ("", prose(f"Assumed: {'; '.join(story.assumptions)}."))


def story_details(story: Story) -> Iterator[str]:
    """What is different, who does not go, who is gone, who waits, what would end it, and what happens anyway."""
    yield from _details(of_question(story))
    anyway = anyway_rows(story)
    if anyway:
        yield ""
        yield from rows_of(("Happens anyway", "Pods", "What"), ((cell(who), n, prose(what)) for who, n, what in anyway))


def _details(story: Story) -> Iterator[str]:
    if story.blocked:
        yield ""
        blocked = ((cell(row.pod), prose(row.why), prose(row.remedy or "-")) for row in story.blocked)
        yield from rows_of(("Blocked", "Why", "What helps"), blocked)
    different, as_before = different_workloads(story)
    if different:
        yield ""
        moves = ((cell(row.workload), *map(prose, places(row)), str(row.pending)) for row in different)
        yield from rows_of(("Workload", "Before", "After", "Pending"), moves)
    if as_before:
        yield from ("", prose(f"{kinds_of(as_before)} as before."))
    for title, rows in (("Gone", gone_rows(story)), ("Pending", pending_rows(story))):
        if rows:
            yield ""
            yield from rows_of(
                (title, "Pods", "Why"), ((cell(who), str(count), prose(why)) for who, count, why in rows)
            )
    for title, reasons in (("Refused", refused_rows(story)), ("Failed", failed_rows(story))):
        if reasons:
            yield ""
            yield from rows_of((title, "Why"), ((cell(who), prose(why)) for who, why in reasons))
    if story.cycle is not None:
        yield from ("", "What would end it:", "")
        yield from (f"- {prose(remedy)}" for remedy in story.cycle.remedies)
    if story.runs is not None:
        yield from ("", prose(runs_title(story.runs)), "")
        facts = ((prose(number), prose(said)) for number, said in fact_rows(story.runs))
        yield from rows_of(("In runs", "What"), facts)
