"""StatefulSets that the input lacks: what their pods show of them, and their claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import ClaimTemplate, PersistentVolumeClaim, Volume
from kwhatif.kube.model.workload import (
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetSpec,
    StatefulSetStatus,
    UpdateStrategy,
)
from kwhatif.workloads.inferred.groups import OwnedPods, pods_by_owner
from kwhatif.workloads.inferred.templates import template_from
from kwhatif.workloads.numbers import ordinal_of
from kwhatif.workloads.stateful_set import CLAIM_NAME, REVISION_LABEL


def missing_stateful_sets(cluster: Cluster) -> Iterator[StatefulSet]:
    """A StatefulSet for every owner of that kind."""
    return (_made(pods, cluster) for pods in pods_by_owner(StatefulSet, cluster))


def _made(pods: OwnedPods, cluster: Cluster) -> StatefulSet:
    """Its pods have the numbers from the lowest to the highest: one that is missing between is about to be made."""
    pod = pods.newest
    template = template_from(pod, pods.of_revision(pod))
    claimed = [volume for volume in pod.spec.volumes if _is_claimed(volume, pod)]
    others = tuple(volume for volume in template.spec.volumes if volume not in claimed)
    template = replace(template, spec=replace(template.spec, hostname="", subdomain="", volumes=others))
    found = (ordinal_of(each.metadata, pods.owner.name) for each in pods.active)
    numbers = sorted(number for number in found if number is not None)
    first = numbers[0] if numbers else 0
    stays = "" in pods.revisions or (len(pods.revisions) > 1 and pods.is_at_rest)
    return StatefulSet(
        api_version="apps/v1",
        metadata=ObjectMeta(
            namespace=pods.namespace, name=pods.owner.name, uid=pods.owner.uid, creation_timestamp=pods.created
        ),
        spec=StatefulSetSpec(
            replicas=numbers[-1] - first + 1 if numbers else 0,
            ordinals=StatefulSetOrdinals(start=first) if first else None,
            selector=pods.selector,
            template=template,
            service_name=pod.spec.subdomain,
            volume_claim_templates=tuple(_claim_template(volume, pod, pods.pods, cluster) for volume in claimed),
            update_strategy=UpdateStrategy(type="OnDelete") if stays else UpdateStrategy(),
        ),
        status=_status(pods),
    )


def _status(pods: OwnedPods) -> StatefulSetStatus:
    """The revisions: that of the newest pod, and the one before it where there are pods of it."""
    newest = pods.newest.metadata.labels.get(REVISION_LABEL, "")
    before = next((name for name in pods.revisions if name not in ("", newest)), newest)
    return StatefulSetStatus(
        update_revision=newest, current_revision=before, current_replicas=pods.revisions.get(before, 0)
    )


def _is_claimed(volume: Volume, pod: Pod) -> bool:
    """Whether the claim is one that the controller has made for this very pod: it has the pod's name in its own."""
    claim = volume.persistent_volume_claim
    return claim is not None and pod.metadata.name in claim.claim_name


def _claim_template(volume: Volume, newest: Pod, pods: Sequence[Pod], cluster: Cluster) -> ClaimTemplate:
    """As the first of the claims that is in the input, without its volume."""
    claimed = volume.persistent_volume_claim
    pattern = "" if claimed is None else claimed.claim_name.replace(newest.metadata.name, "{pod}")
    notes = {} if pattern == f"{volume.name}-{{pod}}" else {CLAIM_NAME: pattern}
    for pod in pods:
        name = pattern.replace("{pod}", pod.metadata.name)
        claim = cluster.get(PersistentVolumeClaim, f"{pod.metadata.namespace}/{name}")
        if claim is not None:
            return ClaimTemplate(
                metadata=AnnotatedMeta(name=volume.name, labels=claim.metadata.labels, annotations=notes),
                spec=replace(claim.spec, volume_name=""),
            )
    return ClaimTemplate(metadata=AnnotatedMeta(name=volume.name, annotations=notes))
