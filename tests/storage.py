"""Builders of storage objects: `claim("data", volume="pv-1")`, `volume("pv-1", reach=[term(...)])`.

Claims and volumes are 1Gi, ReadWriteOnce and of class `fast` unless the test says otherwise.
"""

from collections.abc import Sequence
from typing import Any

from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta, OwnerReference, Requirement
from kwhatif.kube.model.pod_spec import NodeSelector, NodeSelectorTerm
from kwhatif.kube.model.storage import (
    ClaimReference,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeAllocatable,
    CSINodeDriver,
    CSINodeSpec,
    CSIPersistentVolumeSource,
    CSIStorageCapacity,
    EphemeralVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    StorageRequirements,
    TopologyExpression,
    TopologySelectorTerm,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
    VolumeNodeAffinity,
)

WAIT = "WaitForFirstConsumer"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
EPHEMERAL = {"ephemeral": EphemeralVolumeSource()}


def claim(
    name: str,
    storage_class: str | None = "fast",
    size: str | None = "1Gi",
    *,
    volume: str = "",
    bound: bool = True,
    modes: Sequence[str] = ("ReadWriteOnce",),
    annotations: dict[str, str] | None = None,
    meta: dict[str, Any] | None = None,
    phase: str = "",
    **spec: Any,
) -> PersistentVolumeClaim:
    """A claim of namespace `default`; with a `volume` it is bound to that, fully unless `bound` is false."""
    notes = {**({BIND_COMPLETED: "yes"} if volume and bound else {}), **(annotations or {})}
    return PersistentVolumeClaim(
        metadata=AnnotatedMeta(
            **{"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": notes, **(meta or {})}
        ),
        spec=PersistentVolumeClaimSpec(
            storage_class_name=storage_class,
            volume_name=volume,
            access_modes=tuple(modes),
            resources=StorageRequirements(requests={} if size is None else {"storage": size}),
            **spec,
        ),
        status=PersistentVolumeClaimStatus(phase=phase or ("Bound" if volume and bound else "Pending")),
    )


def owned_by(pod: str, *, uid: str = "", kind: str = "Pod", controller: bool = True) -> dict[str, Any]:
    """Metadata of a claim that the pod owns: `claim("web-tmp", meta=owned_by("web"))`."""
    return {"owner_references": (OwnerReference(kind=kind, name=pod, uid=uid, controller=controller),)}


def reach(*terms: Sequence[Requirement] | NodeSelectorTerm) -> VolumeNodeAffinity:
    """A volume's node affinity: alternatives, each a list of expressions or a whole term."""
    listed = (
        term if isinstance(term, NodeSelectorTerm) else NodeSelectorTerm(match_expressions=tuple(term))
        for term in terms
    )
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=tuple(listed)))


def volume(
    name: str,
    storage_class: str = "fast",
    size: str = "1Gi",
    *,
    claim: str = "",
    claim_uid: str = "",
    modes: Sequence[str] = ("ReadWriteOnce",),
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    phase: str = "Available",
    deleted: bool = False,
    **spec: Any,
) -> PersistentVolume:
    """An available volume; `claim` names the claim of namespace `default` that it is reserved for."""
    return PersistentVolume(
        metadata=AnnotatedMeta(
            name=name,
            labels=labels or {},
            annotations=annotations or {},
            deletion_timestamp="2026-01-01T00:00:00Z" if deleted else None,
        ),
        spec=PersistentVolumeSpec(
            storage_class_name=storage_class,
            capacity={"storage": size},
            access_modes=tuple(modes),
            claim_ref=ClaimReference(namespace="default", name=claim, uid=claim_uid) if claim else None,
            **spec,
        ),
        status=PersistentVolumeStatus(phase=phase),
    )


def csi(driver: str, handle: str) -> CSIPersistentVolumeSource:
    """`spec.csi` of a volume."""
    return CSIPersistentVolumeSource(driver=driver, volume_handle=handle)


def storage_class(
    name: str = "fast",
    provisioner: str = "csi.example.com",
    mode: str | None = WAIT,
    topologies: Sequence[dict[str, Sequence[str]]] = (),
) -> StorageClass:
    """A class that waits for the first consumer; `topologies` are alternatives, each label key -> values."""
    return StorageClass(
        metadata=AnnotatedMeta(name=name),
        provisioner=provisioner,
        volume_binding_mode=mode,
        allowed_topologies=tuple(
            TopologySelectorTerm(
                match_label_expressions=tuple(
                    TopologyExpression(key=key, values=tuple(values)) for key, values in term.items()
                )
            )
            for term in topologies
        ),
    )


def csi_node(name: str, limits: dict[str, int | None] | None = None, *, migrated: Sequence[str] = ()) -> CSINode:
    """The CSINode of the node of that name; None is a driver without a limit."""
    drivers = (
        CSINodeDriver(name=driver, allocatable=None if count is None else CSINodeAllocatable(count=count))
        for driver, count in (limits or {}).items()
    )
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(migrated)} if migrated else {}
    return CSINode(metadata=AnnotatedMeta(name=name, annotations=annotations), spec=CSINodeSpec(drivers=tuple(drivers)))


def attachment(name: str, attacher: str, node: str, volume: str | None) -> VolumeAttachment:
    """A VolumeAttachment."""
    return VolumeAttachment(
        metadata=ObjectMeta(name=name),
        spec=VolumeAttachmentSpec(
            attacher=attacher, node_name=node, source=VolumeAttachmentSource(persistent_volume_name=volume)
        ),
    )


def csi_driver(name: str, *, tracks_capacity: bool = True) -> CSIDriver:
    """A CSIDriver that keeps track of storage capacity, or not."""
    return CSIDriver(metadata=ObjectMeta(name=name), spec=CSIDriverSpec(storage_capacity=tracks_capacity))


def pool(name: str, storage_class: str, capacity: str | None, **fields: Any) -> CSIStorageCapacity:
    """A CSIStorageCapacity."""
    return CSIStorageCapacity(
        metadata=ObjectMeta(name=name, namespace="storage"),
        storage_class_name=storage_class,
        capacity=capacity,
        **fields,
    )
