"""Deployments, ReplicaSets and ReplicationControllers that the input lacks: what their pods and sets show of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, key_of, lacks
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, PodMeta, PodTemplateSpec, is_terminal
from kwhatif.kube.model.workload import (
    Deployment,
    DeploymentSpec,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
    ReplicationController,
    ReplicationControllerSpec,
    RollingUpdate,
    RolloutAnnotations,
    UpdateStrategy,
)
from kwhatif.workloads.deployment import HASH_LABEL, bounds_of, replica_set_of
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.inferred_groups import OwnedPods, pods_by_owner, template_from
from kwhatif.workloads.names import natural_number, uid_of
from kwhatif.workloads.owners import is_named_after, pods_controlled_by, reference_to
from kwhatif.workloads.removal import is_available
from kwhatif.workloads.survey import survey_of


def missing_deployments(sets: Sequence[ReplicaSet], cluster: Cluster) -> Iterator[Deployment]:
    """The Deployments that control these ReplicaSets; their pods are in the cluster."""
    owned = [(each, owner) for each in sets if (owner := controller_of(each.metadata)) and _is_one(owner)]
    owned.sort(key=lambda each: (each[0].metadata.namespace, each[1].name, each[1].uid))
    for (namespace, _, _), group in groupby(
        owned, key=lambda each: (each[0].metadata.namespace, each[1].name, each[1].uid)
    ):
        found = list(group)
        yield _made(namespace, found[0][1], sorted((each for each, _ in found), key=_age), cluster)


def _is_one(owner: OwnerReference) -> bool:
    return owner.kind == "Deployment" and owner.api_version.rpartition("/")[0] in ("", "apps", "extensions")


def _age(each: ReplicaSet) -> tuple[int, str, str]:
    """Sort key for ReplicaSets: the newest template is last."""
    meta = each.metadata
    return natural_number(meta.annotations.revision) or 0, meta.creation_timestamp or "", meta.name


def _made(namespace: str, owner: OwnerReference, sets: Sequence[ReplicaSet], cluster: Cluster) -> Deployment:
    """The replicas that the newest set's annotation says, else the sum over all sets; and its template.

    Where pods of two templates are there and nothing is being replaced, both are meant to stay: it is paused. Else it
    goes on rolling out, with no more pods than there are.
    """
    newest, running = sets[-1], [each for each in sets if replicas_of(each)]
    wanted = natural_number(newest.metadata.annotations.desired_replicas)
    most = natural_number(newest.metadata.annotations.max_replicas)
    wanted = sum(map(replicas_of, running)) if wanted is None else wanted
    strategy = UpdateStrategy()
    if most is not None and most != bounds_of(None, wanted).most:
        rolling = RollingUpdate(max_surge=max(0, most - wanted))
        strategy = UpdateStrategy(type="RollingUpdate", rolling_update=rolling)
    return Deployment(
        api_version="apps/v1",
        metadata=ObjectMeta(
            namespace=namespace,
            name=owner.name,
            uid=owner.uid,
            creation_timestamp=min(filter(None, (each.metadata.creation_timestamp for each in sets)), default=None),
        ),
        spec=DeploymentSpec(
            replicas=wanted,
            selector=_without_hash(newest.spec.selector),
            template=_plain(newest.spec.template),
            strategy=strategy,
            paused=len(running) > 1 and _is_at_rest(running, cluster),
            min_ready_seconds=newest.spec.min_ready_seconds,
        ),
    )


def _without_hash(selector: LabelSelector | None) -> LabelSelector | None:
    if selector is None:
        return None
    return replace(selector, match_labels={k: v for k, v in selector.match_labels.items() if k != HASH_LABEL})


def _plain(template: PodTemplateSpec | None) -> PodTemplateSpec | None:
    """The ReplicaSet's template without its mark."""
    if template is None:
        return None
    labels = {key: value for key, value in template.metadata.labels.items() if key != HASH_LABEL}
    return replace(template, metadata=replace(template.metadata, labels=labels))


def _is_at_rest(sets: Sequence[ReplicaSet], cluster: Cluster) -> bool:
    pods: list[Pod] = [pod for each in sets for pod in pods_controlled_by("ReplicaSet", each.metadata, cluster)]
    return all(pod.metadata.deletion_timestamp is None and is_available(pod) for pod in pods)


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
    #: The hash of its template, as its name and the labels of its pods agree; "" where they do not.
    hash: str

    @property
    def deployment(self) -> str:
        """The name of its Deployment; "" where it is not known."""
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
