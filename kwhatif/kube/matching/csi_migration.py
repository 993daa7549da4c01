"""Translation of in-tree volumes to CSI (`staging/src/k8s.io/csi-translation-lib`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.node import REGION, ZONE
from kwhatif.kube.model.pod_spec import NodeSelector, NodeSelectorTerm
from kwhatif.kube.model.storage import (
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    CinderVolume,
    GCEPersistentDisk,
    PersistentVolume,
    PersistentVolumeSpec,
    PortworxVolume,
    Volume,
    VolumeNodeAffinity,
    VsphereVolume,
)

_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_ZONE_DELIMITER = "__"
_EBS_VOLUME_ID = re.compile(r"vol-[^/]*")

Disk = AWSElasticBlockStore | AzureDisk | AzureFile | CinderVolume | GCEPersistentDisk | PortworxVolume | VsphereVolume


class InTreePlugin(NamedTuple):
    """An in-tree volume plugin that was replaced by a CSI driver."""

    name: str
    driver: str
    #: The driver's topology label for zones; None: translation does not change node affinity.
    topology_key: str | None = None
    #: Whether the scheduler translates volumes of this plugin (`isCSIMigrationOn`).
    migrated: bool = True


_PLUGINS: dict[type, InTreePlugin] = {
    AWSElasticBlockStore: InTreePlugin("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    GCEPersistentDisk: InTreePlugin("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    CinderVolume: InTreePlugin(
        "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"
    ),
    AzureDisk: InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    PortworxVolume: InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    AzureFile: InTreePlugin("kubernetes.io/azure-file", "file.csi.azure.com", migrated=False),
    VsphereVolume: InTreePlugin("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", migrated=False),
}
_BY_NAME = {plugin.name: plugin for plugin in _PLUGINS.values()}


class UntranslatableError(ValueError):
    """The volume has no CSI equivalent; with the message of the translation library."""


def in_tree_disk(source: Volume | PersistentVolumeSpec) -> Disk | None:
    """The disk of an in-tree plugin, in a pod's volume or in the spec of a PersistentVolume; None if there is none."""
    return (
        source.aws_elastic_block_store
        or source.gce_persistent_disk
        or source.azure_disk
        or source.azure_file
        or source.cinder
        or source.portworx_volume
        or source.vsphere_volume
    )


def plugin_of(disk: Disk) -> InTreePlugin:
    """The in-tree plugin of the disk."""
    return _PLUGINS[type(disk)]


def plugin_named(provisioner: str) -> InTreePlugin | None:
    """The in-tree plugin with that name, if there is one."""
    return _BY_NAME.get(provisioner)


def csi_handle(disk: Disk, zones: str = "") -> str:
    """The CSI volume handle of a disk of a migrated plugin; `zones` is the zone label of its PersistentVolume.

    Raises:
        UntranslatableError: the disk has no CSI equivalent.
    """
    match disk:
        case AWSElasticBlockStore():
            return _ebs_volume_id(disk.volume_id)
        case GCEPersistentDisk():
            return _gce_disk(disk.pd_name, zones.split(_ZONE_DELIMITER))
        case AzureDisk():
            if disk.kind.lower() != "managed":
                raise UntranslatableError(f"kind({disk.kind}) is not supported in csi migration")
            return disk.disk_uri
        case CinderVolume() | PortworxVolume():
            return disk.volume_id
    raise TypeError(f"the scheduler does not translate {plugin_of(disk).name}")


def volume_handle(volume: PersistentVolume, disk: Disk) -> str:
    """`csi_handle` of the disk in a PersistentVolume.

    Raises:
        UntranslatableError: the disk has no CSI equivalent.
    """
    labels = volume.metadata.labels
    return csi_handle(disk, labels.get(_BETA_ZONE) or labels.get(ZONE, ""))


def _ebs_volume_id(volume_id: str) -> str:
    """`aws://zone/vol-1`, `aws:///vol-1` and `vol-1` are the same volume (`KubernetesVolumeIDToEBSVolumeID`)."""
    if not volume_id.startswith("aws://"):
        return volume_id
    bare = urlsplit(volume_id).path.strip("/")
    if not _EBS_VOLUME_ID.fullmatch(bare):
        raise UntranslatableError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({volume_id})"
        )
    return bare


def _gce_disk(name: str, zones: Sequence[str]) -> str:
    place = f"zones/{zones[0] or 'UNSPECIFIED'}" if len(zones) == 1 else f"regions/{_gce_region(zones)}"
    return f"projects/UNSPECIFIED/{place}/disks/{name}"


def _gce_region(zones: Sequence[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise UntranslatableError(
                "failed to get region from zones: zone in unexpected format,"
                f" expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        found = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise UntranslatableError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{found}]"
        )
    return regions.pop()


def translated_affinity(volume: PersistentVolume, disk: Disk) -> VolumeNodeAffinity | None:
    """The volume's node affinity in the CSI driver's topology keys (`TranslateInTreePVToCSI`).

    Raises:
        UntranslatableError: the disk has no CSI equivalent.
    """
    volume_handle(volume, disk)
    key = plugin_of(disk).topology_key
    affinity = volume.spec.node_affinity
    if key is None:
        return affinity
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    zone_key, region_key = _topology_keys(volume, terms)
    if _has_values(terms, zone_key):
        terms = _rename(terms, zone_key, key)
    else:
        terms = _add_zones(terms, key, volume.metadata.labels.get(zone_key, ""))
    if region_key == _BETA_REGION and _has_values(terms, region_key):
        terms = _rename(terms, region_key, REGION)
    if not terms:
        return affinity
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))


Terms = tuple[NodeSelectorTerm, ...]


def _topology_keys(volume: PersistentVolume, terms: Terms) -> tuple[str, str]:
    """The zone and region keys that the volume uses: node affinity comes before labels, GA keys before beta keys."""
    used = {expression.key for term in terms for expression in term.match_expressions}
    for keys in (used, volume.metadata.labels.keys()):
        if ZONE in keys:
            return ZONE, REGION
        if _BETA_ZONE in keys:
            return _BETA_ZONE, _BETA_REGION
    return ZONE, REGION


def _has_values(terms: Terms, key: str) -> bool:
    return any(each.key == key and each.values for term in terms for each in term.match_expressions)


def _rename(terms: Terms, key: str, new_key: str) -> Terms:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(expression, key=new_key) if expression.key == key else expression
                for expression in term.match_expressions
            ),
        )
        for term in terms
    )


def _add_zones(terms: Terms, key: str, zones_label: str) -> Terms:
    """Add the zones of the label, if any, as a requirement to every term."""
    zones = sorted({zone.strip() for zone in zones_label.split(_ZONE_DELIMITER)} - {""})
    if not zones:
        return terms
    added = Requirement(key=key, operator="In", values=tuple(zones))
    return tuple(
        replace(term, match_expressions=(*term.match_expressions, added)) for term in terms or (NodeSelectorTerm(),)
    )
