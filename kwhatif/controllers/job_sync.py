"""One sync of a Job (`syncJob`, `manageJob`, `trackJobStatusAndRemoveFinalizers`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.contract import Create, DeletePod, SyncResult, Update, View, Write
from kwhatif.controllers.job_pods import (
    BackoffRecord,
    EndedPod,
    Failures,
    finished_at,
    first_pending,
    index_of,
    is_failed,
    is_success,
    judged,
    parse_indexes,
    replaces_only_failed,
    restarts,
    write_indexes,
)
from kwhatif.controllers.pods import identity, named
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import JOB_TRACKING, Pod, is_terminal
from kwhatif.kube.model.workload import Job, JobCondition, completions_of
from kwhatif.workloads.job import indexed_pod, is_indexed, job_pod, parallelism_of
from kwhatif.workloads.numbers import natural_number
from kwhatif.workloads.owners import reference
from kwhatif.workloads.removal import is_active, removed_first_of_job

#: The most pods that one sync creates or deletes.
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
    """What a sync must do."""

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


_NO_LIMIT = 2**31 - 1
_MADE, _BACKOFF, _INDEXES = "made", "back-off", "failures by index"
_TARGET, _SUCCESS, _SUSPENDED = "FailureTarget", "SuccessCriteriaMet", "Suspended"
_RESUMED = JobCondition(type=_SUSPENDED, status="False")


class JobSync:
    """One sync of one Job."""

    def __init__(self, job: Job, ended: Sequence[EndedPod], view: View) -> None:
        """Set up.

        Args:
            job: the current Job.
            ended: all its pods, including finished pods that are gone but not counted yet.
            view: the view of the cluster.
        """
        self._job, self._view, self._all = job, view, ended
        self._memory = view.memory("Job", key_of(job))
        self._pods = [each.pod for each in ended]
        self._active = [pod for pod in self._pods if is_active(pod)]
        self._is_indexed = is_indexed(job)
        self._completions = completions_of(job.spec)
        self._conditions = {each.type: each for each in job.status.conditions if each.status == "True"}
        self._succeeded, self._failed = job.status.succeeded, job.status.failed
        limit = (self._completions or 0) if self._is_indexed else 0
        self._done_indexes = parse_indexes(job.status.completed_indexes, limit)
        self._failed_indexes = parse_indexes(job.status.failed_indexes, limit)
        self._by_index: dict[int, Failures] = dict(self._memory.get(_INDEXES, {}))
        self._backoff: BackoffRecord = self._memory.get(_BACKOFF, BackoffRecord())
        self._writes: list[Write] = []
        self._again: float | None = None
        self._deadline: float | None = None

    def outcome(self, counted: frozenset[str]) -> tuple[SyncResult, frozenset[str]]:
        """The result of the sync, and the UIDs of existing pods that are then counted."""
        fresh = [each for each in self._all if identity(each.pod) not in counted and self._has_place(each.pod)]
        succeeded = [each for each in fresh if each.pod.status.phase == "Succeeded"]
        failed = [each for each in fresh if is_failed(each.pod, self._job)]
        self._count(succeeded, failed)
        ends = self._finish()
        done = [*succeeded, *failed]
        if ends is not None:
            done += self._deleted(ends, counted)
        else:
            managed = self._managed()
            self._writes += managed.writes
            self._again = managed.again
            done += [each for each in self._all if identity(each.pod) in managed.dropped]
            if managed.is_complete:
                ends = JobCondition(type=_SUCCESS, status="True", reason="CompletionsReached")
        self._write_status(ends)
        uids = set(map(identity, self._pods))
        counted = (counted | {identity(each.pod) for each in done}) & uids
        # A rejected pod ends the sync; upstream writes the status nevertheless, so new pods come last.
        writes = sorted(self._writes, key=lambda write: isinstance(write, Create))
        return SyncResult(tuple(writes), self._again, self._deadline), counted

    def _managed(self) -> Managed:
        progress = JobProgress(self._succeeded, self._done_indexes, self._failed_indexes, self._backoff, self._by_index)
        managed = JobPods(self._job, self._pods, progress, self._view).manage(self._memory.get(_MADE, 0))
        self._memory[_MADE] = managed.made
        return managed

    def _has_place(self, pod: Pod) -> bool:
        """Whether the pod counts: indexed Jobs count only pods with a valid index."""
        return not self._is_indexed or index_of(pod, self._completions) is not None

    # --- counting ------------------------------------------------------------------------------------

    def _count(self, succeeded: Sequence[EndedPod], failed: Sequence[EndedPod]) -> None:
        times = [finished_at(each, self._view) for each in failed]
        self._backoff = self._backoff.after([finished_at(each, self._view) for each in succeeded], times)
        self._memory[_BACKOFF] = self._backoff
        self._succeeded += len(succeeded)
        for each, time in zip(failed, times, strict=True):
            verdict = judged(each.pod, self._job)
            self._failed += verdict.counts
            index = index_of(each.pod, self._completions)
            if index is not None and self._is_indexed and self._job.spec.backoff_limit_per_index is not None:
                self._count_index(index, each.pod, time, counts=verdict.counts, ends=verdict.action == "FailIndex")
        if self._is_indexed:
            indexes = (index_of(each.pod, self._completions) for each in succeeded)
            self._done_indexes |= {index for index in indexes if index is not None}
            self._succeeded = len(self._done_indexes)
        self._memory[_INDEXES] = self._by_index

    def _count_index(self, index: int, pod: Pod, time: float, *, counts: bool, ends: bool) -> None:
        notes = pod.metadata.annotations
        before = natural_number(notes.index_failures) or 0
        if ends or (counts and before >= (self._job.spec.backoff_limit_per_index or 0)):
            self._failed_indexes |= {index}
        ignored = natural_number(notes.index_ignored_failures) or 0
        self._by_index[index] = Failures(before + counts, ignored + (not counts), time)

    # --- ending --------------------------------------------------------------------------------------

    def _finish(self) -> JobCondition | None:
        """The condition that finishes the Job, from before or from this sync."""
        known = self._conditions.get(_SUCCESS) or self._conditions.get(_TARGET)
        if known is not None:
            return known
        why = self._failure()
        if why is not None:
            return JobCondition(type=_TARGET, status="True", reason=why[0], message=why[1])
        if self._is_indexed and is_success(self._job.spec.success_policy, self._done_indexes, self._completions or 0):
            return JobCondition(type=_SUCCESS, status="True", reason="SuccessPolicy")
        return None

    def _failure(self) -> tuple[str, str] | None:
        """Reason and message of a failure."""
        for pod in self._pods:
            verdict = judged(pod, self._job) if is_failed(pod, self._job) else None
            if verdict is not None and verdict.action == "FailJob":
                return "PodFailurePolicy", verdict.message
        spec = self._job.spec
        per_index = spec.backoff_limit_per_index is not None
        limit = spec.backoff_limit if spec.backoff_limit is not None else (_NO_LIMIT if per_index else 6)
        if self._failed > limit or self._restarted_too_often(limit):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        if self._is_late():
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        if per_index and self._is_indexed:
            failed = len(self._failed_indexes)
            if spec.max_failed_indexes is not None and failed > spec.max_failed_indexes:
                return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
            if failed and failed + len(self._done_indexes) >= (self._completions or 0):
                return "FailedIndexes", "Job has failed indexes"
        return None

    def _restarted_too_often(self, limit: int) -> bool:
        template = self._job.spec.template
        if template is None or template.spec.restart_policy != "OnFailure":
            return False
        return restarts(self._pods) >= max(limit, 1)

    def _is_late(self) -> bool:
        spec, started = self._job.spec, self._job.status.start_time
        if spec.active_deadline_seconds is None or spec.suspend:
            return False
        deadline = (self._view.at(started) if started else self._view.now) + spec.active_deadline_seconds
        if deadline > self._view.now:
            self._deadline = deadline
        return deadline <= self._view.now

    def _deleted(self, ends: JobCondition, counted: frozenset[str]) -> list[EndedPod]:
        """Delete active pods; if the Job fails, they count as failed, too."""
        self._writes += [DeletePod(key_of(pod), "Deleted") for pod in self._active]
        running = [each for each in self._all if is_active(each.pod) and identity(each.pod) not in counted]
        if ends.type == _TARGET:
            self._failed += sum(judged(each.pod, self._job).counts for each in running if self._has_place(each.pod))
        return running

    # --- status --------------------------------------------------------------------------------------

    def _write_status(self, ends: JobCondition | None) -> None:
        status, spec = self._job.status, self._job.spec
        conditions = {each.type: each for each in status.conditions}
        started = status.start_time
        if ends is not None:
            conditions |= self._final(ends)
        elif conditions.get(_SUSPENDED, _RESUMED).status != str(spec.suspend):
            conditions[_SUSPENDED] = JobCondition(type=_SUSPENDED, status=str(spec.suspend))
            started = None
        if started is None and not spec.suspend:
            started = self._view.stamp(self._view.now)
        after = replace(
            status,
            succeeded=self._succeeded,
            failed=self._failed,
            completed_indexes=write_indexes(self._done_indexes),
            failed_indexes=write_indexes(self._failed_indexes),
            start_time=started,
            conditions=tuple(conditions.values()),
        )
        if after != status:
            self._writes.append(Update(replace(self._job, status=after)))

    def _final(self, ends: JobCondition) -> dict[str, JobCondition]:
        """The final conditions, once no pod is left, not even a terminating one; unbound pods are gone at once."""
        left = (pod for pod in self._pods if not is_terminal(pod))
        if any(pod.spec.node_name for pod in left):
            return {ends.type: ends}
        final = "Failed" if ends.type == _TARGET else "Complete"
        return {ends.type: ends, final: replace(ends, type=final)}
