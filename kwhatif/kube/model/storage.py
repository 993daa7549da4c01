"""Storage: claims, volumes, classes, CSI objects, and the volumes of pods, with sources that rules read."""

from __future__ import annotations

from msgspec import field

from kwhatif.kube.model.meta import AnnotatedMeta, ApiObject, Int32, LabelSelector, Model
from kwhatif.kube.model.pod_spec import NodeSelector
from kwhatif.kube.model.quantity import QuantityText


class GCEPersistentDisk(Model):
    """`gcePersistentDisk`."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Model):
    """`awsElasticBlockStore`."""

    volume_id: str = field(name="volumeID", default="")
    read_only: bool = False


class ISCSI(Model):
    """`iscsi`."""

    iqn: str = ""
    target_portal: str = ""
    lun: Int32 = 0
    read_only: bool = False


class RBD(Model):
    """`rbd`; in a PersistentVolume the fields have the same names."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class AzureDisk(Model):
    """`azureDisk`."""

    disk_name: str = ""
    disk_uri: str = field(name="diskURI", default="")
    #: The API server's default; only `Managed` disks (in any case) have a CSI driver.
    kind: str = "Shared"


class AzureFile(Model):
    """`azureFile`."""

    secret_name: str = ""
    secret_namespace: str = ""
    share_name: str = ""


class CinderVolume(Model):
    """`cinder`."""

    volume_id: str = field(name="volumeID", default="")


class PortworxVolume(Model):
    """`portworxVolume`."""

    volume_id: str = field(name="volumeID", default="")


class VsphereVolume(Model):
    """`vsphereVolume`."""

    volume_path: str = ""


class InTreeDisks(Model):
    """The in-tree disk types; at most one is set. Pods and PersistentVolumes have the same fields."""

    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: CinderVolume | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: VsphereVolume | None = None


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
    """The maximum number of volumes of a driver on a node."""

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


class ClaimVolumeSource(Model):
    """`persistentVolumeClaim`."""

    claim_name: str = ""
    read_only: bool = False


class ClaimTemplate(Model):
    """`ephemeral.volumeClaimTemplate`."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Model):
    """`ephemeral`: a claim named `<pod>-<volume>` that the pod owns."""

    volume_claim_template: ClaimTemplate | None = None


class CSIVolume(Model):
    """Inline `csi`."""

    driver: str = ""


class ImageVolume(Model):
    """`image`."""

    reference: str = ""


class EmptyDirVolume(Model):
    """`emptyDir`; with the `medium` "Memory" it is not on a disk of the node."""

    medium: str = ""


class SomeVolume(Model):
    """A volume source without fields: rules only read whether it is set."""


class Volume(InTreeDisks):
    """`spec.volumes[]`: at most one source is set; sources that no rule reads are absent."""

    name: str = ""
    persistent_volume_claim: ClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolume | None = None
    image: ImageVolume | None = None
    empty_dir: EmptyDirVolume | None = None
    host_path: SomeVolume | None = None
    git_repo: SomeVolume | None = None
    nfs: SomeVolume | None = None
    glusterfs: SomeVolume | None = None
    flex_volume: SomeVolume | None = None
    cephfs: SomeVolume | None = None
    flocker: SomeVolume | None = None
    fc: SomeVolume | None = None
    quobyte: SomeVolume | None = None
    photon_persistent_disk: SomeVolume | None = None
    scale_io: SomeVolume | None = field(name="scaleIO", default=None)
    storageos: SomeVolume | None = None
