"""`Controller`: the interface of controllers, the `View` that they see, and the writes that they return.

A controller computes writes from the current state. Between two syncs it keeps only what is in `View.memory`, it uses
only the clock `View.now`, and it changes nothing itself: its caller applies the writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef
from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.state.state import State

T = TypeVar("T", bound=KubernetesObject)

#: Why a pod is gone.
How = Literal[
    "Preempted",
    "Evicted",
    "TaintEviction",
    "DeviceTaintEviction",
    "PodGC",
    "Deleted",
    "ScaledDown",
    "RolledOut",
    "Completed",
    "Garbage",
]


class Create(msgspec.Struct, frozen=True):
    """POST: create an object. Admission completes or rejects it (`BackingOff`).

    The caller sets what the API server sets: `creationTimestamp`, a UID if it has none (different from that of earlier
    objects with its name), and the phase Pending for a pod.
    """

    obj: Any
    #: Whether the API server has already admitted the pod: then it is stored unchanged.
    stored: bool = False


class Update(msgspec.Struct, frozen=True):
    """PUT: replace the object: metadata, spec and status."""

    obj: Any


class DeletePod(msgspec.Struct, frozen=True):
    """DELETE of a pod: it gets a `deletionTimestamp`, and its kubelet stops it.

    A pod that was never bound, or has finished, is removed at once.
    """

    #: `namespace/name`.
    key: str
    how: How
    #: Seconds; None: the pod's own grace period.
    grace: float | None = None
    #: A condition to set in the pod's status, such as DisruptionTarget.
    condition: PodCondition | None = None
    #: The pod or the PodGroup that preempts it.
    by: ObjectRef | None = None


class Remove(msgspec.Struct, frozen=True):
    """Remove the object at once."""

    kind: type
    #: `namespace/name`, or the name of an object without a namespace.
    key: str
    #: The reason, if it is a pod.
    how: How | None = None


Write = Create | Update | DeletePod | Remove


class SyncResult(msgspec.Struct, frozen=True):
    """The result of a sync."""

    #: The writes, in the order in which the caller makes them.
    writes: tuple[Write, ...] = ()
    #: Simulated time in seconds at which the key must be synced again, even if nothing changes.
    again: float | None = None
    #: Another simulated time in seconds at which the key must be synced again. It does not keep a simulation running:
    #: if nothing else is due, the simulation ends before it.
    deadline: float | None = None


NOTHING = SyncResult()


def earliest(*times: float | None) -> float | None:
    """The earliest of the times that are not None; None if all are."""
    return min((time for time in times if time is not None), default=None)


class Moment(Protocol):
    """The cluster at one moment: all that the Eviction API reads."""

    @property
    def state(self) -> State:
        """All objects; controllers must not change them."""

    @property
    def now(self) -> float:
        """The current time in seconds since the start."""

    def at(self, time: str) -> float:
        """Convert an RFC 3339 time to seconds since the start; a time before the start is negative."""

    def stamp(self, seconds: float) -> str:
        """Convert seconds since the start to an RFC 3339 time."""


class View(Moment, Protocol):
    """What a controller sees of the cluster at one moment."""

    @property
    def silent(self) -> Mapping[str, float]:
        """Names of nodes whose kubelet is silent -> since when, in seconds since the start."""

    def pods_of(self, owner: KubernetesObject) -> Sequence[Pod]:
        """The pods that the object controls, in order of creation.

        This includes terminating and finished pods, until they are gone. The controller is identified by UID if both
        sides have one, otherwise by kind and name. Whether a pod is ready is its condition Ready.
        """

    def count_active(self, owner: KubernetesObject) -> int:
        """The number of its active pods (not terminating or finished), without iterating over them."""

    def owned(self, owner: KubernetesObject, kind: type[T]) -> Sequence[T]:
        """The objects of another kind that it controls, such as a Deployment's ReplicaSets, in order of creation."""

    def memory(self, controller: str, key: str) -> dict[str, Any]:
        """What a controller remembers about a key until the next sync: back-offs, counts.

        It may change the dict; values must be immutable, so that a fork only has to copy the dict.
        """


class Controller(Protocol):
    """One controller."""

    @property
    def name(self) -> str:
        """The kind that it reconciles, such as Deployment: the actor of events is `KIND NAMESPACE/NAME`."""

    @property
    def watches(self) -> Collection[type]:
        """The kinds that it watches: `concerns` is called only for these."""

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """The keys to sync after an object has changed: the event handlers upstream.

        `before` is None for a new object, `after` for a deleted one.
        """

    def sync(self, key: str, view: View) -> SyncResult:
        """Sync a key (`syncHandler`). The caller repeats it until it writes nothing."""


#: Seconds (`DefaultTypedControllerRateLimiter` in `client-go/util/workqueue/default_rate_limiters.go`).
_FIRST, _LONGEST = 0.005, 1000.0
_FAILURES = "failures"


class BackingOff:
    """A controller that creates objects, and retries a key if the API server has rejected one.

    Its queue waits 5 ms after the first failure of a key, then twice as long after each further one.
    """

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
