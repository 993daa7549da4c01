"""Claims that are made for a pod; and the claims, volumes and classes that pods use and the input lacks.

Generic ephemeral volumes and resource claim templates are filled as the controllers do it
(`pkg/controller/volume/ephemeral/controller.go`, `pkg/controller/resourceclaim/controller.go`).

A pod that has a node has its claims, and they are bound, or it would have none. To which volumes is not known, nor
which nodes these can be reached from: they are taken to be reached from all. What admission has made of a class that
is not in the input is in the pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kwhatif.kube.matching.volumes import BIND_COMPLETED, WAIT_FOR_FIRST_CONSUMER, claim_class, claim_name, claim_names
from kwhatif.kube.model.cluster import Cluster, key_of, lacks
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, PodResourceClaimStatus, is_terminal
from kwhatif.kube.model.policy import PriorityClass, RuntimeClass, RuntimeClassOverhead
from kwhatif.kube.model.resource import ResourceClaim, ResourceClaimTemplate
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
from kwhatif.workloads.names import generated_name, uid_of

#: Which entry of the pod's `resourceClaims` the claim is for (`PodResourceClaimAnnotation`).
_ENTRY = "resource.kubernetes.io/pod-claim-name"


def ephemeral_claims(pod: Pod, cluster: Cluster) -> Iterator[PersistentVolumeClaim]:
    """The claims that are made for the volumes of a pod once it exists; those that are there already are left out."""
    meta = pod.metadata
    for volume in pod.spec.volumes:
        template = volume.ephemeral.volume_claim_template if volume.ephemeral else None
        name = claim_name(pod, volume)
        if template is None or name is None:
            continue
        claim = PersistentVolumeClaim(
            metadata=AnnotatedMeta(
                name=name.name,
                namespace=meta.namespace,
                labels=template.metadata.labels,
                annotations=template.metadata.annotations,
                owner_references=(_owner(pod),),
            ),
            spec=template.spec,
        )
        if cluster.get(PersistentVolumeClaim, key_of(claim)) is None:
            yield claim


def owns_claims(pod: Pod, cluster: Cluster) -> bool:
    """Whether claims of its generic ephemeral volumes are there and owned by this very pod.

    Then its manifest was written down from the cluster, and means the pod for which they were made, not a new one.
    """
    if not pod.metadata.uid:
        return False
    names = (claim_name(pod, volume) for volume in pod.spec.volumes if volume.ephemeral)
    claims = (cluster.get(PersistentVolumeClaim, f"{pod.metadata.namespace}/{name.name}") for name in names if name)
    owners = (controller_of(claim.metadata) for claim in claims if claim is not None)
    return any(owner is not None and owner.uid == pod.metadata.uid for owner in owners)


def with_resource_claims(pod: Pod, cluster: Cluster) -> tuple[Pod, tuple[ResourceClaim, ...]]:
    """The pod with the names of its claims in its status, and those claims; a missing template makes none."""
    meta = pod.metadata
    claims: list[ResourceClaim] = []
    statuses = list(pod.status.resource_claim_statuses)
    for entry in pod.spec.resource_claims:
        template = cluster.get(ResourceClaimTemplate, f"{meta.namespace}/{entry.resource_claim_template_name}")
        if template is None or any(status.name == entry.name for status in statuses):
            continue
        made = template.spec
        unnamed = AnnotatedMeta(
            generate_name=f"{meta.name}-{entry.name}-",
            namespace=meta.namespace,
            labels=made.metadata.labels,
            annotations={**made.metadata.annotations, _ENTRY: entry.name},
            owner_references=(_owner(pod),),
        )
        name = generated_name(unnamed, meta.uid, cluster.all(ResourceClaim))
        claims.append(ResourceClaim(metadata=replace(unnamed, name=name), spec=made.spec))
        statuses.append(PodResourceClaimStatus(name=entry.name, resource_claim_name=name))
    if not claims:
        return pod, ()
    return replace(pod, status=replace(pod.status, resource_claim_statuses=tuple(statuses))), tuple(claims)


def _owner(pod: Pod) -> OwnerReference:
    meta = pod.metadata
    return OwnerReference(kind="Pod", name=meta.name, uid=meta.uid, api_version="v1", controller=True)


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


_DEFAULT_POLICY = "PreemptLowerPriority"


def missing_classes(cluster: Cluster) -> Iterator[PriorityClass | RuntimeClass]:
    """PriorityClasses and RuntimeClasses, as the pods show them that name them."""
    if lacks(PriorityClass, cluster):
        yield from _priority_classes(cluster)
    if lacks(RuntimeClass, cluster):
        yield from _runtime_classes(cluster)


def _priority_classes(cluster: Cluster) -> Iterator[PriorityClass]:
    found: dict[str, Pod] = {}
    for pod in cluster.all(Pod).values():
        name = pod.spec.priority_class_name
        if name and name not in found and pod.spec.priority is not None:
            found[name] = pod
    for name, pod in sorted(found.items()):
        if cluster.get(PriorityClass, name) is None:
            yield PriorityClass(
                api_version="scheduling.k8s.io/v1",
                metadata=ObjectMeta(name=name),
                value=pod.spec.priority or 0,
                preemption_policy=pod.spec.preemption_policy or _DEFAULT_POLICY,
            )


def _runtime_classes(cluster: Cluster) -> Iterator[RuntimeClass]:
    found: dict[str, Pod] = {}
    for pod in cluster.all(Pod).values():
        if pod.spec.runtime_class_name:
            found.setdefault(pod.spec.runtime_class_name, pod)
    for name, pod in sorted(found.items()):
        overhead = None if pod.spec.overhead is None else RuntimeClassOverhead(pod_fixed=pod.spec.overhead)
        yield RuntimeClass(api_version="node.k8s.io/v1", metadata=ObjectMeta(name=name), overhead=overhead)
