"""What many runs of one simulation come to."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.blocks import Block, Sentence, Table, number, words
from kwhatif.report.story import FactRow, RunsRow, What
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


def runs(row: RunsRow | None) -> Iterator[Block]:
    """How often each outcome occurs, the surest first."""
    if row is not None:
        yield Sentence(
            f"{plural(row.runs, 'run')} with other choices and times (seed {row.seed}): {_length(row)}", "strong"
        )
        facts = [(_count(fact, row), _WORDS[fact.what].format(fact.subject)) for fact in row.facts]
        yield Table((number("In runs"), words("What")), facts, most=None)


def _count(fact: FactRow, row: RunsRow) -> str:
    return "all" if fact.runs == row.runs else f"{fact.runs} of {row.runs}"


def _length(runs: RunsRow) -> str:
    least, most = took(runs.seconds_least), took(runs.seconds_most)
    return f"{least} long" if least == most else f"{least} to {most} long"
