"""`Controller`: what every controller answers, the `View` that it sees, and the writes that it makes.

A controller is a set of functions from what there is to what it writes. It keeps nothing between two syncs but what
`View.memory` holds, asks no clock but `View.now`, and changes nothing itself: whoever runs it applies its writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_status import PodCondition
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
    """POST: the object is new. Admission completes it, or refuses it (`BackingOff`).

    Whoever makes it gives it what the API server does: `creationTimestamp`, a UID where it has none (another one than
    earlier objects of its name had), and a pod the phase Pending.
    """

    obj: Any


class Update(msgspec.Struct, frozen=True):
    """PUT: the object as it is from now on, metadata, spec and status."""

    obj: Any


class DeletePod(msgspec.Struct, frozen=True):
    """DELETE of a pod: it gets its `deletionTimestamp`, and its kubelet stops it.

    A pod that was never bound, or whose phase is final, is gone at once.
    """

    #: `namespace/name`.
    key: str
    how: How
    #: Seconds; None: what the pod says.
    grace: float | None = None
    #: Written into the pod's status with it, such as DisruptionTarget.
    condition: PodCondition | None = None
    #: Who gets its place, or asked for it, such as the key of the preemptor.
    by: str = ""


class Remove(msgspec.Struct, frozen=True):
    """The object is gone at once."""

    kind: type
    #: `namespace/name`, or the name of an object without a namespace.
    key: str
    #: Why it is gone, if it is a pod.
    how: How | None = None


Write = Create | Update | DeletePod | Remove


class SyncResult(msgspec.Struct, frozen=True):
    """What a sync does."""

    #: In this order.
    writes: tuple[Write, ...] = ()
    #: Simulated time, in seconds, at which the key is to be synced again, whatever happens until then.
    again: float | None = None
    #: Simulated time, in seconds, at which the key is to be synced again, too. Nobody waits for it: a simulation in
    #: which nothing else is due any more ends before it.
    deadline: float | None = None


NOTHING = SyncResult()


def earliest(*times: float | None) -> float | None:
    """The first of the times that there are; None if there are none."""
    return min((time for time in times if time is not None), default=None)


class Moment(Protocol):
    """The world at one moment: all that the Eviction API looks at."""

    @property
    def state(self) -> State:
        """All objects. Controllers only read it."""

    @property
    def now(self) -> float:
        """Seconds since the start."""

    def at(self, time: str) -> float:
        """An RFC 3339 time in seconds since the start; before the start it is negative."""

    def stamp(self, seconds: float) -> str:
        """Seconds since the start as an RFC 3339 time."""


class View(Moment, Protocol):
    """What a controller sees of the world at one moment."""

    @property
    def silent(self) -> Mapping[str, float]:
        """The names of nodes whose kubelet is silent, and since when: seconds since the start."""

    def pods_of(self, owner: KubernetesObject) -> Sequence[Pod]:
        """The pods that the object controls, in the order of their creation.

        Terminating ones and those with a final phase are among them, until they are gone. The controller's UID decides
        where both sides have one, else its kind and name. Whether one is ready is its condition Ready.
        """

    def count_active(self, owner: KubernetesObject) -> int:
        """How many of them are neither terminating nor at their end; they need not be gone through for that."""

    def owned(self, owner: KubernetesObject, kind: type[T]) -> Sequence[T]:
        """The objects of another kind that it controls, such as a Deployment's ReplicaSets, in the same order."""

    def memory(self, controller: str, key: str) -> dict[str, Any]:
        """What a controller wants to know of a key at its next sync: back-offs, counts.

        It may change the dict; values must be immutable, so that a copy of the dict is all that a fork needs.
        """


class Controller(Protocol):
    """One controller."""

    @property
    def name(self) -> str:
        """The kind that it is for, such as Deployment: the actor of a story is `KIND NAMESPACE/NAME`."""

    @property
    def watches(self) -> Collection[type]:
        """The kinds of which a change may concern it: of no other one is it asked `concerns`."""

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """Keys to sync because an object changed: its event handlers upstream.

        `before` is None for a new object, `after` for one that is gone.
        """

    def sync(self, key: str, view: View) -> SyncResult:
        """One sync of a key (`syncHandler`). It is repeated until it writes nothing."""
