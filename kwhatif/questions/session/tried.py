"""`Tried`: the attempts of one question, as far as they say when to ask it again (`questions/again`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.state.pod_info import PodInfo


class Tried:
    """The attempts of one question."""

    def __init__(self) -> None:
        self._results: list[tuple[PodInfo, frozenset[str]]] | None = []

    def note(self, result: ScheduleResult) -> None:
        """A pod was tried, whether or not it was asked for."""
        if result.outcome != "Unschedulable" or result.failed or not result.rejectors:
            self._results = None
        elif self._results is not None:
            self._results.append((result.pod, frozenset(result.rejectors)))

    def note_more(self) -> None:
        """More was done than to try pods once."""
        self._results = None

    @property
    def unschedulable(self) -> Sequence[tuple[PodInfo, frozenset[str]]] | None:
        """All pods that were tried, and the plugins that rejected each; None: not all of them fit nowhere."""
        return self._results
