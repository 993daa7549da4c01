"""What of a story is of what was asked, and what happens anyway: they are told apart everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kwhatif.render.story_rows import gone_rows, pending_rows
from kwhatif.render.timeline import why_refused
from kwhatif.report.story import (
    FailedRow,
    GoneRow,
    PendingRow,
    RefusedRow,
    Story,
    StoryBudgetRow,
    StoryNodeRow,
    StoryWorkloadRow,
)
from kwhatif.words.amounts import plural, some

_Row = TypeVar("_Row", PendingRow, RefusedRow, FailedRow, GoneRow, StoryWorkloadRow, StoryNodeRow, StoryBudgetRow)


def of_question(story: Story) -> Story:
    """The story without what happens anyway; a drain or an outage has its verdict, which is without it."""
    if story.caused is None:
        return story
    return _only(story, anyway=False)


def _only(story: Story, *, anyway: bool) -> Story:
    def rows(given: Sequence[_Row]) -> tuple[_Row, ...]:
        return tuple(row for row in given if row.anyway == anyway)

    return replace(
        story,
        settled=story.settled if anyway else story.outcome,
        workloads=rows(story.workloads),
        pending=rows(story.pending),
        refused=rows(story.refused),
        failed=rows(story.failed),
        gone=rows(story.gone),
        nodes=rows(story.nodes),
        budgets=rows(story.budgets),
        cycle=story.cycle if story.cycle is not None and story.cycle.anyway == anyway else None,
    )


def anyway_rows(story: Story) -> list[tuple[str, str, str]]:
    """What happens without what was asked, too: to whom, to how many of its pods, and what."""
    return [] if story.caused is None else list(_rows(_only(story, anyway=True)))


def _rows(story: Story) -> Iterator[tuple[str, str, str]]:
    if story.cycle is not None:
        yield some(story.cycle.participants), "-", "replace each other, and never settle"
    yield from ((who, str(count), why) for who, count, why in gone_rows(story))
    yield from ((who, str(count), f"pending: {why}") for who, count, why in pending_rows(story))
    yield from ((row.workload, "-", f"new pods are refused: {why_refused(row.message)}") for row in story.refused)
    yield from ((row.workload, "-", f"fails: {row.message}") for row in story.failed)
    for row in story.budgets:
        if row.overrun_anyway:
            yield f"PodDisruptionBudget {row.budget}", "-", f"short of {plural(row.overrun_anyway, 'healthy pod')}"
