"""Owners of pods that the input lacks, because it has nothing of their kind: made up of what their pods show.

Where the kind is in the input and an owner is not, that one is gone; and an owner of a custom kind is not made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta
from kwhatif.kube.model.pod import JOB_TRACKING, Pod
from kwhatif.kube.model.unknown import lacks
from kwhatif.kube.model.workload import (
    DaemonSet,
    Deployment,
    Job,
    JobSpec,
    JobStatus,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from kwhatif.workloads.inferred.daemon_sets import missing_daemon_sets
from kwhatif.workloads.inferred.deployments import missing_deployments
from kwhatif.workloads.inferred.groups import OwnedPods, pods_by_owner
from kwhatif.workloads.inferred.replica_sets import (
    missing_replica_sets,
    missing_replication_controllers,
    sets_of_deployments,
)
from kwhatif.workloads.inferred.stateful_sets import missing_stateful_sets
from kwhatif.workloads.inferred.templates import template_from
from kwhatif.workloads.numbers import natural_number

_UID = "batch.kubernetes.io/controller-uid"
_INDEX = "batch.kubernetes.io/job-completion-index"


def missing_jobs(cluster: Cluster) -> Iterator[Job]:
    """Jobs that the input lacks, as their pods show them; a Job whose pods have all ended has nothing left to do."""
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


_OF_PODS: Mapping[type, Callable[[Cluster], Iterable[KubernetesObject]]] = {
    ReplicationController: missing_replication_controllers,
    DaemonSet: missing_daemon_sets,
    StatefulSet: missing_stateful_sets,
    Job: missing_jobs,
}


class Inferred(NamedTuple):
    """What was made up."""

    #: Between pods and Deployments that are in the input.
    sets: Sequence[ReplicaSet]
    #: All else, by kind.
    owners: Mapping[type, Sequence[KubernetesObject]]

    @property
    def objects(self) -> list[KubernetesObject]:
        """All of them."""
        return [*self.sets, *(each for found in self.owners.values() for each in found)]


def inferred_owners(cluster: Cluster) -> Inferred:
    """The owners that the cluster lacks; where it has all kinds, only ReplicaSets of its Deployments are looked for."""
    sets = list(sets_of_deployments(cluster)) if cluster.all(Deployment) else []
    found: dict[type, Sequence[KubernetesObject]] = {}
    replica_sets: list[ReplicaSet] = list(cluster.all(ReplicaSet).values())
    if lacks(ReplicaSet, cluster):
        replica_sets = list(missing_replica_sets(cluster, frozenset(map(key_of, sets))))
        found[ReplicaSet] = replica_sets
    if lacks(Deployment, cluster):
        found[Deployment] = list(missing_deployments(replica_sets, cluster))
    for kind, made in _OF_PODS.items():
        if lacks(kind, cluster):
            found[kind] = list(made(cluster))
    # What stands for a custom resource is there, although the input has nothing of its kind.
    lacking = {kind: [each for each in some if key_of(each) not in cluster.all(kind)] for kind, some in found.items()}
    return Inferred(sets, {kind: objects for kind, objects in lacking.items() if objects})
