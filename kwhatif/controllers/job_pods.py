"""The pods of a Job: their indexes, the effect of failed pods, and which pods are created or deleted (`manageJob`).

(`pkg/controller/job`: `indexed_job_utils.go`, `success_policy.go`, `pod_failure_policy.go`, `backoff_utils.go`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.contract import Create, DeletePod, View, Write
from kwhatif.controllers.pods import identity, named
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import JOB_TRACKING, ContainerStatus, Pod, is_orphaned, is_terminal, pod_condition
from kwhatif.kube.model.workload import Job, OnExitCodes, PodFailureRule, SuccessPolicy, completions_of
from kwhatif.workloads.job import INDEX_LABEL, indexed_pod, is_indexed, job_pod, parallelism_of
from kwhatif.workloads.names import natural_number
from kwhatif.workloads.owners import reference
from kwhatif.workloads.removal import is_active, removed_first_of_job, sidecar_statuses


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

    The time is that of its containers. A pod that others marked as failed (podgc, a lost node) has no finished
    containers: then it is the time when the pod became not ready, or was deleted.
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


# --- creation and deletion ----------------------------------------------------------------------------

#: The maximum number of pods that one sync creates or deletes.
_BURST = 500


class JobProgress(NamedTuple):
    """The progress of a Job."""

    succeeded: int
    #: Succeeded and failed indexes.
    done: frozenset[int]
    failed: frozenset[int]
    backoff: BackoffRecord
    #: Index -> failures, if there is a back-off limit per index.
    by_index: Mapping[int, Failures]


class Managed(NamedTuple):
    """The actions of a sync."""

    writes: tuple[Write, ...]
    #: When to sync again.
    again: float | None
    #: Whether enough pods have succeeded, and no pod is left.
    is_complete: bool
    #: UIDs of deleted pods that do not count as failures.
    dropped: frozenset[str]
    #: The number of generated names.
    made: int


class JobPods:
    """The pods of one Job in one sync."""

    def __init__(self, job: Job, pods: Sequence[Pod], progress: JobProgress, view: View) -> None:
        """Set up.

        Args:
            job: the current Job.
            pods: all its pods.
            progress: its progress.
            view: the view of the cluster.
        """
        self._job, self._pods, self._progress, self._view = job, pods, progress, view
        self._active = [pod for pod in pods if is_active(pod)]
        self._is_indexed = is_indexed(job)
        self._completions = completions_of(job.spec)
        self._per_index = job.spec.backoff_limit_per_index is not None
        self._again: float | None = None

    def manage(self, made: int) -> Managed:
        """Create or delete pods.

        Args:
            made: the number of names generated for pods of the Job so far.
        """
        active = len(self._active)
        wanted = self._wanted(active)
        gone = self._for_removal(active - wanted)[: None if self._job.spec.suspend else _BURST]
        fresh: list[Pod] = []
        if not gone:
            stopping = sum(pod.metadata.deletion_timestamp is not None and not is_terminal(pod) for pod in self._pods)
            missing = wanted - active - (stopping if replaces_only_failed(self._job) else 0)
            fresh = list(self._new_pods(min(missing, _BURST), made)) if missing > 0 else []
            if missing > _BURST:
                self._wait_until(self._view.now)
        is_left = bool(fresh) or self._again is not None or active > len(gone)
        return Managed(
            (*(DeletePod(key_of(pod), "ScaledDown") for pod in gone), *map(Create, fresh)),
            self._again,
            not is_left and self._is_enough(),
            frozenset(map(identity, gone)),
            made + len(fresh),
        )

    def _wanted(self, active: int) -> int:
        if self._job.spec.suspend:
            return 0
        parallelism = parallelism_of(self._job.spec)
        if self._completions is None:
            return active if self._progress.succeeded else parallelism
        return max(0, min(parallelism, self._completions - self._progress.succeeded))

    def _is_enough(self) -> bool:
        succeeded = self._progress.succeeded
        return succeeded > 0 if self._completions is None else succeeded >= self._completions

    def _for_removal(self, at_least: int) -> list[Pod]:
        """Pods to delete: first those without a valid index, and duplicates of an index (`activePodsForRemoval`)."""
        left: Sequence[Pod] = self._active
        gone: list[Pod] = []
        if self._is_indexed:
            by_index: dict[int | None, list[Pod]] = {}
            for pod in self._active:
                by_index.setdefault(index_of(pod, self._completions), []).append(pod)
            gone += by_index.pop(None, [])
            ranked = [removed_first_of_job(pods) for pods in by_index.values()]
            gone += [pod for pods in ranked for pod in pods[:-1]]
            left = [pods[-1] for pods in ranked]
        return [*gone, *removed_first_of_job(left)[: max(0, at_least - len(gone))]]

    def _new_pods(self, count: int, made: int) -> Iterator[Pod]:
        due = 0.0 if self._per_index else self._progress.backoff.until()
        if due > self._view.now:
            self._wait_until(due)
            return
        plain = job_pod(self._job, reference(self._job))
        finalizers = dict.fromkeys((*plain.metadata.finalizers, JOB_TRACKING))
        plain = replace(plain, metadata=replace(plain.metadata, finalizers=tuple(finalizers)))
        if not self._is_indexed:
            yield from islice(named(plain, self._view, made), count)
            return
        for index in self._indexes(count):
            numbered = indexed_pod(plain, self._job.metadata.name, index)
            yield next(named(self._with_failures(numbered, index), self._view, made))

    def _indexes(self, count: int) -> list[int]:
        """The indexes of the next pods (`getPodCreationInfoForIndependentIndexes`)."""
        pending = first_pending(self._taken(), count, self._completions or 0)
        if not self._per_index:
            return pending
        due = {index: self._due(index) for index in pending}
        ready = [index for index, time in due.items() if time <= self._view.now]
        if due and not ready:
            self._wait_until(min(due.values()))
        return ready

    def _taken(self) -> frozenset[int]:
        """Indexes that have succeeded, failed, or have a pod."""
        running = [pod for pod in self._pods if not is_terminal(pod)]
        there = running if replaces_only_failed(self._job) else self._active
        indexes = (index_of(pod, self._completions) for pod in there)
        return self._progress.done | self._progress.failed | {index for index in indexes if index is not None}

    def _due(self, index: int) -> float:
        known = self._progress.by_index.get(index)
        return BackoffRecord(known.counted + known.ignored, known.last).until() if known else 0.0

    def _wait_until(self, time: float) -> None:
        """Schedule the next sync, at least a second from now."""
        self._again = max(time, self._view.now + 1)

    def _with_failures(self, pod: Pod, index: int) -> Pod:
        """The pod with the number of earlier failures of its index, if there is a back-off limit per index."""
        if not self._per_index:
            return pod
        known = self._progress.by_index.get(index, Failures(0, 0, 0.0))
        notes = replace(
            pod.metadata.annotations,
            index_failures=str(known.counted),
            index_ignored_failures=str(known.ignored) if known.ignored else "",
        )
        return replace(pod, metadata=replace(pod.metadata, annotations=notes))
