"""The work queues of controllers: which keys they have to sync after a change, round by round."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from itertools import chain
from typing import NamedTuple

from kwhatif.admission.outcome import Denied, QuotaExceeded
from kwhatif.controllers.contract import BackingOff, Controller, Create, SyncResult
from kwhatif.controllers.controller_refs import ControllerRefs
from kwhatif.kube.model.cluster import KubernetesObject, list_order
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.clock import Agenda
from kwhatif.workloads.survey import survey_of

#: After this many timers in a row without a write, a key is only checked for something to do.
_IDLE_AFTER = 30


class _Timer(NamedTuple):
    controller: int
    key: str
    time: float
    because: int | None


class CreateRefusal(NamedTuple):
    """The API server refuses what a controller would create."""

    #: The controller with the key of its object, as in events.
    actor: str
    obj: KubernetesObject
    denied: Denied
    #: The number of events at the key's first refusal since its last success.
    since: int
    #: The state's generation at the last refusal: until it changes, a retry fails.
    generation: int
    #: When the controller would retry.
    retry: float | None


class LivelockError(Exception):
    """Controllers react to each other endlessly while no time passes."""


class Reactions:
    """The work queues of all controllers."""

    def __init__(self, api_server: ApiServer, controllers: Sequence[Controller]) -> None:
        """`controllers`: in the order in which they act at one moment."""
        self._api_server = api_server
        self._controllers = controllers
        #: By kind, the numbers of the controllers that watch it.
        self._watching: dict[type, list[int]] = {}
        #: By controller: the keys to sync, each with the event that caused it.
        self._due: list[dict[str, int | None]] = [{} for _ in controllers]
        #: Names of controllers -> the numbers of all other controllers.
        self._others: dict[tuple[str, ...], Sequence[int]] = {}
        self._timers: Agenda[_Timer] = Agenda()
        #: When each key is to be synced again.
        self._again: dict[tuple[int, str], float] = {}
        #: The deadline of each key, which is not waited for (`SyncResult.deadline`).
        self._deadlines: dict[tuple[int, str], float] = {}
        #: The number of a key's consecutive timers that changed nothing.
        self._vain: dict[tuple[int, str], int] = {}
        #: The last refusal of each key that still wants to create the object.
        self.refusals: dict[tuple[int, str], CreateRefusal] = {}
        api_server.watchers.append(self._observe)

    def fork(self, api_server: ApiServer) -> Reactions:
        """An independent copy for a fork of the simulation, in which the same keys and timers are due."""
        other = copy(self)
        other._api_server = api_server
        other._due, other._timers = [due.copy() for due in self._due], self._timers.fork()
        other._again, other._deadlines = self._again.copy(), self._deadlines.copy()
        other._vain, other.refusals = self._vain.copy(), self.refusals.copy()
        api_server.watchers.append(other._observe)
        return other

    def start(self, edited: Iterable[tuple[KubernetesObject | None, KubernetesObject]] = ()) -> None:
        """Every controller syncs everything once, as after a restart.

        Left out are running pods, which their controllers sync anyway; budgets, which are already counted
        (`disruption.recounted`); and ownership: a running controller has already adopted what it selects. Only what
        was edited (before, after) is new to it.
        """
        cluster = self._api_server.state.cluster
        for kind in list(cluster.counts()):
            objects: Iterable[KubernetesObject] = cluster.all(kind).values()
            if kind is Pod:
                objects = chain(survey_of(cluster).restless, self._api_server.pods_without_controller())
            for obj in [each for each in objects if not _is_counted(each)]:
                self._observe(None, obj, None)
        for number, controller in enumerate(self._controllers):
            if isinstance(controller, ControllerRefs):
                self._due[number].clear()
        for before, after in edited:
            self._observe(before, after, None)

    def sync_soon(self, name: str) -> None:
        """Make the only key of the controller of that name due."""
        for number, controller in enumerate(self._controllers):
            if controller.name == name:
                self._due[number].setdefault("", None)

    def look_at(self, obj: KubernetesObject | None, event: int | None) -> None:
        """Every controller of the object syncs it, as if it were new."""
        if obj is not None:
            self._observe(None, obj, event)

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        kind = type(after if before is None else before)
        watching = self._watching.get(kind)
        if watching is None:
            controllers = enumerate(self._controllers)
            watching = self._watching[kind] = [number for number, one in controllers if kind in one.watches]
        for number in watching:
            due = self._due[number]
            for key in self._controllers[number].concerns(before, after, self._api_server):
                due.setdefault(key, event)

    # --- timers --------------------------------------------------------------------------------------

    def next(self, without: Collection[str] = ()) -> float | None:
        """When the next timer that may change anything is due, without controllers of these names; None: never."""
        awaited = self._awaited()
        times = (time for sync, time in awaited.items() if self._controllers[sync[0]].name not in without)
        return min(times if without else awaited.values(), default=None)

    def next_key(self) -> str:
        """The key of that timer: `Job shop/report`; "" if no timer runs."""
        awaited = self._awaited()
        number, key = min(awaited, key=awaited.__getitem__, default=(0, ""))
        return f"{self._controllers[number].name} {key}".rstrip() if awaited else ""

    def _awaited(self) -> dict[tuple[int, str], float]:
        """The timers that may change anything."""
        in_vain = self._in_vain()
        return {
            sync: time
            for sync, time in self._again.items()
            if self._vain.get(sync, 0) < _IDLE_AFTER and sync not in in_vain
        }

    def retry(self) -> None:
        """Make the keys due that `next` skips because a retry would fail."""
        idle = {sync for sync, count in self._vain.items() if count >= _IDLE_AFTER}
        for number, key in sorted({*self._in_vain(), *idle}):
            self._due[number].setdefault(key, None)
        self.react()

    def retry_refused(self) -> None:
        """Make all keys due that a quota has refused."""
        for (number, key), refusal in self.refusals.items():
            if isinstance(refusal.denied.cause, QuotaExceeded):
                self._due[number].setdefault(key, None)

    def _in_vain(self) -> set[tuple[int, str]]:
        """The keys whose creation was refused, if nothing has changed since."""
        unchanged = self._api_server.state.generation
        return {sync for sync, refusal in self.refusals.items() if refusal.generation == unchanged}

    def next_deadline(self) -> float | None:
        """The next deadline, which is not waited for."""
        return min(self._deadlines.values(), default=None)

    def next_of_all(self) -> float | None:
        """When the next timer or deadline is due."""
        return min((*self._again.values(), *self._deadlines.values()), default=None)

    def is_due_since(self, time: float) -> bool:
        """Whether a timer that already ran at that time still runs."""
        timers = self._timers.known_since(time)
        return any(self._again.get((timer.controller, timer.key)) == timer.time for timer in timers)

    def tick(self) -> None:
        """Timers that are due make their keys due."""
        for timer in self._timers.take(self._api_server.now):
            sync = timer.controller, timer.key
            if self._deadlines.get(sync) == timer.time:
                del self._deadlines[sync]
                self._due[timer.controller].setdefault(timer.key, timer.because)
            if self._again.get(sync) == timer.time:
                retry = self._later_retry(sync, timer.time)
                if retry is not None:
                    self._wake_again(self._again, *sync, retry, timer.because)
                    continue
                del self._again[sync]
                self._vain[sync] = self._vain.get(sync, 0) + 1
                self._due[timer.controller].setdefault(timer.key, timer.because)

    def _later_retry(self, sync: tuple[int, str], due: float) -> float | None:
        """When a refused key retries whose last retry was skipped because nothing had changed; None if now."""
        refusal, controller = self.refusals.get(sync), self._controllers[sync[0]]
        if (
            refusal is None
            or refusal.retry != due
            or due >= self._api_server.now
            or not isinstance(controller, BackingOff)
        ):
            return None
        retry = controller.skipped(due, sync[1], self._api_server)
        self.refusals[sync] = refusal._replace(retry=retry)
        return retry if retry > self._api_server.now else None

    def _wake_again(
        self, times: dict[tuple[int, str], float], number: int, key: str, time: float | None, because: int | None
    ) -> None:
        sync = number, key
        if time is None:
            times.pop(sync, None)
            return
        time = max(time, self._api_server.now)
        if times.get(sync) != time:
            times[sync] = time
            timer = _Timer(number, key, time, because)
            self._timers.put(time, f"{number:02} {list_order(key)}", timer, self._api_server.now)

    # --- syncs ---------------------------------------------------------------------------------------

    def react(self, without: Collection[str] = ()) -> None:
        """Let all controllers, except these, sync their due keys, until no key is due.

        Raises:
            LivelockError: they never settle.
        """
        numbers = self._numbers(tuple(without))
        rounds = 0
        while any(map(self._due.__getitem__, numbers)):
            rounds += 1
            if rounds > 10 * len(self._api_server.state.pods) + 10_000:
                names = {f"{self._controllers[number].name} {key}" for number in numbers for key in self._due[number]}
                raise LivelockError(f"controllers react to each other without end: {', '.join(sorted(names)[:5])}")
            for number in numbers:
                due = self._due[number]
                for key in sorted(due, key=list_order):
                    self._sync(number, key, due.pop(key))

    def _numbers(self, without: tuple[str, ...]) -> Sequence[int]:
        """The numbers of the controllers that have other names: asked for after each attempt of the scheduler."""
        known = self._others.get(without)
        if known is None:
            found = [number for number, one in enumerate(self._controllers) if one.name not in without]
            known = self._others[without] = found
        return known

    def _sync(self, number: int, key: str, because: int | None) -> None:
        controller = self._controllers[number]
        outcome = controller.sync(key, self._api_server)
        self._wake_again(self._deadlines, number, key, outcome.deadline, because)
        self._carry_out(number, key, outcome, because)

    def _carry_out(self, number: int, key: str, outcome: SyncResult, because: int | None) -> None:
        controller = self._controllers[number]
        if outcome.writes:
            self._vain.pop((number, key), None)
        elif outcome.again is None:  # it has all that it wants
            self.refusals.pop((number, key), None)
        self._wake_again(self._again, number, key, outcome.again, because)
        actor = f"{controller.name} {key}".rstrip()
        for write in outcome.writes:
            denied = self._api_server.write(write, actor, because)
            if not isinstance(write, Create):
                continue
            if denied is None:
                self.refusals.pop((number, key), None)
                continue
            if isinstance(controller, BackingOff):
                self._carry_out(number, key, controller.refused(key, self._api_server), because)
            known = self.refusals.get((number, key))
            since = len(self._api_server.history.events) if known is None else known.since
            self.refusals[number, key] = CreateRefusal(
                actor, write.obj, denied, since, self._api_server.state.generation, self._again.get((number, key))
            )
            return


def _is_counted(obj: KubernetesObject) -> bool:
    return isinstance(obj, PodDisruptionBudget) and obj.status is not None and not obj.status.disrupted_pods
