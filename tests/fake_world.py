"""A little world for tests of controllers: it makes their writes at once, and does nothing by itself.

Nothing is scheduled, and no kubelet runs: a test says what becomes of pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.denied import Denied
from kwhatif.controllers.contract import Create, DeletePod, Outcome, Remove, Update, Write
from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.meta import controller_of, parse_time
from kwhatif.model.pod import Pod, is_terminal
from kwhatif.model.pod_status import PodCondition
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.state import State
from kwhatif.workloads.generated import uid_of
from kwhatif.workloads.removal import active

START = "2026-03-01T00:00:00Z"


class World:
    """A `View`, and the machine that runs controllers against it."""

    def __init__(
        self, controllers: Sequence[Any], *objects: Any, deny: Callable[[Any], bool] = lambda _: False
    ) -> None:
        self.controllers = controllers
        self.state = State(Cluster(objects))
        self.now = 0.0
        self.deny = deny
        #: All writes, in order, as (controller, key, write).
        self.writes: list[tuple[str, str, Write]] = []
        #: When which key wants to be synced again.
        self.timers: dict[tuple[str, str], float] = {}
        self._memory: dict[tuple[str, str], dict[str, Any]] = {}
        self._due: dict[tuple[int, str], None] = {}
        self._incarnations = 0

    # --- the view ------------------------------------------------------------------------------------

    @property
    def silent(self) -> dict[str, float]:
        return {}

    def pods_of(self, owner: Any) -> list[Pod]:
        return self.owned(owner, Pod)

    def count_active(self, owner: Any) -> int:
        return len(active(self.pods_of(owner)))

    def owned(self, owner: Any, kind: type) -> list[Any]:
        def is_owned(obj: Any) -> bool:
            reference, meta = controller_of(obj.metadata), owner.metadata
            return (
                reference is not None
                and (obj.metadata.namespace, reference.kind, reference.name)
                == (meta.namespace, type(owner).__name__, meta.name)
                and (not meta.uid or not reference.uid or meta.uid == reference.uid)
            )

        of_kind: Iterable[Any] = self.state.cluster.all(kind).values()
        return [obj for obj in of_kind if is_owned(obj)]

    def at(self, time: str) -> float:
        return (parse_time(time) - parse_time(START)) / 1e9

    def stamp(self, seconds: float) -> str:
        moment = datetime.fromisoformat(START).astimezone(UTC) + timedelta(seconds=seconds)
        return moment.isoformat().replace("+00:00", "Z")

    def memory(self, controller: str, key: str) -> dict[str, Any]:
        return self._memory.setdefault((controller, key), {})

    # --- what happens --------------------------------------------------------------------------------

    def put(self, obj: Any) -> None:
        """The object is there, or is another one, from now on."""
        before = self.state.cluster.get(type(obj), key_of(obj))
        self.state.apply(Upsert(obj))
        self._changed(before, obj)

    def remove(self, kind: type, key: str) -> None:
        before = self.state.cluster.get(kind, key)
        if before is not None:
            self.state.apply(Delete(kind, key))
            self._changed(before, None)

    def pod(self, key: str) -> Pod:
        found = self.state.cluster.get(Pod, key)
        assert found is not None, key
        return found

    def runs(self, *keys: str, node: str = "n1", ready: bool = True) -> None:
        """The pods are on the node, and run; and are ready."""
        for key in keys:
            pod = self.pod(key)
            condition = PodCondition(
                type="Ready", status="True" if ready else "False", last_transition_time=self.stamp(self.now)
            )
            status = replace(pod.status, phase="Running", conditions=(condition,))
            self.put(replace(pod, spec=replace(pod.spec, node_name=pod.spec.node_name or node), status=status))

    def all_run(self, node: str = "n1") -> None:
        """All pods that are pending do."""
        self.runs(*(key for key, pod in self.pods().items() if pod.status.phase == "Pending"), node=node)

    def ends(self, key: str, phase: str = "Failed", **status: Any) -> None:
        """S: the pod's phase is final."""
        pod = self.pod(key)
        self.put(replace(pod, status=replace(pod.status, phase=phase, conditions=(), **status)))

    def gone(self, *keys: str) -> None:
        """G: the pods are gone."""
        for key in keys:
            self.remove(Pod, key)

    def evict(self, *keys: str) -> None:
        """D: somebody deletes the pods."""
        for key in keys:
            self._delete(key)

    def pods(self) -> dict[str, Pod]:
        return dict(self.state.cluster.all(Pod))

    # --- controllers ---------------------------------------------------------------------------------

    def settle(self) -> World:
        """Everybody reacts until nobody has anything to do at this moment."""
        for _ in range(1000):
            due, self._due = self._due, {}
            if not due:
                return self
            for number, key in sorted(due):
                self._sync(self.controllers[number], key)
        raise AssertionError("never settles")

    def wait(self, seconds: float) -> World:
        """Time goes by; everybody whose time comes reacts."""
        until = self.now + seconds
        while True:
            due = [(when, name) for name, when in self.timers.items() if when <= until]
            if not due:
                break
            when, (name, key) = min(due)
            del self.timers[name, key]
            self.now = max(self.now, when)
            number = next(number for number, each in enumerate(self.controllers) if each.name == name)
            self._due[number, key] = None
            self.settle()
        self.now = until
        return self

    def _sync(self, controller: Any, key: str) -> None:
        for _ in range(1000):
            outcome = controller.sync(key, self)
            self._arm(controller, key, outcome)
            for write in outcome.writes:
                denied = self._make(controller, key, write)
                if denied is not None:
                    self._arm(controller, key, controller.refused(key, write, denied, self))
                    return
            if not outcome.writes:
                return
        raise AssertionError(f"{controller.name} {key} always writes something")

    def _arm(self, controller: Any, key: str, outcome: Outcome) -> None:
        self.timers.pop((controller.name, key), None)
        times = [time for time in (outcome.again, outcome.deadline) if time is not None]
        if times:
            assert min(times) > self.now
            self.timers[controller.name, key] = min(times)

    def _make(self, controller: Any, key: str, write: Write) -> Denied | None:
        if isinstance(write, Create) and self.deny(write.obj):
            return Denied("no")
        self.writes.append((controller.name, key, write))
        match write:
            case Create():
                self.put(self._stored(write.obj))
            case Update():
                self.put(write.obj)
            case DeletePod():
                self._delete(write.key, write.condition)
            case Remove():
                self.remove(write.kind, write.key)
        return None

    def _stored(self, obj: Any) -> Any:
        meta = obj.metadata
        assert self.state.cluster.get(type(obj), key_of(obj)) is None, f"{key_of(obj)} is there already"
        self._incarnations += 1
        uid = meta.uid or uid_of(type(obj).__name__, meta.namespace, f"{meta.name} {self._incarnations}")
        obj = replace(obj, metadata=replace(meta, uid=uid, creation_timestamp=self.stamp(self.now)))
        return replace(obj, status=replace(obj.status, phase="Pending")) if isinstance(obj, Pod) else obj

    def _delete(self, key: str, condition: PodCondition | None = None) -> None:
        pod = self.pod(key)
        if not pod.spec.node_name or is_terminal(pod):
            self.remove(Pod, key)
        elif pod.metadata.deletion_timestamp is None:
            stamped = replace(pod.metadata, deletion_timestamp=self.stamp(self.now + 30))
            conditions = (*pod.status.conditions, condition) if condition else pod.status.conditions
            self.put(replace(pod, metadata=stamped, status=replace(pod.status, conditions=conditions)))

    def _changed(self, before: Any, after: Any) -> None:
        for number, controller in enumerate(self.controllers):
            for key in controller.concerns(before, after, self):
                self._due[number, key] = None
