"""Claims of generic ephemeral volumes (`pkg/controller/volume/ephemeral/controller.go`)."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.matching.volumes import claim_name
from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.meta import AnnotatedMeta, OwnerReference, controller_of
from kwhatif.model.pod import Pod
from kwhatif.model.storage import PersistentVolumeClaim


def ephemeral_claims(pod: Pod, cluster: Cluster) -> Iterator[PersistentVolumeClaim]:
    """The claims that are made for the volumes of a pod once it exists; those that are there already are left out."""
    meta = pod.metadata
    owner = OwnerReference(kind="Pod", name=meta.name, uid=meta.uid, api_version="v1", controller=True)
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
                owner_references=(owner,),
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
