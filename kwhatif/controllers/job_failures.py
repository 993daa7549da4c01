"""Failed pods of Jobs: what they count for, and how long the next one waits.

(`pkg/controller/job/pod_failure_policy.go`, `backoff_utils.go`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kwhatif.controllers.contract import View
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.job import Job, OnExitCodes, PodFailureRule
from kwhatif.kube.model.pod import Pod, is_orphaned, pod_condition
from kwhatif.kube.model.pod_status import ContainerStatus
from kwhatif.workloads.removal import sidecar_statuses

#: Seconds (`DefaultJobPodFailureBackOff`, `MaxJobPodFailureBackOff`).
_FIRST, _LONGEST = 10.0, 600.0


class EndedPod(NamedTuple):
    """A pod whose end a Job has yet to count."""

    pod: Pod
    #: When somebody deleted it, and when its phase became final: simulated time; None: not, or before the start.
    deleted: float | None = None
    final: float | None = None


class Failures(NamedTuple):
    """How many pods with one number of an indexed Job have failed: those that count, and those that a rule ignores."""

    counted: int
    ignored: int
    #: When the last one ended.
    last: float


def replaces_only_failed(job: Job) -> bool:
    """Whether a terminating pod counts for nothing before its phase is final (`onlyReplaceFailedPods`)."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None


def is_failed(pod: Pod, job: Job) -> bool:
    """`isPodFailed`."""
    if pod.status.phase == "Failed":
        return True
    if replaces_only_failed(job):
        return False
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


# --- policy ------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """What the policy says of a failed pod."""

    #: Ignore, Count, FailJob, FailIndex; "" where no rule matches, so that it counts.
    action: str = ""
    #: That of the condition FailureTarget, if the pod fails the Job.
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether the pod is one of the failures."""
        return self.action != "Ignore"


def judged(pod: Pod, job: Job) -> Judged:
    """By the first rule that matches."""
    policy = job.spec.pod_failure_policy
    for number, rule in enumerate(policy.rules if policy else ()):
        why = _why(pod, rule)
        if why:
            return Judged(rule.action, f"{why} matching {rule.action} rule at index {number}")
    return Judged()


def _why(pod: Pod, rule: PodFailureRule) -> str:
    if rule.on_exit_codes is not None:
        found = _exit_code(pod, rule.on_exit_codes)
        if found is None:
            return ""
        name, code = found
        return f"Container {name} for pod {key_of(pod)} failed with exit code {code}"
    for condition in pod.status.conditions:
        for pattern in rule.on_pod_conditions:
            # The API server fills in a status that the rule leaves out.
            if condition.type == pattern.type and condition.status == (pattern.status or "True"):
                return f"Pod {key_of(pod)} has condition {condition.type}"
    return ""


def _exit_code(pod: Pod, wanted: OnExitCodes) -> tuple[str, int] | None:
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        ended = status.state.terminated if status.state else None
        if ended is None or ended.exit_code == 0 or wanted.container_name not in (None, status.name):
            continue
        if (ended.exit_code in wanted.values) is (wanted.operator == "In"):
            return status.name, ended.exit_code
    return None


# --- back-off ----------------------------------------------------------------------------------------


class BackoffRecord(NamedTuple):
    """Failures since the last success, and when the last one was."""

    failures: int = 0
    last: float = 0.0

    def after(self, succeeded: Sequence[float], failed: Sequence[float]) -> BackoffRecord:
        """With pods that have ended meanwhile, by the times of their ends (`newBackoffRecord`)."""
        if not succeeded:
            return BackoffRecord(self.failures + len(failed), max(failed)) if failed else self
        since = [time for time in failed if time > max(succeeded)]
        return BackoffRecord(len(since), max(since, default=0.0))

    def until(self) -> float:
        """When the next pod may be made."""
        return self.last + min(_LONGEST, _FIRST * 2 ** min(self.failures - 1, 10)) if self.failures else 0.0


def finished_at(ended: EndedPod, view: View) -> float:
    """When the pod ended (`getFinishedTime`).

    By its containers; a pod that somebody else declares failed (podgc, node lost) has none that have ended: then since
    when it is not ready, or when it was deleted.
    """
    pod = ended.pod
    by_containers = _containers_end(pod, view)
    if by_containers is not None:
        return by_containers
    if ended.final is not None and not is_orphaned(pod):
        return ended.final
    ready = pod_condition(pod, "Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time:
        return view.at(ready.last_transition_time)
    if ended.deleted is not None:
        return ended.deleted
    if pod.metadata.deletion_timestamp:
        return min(view.now, view.at(pod.metadata.deletion_timestamp))
    return view.at(pod.metadata.creation_timestamp) if pod.metadata.creation_timestamp else view.now


def _containers_end(pod: Pod, view: View) -> float | None:
    ends = [_end(status) for status in (*pod.status.container_statuses, *sidecar_statuses(pod))]
    times = [end for end in ends if end]
    return max(map(view.at, times)) if times and len(times) == len(ends) else None


def _end(status: ContainerStatus) -> str | None:
    return status.state.terminated.finished_at if status.state and status.state.terminated else None


def restarts(pods: Iterable[Pod]) -> int:
    """How often containers were restarted, of pods that have not ended; with `OnFailure` pods do so themselves."""
    return sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in ("Running", "Pending")
        for status in (*pod.status.container_statuses, *pod.status.init_container_statuses)
    )
