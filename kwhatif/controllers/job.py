"""Jobs (`pkg/controller/job/job_controller.go`): events, state between syncs, and timers.

The sync is in `job_sync`. Upstream syncs a Job a second after an event of its pods, to see several at once; and a pod's
finalizer keeps it until the Job has counted it. Here a pod may be gone before: the Job remembers how it ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.controllers.backoff import BackingOff
from kwhatif.controllers.contract import NOTHING, SyncResult, View
from kwhatif.controllers.job_pods import EndedPod
from kwhatif.controllers.job_sync import JobSync
from kwhatif.controllers.pods import identity, is_handed_over, keys_of, owners_of_changed
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import JOB_TRACKING, Pod, is_terminal
from kwhatif.kube.model.workload import Job
from kwhatif.workloads.job import is_finished
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


CONTROLLERS = (Jobs(),)
