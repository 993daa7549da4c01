"""Jobs that the input lacks: what their pods show of them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.job import Job, JobSpec, JobStatus
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta
from kwhatif.kube.model.pod import JOB_TRACKING, Pod
from kwhatif.workloads.inferred.groups import OwnedPods, pods_by_owner
from kwhatif.workloads.inferred.templates import template_from
from kwhatif.workloads.numbers import natural_number

_UID = "batch.kubernetes.io/controller-uid"
_INDEX = "batch.kubernetes.io/job-completion-index"


def missing_jobs(cluster: Cluster) -> Iterator[Job]:
    """A Job for every owner of that kind that has work to do: of one whose pods have all ended nothing is left."""
    return (_made(pods) for pods in pods_by_owner(Job, cluster) if pods.active)


def _made(pods: OwnedPods) -> Job:
    """As many pods at once as there are, and as many that are to succeed as have, or may yet."""
    pod = pods.newest
    template = template_from(pod, pods.pods)
    done = [each for each in pods.pods if each.status.phase == "Succeeded"]
    failed = [each for each in pods.pods if each.status.phase == "Failed"]
    indexes = {index for each in (*done, *pods.active) if (index := _index_of(each)) is not None}
    return Job(
        api_version="batch/v1",
        metadata=ObjectMeta(
            namespace=pods.namespace, name=pods.owner.name, uid=pods.owner.uid, creation_timestamp=pods.created
        ),
        spec=JobSpec(
            parallelism=len(pods.active),
            completions=max(indexes) + 1 if indexes else len(done) + len(pods.active),
            completion_mode="Indexed" if indexes else None,
            selector=_selector(pods),
            template=replace(template, spec=replace(template.spec, hostname="") if indexes else template.spec),
        ),
        status=JobStatus(
            succeeded=sum(map(_is_counted, done)),
            failed=sum(map(_is_counted, failed)),
            completed_indexes=_runs(
                {index for each in done if _is_counted(each) if (index := _index_of(each)) is not None}
            ),
            start_time=pods.created,
        ),
    )


def _selector(pods: OwnedPods) -> LabelSelector | None:
    """The label that the API server gives to the pods of a Job; hand-written ones may lack it."""
    own = {_UID: pods.owner.uid}
    has_own = all(own.items() <= pod.metadata.labels.items() for pod in pods.pods)
    return LabelSelector(match_labels=own) if has_own else pods.selector


def _is_counted(pod: Pod) -> bool:
    """Whether the controller has counted its end: then it lifts its finalizer."""
    return JOB_TRACKING not in pod.metadata.finalizers


def _index_of(pod: Pod) -> int | None:
    return natural_number(pod.metadata.annotations.completion_index or pod.metadata.labels.get(_INDEX, ""))


def _runs(indexes: set[int]) -> str:
    return ",".join(map(str, sorted(indexes)))
