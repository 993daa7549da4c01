"""The same cluster without the question's actions: what happens there happens anyway."""

from __future__ import annotations

from collections.abc import Callable

from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.simulation.engine import Engine


class Without:
    """A simulation without the question's actions: the cluster at any later second.

    It runs only as far as needed, and its states are shared: a sweep plays it once.
    """

    def __init__(self, settled: Engine, again: Callable[[], Engine]) -> None:
        """Set up.

        Args:
            settled: the simulation when the question is asked; it stays as it is.
            again: creates it once more, for the reference mode.
        """
        self._again = again
        #: The simulation after each moment at which something was due; the first is the start.
        self._moments = [settled]

    def at(self, second: float) -> Engine:
        """The simulation at that second, after all reactions; read-only.

        An endless loop stays where it was found: it has no end to compare with.
        """
        if is_reference():
            plain = self._again()
            plain.ask()
            _go_on(plain, second)
            return plain
        while (due := self._moments[-1].next_of_all()) is not None and due <= second:
            last = self._moments[-1]
            if last.cycle is not None:
                break
            last.world.state.prepare()
            later = last.fork()
            later.ask()
            _go_on(later, due)
            if later.clock.now <= last.clock.now:
                break
            self._moments.append(later)
        return next(each for each in reversed(self._moments) if each.clock.now <= second or each is self._moments[0])


def _go_on(engine: Engine, second: float) -> None:
    if engine.cycle is None and second > engine.clock.now:
        engine.wait(second - engine.clock.now)
