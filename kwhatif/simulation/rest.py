"""That a simulation is over, taken back for once: what is not tried again by then must come to nothing.

A simulation ends while keys and pods are still to be tried again, of which it is known that nothing has changed since
they were tried in vain. In the reference mode (`framework/reference.py`) they are tried all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kwhatif.framework.reference import is_reference

if TYPE_CHECKING:
    from kwhatif.simulation.engine import Engine
    from kwhatif.simulation.scheduler import Scheduler


class NotAtRestError(AssertionError):
    """A bug: something was given up that would have come to something."""


def prove_rest(engine: Engine) -> None:
    """In the reference mode: let everybody who was given up try once more, on a fork.

    Raises:
        NotAtRestError: something comes of it.
    """
    if not is_reference():
        return
    found = list(_what_comes_of_it(engine.fork()))
    if found:
        raise NotAtRestError(f"it was not over at {engine.clock.now} s: {'; '.join(found[:3])}")


def _what_comes_of_it(fork: Engine) -> Iterator[str]:
    events = fork.world.history.events
    known = len(events)
    yield from _attempts(fork.scheduler)
    fork.reactions.retry()
    yield from (f"{event.actor} {event.verb} {event.object}" for event in events[known:] if event.verb != "was refused")
    fork.end()


def _attempts(scheduler: Scheduler) -> Iterator[str]:
    """Of pods whose attempts end with an error, and that are not waited for: what another attempt says otherwise."""
    for info in scheduler.queue.backoff.pod_error_backoff.list():
        result = scheduler.attempts.attempt(info.pod_info)
        if not result.failed or result.message != scheduler.messages.get(info.uid):
            yield f"Pod {info.key}: {result.outcome} {result.message}"
