"""Jobs and CronJobs (`pkg/controller/job/job_controller.go`, `indexed_job_utils.go`, `pkg/registry/batch/job`)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.workload import CronJob, Job, JobSpec, completions_of
from kwhatif.workloads.deployment import equal_pods, free_names
from kwhatif.workloads.owners import reference_to
from kwhatif.workloads.template import Expansion, ReplicaGroup, pod_of

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
_INDEXED = "Indexed"
_MAX_PREFIX = 58
#: A CronJob's Jobs are named after the minute of their start, which is not known.
_SOME_MINUTE = "00000000"


def wanted_pods(spec: JobSpec, succeeded: int = 0) -> int:
    """How many pods a Job runs at once after `succeeded` successes (`manageJob`)."""
    if spec.suspend:
        return 0
    parallelism, completions = parallelism_of(spec), completions_of(spec)
    return max(0, parallelism if completions is None else min(parallelism, completions - succeeded))


def parallelism_of(spec: JobSpec) -> int:
    """How many pods it may run at once."""
    return 1 if spec.parallelism is None else spec.parallelism


def is_finished(job: Job) -> bool:
    """Whether the Job has come to its end, well or not (`IsJobFinished`)."""
    return any(each.type in ("Complete", "Failed") and each.status == "True" for each in job.status.conditions)


def expand_job(job: Job, indexes: Iterable[int], cluster: Cluster) -> Expansion:
    """The pods with these numbers; unless the Job is indexed, only how many there are matters."""
    pod = job_pod(job, reference_to(job, cluster))
    if not is_indexed(job):
        return equal_pods(pod, len(list(indexes)), cluster)
    numbered = (indexed_pod(pod, job.metadata.name, index) for index in indexes)
    return Expansion(tuple(ReplicaGroup(each, free_names(each, 1, cluster)) for each in numbered))


def is_indexed(job: Job) -> bool:
    """Whether its pods have numbers."""
    return job.spec.completion_mode == _INDEXED


def job_pod(job: Job, owner: OwnerReference) -> Pod:
    """A pod of the Job, without a number."""
    labels = {
        "batch.kubernetes.io/controller-uid": owner.uid,
        "batch.kubernetes.io/job-name": job.metadata.name,
        "controller-uid": owner.uid,
        "job-name": job.metadata.name,
    }
    return pod_of(job.spec.template or PodTemplateSpec(), job.metadata.namespace, owner, labels)


def indexed_pod(pod: Pod, job: str, index: int) -> Pod:
    """The pod with this number."""
    end = f"-{index}-"
    meta = replace(
        pod.metadata,
        generate_name=job[: _MAX_PREFIX - len(end)] + end,
        labels={**pod.metadata.labels, INDEX_LABEL: str(index)},
        annotations=replace(pod.metadata.annotations, completion_index=str(index)),
    )
    return replace(pod, metadata=meta, spec=replace(pod.spec, hostname=f"{job}-{index}"))


def run_of(cron_job: CronJob) -> Job:
    """The Job of one run."""
    meta, template = cron_job.metadata, cron_job.spec.job_template
    return Job(
        metadata=ObjectMeta(
            name=f"{meta.name}-{_SOME_MINUTE}", namespace=meta.namespace, labels=template.metadata.labels
        ),
        spec=template.spec,
    )
