"""Claims: created for pods, bound to volumes, and deallocated.

Follows `pkg/controller/volume/ephemeral/controller.go`, `pkg/controller/resourceclaim/controller.go` and
`pkg/controller/volume/persistentvolume/pv_controller.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, BackingOff, Create, Remove, SyncResult, Update, View, Write
from kwhatif.controllers.pods import controllers_of
from kwhatif.kube.matching.field_errors import nearest
from kwhatif.kube.matching.volumes import BIND_COMPLETED, WAIT_FOR_FIRST_CONSUMER, claim_class, is_bound_to
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import ClaimUnbound, VolumeProvisioned
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import AnnotatedMeta, Requirement, controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_spec import NodeSelector, NodeSelectorTerm
from kwhatif.kube.model.resource import ResourceClaim, ResourceClaimTemplate
from kwhatif.kube.model.storage import (
    ClaimReference,
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
)
from kwhatif.scheduler.plugins.volume_binding.filtering import VolumeSearch
from kwhatif.scheduler.plugins.volume_binding.provisioning import NO_PROVISIONER, mismatches
from kwhatif.workloads.claims import ephemeral_claims, with_resource_claims
from kwhatif.workloads.names import uid_of


class EphemeralVolumes(BackingOff):
    """A claim for every ephemeral volume; the claim of an earlier pod with that name must be gone first."""

    name = "EphemeralVolume"
    watches = (Pod, PersistentVolumeClaim)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        del view
        if isinstance(after, Pod) and before is None and any(volume.ephemeral for volume in after.spec.volumes):
            return (key_of(after),)
        return controllers_of(before, None, "Pod") if isinstance(before, PersistentVolumeClaim) and not after else ()

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller`."""
        pod = view.state.cluster.get(Pod, key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return NOTHING
        claims = tuple(ephemeral_claims(pod, view.state.cluster))
        return self.synced(key, SyncResult(tuple(map(Create, claims))), view)


class PodResourceClaims(BackingOff):
    """The claims of a pod that names templates; the pod's status has their names."""

    name = "PodResourceClaim"
    watches = (Pod, ResourceClaimTemplate)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        if isinstance(after, Pod) and before is None and after.spec.resource_claims:
            yield key_of(after)
        elif isinstance(after, ResourceClaimTemplate) and before is None:
            for key, pod in view.state.pending.items():
                entries = pod.pod.spec.resource_claims
                if any(entry.resource_claim_template_name == after.metadata.name for entry in entries):
                    yield key

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller` (`syncPod`)."""
        pod = view.state.cluster.get(Pod, key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return NOTHING
        named, claims = with_resource_claims(pod, view.state.cluster)
        writes: tuple[Write, ...] = (*map(Create, claims), Update(named)) if claims else ()
        return self.synced(key, SyncResult(writes), view)


class ResourceClaims:
    """Deallocates claims that no pod uses any more; claims that were created for a pod are deleted with it."""

    name = "ResourceClaim"
    watches = (Pod,)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        del view
        if isinstance(before, Pod) and not (isinstance(after, Pod) and not _is_done(after)):
            yield from claims_of(before)

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller` (`syncClaim`)."""
        claim = view.state.cluster.get(ResourceClaim, key)
        if claim is None:
            return NOTHING
        users = claim.status.reserved_for
        left = tuple(user for user in users if user.resource != "pods" or _may_run(user.name, user.uid, claim, view))
        owner = controller_of(claim.metadata)
        if not left and owner is not None and owner.kind == "Pod" and not _may_run(owner.name, owner.uid, claim, view):
            return SyncResult((Remove(ResourceClaim, key),))
        if left == users:
            return NOTHING
        allocation = claim.status.allocation if left else None
        return SyncResult(
            (Update(replace(claim, status=replace(claim.status, reserved_for=left, allocation=allocation))),)
        )


def claims_of(pod: Pod) -> Iterator[str]:
    """The keys of the pod's resource claims."""
    made = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
    extended = pod.status.extended_resource_claim_status
    names = [entry.resource_claim_name or made.get(entry.name) for entry in pod.spec.resource_claims]
    for name in (*names, extended.resource_claim_name if extended else None):
        if name:
            yield f"{pod.metadata.namespace}/{name}"


def _is_done(pod: Pod) -> bool:
    return is_terminal(pod) or (pod.metadata.deletion_timestamp is not None and not pod.spec.node_name)


def _may_run(name: str, uid: str, claim: ResourceClaim, view: View) -> bool:
    pod = view.state.cluster.get(Pod, f"{claim.metadata.namespace}/{name}")
    return pod is not None and not _is_done(pod) and (not uid or not pod.metadata.uid or pod.metadata.uid == uid)


# --- volumes -----------------------------------------------------------------------------------------
# The volume controller binds a claim whose class does not wait for a pod to an existing volume, or has one provisioned,
# before any pod is considered (`syncUnboundClaim` in `pkg/controller/volume/persistentvolume/pv_controller.go`).


_CAVEAT = "caveat"


class Binding(NamedTuple):
    """A claim after the volume controller has processed it."""

    claim: PersistentVolumeClaim
    #: The volume that it is bound to; None: it does not change.
    volume: PersistentVolume | None = None
    #: The assumptions that were made, or the reason why it gets no volume.
    caveat: Caveat | None = None


def binding_of(claim: PersistentVolumeClaim, cluster: Cluster) -> Binding:
    """The binding of a new claim."""
    storage_class = cluster.get(StorageClass, claim_class(claim))
    waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    if waits and not claim.spec.volume_name:  # a claim that names its volume does not wait for a pod
        return Binding(claim)
    if BIND_COMPLETED in claim.metadata.annotations:
        return Binding(claim)
    volume, caveat = _existing(claim, cluster), None
    if volume is None:
        volume, caveat = _provisioned(claim, storage_class, cluster)
    if volume is None:
        return Binding(claim, None, caveat)
    meta, spec = claim.metadata, claim.spec
    reference = ClaimReference(namespace=meta.namespace, name=meta.name, uid=meta.uid)
    bound = replace(
        claim,
        metadata=replace(meta, annotations={**meta.annotations, BIND_COMPLETED: "yes"}),
        spec=replace(spec, volume_name=volume.metadata.name),
        status=replace(claim.status, phase="Bound"),
    )
    status = PersistentVolumeStatus(phase="Bound")
    return Binding(bound, replace(volume, spec=replace(volume.spec, claim_ref=reference), status=status), caveat)


def _existing(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolume | None:
    """The volume that the claim names, or one that matches."""
    if claim.spec.volume_name:
        volume = cluster.get(PersistentVolume, claim.spec.volume_name)
        if volume is None or (volume.spec.claim_ref is not None and not is_bound_to(volume, claim)):
            return None
        # Only a free volume is compared with the claim (`syncUnboundClaim`).
        is_right = volume.spec.claim_ref is not None or not any(mismatches(volume, claim))
        return volume if is_right else None
    return VolumeSearch(claim, cluster).anywhere


def _provisioned(
    claim: PersistentVolumeClaim, storage_class: StorageClass | None, cluster: Cluster
) -> tuple[PersistentVolume | None, Caveat | None]:
    """The volume that the class's provisioner creates; None if the class or its provisioner does not exist."""
    if claim.spec.volume_name:
        return None, None
    key, name = key_of(claim), claim_class(claim)
    if storage_class is None:
        near = tuple(nearest(name, cluster.all(StorageClass))) if name else ()
        return None, ClaimUnbound(claim=key, storage_class=name, is_known=False, near=near)
    if storage_class.provisioner in NO_PROVISIONER:
        return None, ClaimUnbound(claim=key, storage_class=name)
    reach = _topology(storage_class)
    caveat = VolumeProvisioned(
        claim=key, storage_class=name, provisioner=storage_class.provisioner, everywhere=reach is None
    )
    name = f"pvc-{claim.metadata.uid or uid_of('PersistentVolumeClaim', *key.split('/', 1))}"
    volume = PersistentVolume(
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
    return volume, caveat


def _topology(storage_class: StorageClass) -> VolumeNodeAffinity | None:
    """The nodes that can use a volume of the class: any of its topologies, as only the provisioner knows which one."""
    terms = tuple(
        NodeSelectorTerm(
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
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))


class VolumeBinder:
    """The controller; claims from before the start cannot be bound until a volume is added."""

    name = "PersistentVolumeClaim"
    watches = (PersistentVolumeClaim, PersistentVolume)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        if isinstance(after, PersistentVolumeClaim) and before is None:
            return (key_of(after),) if _is_new(after, view) else ()
        is_free = isinstance(after, PersistentVolume) and after.spec.claim_ref is None
        if is_free and after != before and view.now > 0:
            claims = view.state.cluster.all(PersistentVolumeClaim)
            return [key for key, claim in claims.items() if not claim.spec.volume_name]
        return ()

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller`."""
        cluster = view.state.cluster
        claim = cluster.get(PersistentVolumeClaim, key)
        if (
            claim is None
            or claim.metadata.deletion_timestamp is not None
            or BIND_COMPLETED in claim.metadata.annotations
        ):
            return NOTHING
        claim, volume, view.memory(self.name, key)[_CAVEAT] = binding_of(claim, cluster)
        if volume is None:
            return NOTHING
        is_known = cluster.get(PersistentVolume, volume.metadata.name) is not None
        return SyncResult((Update(volume) if is_known else Create(volume), Update(claim)))


def caveat_of(claim: str, view: View) -> Caveat | None:
    """The assumptions made to bind the claim with this key, or the reason why it could not be bound."""
    caveat: Caveat | None = view.memory(VolumeBinder.name, claim).get(_CAVEAT)
    return caveat


class NewVolumes:
    """Sets new volumes to Available (`syncVolume`)."""

    name = "PersistentVolume"
    watches = (PersistentVolume,)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        return (key_of(after),) if isinstance(after, PersistentVolume) and not before and _is_new(after, view) else ()

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller`."""
        volume = view.state.cluster.get(PersistentVolume, key)
        if volume is None or volume.spec.claim_ref is not None or volume.status.phase not in ("", "Pending"):
            return NOTHING
        return SyncResult((Update(replace(volume, status=PersistentVolumeStatus(phase="Available"))),))


def _is_new(obj: KubernetesObject, view: View) -> bool:
    """Whether the object was added after the start."""
    created = obj.metadata.creation_timestamp
    return created is not None and view.at(created) >= 0


#: The controllers that bind claims to volumes.
BINDING_CLAIMS = (NewVolumes(), VolumeBinder())
#: The controllers that create claims for pods, and bind them to volumes.
FOR_CLAIMS = (EphemeralVolumes(), PodResourceClaims(), ResourceClaims(), *BINDING_CLAIMS)
