"""Players side by side: processes that share the cluster's memory where there is `fork`, or else load it once each.

To count references is to write, so a process that plays has a copy of much that it shares before long. This process has
one anyway: so it plays, too, and hires one process less. And it plays some scenarios before the others start: what was
found out of all nodes by then, whose pods nobody has to look at again, is found out once, and much less is copied.
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

from kwhatif.errors import WorkersLost
from kwhatif.sweep.scenario import Player, ScenarioOutcome, SweepScenario, blocks

#: A cluster of so many pods, times so many scenarios, takes a second or two: more than it takes to start processes.
_WORTHWHILE = 100_000
#: How often, in seconds, a worker looks whether there is still somebody to work for.
_LOOK = 2.0
#: So many scenarios are played before processes are forked: some for each priority that pods of the cluster have.
_FIRST = 8
#: A scenario with which so many workers have ended is played by nobody else.
_TRIES = 2


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_jobs(player: Player, scenarios: int) -> int:
    """How many processes are worth while."""
    if scenarios * len(player.session.state.pods) < _WORTHWHILE:
        return 1
    return max(1, min(available_cores(), scenarios))


def play_here(player: Player, scenarios: Sequence[SweepScenario]) -> Iterator[ScenarioOutcome]:
    """Play them in this process."""
    return map(player.play, scenarios)


def play(player: Player, scenarios: Sequence[SweepScenario], jobs: int = 0) -> Iterator[ScenarioOutcome]:
    """Play them in so many processes; 0: as many as are worth while."""
    jobs = jobs or default_jobs(player, len(scenarios))
    return play_here(player, scenarios) if jobs == 1 else play_in_processes(player, scenarios, jobs)


def play_in_processes(
    player: Player, scenarios: Sequence[SweepScenario], jobs: int, method: str = ""
) -> Iterator[ScenarioOutcome]:
    """Play them in so many processes, this one included; the outcomes come as they are found.

    Whoever stops asking for more, or is interrupted, leaves no process behind.

    Args:
        player: it plays some of them here first where processes share its memory.
        scenarios: in an order in which neighbours have much in common.
        jobs: how many processes.
        method: how they are started: "fork" or "spawn"; "": as is best here.

    Raises:
        WorkersLost: processes come to their end, and not by themselves.
    """
    method = method or ("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    context = multiprocessing.get_context(method)
    if method == "fork":
        first, scenarios = _some_first(scenarios, jobs)
        assert player.base is not None, "it settles before it is shared"
        yield from play_here(player, first)
        gc.collect()
        gc.freeze()  # nobody looks for garbage in what is shared: that would copy it
    team = _Team(context, player, [list(block) for block in blocks(scenarios, jobs)])
    try:
        for _ in range(min(jobs, len(team.left)) - 1):
            team.hire()
        yield from team.outcomes()
    finally:
        team.dismiss()
        if method == "fork":
            gc.unfreeze()


def _some_first(scenarios: Sequence[SweepScenario], jobs: int) -> tuple[list[SweepScenario], list[SweepScenario]]:
    """A few from all parts of the sequence, none where they would be much of it; and the others."""
    count = min(_FIRST, len(scenarios) // (8 * jobs))
    places = {number * len(scenarios) // count for number in range(count)}
    others = [scenario for place, scenario in enumerate(scenarios) if place not in places]
    return [scenarios[place] for place in sorted(places)], others


class _Team:
    """The workers, and what each is at."""

    def __init__(self, context: BaseContext, player: Player, left: list[list[SweepScenario]]) -> None:
        self._context = context
        self._player = player
        #: Blocks that nobody is at, the next one last.
        self.left = left[::-1]
        self._working: dict[Connection, tuple[BaseProcess, list[SweepScenario]]] = {}
        self._lost: dict[str, int] = {}

    def hire(self) -> None:
        """One more worker, with a block to begin with."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._player, os.getpid()), daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        self._give(ours, process, [])

    def _give(self, worker: Connection, process: BaseProcess, block: list[SweepScenario]) -> None:
        """Let the worker have one scenario in reserve; when none are left, one that is at nothing may go."""
        more: list[SweepScenario] = []
        while self.left and len(block) + len(more) <= 1:
            more += self.left.pop()
        block += more
        self._working[worker] = process, block
        if more or not block:
            with suppress(OSError):  # it has ended: `outcomes` will see that
                worker.send([(scenario.name, scenario.nodes) for scenario in more])
        if not block:
            del self._working[worker]
            process.join()
            worker.close()

    def outcomes(self) -> Iterator[ScenarioOutcome]:
        """Until all blocks are done; those of a worker that has ended are done by another."""
        own: list[SweepScenario] = []
        while self._working or own or self.left:
            if not own:
                own = self.left.pop() if self.left else []
            yield from self._received(0.0 if own else None)
            if own:
                yield self._player.play(own.pop(0))

    def _received(self, timeout: float | None) -> Iterator[ScenarioOutcome]:
        """What workers have found out; `timeout`: seconds to wait for some if there is nothing yet."""
        while self._working and (ready := wait(list(self._working), timeout)):
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
                if len(block) <= 1:  # so that it need not wait while this process plays
                    self._give(worker, process, block)

    def _replace(self, worker: Connection, process: BaseProcess, block: list[SweepScenario]) -> None:
        del self._working[worker]
        worker.close()
        process.join()
        first = block[0].name
        self._lost[first] = self._lost.get(first, 0) + 1
        if self._lost[first] >= _TRIES:
            raise WorkersLost(f"a process of --jobs has ended {_TRIES} times at {first}; is there enough memory?")
        self.left.append(block)
        self.hire()  # takes just this block: this process would not survive it either

    def dismiss(self) -> None:
        """Nobody works any more."""
        for process, _ in self._working.values():
            process.terminate()
        for worker, (process, _) in self._working.items():
            process.join()
            worker.close()
        self._working.clear()


def _work(orders: Connection, player: Player, parent: int) -> None:
    """What a worker does: block after block, until there is none, or nobody to work for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who interrupts the parent has it end its workers
    try:
        while block := _next_block(orders, parent):
            for name, nodes in block:
                orders.send(player.play(SweepScenario(name, nodes)))
    except OSError:
        return
    except Exception as failure:  # noqa: BLE001 - it is raised where it is waited for
        orders.send(failure)


def _next_block(orders: Connection, parent: int) -> list[tuple[str, tuple[str, ...]]]:
    while not orders.poll(_LOOK):
        if os.getppid() != parent:
            return []
    try:
        found: list[tuple[str, tuple[str, ...]]] = orders.recv()
    except EOFError:
        return []
    return found
