"""A world for the tests of single controllers: it applies writes, and runs timers, with no scheduler or kubelet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from kwhatif.controllers.contract import Controller, Create, DeletePod, How, Outcome, Remove, Update, Write
from kwhatif.model.cluster import KubernetesObject, key_of
from kwhatif.model.meta import controller_of, parse_time
from kwhatif.model.pod import Pod, is_terminal
from kwhatif.state.change import Change, Delete, Upsert
from kwhatif.state.state import State
from kwhatif.workloads.removal import active

#: When the world starts.
START = "2026-01-01T00:00:00Z"


class SmallWorld:
    """A `View` whose pods are being deleted for ever, unless a controller removes them; those never bound go at once."""

    def __init__(self, state: State, *controllers: Controller) -> None:
        self.state = state
        self.now = 0.0
        self.silent: dict[str, float] = {}
        #: What happened to pods: seconds, how, key.
        self.gone: list[tuple[float, How | None, str]] = []
        self._controllers = controllers
        self._due: dict[tuple[Controller, str], float] = {}
        self._memory: dict[tuple[str, str], dict[str, Any]] = {}

    # --- the view ------------------------------------------------------------------------------------

    def pods_of(self, owner: KubernetesObject) -> Sequence[Pod]:
        return self.owned(owner, Pod)

    def count_active(self, owner: KubernetesObject) -> int:
        return len(active(self.pods_of(owner)))

    def owned(self, owner: KubernetesObject, kind: type[Any]) -> Sequence[Any]:
        found = []
        for obj in self.state.cluster.all(kind).values():
            by = controller_of(obj.metadata)
            if by is not None and (by.kind, by.name) == (type(owner).__name__, owner.metadata.name):
                found.append(obj)
        return found

    def at(self, time: str) -> float:
        return (parse_time(time) - parse_time(START)) / 1e9

    def stamp(self, seconds: float) -> str:
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        return moment.isoformat().replace("+00:00", "Z")

    def memory(self, controller: str, key: str) -> dict[str, Any]:
        return self._memory.setdefault((controller, key), {})

    # --- what happens --------------------------------------------------------------------------------

    def change(self, *objects: KubernetesObject) -> None:
        """Somebody writes these; everybody reacts."""
        self.write(*map(Update, objects))

    def delete(self, obj: KubernetesObject) -> None:
        """Somebody takes this away; everybody reacts."""
        self._apply(obj, None, Delete.of(obj))
        self._react()

    def write(self, *writes: Write) -> None:
        """These are done, and everybody reacts."""
        for write in writes:
            self._write(write)
        self._react()

    def ask(self, *keys: str) -> None:
        """Have the first controller sync these keys now."""
        self._due.update({(self._controllers[0], key): self.now for key in keys})
        self._react()

    def until(self, end: float) -> None:
        """Let the time pass."""
        while self._due and min(self._due.values()) <= end:
            self.now = max(self.now, min(self._due.values()))
            self._react()
        self.now = end

    @property
    def next_due(self) -> float | None:
        """When the next timer is up."""
        return min(self._due.values(), default=None)

    def _react(self) -> None:
        for _ in range(1000):
            due = [entry for entry, at in self._due.items() if at <= self.now]
            if not due:
                return
            order = {controller: place for place, controller in enumerate(self._controllers)}
            controller, key = min(due, key=lambda entry: (order[entry[0]], entry[1]))
            del self._due[controller, key]
            outcome: Outcome = controller.sync(key, self)
            if outcome.again is not None:
                assert outcome.again > self.now, f"{controller.name} {key} wants to be synced again at once"
                self._due[controller, key] = min(outcome.again, self._due.get((controller, key), outcome.again))
            for write in outcome.writes:
                self._write(write)
        raise AssertionError("the controllers never come to rest")

    def _write(self, write: Write) -> None:
        match write:
            case Create(obj) | Update(obj):
                self._apply(self.state.cluster.get(type(obj), key_of(obj)), obj, Upsert(obj))
            case DeletePod():
                self._delete_pod(write)
            case Remove(kind, key, how):
                before = self.state.cluster.get(kind, key)
                if kind is Pod:
                    self.gone.append((self.now, how, key))
                self._apply(before, None, Delete(kind, key))

    def _delete_pod(self, write: DeletePod) -> None:
        pod = self.state.cluster.get(Pod, write.key)
        if pod is None:
            return
        if pod.metadata.deletion_timestamp is None:
            self.gone.append((self.now, write.how, write.key))
        if is_terminal(pod) or not pod.spec.node_name or write.grace == 0:
            self._apply(pod, None, Delete(Pod, write.key))
            return
        if pod.metadata.deletion_timestamp is not None:
            return
        conditions = (*pod.status.conditions, *([write.condition] if write.condition else []))
        after = replace(
            pod,
            metadata=replace(pod.metadata, deletion_timestamp=self.stamp(self.now + 30)),
            status=replace(pod.status, conditions=conditions),
        )
        self._apply(pod, after, Upsert(after))

    def _apply(self, before: KubernetesObject | None, after: KubernetesObject | None, change: Change) -> None:
        self.state.apply(change)
        for controller in self._controllers:
            for key in controller.concerns(before, after, self):
                self._due[controller, key] = self.now
