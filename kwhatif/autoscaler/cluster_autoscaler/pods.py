"""Pods as the Cluster Autoscaler sees them: the kind of each, and which are equivalent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.meta import SECOND, controller_of, parse_time
from kwhatif.kube.model.pod import Pod, PodSpec, pod_condition
from kwhatif.kube.model.quantity import parse_duration
from kwhatif.kube.model.storage import Volume
from kwhatif.state.pod_info import PodInfo

#: So long after its grace period a pod that is being deleted counts as gone (`PodLongTerminatingExtraThreshold`).
_EXTRA_SECONDS = 30
#: The most equivalence groups of one controller (`maxEquivalenceGroupsByController`).
_MOST_KINDS = 10


def is_daemon(pod: Pod) -> bool:
    """Whether it is a DaemonSet's, or counts as one (`IsDaemonSetPod` in `utils/pod/pod.go`)."""
    owner = controller_of(pod.metadata)
    return (owner is not None and owner.kind == "DaemonSet") or pod.metadata.annotations.counts_as_daemon == "true"


def is_mirror(pod: Pod) -> bool:
    """Whether it is the mirror of a static pod (`IsMirrorPod`)."""
    return pod.metadata.annotations.mirror is not None


def is_recreatable(pod: Pod) -> bool:
    """Whether a controller replaces it elsewhere (`FilterRecreatablePods`)."""
    source = pod.metadata.annotations.config_source
    is_from_file = source is not None and source != "api"
    return not (is_from_file or is_mirror(pod) or is_daemon(pod))


def is_unschedulable(pod: Pod) -> bool:
    """Whether the scheduler has said that it fits nowhere (`ArrangePodsBySchedulability`)."""
    condition = pod_condition(pod, "PodScheduled")
    return condition is not None and condition.status == "False" and condition.reason == "Unschedulable"


def is_unprocessed(pod: Pod) -> bool:
    """Whether no scheduler has looked at it, or it says nothing of that."""
    condition = pod_condition(pod, "PodScheduled")
    return condition is None or (condition.status == "False" and not condition.reason)


def is_expendable(pod: Pod, cutoff: int) -> bool:
    """Whether nodes are neither added nor kept for it (`FilterOutExpendablePods`)."""
    return pod.spec.priority is not None and pod.spec.priority < cutoff


def is_long_terminating(pod: Pod, now: int) -> bool:
    """Whether it should be gone by now (`IsPodLongTerminating`); `now` in nanoseconds."""
    if pod.metadata.deletion_timestamp is None:
        return False
    seconds = pod.spec.termination_grace_period_seconds + _EXTRA_SECONDS
    return parse_time(pod.metadata.deletion_timestamp) + seconds * SECOND < now


def is_young(pod: Pod, delay: int, now: int) -> bool:
    """Whether it is too early to add nodes for it (`filterOutYoungPods`); `delay` is that of all pods."""
    if pod.metadata.creation_timestamp is None:
        return False
    own = _delay(pod.metadata.annotations.scale_up_delay)
    return now - parse_time(pod.metadata.creation_timestamp) <= max(own, delay)


def _delay(text: str) -> int:
    try:
        return parse_duration(text) if text else 0
    except ValueError:
        return 0


def said_of(pod: Pod) -> bytes:
    """Equal for pods with equal labels, and specs that differ in nothing but names (`PodSpecSemanticallyEqual`)."""
    return msgspec.json.encode((sorted(pod.metadata.labels.items()), _sanitized(pod.spec)))


def _sanitized(spec: PodSpec) -> PodSpec:
    """Without what differs from pod to pod: the host name, and volumes without a source that any rule reads."""
    volumes = tuple(volume for volume in spec.volumes if volume != Volume(name=volume.name))
    return replace(spec, hostname="", volumes=volumes)


class Equivalence:
    """Numbers groups of equivalent pods: of one controller, with equal labels and specs; up to a limit."""

    def __init__(self, *, by_controller: int = _MOST_KINDS) -> None:
        self._most = by_controller
        self._known: dict[str, dict[bytes, int]] = {}
        self._next = 0
        self._said = cache(lambda info: said_of(info.pod))

    def number(self, info: PodInfo) -> int:
        """The number of the pod's group; a new one if it is equivalent to no other."""
        owner = controller_of(info.pod.metadata)
        if owner is None or is_daemon(info.pod):
            return self._new()
        known = self._known.setdefault(owner.uid, {})
        said = self._said(info)
        if said in known:
            return known[said]
        number = self._new()
        if len(known) < self._most:
            known[said] = number
        return number

    def _new(self) -> int:
        self._next += 1
        return self._next


def equivalent(pods: Iterable[PodInfo]) -> Sequence[Sequence[PodInfo]]:
    """The pods in equivalence groups, in the given order (`BuildPodGroups`)."""
    equivalence, groups = Equivalence(), dict[int, list[PodInfo]]()
    for pod in pods:
        groups.setdefault(equivalence.number(pod), []).append(pod)
    return list(groups.values())
