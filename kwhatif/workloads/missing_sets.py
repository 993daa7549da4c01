"""ReplicaSets that the input lacks, though their pods and their Deployments are in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.meta import OwnerReference, controller_of
from kwhatif.model.pod import Pod, PodMeta, PodTemplateSpec, is_terminal
from kwhatif.model.workload import Deployment, ReplicaSet
from kwhatif.workloads.owners import is_named_after, reference_to
from kwhatif.workloads.replicas import HASH_LABEL, replica_set_of
from kwhatif.workloads.survey import survey_of


def missing_replica_sets(cluster: Cluster) -> Iterator[ReplicaSet]:
    """A ReplicaSet for every owner of pods that the input lacks, and that can only be one of a Deployment in it.

    Of several that a Deployment would have, the one with the most pods is taken to be of its template as it is.
    """
    by_deployment: dict[str, list[tuple[OwnerReference, list[Pod]]]] = {}
    for (namespace, kind, name), controlled in survey_of(cluster).controlled.items():
        if kind != "ReplicaSet" or cluster.get(ReplicaSet, f"{namespace}/{name}") is not None:
            continue
        pods = [pod for pod in cluster.select(Pod, controlled.keys) if not is_terminal(pod)]
        owner = controller_of(pods[0].metadata) if pods else None
        prefix = name.rpartition("-")[0]
        deployment = cluster.get(Deployment, f"{namespace}/{prefix}")
        if owner is not None and deployment is not None and is_named_after(deployment, name, pods[0]):
            by_deployment.setdefault(key_of(deployment), []).append((owner, pods))
    for key, found in by_deployment.items():
        deployment = cluster.all(Deployment)[key]
        found.sort(key=lambda each: (-len(each[1]), each[0].name))
        for place, (owner, pods) in enumerate(found):
            yield _made(deployment, owner, pods, cluster, is_current=place == 0)


def _made(
    deployment: Deployment, owner: OwnerReference, pods: Sequence[Pod], cluster: Cluster, *, is_current: bool
) -> ReplicaSet:
    first = pods[0]
    template = deployment.spec.template or PodTemplateSpec()
    if not is_current:
        labels = {name: first.metadata.labels.get(name, value) for name, value in template.metadata.labels.items()}
        template = PodTemplateSpec(
            metadata=PodMeta(labels=labels), spec=replace(first.spec, node_name="", priority=None)
        )
    hash_ = first.metadata.labels.get(HASH_LABEL, "")
    made = replica_set_of(deployment, template, reference_to(deployment, cluster), owner.name, hash_)
    created = deployment.metadata.creation_timestamp
    return replace(
        made,
        metadata=replace(made.metadata, uid=owner.uid, creation_timestamp=created),
        spec=replace(made.spec, replicas=sum(pod.metadata.deletion_timestamp is None for pod in pods)),
    )
