"""In-tree volumes as CSI drivers know them."""

from typing import Any

import pytest

from kwhatif.kube.matching.csi_migration import (
    Disk,
    UntranslatableError,
    csi_handle,
    in_tree_disk,
    plugin_named,
    plugin_of,
    translated_affinity,
    volume_handle,
)
from kwhatif.kube.model.storage import (
    ISCSI,
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    CinderVolume,
    GCEPersistentDisk,
    PortworxVolume,
    Volume,
    VolumeNodeAffinity,
    VsphereVolume,
)
from tests.builders import ZONE, requirement
from tests.storage import reach, volume

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
EBS = AWSElasticBlockStore(volume_id="vol-1")


@pytest.mark.parametrize(
    ("source", "name", "driver", "migrated"),
    [
        ({"aws_elastic_block_store": EBS}, "kubernetes.io/aws-ebs", "ebs.csi.aws.com", True),
        ({"gce_persistent_disk": GCEPersistentDisk()}, "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", True),
        ({"azure_disk": AzureDisk()}, "kubernetes.io/azure-disk", "disk.csi.azure.com", True),
        ({"cinder": CinderVolume()}, "kubernetes.io/cinder", "cinder.csi.openstack.org", True),
        ({"portworx_volume": PortworxVolume()}, "kubernetes.io/portworx-volume", "pxd.portworx.com", True),
        ({"azure_file": AzureFile()}, "kubernetes.io/azure-file", "file.csi.azure.com", False),
        ({"vsphere_volume": VsphereVolume()}, "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", False),
    ],
)
def test_plugins(source: dict[str, Any], name: str, driver: str, migrated: bool) -> None:
    disk = in_tree_disk(Volume(**source))
    assert disk is not None
    assert disk == in_tree_disk(volume("pv", **source).spec)
    plugin = plugin_of(disk)
    assert (plugin.name, plugin.driver, plugin.migrated) == (name, driver, migrated)
    assert plugin_named(name) is plugin


def test_what_stayed_in_the_tree_or_never_was_there() -> None:
    assert in_tree_disk(Volume(iscsi=ISCSI())) is None
    assert plugin_named("csi.example.com") is None


@pytest.mark.parametrize(
    ("disk", "zones", "handle"),
    [
        pytest.param(EBS, "", "vol-1", id="ebs: a bare id"),
        pytest.param(AWSElasticBlockStore(volume_id="anything"), "", "anything", id="ebs: a bare id is not checked"),
        pytest.param(AWSElasticBlockStore(volume_id="aws://us-1a/vol-1"), "", "vol-1", id="ebs: with its zone"),
        pytest.param(AWSElasticBlockStore(volume_id="aws:///vol-1"), "", "vol-1", id="ebs: without zone"),
        pytest.param(
            GCEPersistentDisk(pd_name="d"),
            "",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
            id="gce: nobody knows where",
        ),
        pytest.param(
            GCEPersistentDisk(pd_name="d"), "eu-1-a", "projects/UNSPECIFIED/zones/eu-1-a/disks/d", id="gce: in a zone"
        ),
        pytest.param(
            GCEPersistentDisk(pd_name="d"),
            "eu-1-a__eu-1-b",
            "projects/UNSPECIFIED/regions/eu-1/disks/d",
            id="gce: in a region",
        ),
        pytest.param(AzureDisk(disk_uri="u", kind="Managed"), "", "u", id="azure: managed"),
        pytest.param(AzureDisk(disk_uri="u", kind="managed"), "", "u", id="azure: in any case"),
        pytest.param(CinderVolume(volume_id="c"), "", "c", id="cinder"),
        pytest.param(PortworxVolume(volume_id="p"), "", "p", id="portworx"),
    ],
)
def test_handles(disk: Disk, zones: str, handle: str) -> None:
    assert csi_handle(disk, zones) == handle


