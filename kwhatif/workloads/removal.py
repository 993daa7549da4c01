"""Which pods a controller deletes first (`pkg/controller/controller_utils.go`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cmp_to_key
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.matching.labels import parse_int64
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.pod import ContainerStatus, Pod, PodCondition, is_ready, is_terminal, pod_condition

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_ALWAYS = "Always"
_COSTS = range(-(2**31), 2**31)


def active(pods: Iterable[Pod]) -> list[Pod]:
    """Those that are not on their way out already (`IsPodActive`)."""
    # As `is_active`, without a call for each of a hundred thousand pods.
    return [pod for pod in pods if pod.metadata.deletion_timestamp is None and not is_terminal(pod)]


def is_active(pod: Pod) -> bool:
    """Whether the pod is neither terminating nor at its end."""
    return pod.metadata.deletion_timestamp is None and not is_terminal(pod)


def is_available(pod: Pod) -> bool:
    """Whether the pod does its work; one that runs somewhere does, unless it is said not to be ready."""
    ready = pod_condition(pod, "Ready")
    return bool(pod.spec.node_name) and (ready is None or ready.status == "True")


def as_ready(pod: Pod) -> Pod:
    """The pod once it runs and is ready."""
    status = replace(pod.status, phase="Running", conditions=(PodCondition(type="Ready", status="True"),))
    return replace(pod, status=status)


def removed_first(pods: Sequence[Pod], related: Iterable[Pod] = (), now: int | None = None) -> list[Pod]:
    """The pods of one ReplicaSet or ReplicationController, those that go first in front (`ActivePodsWithRanks`).

    Args:
        pods: theirs.
        related: all pods of all ReplicaSets of the same Deployment: of pods that are otherwise equal, one goes from
            where there are most of these. None, for a controller without a Deployment.
        now: nanoseconds since the epoch: ages are compared by their magnitude to the base of 2, pods of equally old
            ones by their UIDs. None: the younger pod goes.

    Upstream's sort leaves open which of two equal pods comes first; here that goes by namespace and name.
    """
    crowd = Counter(pod.spec.node_name for pod in active(related))
    return _sorted([_Rank.of(pod, crowd[pod.spec.node_name], _cost(pod)) for pod in pods], now)


def removed_first_of_job(pods: Sequence[Pod]) -> list[Pod]:
    """The pods of one Job, those that go first in front (`ActivePods`).

    Unlike with `removed_first`, neither costs nor neighbours count, and times are compared as they are.
    """
    return _sorted([_Rank.of(pod, 0, 0) for pod in pods], None)


class _Rank(NamedTuple):
    """What is compared of a pod."""

    pod: Pod
    #: Bound, phase, ready, cost, fewer neighbours: the lower ones go first.
    place: tuple[bool, int, bool, int, int]
    #: Since when it has been ready; None: not known.
    ready: int | None
    #: Restarts of a container, of a sidecar, the most of each; negative.
    restarts: tuple[int, int]
    created: int | None

    @classmethod
    def of(cls, pod: Pod, crowd: int, cost: int) -> _Rank:
        """The rank of a pod; `crowd`: how many active pods of the same Deployment are on its node."""
        ready = pod_condition(pod, "Ready") if is_ready(pod) else None
        place = (bool(pod.spec.node_name), _PHASES.get(pod.status.phase, 0), ready is not None, cost, -crowd)
        return cls(
            pod,
            place,
            _time(ready.last_transition_time if ready else None),
            _restarts(pod),
            _time(pod.metadata.creation_timestamp),
        )


def _time(text: str | None) -> int | None:
    return parse_time(text) if text else None


def _cost(pod: Pod) -> int:
    """What its annotation says; 0 where that is not a number of 32 bits (`GetDeletionCostFromPodAnnotations`)."""
    text = pod.metadata.annotations.deletion_cost
    # QUIRK: upstream takes leading zeros for a mistake, but not behind a minus sign.
    is_wrong = text.startswith(("+", "0")) and text != "0"
    cost = None if is_wrong else parse_int64(text)
    return cost if cost is not None and cost in _COSTS else 0


def _restarts(pod: Pod) -> tuple[int, int]:
    return -_most(pod.status.container_statuses), -_most(sidecar_statuses(pod))


def sidecar_statuses(pod: Pod) -> Iterator[ContainerStatus]:
    """The states of its init containers that run beside the others."""
    sidecars = {container.name for container in pod.spec.init_containers if container.restart_policy == _ALWAYS}
    return (status for status in pod.status.init_container_statuses if status.name in sidecars)


def _most(statuses: Iterable[ContainerStatus]) -> int:
    return max((status.restart_count for status in statuses), default=0)


def _sorted(ranks: list[_Rank], now: int | None) -> list[Pod]:
    ranks.sort(key=lambda rank: key_of(rank.pod))
    ranks.sort(key=lambda rank: rank.place)

    # What is left are comparisons that do not order by a key: equal times go on to the next rule, other ones of the
    # same magnitude are ordered by UID.
    def compare(one: _Rank, other: _Rank) -> int:
        return _compare(one, other, now)

    ranks.sort(key=cmp_to_key(compare))
    return [rank.pod for rank in ranks]


def _compare(one: _Rank, other: _Rank, now: int | None) -> int:
    """Negative: the first pod goes first."""
    if one.place != other.place:
        return -1 if one.place < other.place else 1
    if one.ready != other.ready:
        return _younger(one.ready, other.ready, one, other, now)
    if one.restarts != other.restarts:
        return -1 if one.restarts < other.restarts else 1
    if one.created != other.created:
        return _younger(one.created, other.created, one, other, now)
    return 0


def _younger(time: int | None, others: int | None, one: _Rank, other: _Rank, now: int | None) -> int:
    """An unknown time comes before all others."""
    if time is None or others is None:
        return -1 if time is None else 1
    if now is None:
        return -1 if time > others else 1
    difference = _magnitude(now - time) - _magnitude(now - others)
    if difference:
        return difference
    return -1 if one.pod.metadata.uid < other.pod.metadata.uid else 1


def _magnitude(age: int) -> int:
    return int(math.log2(age)) if age > 0 else -1
