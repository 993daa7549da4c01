"""When a controller tries again after the API server has refused something.

The queue of every controller waits 5 ms after the first failure of a key, then twice as long after each other one
(`DefaultTypedControllerRateLimiter` in `client-go/util/workqueue/default_rate_limiters.go`).
"""

from __future__ import annotations

from kwhatif.controllers.contract import Outcome, View

_FIRST, _LONGEST = 0.005, 1000.0
_FAILURES = "failures"


def failed(controller: str, key: str, view: View) -> Outcome:
    """A sync of the key has failed once more."""
    memory = view.memory(controller, key)
    failures = memory.get(_FAILURES, 0)
    memory[_FAILURES] = failures + 1
    return Outcome(again=view.now + min(_LONGEST, _FIRST * 2 ** min(failures, 30)))


def succeeded(controller: str, key: str, view: View) -> None:
    """A sync had nothing to do that could fail."""
    view.memory(controller, key).pop(_FAILURES, None)