@pytest.mark.parametrize(
    ("disk", "zones", "message"),
    [
        pytest.param(
            AWSElasticBlockStore(volume_id="aws://a/b"),
            "",
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://a/b)",
            id="ebs: no volume id",
        ),
        pytest.param(
            GCEPersistentDisk(),
            "eu-1-a__east",
            "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: east",
            id="gce: no zone",
        ),
        pytest.param(
            GCEPersistentDisk(),
            "us-2-a__eu-1-a",
            "failed to get region from zones: multiple or no regions gotten from zones, got: map[eu-1:{} us-2:{}]",
            id="gce: two regions",
        ),
        pytest.param(AzureDisk(), "", "kind(Shared) is not supported in csi migration", id="azure: the default kind"),
    ],
)
def test_disks_without_counterpart(disk: Disk, zones: str, message: str) -> None:
    with pytest.raises(UntranslatableError) as failure:
        csi_handle(disk, zones)
    assert str(failure.value) == message


def test_asking_for_the_handle_of_a_disk_that_is_not_translated_is_a_bug() -> None:
    with pytest.raises(TypeError, match="does not translate kubernetes.io/vsphere-volume"):
        csi_handle(VsphereVolume(volume_path="p"))


def test_the_old_zone_label_of_a_volume_comes_first() -> None:
    disk = GCEPersistentDisk(pd_name="d")
    assert "zones/old/" in volume_handle(volume("pv", labels={BETA_ZONE: "old", ZONE: "new"}), disk)
    assert "zones/new/" in volume_handle(volume("pv", labels={ZONE: "new"}), disk)


def translated(affinity: VolumeNodeAffinity | None = None, **labels: str) -> VolumeNodeAffinity | None:
    names = {"zone": ZONE, "beta_zone": BETA_ZONE, "region": REGION}
    named = {names[key]: value for key, value in labels.items()}
    return translated_affinity(volume("pv", labels=named, node_affinity=affinity), EBS)


def test_zones_of_node_affinity_are_renamed_in_every_term() -> None:
    affinity = reach([requirement(ZONE, "In", "a"), requirement("ssd", "Exists")], [requirement(ZONE, "NotIn", "b")])
    assert translated(affinity, zone="c") == reach(
        [requirement(EBS_ZONE, "In", "a"), requirement("ssd", "Exists")], [requirement(EBS_ZONE, "NotIn", "b")]
    )


def test_old_regions_become_current_ones() -> None:
    affinity = reach([requirement(BETA_ZONE, "In", "a"), requirement(BETA_REGION, "In", "r")])
    assert translated(affinity) == reach([requirement(EBS_ZONE, "In", "a"), requirement(REGION, "In", "r")])


def test_old_regions_beside_current_zones_stay() -> None:
    affinity = reach([requirement(ZONE, "In", "a"), requirement(BETA_REGION, "In", "r")])
    assert translated(affinity) == reach([requirement(EBS_ZONE, "In", "a"), requirement(BETA_REGION, "In", "r")])


def test_a_zone_label_is_added_to_every_term() -> None:
    affinity = reach([requirement("ssd", "Exists")], [])
    zone = requirement(EBS_ZONE, "In", "a", "b")
    assert translated(affinity, zone="b__ a __") == reach([requirement("ssd", "Exists"), zone], [zone])


def test_a_zone_key_without_values_leaves_the_label_to_decide() -> None:
    affinity = reach([requirement(BETA_ZONE, "Exists")])
    assert translated(affinity, beta_zone="a", zone="b") == reach(
        [requirement(BETA_ZONE, "Exists"), requirement(EBS_ZONE, "In", "a")]
    )


def test_a_zone_label_alone_is_node_affinity() -> None:
    assert translated(beta_zone="a") == reach([requirement(EBS_ZONE, "In", "a")])
    assert translated(zone="__") is None
    assert translated() is None


def test_drivers_that_know_no_zones_leave_node_affinity_alone() -> None:
    affinity = reach([requirement(ZONE, "In", "a")])
    labelled = volume("pv", labels={ZONE: "b"}, node_affinity=affinity)
    assert translated_affinity(labelled, PortworxVolume()) is affinity
    with pytest.raises(UntranslatableError):
        translated_affinity(labelled, AzureDisk())
