"""The old in-tree disk kinds, which pods and PersistentVolumes have inline."""

from __future__ import annotations

from msgspec import field

from kwhatif.kube.model.meta import Int32, Model


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
    """The in-tree sources of a volume, at most one of which is set; pods and PersistentVolumes have the same fields."""

    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: CinderVolume | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: VsphereVolume | None = None
