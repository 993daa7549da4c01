"""What many runs of one simulation come to, for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from kwhatif.render.text import STRONG, table, text
from kwhatif.report.story import RunsRow, Story, What
from kwhatif.words.amounts import plural, took

_WORDS: dict[What, str] = {
    "settled": "it ends {}",
    "failed": "{} fails",
    "placed": "{} has a node for each pod",
    "pending": "{} stays pending",
    "preempted": "{} is preempted",
    "evicted": "{} is evicted",
    "overrun": "budget {} is broken",
}


def runs_of(story: Story) -> Iterator[RenderableType]:
    """How often what comes out, the surest first."""
    runs = story.runs
    if runs is None:
        return
    yield text(runs_title(runs), STRONG)
    made = table("IN RUNS", "WHAT", right=("IN RUNS",))
    for row in fact_rows(runs):
        made.add_row(*map(text, row))
    yield made


def runs_title(runs: RunsRow) -> str:
    """How many, from which seed, how long."""
    return f"{plural(runs.runs, 'run')} with other choices and times (seed {runs.seed}): {_length(runs)}"


def fact_rows(runs: RunsRow) -> Iterator[tuple[str, str]]:
    """In how many runs, and what."""
    for fact in runs.facts:
        yield "all" if fact.runs == runs.runs else f"{fact.runs} of {runs.runs}", _WORDS[fact.what].format(fact.subject)


def _length(runs: RunsRow) -> str:
    least, most = took(runs.seconds_least), took(runs.seconds_most)
    return f"{least} long" if least == most else f"{least} to {most} long"
