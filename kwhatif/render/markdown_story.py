"""`kwhatif simulate` in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.markdown_text import QUALITIES, cell, prose, rows_of
from kwhatif.render.runs import fact_rows, runs_title
from kwhatif.render.story import first_line
from kwhatif.render.story_rows import failed_rows, gone_rows, is_different, nodes_in_words, pending_rows, refused_rows
from kwhatif.report.story import Story


def story_parts(story: Story, doubt: str) -> Iterator[str]:
    """A heading with the verdict, what is different, who is gone, who waits."""
    quality, said = first_line(story, doubt)
    yield f"### {QUALITIES[quality]} {prose(said)}"
    yield from story_details(story)
    yield from ("", prose(f"Assumed: {'; '.join(story.assumptions)}."))


def story_details(story: Story) -> Iterator[str]:
    """What is different, who does not go, who is gone, who waits, and what would end it."""
    if story.blocked:
        yield ""
        blocked = ((cell(row.pod), prose(row.why), prose(row.remedy or "-")) for row in story.blocked)
        yield from rows_of(("Blocked", "Why", "What helps"), blocked)
    different = [row for row in story.workloads if is_different(row) or row.pending]
    if different:
        yield ""
        places = (
            (cell(row.workload), prose(nodes_in_words(row.before)), prose(nodes_in_words(row.after)), str(row.pending))
            for row in different
        )
        yield from rows_of(("Workload", "Before", "After", "Pending"), places)
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
