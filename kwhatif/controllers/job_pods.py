"""The pods of a Job: their indexes, and what follows when one has failed.

(`pkg/controller/job`: `indexed_job_utils.go`, `success_policy.go`, `pod_failure_policy.go`, `backoff_utils.go`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from kwhatif.controllers.contract import View
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import ContainerStatus, Pod, is_orphaned, pod_condition
from kwhatif.kube.model.workload import Job, OnExitCodes, PodFailureRule, SuccessPolicy
from kwhatif.workloads.job import INDEX_LABEL
from kwhatif.workloads.numbers import natural_number
from kwhatif.workloads.removal import sidecar_statuses


def index_of(pod: Pod, completions: int | None) -> int | None:
    """The pod's index (`getCompletionIndex`); None if it has none, or one that is not below `completions`."""
    text = pod.metadata.annotations.completion_index or pod.metadata.labels.get(INDEX_LABEL, "")
    index = natural_number(text)
    return index if index is not None and index < (completions or 0) else None


def parse_indexes(text: str, completions: int) -> frozenset[int]:
    """Parse the indexes below `completions` from a text such as `0-2,5`; parts that are not numbers are ignored."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        text_of_first, _, text_of_last = part.partition("-")
        first, last = natural_number(text_of_first), natural_number(text_of_last or text_of_first)
        if first is not None and last is not None:
            found.update(range(first, min(last, completions - 1) + 1))
    return frozenset(found)


def write_indexes(indexes: Iterable[int]) -> str:
    """Format indexes as such a text; two consecutive ones are written separately."""
    runs: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return ",".join(_run(*run) for run in runs)


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def first_pending(taken: frozenset[int], count: int, completions: int) -> list[int]:
    """The lowest free indexes (`firstPendingIndexes`)."""
    return list(islice((index for index in range(completions) if index not in taken), count))


def is_success(policy: SuccessPolicy | None, succeeded: frozenset[int], completions: int) -> bool:
    """Whether a rule of the success policy is met (`matchSuccessPolicy`)."""
    for rule in policy.rules if policy and succeeded else ():
        if rule.succeeded_indexes is None:
            if rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count:
                return True
            continue
        wanted = parse_indexes(rule.succeeded_indexes, completions)
        there = len(wanted & succeeded)
        enough = len(wanted) if rule.succeeded_count is None else min(len(wanted), rule.succeeded_count)
        if wanted and there >= enough:
            return True
    return False


#: Seconds (`DefaultJobPodFailureBackOff`, `MaxJobPodFailureBackOff`).
_FIRST, _LONGEST = 10.0, 600.0


class EndedPod(NamedTuple):
    """A finished pod that a Job has not counted yet."""

    pod: Pod
    #: When it was deleted, and when it finished: simulated time; None: not yet, or before the start.
    deleted: float | None = None
    final: float | None = None


class Failures(NamedTuple):
    """The failures of one index of an indexed Job: those that count, and those that a rule ignores."""

    counted: int
    ignored: int
    #: When the last one finished.
    last: float


def replaces_only_failed(job: Job) -> bool:
    """Whether a terminating pod is replaced only after it has finished (`onlyReplaceFailedPods`)."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None


def is_failed(pod: Pod, job: Job) -> bool:
    """Whether the pod counts as failed (`isPodFailed`)."""
    if pod.status.phase == "Failed":
        return True
    if replaces_only_failed(job):
        return False
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


# --- policy ------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """The policy's decision about a failed pod."""

    #: Ignore, Count, FailJob, FailIndex; "" if no rule matches, so that the failure counts.
    action: str = ""
    #: The message of the condition FailureTarget, if the pod fails the Job.
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether the failure counts."""
        return self.action != "Ignore"


def judged(pod: Pod, job: Job) -> Judged:
    """The decision by the first matching rule."""
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
    """The number of failures since the last success, and the time of the last one."""

    failures: int = 0
    last: float = 0.0

    def after(self, succeeded: Sequence[float], failed: Sequence[float]) -> BackoffRecord:
        """Add pods that have finished since, given by their times (`newBackoffRecord`)."""
        if not succeeded:
            return BackoffRecord(self.failures + len(failed), max(failed)) if failed else self
        since = [time for time in failed if time > max(succeeded)]
        return BackoffRecord(len(since), max(since, default=0.0))

    def until(self) -> float:
        """When the next pod may be created."""
        return self.last + min(_LONGEST, _FIRST * 2 ** min(self.failures - 1, 10)) if self.failures else 0.0


def finished_at(ended: EndedPod, view: View) -> float:
    """When the pod finished (`getFinishedTime`).

    By its containers; a pod that was marked as failed by others (podgc, node lost) has no finished ones: then by the
    time when it became not ready, or was deleted.
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
    """The number of container restarts of unfinished pods, which happen with `OnFailure`."""
    return sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in ("Running", "Pending")
        for status in (*pod.status.container_statuses, *pod.status.init_container_statuses)
    )
