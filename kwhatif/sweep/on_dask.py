"""Players on a Dask cluster (`pip install kwhatif[dask]`): each worker gets the cluster once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, Generic

from kwhatif.errors import InputError, OutOfTime, Problem, WorkersLost
from kwhatif.questions.story.settled_cluster import Outcome, S, ScenarioPlayer
from kwhatif.sweep.processes import blocks

#: The timeout for a scheduler that does not answer.
_PATIENCE = "10s"
#: How often to check whether there is still time, in seconds.
_LOOK = 0.1
#: After this many lost workers a block is not handed out again.
_TRIES = 3
#: The number of blocks for each worker: one that is slower, or joins later, gets fewer.
_FEWEST = 4


def play_on_dask(player: ScenarioPlayer[S, Outcome], scenarios: Sequence[S], address: str) -> Iterator[Outcome]:
    """Play the scenarios on the workers of that scheduler; yields outcomes as they arrive.

    The blocks of a lost worker are given to others. A caller that stops early leaves nothing running.

    Raises:
        InputError: Dask is not installed, or there is no scheduler of that address, or it has no workers.
        WorkersLost: workers were lost repeatedly with the same scenarios.
    """
    try:
        from distributed import Client
    except ImportError as missing:
        why = Problem("--dask", "Dask is not installed", hint="pip install kwhatif[dask]")
        raise InputError([why]) from missing
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as wrong:
        why = Problem("--dask", f"no scheduler answers at {address}", hint="an address is like tcp://10.0.0.1:8786")
        raise InputError([why]) from wrong
    with client, client.as_current():
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise InputError([Problem("--dask", f"the scheduler at {address} has no workers", hint="start some")])
        yield from _Work(client, player).outcomes([list(block) for block in blocks(scenarios, max(workers, _FEWEST))])


class _Work(Generic[S, Outcome]):
    """The blocks that were handed out, and those to hand out again."""

    def __init__(self, client: Any, player: ScenarioPlayer[S, Outcome]) -> None:
        self._client = client
        self._player = player
        self._there: Any = None
        self._lost: dict[str, int] = {}

    def outcomes(self, left: list[list[S]]) -> Iterator[Outcome]:
        """The outcomes, until all blocks are done."""
        from distributed import KilledWorker, as_completed

        while left:
            self._there = self._client.scatter(self._player, broadcast=True, hash=False)
            tasks = {self._client.submit(_play, self._there, block, pure=False): block for block in left}
            left = []
            for task in self._awaited(as_completed(list(tasks))):
                try:
                    found: list[Outcome] = task.result()
                except (CancelledError, KilledWorker):  # lost with a worker, though it may have been done
                    left.append(self._again(tasks[task]))
                    continue
                yield from found
                task.release()
            self._there.release()

    def _awaited(self, done: Any) -> Iterator[Any]:
        """The tasks as they end; it stops when nothing waits for outcomes any more."""
        while not done.is_empty():
            while not done.has_ready():
                if not self._player.is_awaited():
                    raise OutOfTime("it was given up")
                time.sleep(_LOOK)
            yield next(done)

    def _again(self, block: list[S]) -> list[S]:
        first = block[0].name
        self._lost[first] = self._lost.get(first, 0) + 1
        if self._lost[first] >= _TRIES:
            raise WorkersLost(f"workers of --dask were lost {_TRIES} times at {first}; have they enough memory?")
        return block


def _play(player: ScenarioPlayer[S, Outcome], block: list[S]) -> list[Outcome]:
    """What a worker does with a block."""
    return [player.play(scenario) for scenario in block]
