"""Many runs of one simulation with other choices: what is the same in all of them, and how often the rest occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kwhatif.report.story import FactRow, RunsRow, Story, What


class Runs(NamedTuple):
    """The number of runs, and the seed of their choices."""

    number: int
    seed: int
    #: Called with the number done, and the total.
    progress: Callable[[int, int], None] | None = None

    def watched(self, stories: Iterable[Story]) -> Iterator[Story]:
        """The stories of the runs as they come."""
        for done, story in enumerate(stories, 1):
            yield story
            if self.progress is not None:
                self.progress(done, self.number)

    @property
    def seeds(self) -> Iterator[str]:
        """One seed for each run."""
        return (f"{self.seed} {number}" for number in range(self.number))


def compared(runs: Runs, stories: Iterable[Story]) -> RunsRow:
    """What the stories have in common, and what differs: the most frequent first."""
    counts = Counter[tuple[What, str]]()
    seconds: list[float] = []
    concerned: set[str] = set()
    ends: list[dict[str, bool]] = []
    for story in runs.watched(stories):
        seconds.append(story.seconds)
        counts.update(set(_facts(story)))
        moved = {row.workload for row in story.workloads if (row.before != row.after or row.pending) and not row.anyway}
        concerned |= moved
        ends.append({row.workload: not row.pending and bool(row.after) for row in story.workloads})
    for end in ends:
        counts.update({("placed", name) for name in concerned if end.get(name)})
    rows = sorted(counts.items(), key=lambda item: (-item[1], _ORDER.index(item[0][0]), item[0][1]))
    return RunsRow(
        runs=runs.number,
        seed=runs.seed,
        seconds_least=min(seconds, default=0.0),
        seconds_most=max(seconds, default=0.0),
        facts=tuple(FactRow(what=what, subject=subject, runs=number) for (what, subject), number in rows),
    )


#: What counts more comes first.
_ORDER: tuple[What, ...] = ("settled", "failed", "placed", "pending", "preempted", "evicted", "overrun")


def _facts(story: Story) -> Iterator[tuple[What, str]]:
    yield "settled", story.outcome
    for command in story.commands:
        if command.ok is False:
            yield "failed", command.command
    yield from (("failed", row.workload) for row in story.failed if not row.anyway)
    yield from (("pending", row.owner or f"Pod {row.pod}") for row in story.pending if not row.anyway)
    for gone in story.gone:
        if not gone.initial or gone.anyway:
            continue
        if gone.how in ("Preempted", "Evicted", "TaintEviction", "DeviceTaintEviction"):
            yield "preempted" if gone.how == "Preempted" else "evicted", gone.owner or f"Pod {gone.pod}"
    for budget in story.budgets:
        if budget.overrun > budget.overrun_anyway:
            yield "overrun", budget.budget
