"""New PersistentVolumeClaims: admitted, and bound at once where their class does not wait for a pod.

The volume controller binds such a claim to a volume that exists, or has one provisioned, before any pod is looked at
(`syncUnboundClaim` in `pkg/controller/volume/persistentvolume/pv_controller.go`).
"""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.admission.denied import Denied
from kwhatif.admission.new_claim import admit_claim, complete_claim
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.matching.volumes import BIND_COMPLETED, WAIT_FOR_FIRST_CONSUMER, claim_class, is_bound_to
from kwhatif.model.caveat import Caveat, ClaimUnbound, VolumeProvisioned
from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.meta import AnnotatedMeta, Requirement
from kwhatif.model.nearest import nearest
from kwhatif.model.storage import (
    ClaimReference,
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
    VolumeNodeSelector,
    VolumeNodeSelectorTerm,
)
from kwhatif.plugins.volume_binding.provisioning import NO_PROVISIONER
from kwhatif.plugins.volume_binding.static import VolumeSearch
from kwhatif.workloads.stand_ins import uid_of


class NewClaims:
    """Creates claims in a cluster, one after another."""

    def __init__(self, cluster: Cluster, usage: QuotaUsage, *, admission: bool = True) -> None:
        self._cluster = cluster
        self._usage = usage
        self._admission = admission
        #: What had to be assumed, by claim.
        self.caveats: dict[Caveat, None] = {}

    def create(self, claim: PersistentVolumeClaim) -> Denied | None:
        """Put the claim into the cluster, with its volume if it gets one; or say why the API server refuses it."""
        if self._admission:
            admitted = admit_claim(claim, self._cluster, self._usage)
            if isinstance(admitted, Denied):
                return admitted
            claim = admitted.object
        else:
            claim = complete_claim(claim, self._cluster)
        self._cluster.add(self._bound(claim))
        return None

    def _bound(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """The claim once the volume controller has seen it."""
        storage_class = self._cluster.get(StorageClass, claim_class(claim))
        if storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return claim
        if BIND_COMPLETED in claim.metadata.annotations:
            return claim
        volume = self._existing(claim) or self._provisioned(claim, storage_class)
        if volume is None:
            return claim
        meta, spec = claim.metadata, claim.spec
        reference = ClaimReference(namespace=meta.namespace, name=meta.name, uid=meta.uid)
        self._cluster.add(
            replace(
                volume,
                spec=replace(volume.spec, claim_ref=reference),
                status=PersistentVolumeStatus(phase="Bound"),
            )
        )
        return replace(
            claim,
            metadata=replace(meta, annotations={**meta.annotations, BIND_COMPLETED: "yes"}),
            spec=replace(spec, volume_name=volume.metadata.name),
            status=replace(claim.status, phase="Bound"),
        )

    def _existing(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        """The volume that the claim names, or one that would do."""
        if claim.spec.volume_name:
            volume = self._cluster.get(PersistentVolume, claim.spec.volume_name)
            is_free = volume is not None and (volume.spec.claim_ref is None or is_bound_to(volume, claim))
            return volume if is_free else None
        return VolumeSearch(claim, self._cluster).anywhere

    def _provisioned(self, claim: PersistentVolumeClaim, storage_class: StorageClass | None) -> PersistentVolume | None:
        """The volume that the class's provisioner makes; None where there is no such class, or nobody makes any."""
        if claim.spec.volume_name:
            return None
        key, name = key_of(claim), claim_class(claim)
        if storage_class is None:
            near = tuple(nearest(name, self._cluster.all(StorageClass))) if name else ()
            self._note(ClaimUnbound(claim=key, storage_class=name, is_known=False, near=near))
            return None
        if storage_class.provisioner in NO_PROVISIONER:
            self._note(ClaimUnbound(claim=key, storage_class=name))
            return None
        reach = _topology(storage_class)
        self._note(
            VolumeProvisioned(
                claim=key,
                storage_class=name,
                provisioner=storage_class.provisioner,
                everywhere=reach is None,
            )
        )
        name = f"pvc-{claim.metadata.uid or uid_of('PersistentVolumeClaim', *key_of(claim).split('/', 1))}"
        return PersistentVolume(
            metadata=AnnotatedMeta(name=name),
            spec=PersistentVolumeSpec(
                capacity=claim.spec.resources.requests,
                access_modes=claim.spec.access_modes,
                storage_class_name=storage_class.metadata.name,
                volume_mode=claim.spec.volume_mode,
                node_affinity=reach,
                csi=CSIPersistentVolumeSource(driver=storage_class.provisioner, volume_handle=name),
            ),
        )

    def _note(self, caveat: Caveat) -> None:
        self.caveats[caveat] = None


def _topology(storage_class: StorageClass) -> VolumeNodeAffinity | None:
    """From where a volume of the class can be used: which of the topologies it gets, only the provisioner knows."""
    terms = tuple(
        VolumeNodeSelectorTerm(
            match_expressions=tuple(
                Requirement(key=expression.key, operator="In", values=expression.values)
                for expression in term.match_label_expressions
            )
        )
        for term in storage_class.allowed_topologies
        if term.match_label_expressions
    )
    if not storage_class.allowed_topologies:
        return None
    return VolumeNodeAffinity(required=VolumeNodeSelector(node_selector_terms=terms))
