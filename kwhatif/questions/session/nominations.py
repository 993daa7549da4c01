"""Which nominated pods the scheduler knows of (`pkg/scheduler/backend/queue/scheduling_queue.go`)."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.scheduler.framework.attempt import held_back
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.change import Nominate
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def keep_queued(state: State, profiles: Mapping[str, Profile]) -> None:
    """Forget nominations of pods that do not enter the queue: a pod is noted as nominated when it does."""
    pods = (pod for pods in state.nominated.values() for pod in pods)
    state.apply(*(Nominate(pod.key, None) for pod in pods if not _is_queued(pod, state, profiles)))


def _is_queued(pod: PodInfo, state: State, profiles: Mapping[str, Profile]) -> bool:
    """Whether this scheduler is responsible for the pod, and up to 1.36: nothing holds it back."""
    profile = profiles.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
    if profile is None or state.cluster.nominates_gated:
        return profile is not None
    return held_back(profile, pod, state) is None
