"""When a controller retries after the API server has rejected a request.

The queue of every controller waits 5 ms after the first failure of a key, then twice as long after each further one
(`DefaultTypedControllerRateLimiter` in `client-go/util/workqueue/default_rate_limiters.go`).
"""

from __future__ import annotations

from kwhatif.controllers.contract import Create, SyncResult, View

_FIRST, _LONGEST = 0.005, 1000.0
_FAILURES = "failures"


class BackingOff:
    """A controller that creates objects, and retries a key if the API server has rejected one."""

    name: str

    def refused(self, key: str, view: View) -> SyncResult:
        """When to retry a sync whose object was rejected; the later writes of the sync were not made."""
        return SyncResult(again=self._after(view.now, key, view))

    def skipped(self, due: float, key: str, view: View) -> float:
        """When it retries next, if the retry at `due` and all retries until now have failed."""
        while due < view.now:
            due = self._after(due, key, view)
        return due

    def _after(self, failure: float, key: str, view: View) -> float:
        memory = view.memory(self.name, key)
        failures: int = memory.get(_FAILURES, 0)
        memory[_FAILURES] = failures + 1
        return failure + min(_LONGEST, _FIRST * 2.0 ** min(failures, 30))

    def synced(self, key: str, outcome: SyncResult, view: View) -> SyncResult:
        """The result of a sync; a sync that creates nothing resets the back-off."""
        if not any(isinstance(write, Create) for write in outcome.writes):
            view.memory(self.name, key).pop(_FAILURES, None)
        return outcome
