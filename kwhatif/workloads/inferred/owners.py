"""Owners of pods that the input lacks, because it has nothing of their kind: made up of what their pods show.

Where the kind is in the input and an owner is not, that one is gone; and an owner of a custom kind is not made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.job import Job
from kwhatif.kube.model.unknown import lacks
from kwhatif.kube.model.workload import DaemonSet, Deployment, ReplicaSet, ReplicationController, StatefulSet
from kwhatif.workloads.inferred.daemon_sets import missing_daemon_sets
from kwhatif.workloads.inferred.deployments import missing_deployments
from kwhatif.workloads.inferred.jobs import missing_jobs
from kwhatif.workloads.inferred.replica_sets import (
    missing_replica_sets,
    missing_replication_controllers,
    sets_of_deployments,
)
from kwhatif.workloads.inferred.stateful_sets import missing_stateful_sets

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
    return Inferred(sets, {kind: objects for kind, objects in found.items() if objects})
