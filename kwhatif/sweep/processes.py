"""Players in parallel: processes that share the cluster's memory if there is `fork`, or else load it once each.

Reference counts are writes, so a process that plays soon has a copy of much that it shares. This process has
one anyway: so it plays too, and starts one process less. And it plays some scenarios before the others start: then
results about all nodes are computed only once, and much less is copied.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, Generic

from kwhatif.errors import OutOfTime, WorkersLost
from kwhatif.questions.story.settled_cluster import Named, Outcome, S, ScenarioPlayer

#: With this many pods times scenarios it takes a second or two: longer than starting processes.
_WORTHWHILE = 100_000
#: How often, in seconds, a worker checks whether its parent still runs, and the parent whether there is still time.
_LOOK = 2.0
#: The number of scenarios to play before processes are forked: some for each priority of the cluster's pods.
_FIRST = 8
#: After this many workers that ended with a scenario it is not played again.
_TRIES = 2


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_jobs(player: ScenarioPlayer[Any, Any], scenarios: int) -> int:
    """How many processes are worthwhile."""
    if scenarios * len(player.session.state.pods) < _WORTHWHILE:
        return 1
    return max(1, min(available_cores(), scenarios))


def play_here(player: ScenarioPlayer[S, Outcome], scenarios: Sequence[S]) -> Iterator[Outcome]:
    """Play them in this process."""
    return map(player.play, scenarios)


def play(player: ScenarioPlayer[S, Outcome], scenarios: Sequence[S], jobs: int = 0) -> Iterator[Outcome]:
    """Play the scenarios in `jobs` processes; 0: as many as are worthwhile."""
    jobs = jobs or default_jobs(player, len(scenarios))
    return play_here(player, scenarios) if jobs == 1 else play_in_processes(player, scenarios, jobs)


def play_in_processes(
    player: ScenarioPlayer[S, Outcome], scenarios: Sequence[S], jobs: int, method: str = ""
) -> Iterator[Outcome]:
    """Play the scenarios in `jobs` processes, including this one; yields outcomes as they arrive.

    A caller that stops early, or is interrupted, leaves no process running.

    Args:
        player: plays some scenarios here first if processes share its memory.
        scenarios: ordered so that neighbours have much in common.
        jobs: how many processes.
        method: how they are started: "fork" or "spawn"; "": the best one here.

    Raises:
        WorkersLost: processes were killed or crashed.
    """
    method = method or ("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    context = multiprocessing.get_context(method)
    if method == "fork":
        first, scenarios = _some_first(scenarios, jobs)
        assert player.base is not None, "it settles before it is shared"
        yield from play_here(player, first)
        gc.collect()
        gc.freeze()  # the garbage collector would copy shared memory
    team = _Team(context, player, [list(block) for block in blocks(scenarios, jobs)])
    try:
        for _ in range(min(jobs, len(team.left)) - 1):
            team.hire()
        yield from team.outcomes()
    finally:
        team.dismiss()
        if method == "fork":
            gc.unfreeze()


def _some_first(scenarios: Sequence[S], jobs: int) -> tuple[list[S], list[S]]:
    """A few from all parts of the sequence, and the others; none if they would take a large part of the time."""
    count = min(_FIRST, len(scenarios) // (8 * jobs))
    places = {number * len(scenarios) // count for number in range(count)}
    places = {place for place in places if weight_of(scenarios[place]) == 1}
    others = [scenario for place, scenario in enumerate(scenarios) if place not in places]
    return [scenarios[place] for place in sorted(places)], others


class _Team(Generic[S, Outcome]):
    """The workers, and the blocks of each."""

    def __init__(self, context: BaseContext, player: ScenarioPlayer[S, Outcome], left: list[list[S]]) -> None:
        self._context = context
        self._player = player
        #: Blocks without a worker, the next one last.
        self.left = left[::-1]
        self._working: dict[Connection, tuple[BaseProcess, list[S]]] = {}
        self._lost: dict[str, int] = {}

    def hire(self) -> None:
        """Start one more worker, with a first block."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._player, os.getpid()), daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        self._give(ours, process, [])

    def _give(self, worker: Connection, process: BaseProcess, block: list[S]) -> None:
        """Give the worker one scenario in reserve; if none are left, an idle worker may end."""
        more: list[S] = []
        while self.left and len(block) + len(more) <= 1:
            more += self.left.pop()
        block += more
        self._working[worker] = process, block
        if more or not block:
            with suppress(OSError):  # it has ended: `outcomes` will see that
                worker.send(more)
        if not block:
            del self._working[worker]
            process.join()
            worker.close()

    def outcomes(self) -> Iterator[Outcome]:
        """The outcomes, until all blocks are done; another worker takes over the blocks of one that has ended."""
        own: list[S] = []
        while self._working or own or self.left:
            if not own:
                own = self.left.pop() if self.left else []
            yield from self._received(0.0 if own else None)
            if own:
                self._stock_up(weight_of(own[0]))
                yield self._player.play(own.pop(0))

    def _stock_up(self, weight: int) -> None:
        """Give each worker as much to do as this process plays next: until then no worker gets more."""
        for worker, (_, block) in self._working.items():
            more: list[S] = []
            while self.left and sum(map(weight_of, (*block, *more))) < weight:
                more += self.left.pop()
            block.extend(more)
            if more:
                with suppress(OSError):  # it has ended: `outcomes` will see that
                    worker.send(more)

    def _received(self, timeout: float | None) -> Iterator[Outcome]:
        """The outcomes from workers; `timeout`: seconds to wait if there are none yet."""
        while self._working and (ready := self._ready(timeout)):
            timeout = 0.0
            for worker in ready:
                assert isinstance(worker, Connection)
                process, block = self._working[worker]
                try:
                    outcome = worker.recv()
                except (EOFError, OSError):
                    self._replace(worker, process, block)
                    continue
                if isinstance(outcome, BaseException):
                    raise outcome
                yield outcome
                block.pop(0)
                if len(block) <= 1:  # so that it does not wait while this process plays
                    self._give(worker, process, block)

    def _ready(self, timeout: float | None) -> Sequence[object]:
        """The workers that have sent something; without a timeout there is at least one, unless time is over."""
        while not (ready := wait(list(self._working), _LOOK if timeout is None else timeout)) and timeout is None:
            if not self._player.is_awaited():
                raise OutOfTime("it was given up")
        return ready

    def _replace(self, worker: Connection, process: BaseProcess, block: list[S]) -> None:
        del self._working[worker]
        worker.close()
        process.join()
        first = block[0].name
        self._lost[first] = self._lost.get(first, 0) + 1
        if self._lost[first] >= _TRIES:
            raise WorkersLost(f"a process of --jobs has ended {_TRIES} times at {first}; is there enough memory?")
        self.left.append(block)
        self.hire()  # gets only this block: this process would not survive it either

    def dismiss(self) -> None:
        """End all workers."""
        for process, _ in self._working.values():
            process.terminate()
        for worker, (process, _) in self._working.items():
            process.join()
            worker.close()
        self._working.clear()


