"""NodeVolumeLimits."""

from typing import Any

import pytest

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.storage import (
    ISCSI,
    AWSElasticBlockStore,
    AzureDisk,
    CinderVolume,
    GCEPersistentDisk,
    VsphereVolume,
)
from kwhatif.scheduler.framework.evidence import VolumeLimit
from kwhatif.scheduler.framework.plugin import NodeFilter
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code, Status
from kwhatif.scheduler.plugins.node_volume_limits import TOO_MANY_VOLUMES, NodeVolumeLimits
from kwhatif.state.change import Upsert
from kwhatif.state.state import State
from tests.builders import NodeBuilder, PodBuilder, node, pod, snapshot
from tests.storage import EPHEMERAL, attachment, claim, csi, csi_node, owned_by, storage_class, volume

DRIVER = "csi.example.com"
EBS = "ebs.csi.aws.com"


def ebs(volume_id: str) -> dict[str, Any]:
    return {"aws_elastic_block_store": AWSElasticBlockStore(volume_id=volume_id)}


def pre_filter(asking: PodBuilder, within: State) -> NodeFilter | Status:
    return NodeVolumeLimits().pre_filter(asking.info(), within)


def verdict(asking: PodBuilder, *objects: KubernetesObject | PodBuilder | NodeBuilder) -> Status:
    """What the plugin says of node `n`."""
    found = snapshot(node("n"), *objects)
    check = pre_filter(asking, found)
    assert isinstance(check, NodeFilter)
    return check.filter(found.by_name["n"])


def bound(name: str, handle: str, driver: str = DRIVER) -> list[KubernetesObject]:
    """A claim bound to a CSI volume."""
    return [claim(name, volume=f"pv-{name}"), volume(f"pv-{name}", csi=csi(driver, handle))]


@pytest.mark.parametrize(
    ("asking", "skipped"),
    [
        pytest.param(pod(), True, id="no volumes"),
        pytest.param(pod().volume("tmp"), True, id="a volume that is not attached"),
        pytest.param(pod().volume("disk", iscsi=ISCSI(iqn="a")), True, id="an in-tree disk that stayed in the tree"),
        pytest.param(pod().claim("data"), False, id="a claim"),
        pytest.param(pod().volume("tmp", **EPHEMERAL), False, id="an ephemeral volume"),
        pytest.param(pod().volume("disk", **ebs("vol-1")), False, id="an in-tree disk that moved out"),
        pytest.param(pod().volume("disk", vsphere_volume=VsphereVolume()), False, id="one that is never translated"),
    ],
)
def test_pre_filter(asking: PodBuilder, skipped: bool) -> None:
    assert (pre_filter(asking, snapshot()) is SKIP) is skipped


@pytest.mark.parametrize(
    ("limit", "fits"), [pytest.param(2, False, id="full"), pytest.param(3, True, id="room for one more")]
)
def test_a_node_takes_as_many_volumes_as_its_csi_node_allows(limit: int, fits: bool) -> None:
    status = verdict(
        pod().claim("new"),
        csi_node("n", {DRIVER: limit}),
        *bound("new", "h3"),
        *bound("a", "h1"),
        *bound("b", "h2"),
        pod("user").on("n").volume("tmp").claim("a").claim("b"),
    )
    assert (status is SUCCESS) is fits
    if not fits:
        assert status.code is Code.UNSCHEDULABLE
        assert status.reasons == (TOO_MANY_VOLUMES,)
        assert status.evidence == (VolumeLimit(DRIVER, attached=2, new=1, limit=2),)


FULL: tuple[KubernetesObject | PodBuilder, ...] = (*bound("used", "h1"), pod("user").on("n").claim("used"))


@pytest.mark.parametrize(
    "on_node",
    [
        pytest.param([], id="no CSINode"),
        pytest.param([csi_node("n")], id="a CSINode without drivers"),
        pytest.param([csi_node("n", {DRIVER: None})], id="a driver without a limit"),
        pytest.param([csi_node("n", {"other.example.com": 0})], id="a limit of another driver"),
        pytest.param([csi_node("elsewhere", {DRIVER: 0})], id="another node's limit"),
    ],
)
def test_without_a_limit_there_is_room(on_node: list[KubernetesObject]) -> None:
    assert verdict(pod().claim("new"), *on_node, *bound("new", "h2"), *FULL) is SUCCESS


@pytest.mark.parametrize(
    ("asking", "fits"),
    [
        pytest.param(pod().claim("used"), True, id="a claim that a pod of the node uses already"),
        pytest.param(pod().claim("alias"), True, id="another claim with the same volume handle"),
        pytest.param(pod().claim("new"), False, id="another volume"),
        pytest.param(pod().claim("foreign"), True, id="the same handle of another driver"),
    ],
)
def test_a_volume_takes_one_slot_however_many_pods_use_it(asking: PodBuilder, fits: bool) -> None:
    objects = (*bound("alias", "h1"), *bound("new", "h2"), *bound("foreign", "h1", "other.example.com"))
    assert (verdict(asking, csi_node("n", {DRIVER: 1}), *objects, *FULL) is SUCCESS) is fits


