"""ReplicaSets and ReplicationControllers that the input lacks: what their pods show of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import ObjectMeta, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, PodMeta, PodTemplateSpec, is_terminal
from kwhatif.kube.model.unknown import lacks
from kwhatif.kube.model.workload import (
    Deployment,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
    ReplicationController,
    ReplicationControllerSpec,
    RolloutAnnotations,
)
from kwhatif.workloads.controllers.deployment import bounds_of
from kwhatif.workloads.generated import uid_of
from kwhatif.workloads.inferred.groups import OwnedPods, pods_by_owner
from kwhatif.workloads.inferred.templates import template_from
from kwhatif.workloads.owners import is_named_after, reference_to
from kwhatif.workloads.replicas import HASH_LABEL, replica_set_of
from kwhatif.workloads.survey import survey_of

# --- between pods and Deployments that are there -----------------------------------------------------------------


def sets_of_deployments(cluster: Cluster) -> Iterator[ReplicaSet]:
    """A ReplicaSet for every owner of pods that the input lacks, and that can only be one of a Deployment in it.

    Of several that a Deployment would have, the one with the most pods is taken to be of its template as it is.
    """
    by_deployment: dict[str, list[tuple[OwnerReference, list[Pod]]]] = {}
    for (namespace, kind, name), controlled in survey_of(cluster).groups():
        if kind != "ReplicaSet" or cluster.get(ReplicaSet, f"{namespace}/{name}") is not None:
            continue
        pods = [pod for pod in cluster.select(Pod, controlled.in_order) if not is_terminal(pod)]
        owner = controller_of(pods[0].metadata) if pods else None
        prefix = name.rpartition("-")[0]
        deployment = cluster.get(Deployment, f"{namespace}/{prefix}")
        if owner is not None and deployment is not None and is_named_after(deployment, name, pods[0]):
            by_deployment.setdefault(key_of(deployment), []).append((owner, pods))
    for key, found in by_deployment.items():
        deployment = cluster.all(Deployment)[key]
        found.sort(key=lambda each: (-len(each[1]), each[0].name))
        for place, (owner, pods) in enumerate(found):
            yield _between(deployment, owner, pods, cluster, is_current=place == 0)


def _between(
    deployment: Deployment, owner: OwnerReference, pods: Sequence[Pod], cluster: Cluster, *, is_current: bool
) -> ReplicaSet:
    first = pods[0]
    template = deployment.spec.template or PodTemplateSpec()
    if not is_current:
        labels = {name: first.metadata.labels.get(name, value) for name, value in template.metadata.labels.items()}
        template = replace(template_from(first, pods), metadata=PodMeta(labels=labels))
    hash_ = first.metadata.labels.get(HASH_LABEL, "")
    made = replica_set_of(deployment, template, reference_to(deployment, cluster), owner.name, hash_)
    created = deployment.metadata.creation_timestamp
    return replace(
        made,
        metadata=replace(made.metadata, uid=owner.uid, creation_timestamp=created),
        spec=replace(made.spec, replicas=sum(pod.metadata.deletion_timestamp is None for pod in pods)),
    )


# --- of pods alone -----------------------------------------------------------------------------------------------


class _Found(NamedTuple):
    """What the pods of one ReplicaSet show."""

    pods: OwnedPods
    #: The hash of its template, by its name and the labels of its pods; "" where these do not agree.
    hash: str

    @property
    def deployment(self) -> str:
        """The name of its Deployment; "" where nothing shows one."""
        return self.pods.owner.name.removesuffix(f"-{self.hash}") if self.hash else ""


def missing_replica_sets(cluster: Cluster, taken: frozenset[str]) -> Iterator[ReplicaSet]:
    """A ReplicaSet for every owner of that kind, but for those of the keys that are `taken`.

    It belongs to a Deployment where its name is one with the hash of a template behind it, and no Deployment is known.
    """
    is_owned = lacks(Deployment, cluster)
    groups = [_found(each) for each in pods_by_owner(ReplicaSet, cluster)]
    groups = [each for each in groups if f"{each.pods.namespace}/{each.pods.owner.name}" not in taken]
    by_deployment: dict[tuple[str, str], list[_Found]] = {}
    for each in groups:
        name = each.deployment if is_owned else ""
        by_deployment.setdefault((each.pods.namespace, name or f"/{each.pods.owner.name}"), []).append(each)
    for found in by_deployment.values():
        found.sort(
            key=lambda each: (bool(each.pods.active), each.pods.newest.metadata.creation_timestamp or "", each.hash)
        )
        wanted = sum(len(each.pods.active) for each in found)
        for revision, each in enumerate(found, 1):
            notes = RolloutAnnotations()
            if is_owned and each.deployment:
                is_rolling = sum(bool(other.pods.active) for other in found) > 1
                most = wanted if is_rolling else bounds_of(None, wanted).most
                notes = RolloutAnnotations(revision=str(revision), desired_replicas=str(wanted), max_replicas=str(most))
            yield _replica_set(each, notes, is_owned=is_owned)


def _found(pods: OwnedPods) -> _Found:
    hash_ = pods.newest.metadata.labels.get(HASH_LABEL, "")
    return _Found(pods, hash_ if hash_ and pods.owner.name.endswith(f"-{hash_}") else "")


def _replica_set(found: _Found, notes: RolloutAnnotations, *, is_owned: bool) -> ReplicaSet:
    pods, meta = found.pods, _meta(found.pods)
    mark = {HASH_LABEL: hash_} if (hash_ := pods.newest.metadata.labels.get(HASH_LABEL)) else {}
    template = template_from(pods.newest, pods.pods)
    labels = {**template.metadata.labels, **mark}
    owners: tuple[OwnerReference, ...] = ()
    if is_owned and found.deployment:
        uid = uid_of("Deployment", pods.namespace, found.deployment)
        owners = (
            OwnerReference(kind="Deployment", name=found.deployment, uid=uid, api_version="apps/v1", controller=True),
        )
    return ReplicaSet(
        api_version="apps/v1",
        metadata=ReplicaSetMeta(
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
            creation_timestamp=meta.creation_timestamp,
            labels=labels,
            owner_references=owners,
            annotations=notes,
        ),
        spec=ReplicaSetSpec(
            replicas=len(pods.active),
            selector=pods.selector,
            template=replace(template, metadata=replace(template.metadata, labels=labels)),
        ),
    )


def missing_replication_controllers(cluster: Cluster) -> Iterator[ReplicationController]:
    """A ReplicationController for every owner of that kind."""
    for pods in pods_by_owner(ReplicationController, cluster):
        yield ReplicationController(
            api_version="v1",
            metadata=_meta(pods),
            spec=ReplicationControllerSpec(
                replicas=len(pods.active),
                selector=pods.selector.match_labels if pods.selector else None,
                template=template_from(pods.newest, pods.pods),
            ),
        )


def _meta(pods: OwnedPods) -> ObjectMeta:
    return ObjectMeta(
        namespace=pods.namespace, name=pods.owner.name, uid=pods.owner.uid, creation_timestamp=pods.created
    )
