"""Storage kinds: claims, volumes, classes, and objects of CSI drivers."""

from __future__ import annotations

from msgspec import field

from kwhatif.kube.model.affinity import NodeSelector
from kwhatif.kube.model.disks import InTreeDisks
from kwhatif.kube.model.meta import AnnotatedMeta, ApiObject, Int32, LabelSelector, Model
from kwhatif.kube.model.quantity import QuantityText


class StorageRequirements(Model):
    """`resources` of a claim."""

    requests: dict[str, QuantityText] = {}
    limits: dict[str, QuantityText] = {}


class PersistentVolumeClaimSpec(Model):
    """`spec` of a claim; `storage_class_name` None and "" differ until the class is resolved."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: StorageRequirements = StorageRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Model):
    """`status` of a claim."""

    phase: str = ""


class PersistentVolumeClaim(ApiObject):
    """`v1.PersistentVolumeClaim`."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class ClaimReference(Model):
    """`spec.claimRef` of a volume."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CSIPersistentVolumeSource(Model):
    """`spec.csi` of a volume."""

    driver: str = ""
    volume_handle: str = ""


class LocalVolumeSource(Model):
    """`spec.local`."""

    path: str = ""


class HostPathVolumeSource(Model):
    """`spec.hostPath`."""

    path: str = ""


class VolumeNodeAffinity(Model):
    """`spec.nodeAffinity` of a volume."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(InTreeDisks):
    """`spec` of a volume."""

    capacity: dict[str, QuantityText] = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None


class PersistentVolumeStatus(Model):
    """`status` of a volume."""

    phase: str = ""


class PersistentVolume(ApiObject):
    """`v1.PersistentVolume`."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class TopologyExpression(Model):
    """`matchLabelExpressions[]` of an allowed topology."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Model):
    """`allowedTopologies[]` of a storage class."""

    match_label_expressions: tuple[TopologyExpression, ...] = ()


class StorageClass(ApiObject):
    """`storage.k8s.io/v1 StorageClass`."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class CSINodeAllocatable(Model):
    """How many volumes of a driver a node can hold."""

    count: Int32 | None = None


class CSINodeDriver(Model):
    """`spec.drivers[]` of a CSINode."""

    name: str = ""
    node_id: str = field(name="nodeID", default="")
    allocatable: CSINodeAllocatable | None = None


class CSINodeSpec(Model):
    """`spec` of a CSINode."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(ApiObject):
    """`storage.k8s.io/v1 CSINode`, named as its node."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Model):
    """`spec` of a CSIDriver."""

    attach_required: bool = True
    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False


class CSIDriver(ApiObject):
    """`storage.k8s.io/v1 CSIDriver`."""

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(ApiObject):
    """`storage.k8s.io/v1 CSIStorageCapacity`."""

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: QuantityText | None = None
    maximum_volume_size: QuantityText | None = None


class VolumeAttachmentSource(Model):
    """`spec.source` of an attachment."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Model):
    """`spec` of an attachment."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(ApiObject):
    """`storage.k8s.io/v1 VolumeAttachment`."""

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