def test_drivers_are_counted_apart_and_all_that_overflow_are_named() -> None:
    status = verdict(
        pod().claim("a").claim("b").claim("c").claim("d"),
        csi_node("n", {DRIVER: 2, "one.example.com": 0, "two.example.com": 1}),
        *bound("a", "h2"),
        *bound("b", "h3"),
        *bound("c", "x", "one.example.com"),
        *bound("d", "x", "two.example.com"),
        *FULL,
    )
    assert status.evidence == (
        VolumeLimit(DRIVER, attached=1, new=2, limit=2),
        VolumeLimit("one.example.com", attached=0, new=1, limit=0),
    )


NO_ROOM = csi_node(
    "n", dict.fromkeys((DRIVER, EBS, "pd.csi.storage.gke.io", "disk.csi.azure.com", "csi.vsphere.vmware.com"), 0)
)


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        pytest.param([claim("data")], True, id="unbound, of a CSI class"),
        pytest.param([claim("data", "ebs")], True, id="unbound, of an in-tree class that moved out"),
        pytest.param([claim("data", "vsphere")], False, id="unbound, of an in-tree class that is never translated"),
        pytest.param([claim("data", None)], False, id="unbound and without class"),
        pytest.param([claim("data", "gone")], False, id="unbound, of a class that does not exist"),
        pytest.param([claim("data", volume="gone")], True, id="bound to a missing volume: its class counts"),
        pytest.param(
            [claim("data", volume="pv"), volume("pv", csi=csi(DRIVER, ""))], False, id="a volume without handle"
        ),
        pytest.param([claim("data", volume="pv"), volume("pv", csi=csi("", "h"))], False, id="a volume without driver"),
        pytest.param([claim("data", volume="pv"), volume("pv")], False, id="a volume of another kind"),
        pytest.param(
            [claim("data", volume="pv"), volume("pv", **ebs("vol-1"))], True, id="an in-tree volume that moved out"
        ),
        pytest.param(
            [claim("data", volume="pv"), volume("pv", **ebs("aws://a/b"))],
            False,
            id="an in-tree volume that has no CSI name",
        ),
        pytest.param(
            [claim("data", volume="pv"), volume("pv", azure_disk=AzureDisk(disk_uri="u"))],
            False,
            id="an in-tree volume of a kind that has no CSI driver",
        ),
        pytest.param(
            [claim("data", volume="pv"), volume("pv", vsphere_volume=VsphereVolume(volume_path="p"))],
            False,
            id="an in-tree volume that is never translated",
        ),
    ],
)
def test_which_claims_take_a_slot(asked: list[KubernetesObject], counts: bool) -> None:
    classes = (
        storage_class(),
        storage_class("ebs", "kubernetes.io/aws-ebs"),
        storage_class("vsphere", "kubernetes.io/vsphere-volume"),
    )
    assert (verdict(pod().claim("data"), NO_ROOM, *classes, *asked) is SUCCESS) is not counts


def test_two_pods_that_wait_for_one_claim_share_its_slot_and_two_claims_do_not() -> None:
    objects = (storage_class(), claim("a"), claim("b"), pod("user").on("n").claim("a"), csi_node("n", {DRIVER: 1}))
    assert verdict(pod().claim("a"), *objects) is SUCCESS
    assert verdict(pod().claim("b"), *objects).rejected


@pytest.mark.parametrize(
    ("inline", "driver"),
    [
        pytest.param(ebs("aws://zone/vol-1"), EBS, id="ebs"),
        pytest.param({"gce_persistent_disk": GCEPersistentDisk(pd_name="d")}, "pd.csi.storage.gke.io", id="gce"),
        pytest.param(
            {"azure_disk": AzureDisk(disk_uri="u", kind="managed")}, "disk.csi.azure.com", id="a managed azure disk"
        ),
        pytest.param({"cinder": CinderVolume(volume_id="c")}, None, id="cinder, which has no limit there"),
        pytest.param({"vsphere_volume": VsphereVolume(volume_path="p")}, None, id="vsphere is never translated"),
    ],
)
def test_inline_disks_count_for_their_csi_driver(inline: dict[str, Any], driver: str | None) -> None:
    status = verdict(pod().volume("disk", **inline), NO_ROOM)
    expected = () if driver is None else (VolumeLimit(driver, attached=0, new=1, limit=0),)
    assert status.evidence == expected


def test_an_inline_disk_and_a_volume_of_the_same_name_are_one() -> None:
    user = pod("user").on("n").volume("disk", **ebs("aws:///vol-1"))
    objects = (claim("data", volume="pv"), volume("pv", csi=csi(EBS, "vol-1")), csi_node("n", {EBS: 1}), user)
    assert verdict(pod().claim("data"), *objects) is SUCCESS


