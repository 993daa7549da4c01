"""A little cluster for tests of controllers: it carries out their writes at once, and does nothing by itself.

Nothing is scheduled, and no kubelet runs: a test says what becomes of pods.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, Forbidden
from kwhatif.controllers.contract import Create, DeletePod, How, Remove, SyncResult, Update, Write
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of, parse_time
from kwhatif.kube.model.pod import Pod, PodCondition, is_terminal
from kwhatif.simulation.clock import Clock
from kwhatif.state.change import Delete, Upsert
from kwhatif.workloads.names import uid_of
from kwhatif.workloads.removal import active
from tests.builders import snapshot

#: When the world starts.
START = "2026-03-01T00:00:00Z"


class FakeCluster:
    """A `View`, and the machine that runs controllers against it."""

    def __init__(
        self, controllers: Sequence[Any], *objects: Any, deny: Callable[[Any], bool] = lambda _: False
    ) -> None:
        self.controllers = controllers
        self.state = snapshot(*objects)
        self.now = 0.0
        self._clock = Clock(parse_time(START))
        self.silent: dict[str, float] = {}
        self.deny = deny
        #: All writes, in order.
        self.writes: list[Write] = []
        #: The pods that they delete: seconds, how, key.
        self.deleted: list[tuple[float, How, str]] = []
        #: When which key wants to be synced again.
        self._timers: dict[tuple[Any, str], float] = {}
        self._memory: dict[tuple[str, str], dict[str, Any]] = {}
        #: By controller, the keys to sync.
        self._due: defaultdict[Any, set[str]] = defaultdict(set)
        #: Who has written something since nobody had anything to do.
        self._wrote: set[tuple[Any, str]] = set()
        self._incarnations = 0
        self._numbers = count(1)
        #: When each object came, as a number; those of the start have none.
        self._came: dict[tuple[type, str], int] = {}

    # --- the view ------------------------------------------------------------------------------------

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
        found = [obj for obj in of_kind if is_owned(obj)]
        return sorted(found, key=lambda obj: self._came.get((kind, key_of(obj)), 0))

    def at(self, time: str) -> float:
        return self._clock.at(time)

    def stamp(self, seconds: float) -> str:
        return self._clock.stamp(seconds)

    def memory(self, controller: str, key: str) -> dict[str, Any]:
        return self._memory.setdefault((controller, key), {})

    @property
    def timers(self) -> dict[tuple[str, str], float]:
        """By the controller's name and the key."""
        return {(controller.name, key): when for (controller, key), when in self._timers.items()}

    # --- what happens --------------------------------------------------------------------------------

    def put(self, *objects: Any) -> FakeCluster:
        """The objects are there, or are other ones, from now on."""
        for obj in objects:
            before = self.state.cluster.get(type(obj), key_of(obj))
            if before is None:
                self._came[type(obj), key_of(obj)] = next(self._numbers)
            self.state.apply(Upsert(obj))
            self._changed(before, obj)
        return self

    def remove(self, kind: type, key: str) -> FakeCluster:
        before = self.state.cluster.get(kind, key)
        if before is not None:
            self._came.pop((kind, key), None)
            self.state.apply(Delete(kind, key))
            self._changed(before, None)
        return self

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

    def gone(self, *keys: str) -> FakeCluster:
        """G: the pods are gone."""
        for key in keys:
            self.remove(Pod, key)
        return self

    def evict(self, *keys: str) -> None:
        """D: somebody deletes the pods."""
        for key in keys:
            self._delete(DeletePod(key, "Deleted"))

    def pods(self) -> dict[str, Pod]:
        return dict(self.state.cluster.all(Pod))

    # --- controllers ---------------------------------------------------------------------------------

    def settle(self) -> FakeCluster:
        """Everybody reacts until nobody has anything to do at this moment."""
        for _ in range(1000):
            if not any(self._due.values()):
                self._check_rest()
                return self
            for controller in self.controllers:
                for key in sorted(self._due[controller]):
                    self._due[controller].remove(key)
                    self._carry_out(controller, key, controller.sync(key, self))
        raise AssertionError("never settles")

    def ask(self, key: str) -> FakeCluster:
        """The first controller looks at the key, and everybody reacts."""
        self._due[self.controllers[0]].add(key)
        return self.settle()

    def write(self, *writes: Write) -> FakeCluster:
        """Somebody else writes these, and everybody reacts."""
        for write in writes:
            self._make(write)
        return self.settle()

    def wait(self, seconds: float) -> FakeCluster:
        """Time goes by; everybody whose time comes reacts."""
        return self.until(self.now + seconds)

    def until(self, end: float) -> FakeCluster:
        """The same, until this moment."""
        self.settle()
        while self._timers and min(self._timers.values()) <= end:
            self.now = max(self.now, min(self._timers.values()))
            for (controller, key), when in self._timers.items():
                if when <= self.now:
                    self._due[controller].add(key)
            self.settle()
        self.now = end
        return self

    def _carry_out(self, controller: Any, key: str, outcome: SyncResult) -> None:
        place = controller, key
        self._timers.pop(place, None)
        times = [time for time in (outcome.again, outcome.deadline) if time is not None]
        if times:
            assert min(times) > self.now, f"{controller.name} {key} wants to be synced again at once"
            self._timers[place] = min(times)
        for write in outcome.writes:
            self._wrote.add(place)
            denied = self._make(write)
            if denied is not None:
                self._wrote.remove(place)
                self._carry_out(controller, key, controller.refused(key, self))
                return

    def _check_rest(self) -> None:
        """Whoever wrote something has nothing to write any more, also where its own writes do not concern it."""
        for controller, key in self._wrote:
            assert not controller.sync(key, self).writes, f"{controller.name} {key} always writes something"
        self._wrote.clear()

    def _make(self, write: Write) -> Denied | None:
        if isinstance(write, Create) and self.deny(write.obj):
            return Denied("no", Forbidden("Test"))
        self.writes.append(write)
        match write:
            case Create():
                self.put(self._stored(write.obj))
            case Update():
                self.put(write.obj)
            case DeletePod():
                self.deleted.append((self.now, write.how, write.key))
                self._delete(write)
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

    def _delete(self, write: DeletePod) -> None:
        pod = self.pod(write.key)
        if not pod.spec.node_name or is_terminal(pod) or write.grace == 0:
            self.remove(Pod, write.key)
        elif pod.metadata.deletion_timestamp is None:
            stamped = replace(pod.metadata, deletion_timestamp=self.stamp(self.now + 30))
            conditions = (*pod.status.conditions, write.condition) if write.condition else pod.status.conditions
            self.put(replace(pod, metadata=stamped, status=replace(pod.status, conditions=conditions)))

    def _changed(self, before: Any, after: Any) -> None:
        kind = type(before if after is None else after)
        for controller in self.controllers:
            if kind in controller.watches:
                self._due[controller].update(controller.concerns(before, after, self))
