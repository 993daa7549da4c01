"""Endless loops, found by fingerprints: the same picture again, with pods created or deleted in between.

The picture has everything that controllers read and that lasts: pods, nodes, budgets, counts of Jobs, how many
pods workloads want, their revisions, volumes and claims, and what drains have left to do. Times are left out: they
never repeat.

Why something that ends is never reported as a loop: to end, something has to progress with every round, and all that
can progress is in the picture, so a repeated picture means a round without progress. Two things could still deceive.
One: progress may be written late. A Job counts a failed pod up to a second after it
has failed, so the picture before the second failure is counted equals that after the first one. That happens once for
each number; therefore the same picture has to come back once more while the simulation continues on a fork
(`Engine`). Two: a timer, such as a Job's deadline, may run through all rounds; then it is waited for, and a picture
that comes back many times before that is only suspected to be a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy

import msgspec

from kwhatif.controllers.taint_eviction import ready_status
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.kube.model.workload import Deployment, Job, ReplicaSet, ReplicationController, StatefulSet
from kwhatif.simulation.api_server import ApiServer
from kwhatif.workloads.deployment import HASH_LABEL
from kwhatif.workloads.stateful_set import REVISION_LABEL

#: A picture that has come back this often counts as a loop, although something is still due that might end it.
_TIMES = 4
#: Fingerprints are added and subtracted in 64 bits.
_MASK = (1 << 64) - 1
#: A pod of a StatefulSet keeps its name, and that of a DaemonSet its node.
_NAMED = "StatefulSet"
_REVISIONS = (HASH_LABEL, REVISION_LABEL)


class EndlessLoop(msgspec.Struct, frozen=True):
    """One round of an endless loop."""

    #: Seconds since the start.
    start: float
    end: float
    #: The ids of the first event of the round, and of the first one after it.
    first: int
    last: int
    #: Why it is not certain to be endless; "" if it is.
    doubt: str = ""

    @classmethod
    def at_one_moment(cls, api_server: ApiServer, why: str) -> EndlessLoop:
        """A loop at one moment: no time passes."""
        last = len(api_server.history.events)
        return cls(api_server.now, api_server.now, max(0, last - 100), last, why)


class _Seen(msgspec.Struct):
    at: float
    churn: int
    events: int
    #: How often it has come back.
    times: int = 0


class Loops:
    """Maintains the fingerprint of the current state, and remembers earlier fingerprints."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        #: The sum of the fingerprints of all objects added since the start, minus those of removed objects.
        self._sum = 0
        #: The fingerprint of the last picture.
        self._mark = 0
        #: Whether only the picture of `wait_for_return` counts.
        self.is_waiting = False
        self._seen: dict[int, _Seen] = {}
        api_server.watchers.append(self._observe)

    def fork(self, api_server: ApiServer) -> Loops:
        """An independent copy that watches a fork of the simulation."""
        other = copy(self)
        other._api_server, other._seen = api_server, {mark: copy(seen) for mark, seen in self._seen.items()}
        api_server.watchers.append(other._observe)
        return other

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        if isinstance(after if before is None else before, _OBSERVED):
            self._sum += (0 if after is None else _of(after)) - (0 if before is None else _of(before))

    def forget(self) -> None:
        """An action from outside: the past no longer counts."""
        self._seen = {}

    def wait_for_return(self) -> None:
        """From now on only the present picture counts."""
        self._seen = {self._mark: self._present()}
        self.is_waiting = True

    def _present(self) -> _Seen:
        api_server = self._api_server
        return _Seen(api_server.now, api_server.churn, len(api_server.history.events))

    def look(self, evictors: Hashable, is_due_since: Callable[[float], bool]) -> EndlessLoop | None:
        """The loop, if the present picture was there before.

        Args:
            evictors: the progress of evictors.
            is_due_since: whether something that was already due at a time is still to come: it may end the loop.
        """
        self._mark = mark = (self._sum + hash(evictors)) & _MASK
        now = self._present()
        before = self._seen.get(mark) if self.is_waiting else self._seen.setdefault(mark, now)
        if before is None or before is now or now.churn == before.churn or now.at == before.at:
            return None
        if not is_due_since(before.at):
            return EndlessLoop(before.at, now.at, before.events, now.events)
        now.times = before.times + 1
        self._seen[mark] = now
        if now.times < _TIMES:
            return None
        return EndlessLoop(before.at, now.at, before.events, now.events, "something that is yet to come may end it")


_OBSERVED = (
    *(Pod, Node, PodDisruptionBudget, PersistentVolume, PersistentVolumeClaim),
    *(Job, Deployment, ReplicaSet, ReplicationController, StatefulSet),
)


def _of(obj: KubernetesObject) -> int:
    return hash(_picture(obj)) & _MASK


def _picture(obj: KubernetesObject) -> tuple[object, ...]:
    match obj:
        case Pod():
            return _pod(obj)
        case Node():
            return "node", obj.metadata.name, ready_status(obj), obj.spec.unschedulable, frozenset(obj.spec.taints)
        case PodDisruptionBudget():
            return "budget", key_of(obj), obj.status.disruptions_allowed if obj.status else 0
        case Job():
            return "job", key_of(obj), obj.status, obj.spec.parallelism, obj.spec.suspend
        case StatefulSet():
            return "StatefulSet", key_of(obj), obj.spec.replicas, obj.status
        case ReplicaSet():
            return "ReplicaSet", key_of(obj), obj.spec.replicas, obj.metadata.annotations
        case Deployment() | ReplicationController():
            return type(obj).__name__, key_of(obj), obj.spec.replicas
        case PersistentVolume():  # without names: volumes that are made for one pod never repeat
            return "volume", obj.spec.storage_class_name, obj.status.phase, obj.spec.claim_ref is None
        case PersistentVolumeClaim():
            return "claim", obj.metadata.namespace, obj.spec.storage_class_name, bool(obj.spec.volume_name)
    return ()


def _pod(pod: Pod) -> tuple[object, ...]:
    meta, status = pod.metadata, pod.status
    owner = controller_of(meta)
    who = key_of(pod) if owner is None or owner.kind == _NAMED else f"{owner.kind} {meta.namespace}/{owner.name}"
    revision = tuple(meta.labels.get(label, "") for label in _REVISIONS)
    where = pod.spec.node_name, status.nominated_node_name, meta.annotations.completion_index
    return who, revision, _phase(pod), *where


def _phase(pod: Pod) -> str:
    if is_terminal(pod):
        return "over"
    if pod.metadata.deletion_timestamp is not None:
        return "terminating"
    return "ready" if is_ready(pod) else pod.status.phase