# --- attachments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attached", "fits"),
    [
        pytest.param(attachment("va", DRIVER, "n", "pv-left"), False, id="a volume that no pod uses"),
        pytest.param(attachment("va", DRIVER, "n", "pv-used"), True, id="a volume that a pod uses: counted already"),
        pytest.param(attachment("va", DRIVER, "n", "pv-new"), False, id="the pod's own volume: it counts twice"),
        pytest.param(attachment("va", DRIVER, "m", "pv-left"), True, id="on another node"),
        pytest.param(attachment("va", "", "n", "pv-left"), True, id="without attacher"),
        pytest.param(attachment("va", DRIVER, "n", None), True, id="without volume"),
        pytest.param(attachment("va", DRIVER, "n", "gone"), True, id="of a volume that does not exist"),
        pytest.param(attachment("va", DRIVER, "n", "pv-tree"), True, id="of an in-tree volume"),
        pytest.param(attachment("va", "other.example.com", "n", "pv-left"), True, id="by another driver"),
    ],
)
def test_attachments_take_slots_too(attached: KubernetesObject, fits: bool) -> None:
    objects = (*bound("left", "h0"), *bound("new", "h2"), volume("pv-tree", **ebs("vol-1")), *FULL)
    assert (verdict(pod().claim("new"), csi_node("n", {DRIVER: 2}), attached, *objects) is SUCCESS) is fits


# --- what stops the plugin ---------------------------------------------------------------------------------


def test_a_missing_claim_cannot_be_resolved_by_eviction() -> None:
    status = verdict(pod().claim("gone"))
    assert status.code is Code.UNRESOLVABLE
    assert status.reasons == ('looking up PVC default/gone: persistentvolumeclaim "gone" not found',)


NOT_OWNER = "PVC default/web-tmp was not created for pod default/web (pod is not owner)"


@pytest.mark.parametrize(
    ("asking", "objects", "message"),
    [
        pytest.param(pod().claim(""), [], "PersistentVolumeClaim had no name", id="a claim volume without a name"),
        pytest.param(pod("web").volume("tmp", **EPHEMERAL), [claim("web-tmp")], NOT_OWNER, id="somebody else's claim"),
        pytest.param(
            pod().volume("disk", **ebs("aws://zone/none")),
            [csi_node("n")],
            "converting volume(disk) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID"
            " Invalid format for AWS volume (aws://zone/none)",
            id="an inline disk that the driver could not know",
        ),
        pytest.param(
            pod().claim("new"),
            [*bound("new", "h"), NO_ROOM, claim("web-tmp"), pod("web").on("n").volume("tmp", **EPHEMERAL)],
            NOT_OWNER,
            id="a running pod with somebody else's claim",
        ),
    ],
)
def test_errors(asking: PodBuilder, objects: list[KubernetesObject | PodBuilder], message: str) -> None:
    status = verdict(asking, *objects)
    assert status.code is Code.ERROR
    assert status.reasons == (message,)


@pytest.mark.parametrize(
    ("asking", "objects"),
    [
        pytest.param(
            pod().volume("disk", **ebs("aws://zone/none")), [], id="an unknowable inline disk where there is no CSINode"
        ),
        pytest.param(
            pod().claim("new"),
            [*bound("new", "h"), claim("web-tmp"), pod("web").on("n").volume("tmp", **EPHEMERAL)],
            id="a broken running pod where there is no limit",
        ),
        pytest.param(
            pod().claim("new"),
            [*bound("new", "h"), csi_node("n", {DRIVER: 1}), pod("user").on("n").claim("gone")],
            id="a running pod whose claim is missing",
        ),
        pytest.param(
            pod("web").volume("tmp", **EPHEMERAL),
            [storage_class(), claim("web-tmp", meta=owned_by("web")), csi_node("n", {DRIVER: 1})],
            id="an ephemeral volume of the pod's own",
        ),
    ],
)
def test_no_errors(asking: PodBuilder, objects: list[KubernetesObject | PodBuilder]) -> None:
    assert verdict(asking, *objects) is SUCCESS


# --- what is remembered ------------------------------------------------------------------------------------


def test_the_answer_follows_the_pods_on_the_node() -> None:
    found = snapshot(node("n"), csi_node("n", {DRIVER: 1}), *bound("new", "h2"), *FULL)
    check = pre_filter(pod().claim("new"), found)
    assert isinstance(check, NodeFilter)
    info = found.by_name["n"]
    assert check.filter(info).rejected
    emptied = info.clone()
    emptied.remove_pod(found.pods["default/user"])
    assert check.filter(emptied) is SUCCESS
    assert check.filter(info).rejected


def test_the_answer_follows_the_cluster() -> None:
    found = snapshot(node("n"), csi_node("n", {DRIVER: 1}), *bound("new", "h2"), *FULL)
    assert verdict_of(found).rejected
    found.apply(Upsert(volume("pv-used", csi=csi("other.example.com", "h1"))))
    assert verdict_of(found) is SUCCESS
    found.apply(Upsert(attachment("va", DRIVER, "n", "pv-new")))
    assert verdict_of(found).rejected
    found.apply(Upsert(csi_node("n", {DRIVER: 2})))
    assert verdict_of(found) is SUCCESS


def verdict_of(found: State) -> Status:
    check = pre_filter(pod().claim("new"), found)
    assert isinstance(check, NodeFilter)
    return check.filter(found.by_name["n"])
