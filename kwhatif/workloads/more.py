"""More pods of a workload, beside those that are there: as if it were scaled up one by one, without end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count, islice, repeat

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod, PodStatus
from kwhatif.kube.model.workload import CronJob, DaemonSet, Deployment, Job, PodSource, StatefulSet
from kwhatif.workloads.expand import named
from kwhatif.workloads.expansion import ReplicaGroup
from kwhatif.workloads.job import expand_job, is_indexed, job_pod, run_of
from kwhatif.workloads.owners import reference_to
from kwhatif.workloads.replicas import expand_replicas, names_for, pod_like, replica_set_for
from kwhatif.workloads.stateful_set import expand_stateful_set, ordinals_of

#: The number of pods to create at a time: few at first, as many questions end soon.
_SIZES = (16, 64, 256)
_MOST = 1024


def more_pods(workload: PodSource, cluster: Cluster) -> Iterator[ReplicaGroup]:
    """Groups of new pods, without end; nothing for a DaemonSet, whose pods are as many as its nodes.

    What keeps a workload from having pods now is left aside: `paused`, `suspend`, and how many it asks for.

    Args:
        workload: of the cluster, or new to it.
        cluster: where the pods will be; its pods have their names already.
    """
    workload = named(workload, cluster)
    match workload:
        case Pod():
            return copies(_copy(workload), cluster)
        case DaemonSet():
            return iter(())
        case Deployment():
            return copies(pod_like(workload, *replica_set_for(workload, cluster)), cluster)
        case StatefulSet():
            return _numbered(workload, cluster)
        case CronJob():
            return more_pods(run_of(workload), cluster)
        case Job():
            if is_indexed(workload):
                return chain.from_iterable(expand_job(workload, [index], cluster).groups for index in count())
            return copies(job_pod(workload, reference_to(workload, cluster)), cluster)
        case _:
            return copies(expand_replicas(workload, 1, cluster).groups[0].pod, cluster)


def copies(pod: Pod, cluster: Cluster) -> Iterator[ReplicaGroup]:
    """Pods that are all like this one, with names of their own."""
    names = names_for(pod, cluster)
    for size in chain(_SIZES, repeat(_MOST)):
        some = tuple(islice(names, size))
        if not some:
            return
        yield ReplicaGroup(pod, some)


def _copy(pod: Pod) -> Pod:
    """The pod as a user would create it once more, with another name."""
    meta = pod.metadata
    meta = replace(
        meta,
        name="",
        generate_name=meta.generate_name or f"{meta.name}-",
        uid="",
        creation_timestamp=None,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
    )
    return replace(pod, metadata=meta, status=PodStatus())


def _numbered(stateful_set: StatefulSet, cluster: Cluster) -> Iterator[ReplicaGroup]:
    """The pods with the numbers that are free, the lowest first."""
    present, namespace = cluster.all(Pod), stateful_set.metadata.namespace
    for number in count(ordinals_of(stateful_set, 0).start):
        if f"{namespace}/{stateful_set.metadata.name}-{number}" not in present:
            yield from expand_stateful_set(stateful_set, [number], cluster).groups
