"""Which pods a controller removes first (`ActivePodsWithRanks`, for Jobs `ActivePods`, in `controller_utils.go`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from kwhatif.model.meta import parse_time
from kwhatif.model.pod import Pod, PodCondition, pod_condition

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def active(pods: Iterable[Pod]) -> list[Pod]:
    """Those that are not on their way out already (`IsPodActive`)."""
    return [pod for pod in pods if pod.metadata.deletion_timestamp is None]


def is_available(pod: Pod) -> bool:
    """Whether the pod does its work; one that runs somewhere does, unless it is said not to be ready."""
    ready = pod_condition(pod, "Ready")
    return bool(pod.spec.node_name) and (ready is None or ready.status == "True")


def as_ready(pod: Pod) -> Pod:
    """The pod once it runs and is ready."""
    status = replace(pod.status, phase="Running", conditions=(PodCondition(type="Ready", status="True"),))
    return replace(pod, status=status)


def removed_first(pods: Sequence[Pod], related: Iterable[Pod] = ()) -> list[Pod]:
    """The pods, those that would go first in front.

    Args:
        pods: those of one ReplicaSet, ReplicationController or Job.
        related: all pods of all ReplicaSets of the same Deployment: of pods that are otherwise equal, one goes from
            where there are most of these. None, for a controller without a Deployment.

    Left out, since the model does not have them: deletion costs, restarts and how long a pod has been ready. Where
    upstream compares ages by their magnitude and then by UID, the younger pod goes.
    """
    crowd = Counter(pod.spec.node_name for pod in active(related))

    def rank(pod: Pod) -> tuple[bool, int, bool, int, int, str]:
        created = pod.metadata.creation_timestamp
        return (
            bool(pod.spec.node_name),
            _PHASES.get(pod.status.phase, 0),
            _ready(pod),
            -crowd[pod.spec.node_name],
            -parse_time(created) if created else -(2**63),
            pod.metadata.name,
        )

    return sorted(pods, key=rank)


def _ready(pod: Pod) -> bool:
    ready = pod_condition(pod, "Ready")
    return ready is not None and ready.status == "True"
