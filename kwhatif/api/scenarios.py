"""Which processes play many scenarios, on this machine or a Dask cluster; and the file that keeps their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress

from kwhatif.api.options import MaintenanceOptions
from kwhatif.errors import InputError, OutOfTime, Problem
from kwhatif.questions.story.played import Outcome, Player, S
from kwhatif.sources.sweeps import SweepFile
from kwhatif.sweep.processes import play


def runner(
    options: MaintenanceOptions,
    kind: type[Outcome],
    progress: Callable[[int, int], None] | None,
    goes_on: Callable[[], bool] = lambda: True,
) -> Callable[[Player[S, Outcome], Sequence[S]], Iterator[Outcome]]:
    """Play the scenarios as the options say, except those that the file of `resume` has.

    Args:
        options: which processes play.
        kind: the type of a result.
        progress: is called with how many scenarios are done, of how many.
        goes_on: whether there is still time; called after each scenario, and during it.

    Raises:
        InputError: the options contradict each other.
    """
    jobs, dask, resume = options.get("jobs", 0), options.get("dask", ""), options.get("resume", "")
    if jobs and dask:
        raise InputError([Problem("--jobs", "the workers of --dask play the scenarios: give one of the two")])
    if jobs < 0:
        raise InputError([Problem("--jobs", "is less than 1")])
    advance = progress or (lambda done, total: None)  # noqa: ARG005

    def run(player: Player[S, Outcome], scenarios: Sequence[S]) -> Iterator[Outcome]:
        player.is_awaited = goes_on
        with SweepFile(resume, player, kind) if resume else nullcontext() as file, suppress(OutOfTime):
            known = file.outcomes if file is not None else {}
            left = [scenario for scenario in scenarios if scenario.name not in known]
            yield from [known[scenario.name] for scenario in scenarios if scenario.name in known]
            advance(len(scenarios) - len(left), len(scenarios))
            for number, outcome in enumerate(_played(player, left, jobs, dask), len(scenarios) - len(left) + 1):
                if file is not None:
                    file.add(outcome)
                advance(number, len(scenarios))
                yield outcome
                if not goes_on():
                    return

    return run


def _played(player: Player[S, Outcome], scenarios: Sequence[S], jobs: int, dask: str) -> Iterator[Outcome]:
    if dask:
        from kwhatif.sweep.on_dask import play_on_dask

        return play_on_dask(player, scenarios, dask)
    return play(player, scenarios, jobs)
