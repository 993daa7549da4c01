"""Jobs (`pkg/controller/job/job_controller.go`): events, state between syncs, timers, and a sync.

Upstream syncs a Job a second after an event of its pods, to see several at once; and a pod's
finalizer keeps it until the Job has counted it. Here a pod may be gone before: the Job remembers how it ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, BackingOff, Create, DeletePod, SyncResult, Update, View, Write
from kwhatif.controllers.job_pods import (
    BackoffRecord,
    EndedPod,
    Failures,
    JobPods,
    JobProgress,
    Managed,
    finished_at,
    index_of,
    is_failed,
    is_success,
    judged,
    parse_indexes,
    restarts,
    write_indexes,
)
from kwhatif.controllers.pods import identity, is_handed_over, keys_of, owners_of_changed
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import JOB_TRACKING, Pod, is_terminal
from kwhatif.kube.model.workload import Job, JobCondition, completions_of
from kwhatif.workloads.job import is_finished, is_indexed
from kwhatif.workloads.names import natural_number
from kwhatif.workloads.removal import is_active

#: Seconds for which pod events are collected before a sync (`SyncJobBatchPeriod`).
_BATCH = 1.0
_OWN = ("", "kubernetes.io/job-controller")
#: Keys of the memory: when to sync; finished pods by UID; UIDs of counted pods.
_DUE, _DEADLINE, _ENDED, _COUNTED = "due", "deadline", "ended", "counted"


class Jobs(BackingOff):
    """The controller."""

    name = "Job"
    watches = (Job, Pod)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`. It also records finished pods while they still exist."""
        match before or after:
            case Job():
                return self._changed(before, after, view)
            case Pod() if isinstance(before, Pod):
                keys = owners_of_changed(before, after, self.name)
                for key in keys:
                    self._note(key, before, after if isinstance(after, Pod) else None, view)
                    if is_handed_over(before, after):
                        self._soon(view.memory(self.name, key), view)
                return keys
        return ()

    def _changed(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """The keys to sync; changes of a Job's status are the controller's own."""
        if isinstance(after, Job) and (not isinstance(before, Job) or before.spec != after.spec):
            view.memory(self.name, key_of(after))[_DUE] = view.now
        return keys_of(after, kind=Job)

    def _note(self, key: str, before: Pod, after: Pod | None, view: View) -> None:
        """Record that the pod is deleted, finished, or gone; nothing if it only became ready."""
        if after is not None and is_active(after):
            return
        memory = view.memory(self.name, key)
        self._start(key, memory, view, before)
        ended: dict[str, EndedPod] = dict(memory.get(_ENDED, {}))
        uid = identity(before)
        known = ended.get(uid, EndedPod(before))
        pod = after or _gone(known.pod if is_terminal(known.pod) else before, view)
        deleted, final = known.deleted, known.final
        if deleted is None and pod.metadata.deletion_timestamp is not None:
            deleted = view.now
        if final is None and is_terminal(pod) and not is_terminal(before):
            final = view.now
        ended[uid] = EndedPod(pod, deleted, final)
        memory[_ENDED] = ended
        self._soon(memory, view)

    @staticmethod
    def _soon(memory: dict[str, Any], view: View) -> None:
        """Schedule a sync after other pod events are collected."""
        due = memory.get(_DUE)
        memory[_DUE] = view.now + _BATCH if due is None else min(due, view.now + _BATCH)

    def _start(self, key: str, memory: dict[str, Any], view: View, changed: Pod | None = None) -> None:
        """Initialize the memory: pods without finalizer that finished before the first event are already counted."""
        job = view.state.cluster.get(Job, key)
        if _COUNTED not in memory and job is not None:
            pods = (
                pod for pod in view.pods_of(job) if not is_active(pod) and JOB_TRACKING not in pod.metadata.finalizers
            )
            before = identity(changed) if changed is not None and is_active(changed) else ""
            memory[_COUNTED] = frozenset(map(identity, pods)) - {before}

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller` (`syncJob`)."""
        job = view.state.cluster.get(Job, key)
        if job is None or job.metadata.deletion_timestamp is not None or job.spec.managed_by not in _OWN:
            return NOTHING
        memory = view.memory(self.name, key)
        due, deadline = memory.get(_DUE), memory.get(_DEADLINE)
        times = [time for time in (due, deadline) if time is not None]
        if not times or is_finished(job):
            return NOTHING
        if min(times) > view.now:
            return SyncResult(again=due, deadline=deadline)
        self._start(key, memory, view)
        outcome, counted = JobSync(job, self._ended(job, memory, view), view).outcome(memory[_COUNTED])
        memory[_COUNTED] = counted
        memory[_ENDED] = {uid: each for uid, each in memory.get(_ENDED, {}).items() if uid not in counted}
        memory[_DUE], memory[_DEADLINE] = outcome.again, outcome.deadline
        return self.synced(key, outcome, view)

    def _ended(self, job: Job, memory: dict[str, Any], view: View) -> Sequence[EndedPod]:
        """All pods of the Job, with what is known about their end."""
        noted: dict[str, EndedPod] = memory.get(_ENDED, {})
        present = {identity(pod): pod for pod in view.pods_of(job)}
        gone = [each for uid, each in noted.items() if uid not in present]
        return [*(noted.get(uid, EndedPod(pod))._replace(pod=pod) for uid, pod in present.items()), *gone]

    def refused(self, key: str, view: View) -> SyncResult:
        """When to retry, as in `BackingOff`; until then the Job is not due."""
        outcome = super().refused(key, view)
        view.memory(self.name, key)[_DUE] = outcome.again
        return outcome


def _gone(pod: Pod, view: View) -> Pod:
    """The pod as the Job would see it: deleted; failed if it never ran (podgc marks it)."""
    if pod.metadata.deletion_timestamp is None:
        pod = replace(pod, metadata=replace(pod.metadata, deletion_timestamp=view.stamp(view.now)))
    return pod if is_terminal(pod) else replace(pod, status=replace(pod.status, phase="Failed"))


_NO_LIMIT = 2**31 - 1
_MADE, _BACKOFF, _INDEXES = "made", "back-off", "failures by index"
_TARGET, _SUCCESS, _SUSPENDED = "FailureTarget", "SuccessCriteriaMet", "Suspended"
_RESUMED = JobCondition(type=_SUSPENDED, status="False")


class JobSync:
    """One sync of one Job (`syncJob`, `trackJobStatusAndRemoveFinalizers`)."""

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


CONTROLLERS = (Jobs(),)
