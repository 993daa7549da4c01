"""Which pods a Job creates and deletes (`manageJob`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.contract import Create, DeletePod, View, Write
from kwhatif.controllers.job_failures import BackoffRecord, Failures, replaces_only_failed
from kwhatif.controllers.job_indexes import first_pending, index_of
from kwhatif.controllers.pods import identity, named
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.job import Job, completions_of
from kwhatif.kube.model.pod import JOB_TRACKING, Pod, is_terminal
from kwhatif.workloads.job import indexed_pod, is_indexed, job_pod, parallelism_of
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
