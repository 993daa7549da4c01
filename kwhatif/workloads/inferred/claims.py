"""Claims, volumes and storage classes that the input lacks, and that pods use.

A pod that has a node has its claims, and they are bound, or it would have none. To which volumes is not known, nor
which nodes these can be reached from: they are taken to be reached from all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwhatif.kube.matching.volumes import BIND_COMPLETED, WAIT_FOR_FIRST_CONSUMER, claim_class, claim_names
from kwhatif.kube.model.cluster import Cluster, lacks
from kwhatif.kube.model.meta import AnnotatedMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.storage import (
    ClaimReference,
    ClaimTemplate,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
)
from kwhatif.kube.model.workload import StatefulSet
from kwhatif.workloads.generated import uid_of

_BOUND = {BIND_COMPLETED: "yes"}


def missing_storage(cluster: Cluster) -> Iterator[PersistentVolumeClaim | PersistentVolume | StorageClass]:
    """Whatever of it lacks as a kind."""
    claims = list(_claims(cluster)) if lacks(PersistentVolumeClaim, cluster) else []
    yield from claims
    if lacks(PersistentVolume, cluster):
        yield from _volumes([*cluster.all(PersistentVolumeClaim).values(), *claims])
    if lacks(StorageClass, cluster):
        yield from _classes(cluster)


def _claims(cluster: Cluster) -> Iterator[PersistentVolumeClaim]:
    """Those of pods that have a node; that of an ephemeral volume belongs to its pod, and goes with it."""
    found: dict[tuple[str, str], tuple[OwnerReference, ...]] = {}
    for pod in cluster.all(Pod).values():
        if not pod.spec.volumes or not pod.spec.node_name or is_terminal(pod):
            continue
        meta = pod.metadata
        owner = OwnerReference(kind="Pod", name=meta.name, uid=meta.uid, api_version="v1", controller=True)
        for claim in claim_names(pod):
            found[meta.namespace, claim.name] = (owner,) if claim.ephemeral else ()
    for (namespace, name), owners in sorted(found.items()):
        yield PersistentVolumeClaim(
            api_version="v1",
            metadata=AnnotatedMeta(namespace=namespace, name=name, owner_references=owners, annotations=_BOUND),
            spec=PersistentVolumeClaimSpec(
                volume_name=f"pvc-{uid_of('PersistentVolumeClaim', namespace, name)}", storage_class_name=""
            ),
            status=PersistentVolumeClaimStatus(phase="Bound"),
        )


def _volumes(claims: Iterable[PersistentVolumeClaim]) -> Iterator[PersistentVolume]:
    """Those that claims name."""
    for claim in claims:
        if claim.spec.volume_name:
            meta, spec = claim.metadata, claim.spec
            yield PersistentVolume(
                api_version="v1",
                metadata=AnnotatedMeta(name=spec.volume_name),
                spec=PersistentVolumeSpec(
                    access_modes=spec.access_modes,
                    claim_ref=ClaimReference(namespace=meta.namespace, name=meta.name, uid=meta.uid),
                    storage_class_name=spec.storage_class_name or "",
                ),
                status=PersistentVolumeStatus(phase="Bound"),
            )


def _classes(cluster: Cluster) -> Iterator[StorageClass]:
    """Those that claims name, or templates of claims: each makes volumes wherever the first pod lands that uses one."""
    names = {claim_class(claim) for claim in cluster.all(PersistentVolumeClaim).values()}
    names |= {template.spec.storage_class_name or "" for template in _templates(cluster)}
    for name in sorted(filter(None, names)):
        yield StorageClass(
            api_version="storage.k8s.io/v1",
            metadata=AnnotatedMeta(name=name),
            provisioner="unknown",
            volume_binding_mode=WAIT_FOR_FIRST_CONSUMER,
        )


def _templates(cluster: Cluster) -> Iterator[ClaimTemplate]:
    for stateful_set in cluster.all(StatefulSet).values():
        yield from stateful_set.spec.volume_claim_templates
    for pod in cluster.all(Pod).values():
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
                yield volume.ephemeral.volume_claim_template
