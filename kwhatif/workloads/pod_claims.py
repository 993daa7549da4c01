"""Claims that are made for a pod: of its generic ephemeral volumes, and of resource claim templates.

(`pkg/controller/volume/ephemeral/controller.go`, `pkg/controller/resourceclaim/controller.go`.)
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kwhatif.kube.matching.volumes import claim_name
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import AnnotatedMeta, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, PodResourceClaimStatus
from kwhatif.kube.model.resource import ResourceClaim, ResourceClaimTemplate
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.workloads.generated import generated_name

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
