"""Which nominated pods the scheduler knows of (`pkg/scheduler/backend/queue/scheduling_queue.go`)."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.framework.attempt import held_back
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.snapshot import Snapshot


def keep_queued(snapshot: Snapshot, profiles: Mapping[str, Profile]) -> None:
    """Forget nominations of pods that do not enter the queue: a pod is noted as nominated when it does."""
    for node_name, pods in snapshot.nominated.items():
        snapshot.nominated[node_name] = [pod for pod in pods if _is_queued(pod, snapshot, profiles)]


def _is_queued(pod: PodInfo, snapshot: Snapshot, profiles: Mapping[str, Profile]) -> bool:
    """Whether this scheduler is responsible for the pod, and nothing holds it back."""
    profile = profiles.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
    return profile is not None and held_back(profile, pod, snapshot) is None
