"""ResourceClaims made of templates for a pod (`pkg/controller/resourceclaim/controller.go`)."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import AnnotatedMeta, OwnerReference
from kwhatif.model.pod import Pod
from kwhatif.model.pod_status import PodResourceClaimStatus
from kwhatif.model.resource import ResourceClaim, ResourceClaimTemplate
from kwhatif.workloads.generated import generated_names

#: Which entry of the pod's `resourceClaims` the claim is for (`PodResourceClaimAnnotation`).
_ENTRY = "resource.kubernetes.io/pod-claim-name"


def with_resource_claims(pod: Pod, cluster: Cluster) -> tuple[Pod, tuple[ResourceClaim, ...]]:
    """The pod with the names of its claims in its status, and those claims; a missing template makes none."""
    meta, present = pod.metadata, cluster.all(ResourceClaim)
    owner = OwnerReference(kind="Pod", name=meta.name, uid=meta.uid, api_version="v1", controller=True)
    claims: list[ResourceClaim] = []
    statuses = list(pod.status.resource_claim_statuses)
    for entry in pod.spec.resource_claims:
        template = cluster.get(ResourceClaimTemplate, f"{meta.namespace}/{entry.resource_claim_template_name}")
        if template is None or any(status.name == entry.name for status in statuses):
            continue
        prefix = f"{meta.name}-{entry.name}-"
        (name,) = generated_names(prefix, meta.uid, 1, lambda name: f"{meta.namespace}/{name}" in present)
        made = template.spec
        claims.append(
            ResourceClaim(
                metadata=AnnotatedMeta(
                    name=name,
                    namespace=meta.namespace,
                    labels=made.metadata.labels,
                    annotations={**made.metadata.annotations, _ENTRY: entry.name},
                    owner_references=(owner,),
                ),
                spec=made.spec,
            )
        )
        statuses.append(PodResourceClaimStatus(name=entry.name, resource_claim_name=name))
    if not claims:
        return pod, ()
    return replace(pod, status=replace(pod.status, resource_claim_statuses=tuple(statuses))), tuple(claims)