def _work(orders: Connection, player: ScenarioPlayer[Any, Any], parent: int) -> None:
    """The worker: plays block after block, until there is none left, or the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # when the parent is interrupted it ends its workers
    try:
        while block := _next_block(orders, parent):
            for scenario in block:
                orders.send(player.play(scenario))
    except OSError:
        return
    except Exception as failure:  # noqa: BLE001 - it is raised where it is waited for
        orders.send(failure)


def _next_block(orders: Connection, parent: int) -> list[Named]:
    while not orders.poll(_LOOK):
        if os.getppid() != parent:
            return []
    try:
        found: list[Named] = orders.recv()
    except EOFError:
        return []
    return found


def weight_of(scenario: Named) -> int:
    """Roughly its cost, compared with one node: the number of its nodes."""
    return len(getattr(scenario, "nodes", ())) or 1


def blocks(scenarios: Sequence[S], workers: int) -> Iterator[Sequence[S]]:
    """The scenarios in blocks, small enough for all workers to finish at about the same time."""
    size = max(1, min(32, len(scenarios) // (8 * workers)))
    block: list[S] = []
    weight = 0
    for scenario in scenarios:
        own = weight_of(scenario)
        if block and weight + own > size:
            yield block
            block, weight = [], 0
        block.append(scenario)
        weight += own
    if block:
        yield block
