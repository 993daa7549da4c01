"""When a controller tries again after the API server has refused something.

The queue of every controller waits 5 ms after the first failure of a key, then twice as long after each other one
(`DefaultTypedControllerRateLimiter` in `client-go/util/workqueue/default_rate_limiters.go`).
"""

from __future__ import annotations

from kwhatif.controllers.contract import Create, SyncResult, View

_FIRST, _LONGEST = 0.005, 1000.0
_FAILURES = "failures"


class BackingOff:
    """A controller that creates objects, and tries a key again when the API server has refused one."""

    name: str

    def refused(self, key: str, view: View) -> SyncResult:
        """What a sync of the key would create was refused, and the writes after it were not made: when to try again."""
        return SyncResult(again=self._after(view.now, key, view))

    def skipped(self, due: float, key: str, view: View) -> float:
        """When it tries again, where it has tried in vain at `due`, and whenever it was time since then until now."""
        while due < view.now:
            due = self._after(due, key, view)
        return due

    def _after(self, failure: float, key: str, view: View) -> float:
        memory = view.memory(self.name, key)
        failures: int = memory.get(_FAILURES, 0)
        memory[_FAILURES] = failures + 1
        return failure + min(_LONGEST, _FIRST * 2.0 ** min(failures, 30))

    def synced(self, key: str, outcome: SyncResult, view: View) -> SyncResult:
        """The outcome of a sync; one that creates nothing has not failed."""
        if not any(isinstance(write, Create) for write in outcome.writes):
            view.memory(self.name, key).pop(_FAILURES, None)
        return outcome
