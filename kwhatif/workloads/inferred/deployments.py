"""Deployments that the input lacks: what their ReplicaSets show of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.workload import Deployment, DeploymentSpec, ReplicaSet, RollingUpdate, UpdateStrategy
from kwhatif.workloads.controllers.deployment import bounds_of
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.numbers import natural_number
from kwhatif.workloads.owners import pods_controlled_by
from kwhatif.workloads.removal import is_available
from kwhatif.workloads.replicas import HASH_LABEL


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
    """Sorts ReplicaSets, the newest template last."""
    meta = each.metadata
    return natural_number(meta.annotations.revision) or 0, meta.creation_timestamp or "", meta.name


def _made(namespace: str, owner: OwnerReference, sets: Sequence[ReplicaSet], cluster: Cluster) -> Deployment:
    """As many replicas as the newest set notes, else as all ask for; its template, too.

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
