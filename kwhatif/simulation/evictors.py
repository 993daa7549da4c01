"""Evictors of a simulation: each tries, waits, and retries until it is done."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import msgspec

from kwhatif.controllers.contract import SyncResult, View, earliest
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.simulation.api_server import ApiServer


class Evictor(Protocol):
    """Evicts pods, and retries: `kubectl drain`."""

    @property
    def name(self) -> str:
        """The actor in the story."""

    @property
    def done(self) -> bool:
        """Whether it is done."""

    @property
    def left(self) -> Hashable:
        """The remaining work."""

    def fork(self) -> Evictor:
        """An independent copy."""

    def attempt(self, view: View) -> SyncResult:
        """Its requests now; `again`: when it retries."""

    def is_waiting_for(self, view: View) -> bool:
        """Whether the event that it waits for has happened, so that it continues now."""

    def is_idle(self, view: View) -> bool:
        """Whether a retry changes nothing unless something else happens first."""


class _Evicting(msgspec.Struct):
    """An evictor, when it tries next, and the event with which it began."""

    evictor: Evictor
    due: float | None
    because: int


class Evictors:
    """All evictors, in the order of their start."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        self._active: list[_Evicting] = []
        #: When each evictor was done, by name.
        self.ended: dict[str, float] = {}

    def fork(self, api_server: ApiServer) -> Evictors:
        """An independent copy that works in a fork of the simulation."""
        other = Evictors(api_server)
        other._active = [_Evicting(each.evictor.fork(), each.due, each.because) for each in self._active]
        other.ended = self.ended.copy()
        return other

    @property
    def names(self) -> list[str]:
        """The names of the evictors that are not done."""
        return [each.evictor.name for each in self._active]

    @property
    def left(self) -> Hashable:
        """The remaining work of all."""
        return tuple(each.evictor.left for each in self._active)

    def begin(self, evictor: Evictor) -> None:
        """Start an evictor."""
        because = self._api_server.note(None, "user", "ran", ObjectRef.parse(evictor.name))
        self._active.append(_Evicting(evictor, self._api_server.now, because))

    def next(self, *, alone: bool = False) -> float | None:
        """When the next one is due; `alone`: without evictors that change nothing unless something else happens."""
        return earliest(*(each.due for each in self._active if not alone or not each.evictor.is_idle(self._api_server)))

    def act(self) -> None:
        """Run all evictors that are due, or whose event has happened."""
        api_server = self._api_server
        for each in self._active:
            evictor = each.evictor
            is_due = each.due is not None and each.due <= api_server.now
            if not (is_due or evictor.is_waiting_for(api_server)):
                continue
            outcome = evictor.attempt(api_server)
            for write in outcome.writes:
                api_server.write(write, evictor.name, each.because)
            each.due = None if evictor.done else outcome.again
            if outcome.writes and not evictor.done and evictor.is_waiting_for(api_server):
                each.due = api_server.now  # a finished pod is gone at once, and nothing else reports it
            if evictor.done:
                self.ended[evictor.name] = api_server.now
        self._active = [each for each in self._active if not each.evictor.done]
