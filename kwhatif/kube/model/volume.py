"""Volumes of a pod: the sources that a scheduling rule reads."""

from __future__ import annotations

from msgspec import field

from kwhatif.kube.model.meta import AnnotatedMeta, Model
from kwhatif.kube.model.storage import InTreeDisks, PersistentVolumeClaimSpec


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
    """`emptyDir`; `medium` "Memory": it is not on a disk of the node."""

    medium: str = ""


class SomeVolume(Model):
    """A source of which only the existence matters."""


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
