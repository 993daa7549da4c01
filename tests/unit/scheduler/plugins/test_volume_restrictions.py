"""VolumeRestrictions."""

import pytest

from kwhatif.kube.model.storage import ISCSI, RBD, AWSElasticBlockStore, GCEPersistentDisk
from kwhatif.scheduler.framework.evidence import VolumeConflict
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status
from kwhatif.scheduler.plugins.volume_restrictions import CLAIM_IN_USE, DISK_CONFLICT, VolumeRestrictions
from kwhatif.state.state import State
from tests.builders import PodBuilder, node, pod, snapshot
from tests.storage import claim, volume

RWOP = ("ReadWriteOncePod",)


def pre_filter(asking: PodBuilder, within: State) -> NodeFilter | Status:
    return VolumeRestrictions().pre_filter(asking.info(), within)


def compiled(asking: PodBuilder, within: State) -> NodeFilter:
    result = pre_filter(asking, within)
    assert isinstance(result, NodeFilter)
    return result


def gce(name: str, read_only: bool = False) -> dict[str, GCEPersistentDisk]:
    return {"gce_persistent_disk": GCEPersistentDisk(pd_name=name, read_only=read_only)}


def ebs(name: str, read_only: bool = False) -> dict[str, AWSElasticBlockStore]:
    return {"aws_elastic_block_store": AWSElasticBlockStore(volume_id=name, read_only=read_only)}


def iscsi(iqn: str, read_only: bool = False, portal: str = "p1") -> dict[str, ISCSI]:
    return {"iscsi": ISCSI(iqn=iqn, target_portal=portal, read_only=read_only)}


def rbd(monitors: str, image: str = "i", pool: str = "p", read_only: bool = False) -> dict[str, RBD]:
    return {"rbd": RBD(monitors=tuple(monitors), image=image, pool=pool, read_only=read_only)}


@pytest.mark.parametrize(
    "asking",
    [
        pytest.param(pod(), id="no volumes"),
        pytest.param(pod().volume("tmp"), id="a volume that nobody else can have"),
        pytest.param(pod().claim("shared"), id="a claim that many may use"),
        pytest.param(pod().claim("idle"), id="an exclusive claim that nobody uses"),
        pytest.param(pod().claim("waiting"), id="an exclusive claim that only a pending pod wants"),
    ],
)
def test_pre_filter_skips(asking: PodBuilder) -> None:
    found = snapshot(
        node("n"),
        claim("shared"),
        claim("idle", modes=RWOP),
        claim("waiting", modes=RWOP),
        pod("user").on("n").claim("shared"),
        pod("pending").claim("waiting"),
    )
    status = pre_filter(asking, found)
    assert isinstance(status, Status)
    assert status.code is Code.SKIP


@pytest.mark.parametrize("asking", [pod().claim("gone"), pod().volume("disk", **gce("d")).claim("gone")])
def test_a_missing_claim_stops_the_cycle(asking: PodBuilder) -> None:
    status = pre_filter(asking, snapshot(node("n")))
    assert isinstance(status, Status)
    assert status.code is Code.UNRESOLVABLE
    assert status.reasons == ('persistentvolumeclaim "gone" not found',)


@pytest.mark.parametrize(
    ("mine", "theirs", "free"),
    [
        pytest.param(gce("a"), gce("b"), True, id="gce: another disk"),
        pytest.param(gce("a"), gce("a"), False, id="gce: the same disk"),
        pytest.param(gce("a", True), gce("a"), False, id="gce: read-only beside a writer"),
        pytest.param(gce("a", True), gce("a", True), True, id="gce: both read-only"),
        pytest.param(ebs("a"), ebs("b"), True, id="ebs: another volume"),
        pytest.param(ebs("a", True), ebs("a", True), False, id="ebs: the same volume, read-only or not"),
        pytest.param(iscsi("a"), iscsi("b"), True, id="iscsi: another iqn"),
        pytest.param(iscsi("a"), iscsi("a", portal="p2"), False, id="iscsi: the same iqn on another portal"),
        pytest.param(iscsi("a", True), iscsi("a", True), True, id="iscsi: both read-only"),
        pytest.param(rbd("xy"), rbd("yz"), False, id="rbd: one monitor in common"),
        pytest.param(rbd("x"), rbd("y"), True, id="rbd: no monitor in common"),
        pytest.param(rbd("x"), rbd("x", image="j"), True, id="rbd: another image"),
        pytest.param(rbd("x"), rbd("x", pool="q"), True, id="rbd: another pool"),
        pytest.param(rbd("x", read_only=True), rbd("x", read_only=True), True, id="rbd: both read-only"),
        pytest.param(gce("a"), ebs("a"), True, id="disks of different kinds"),
    ],
)
def test_inline_disks(mine: dict[str, object], theirs: dict[str, object], free: bool) -> None:
    found = snapshot(node("n"), pod("user").on("n").volume("tmp").volume("disk", **theirs))
    check = compiled(pod().volume("disk", **mine), found)
    assert check.reads is Reads.PODS
    assert (check.filter(found.by_name["n"]) is SUCCESS) is free


def test_a_disk_conflict_names_disk_and_pod_and_concerns_only_that_node() -> None:
    found = snapshot(node("n1"), node("n2"), pod("user", "shop").on("n1").volume("disk", **rbd("x")))
    check = compiled(pod().volume("other", **gce("a")).volume("disk", **rbd("x")), found)
    status = check.filter(found.by_name["n1"])
    assert status.code is Code.UNSCHEDULABLE
    assert status.reasons == (DISK_CONFLICT,)
    assert status.evidence == (VolumeConflict("rbd p/i", "in use by shop/user"),)
    assert check.filter(found.by_name["n2"]) is SUCCESS


def exclusive_claim_in_use() -> State:
    return snapshot(
        node("n1"),
        node("n2"),
        claim("data", modes=("ReadWriteOnce", *RWOP)),
        claim("data", modes=RWOP, meta={"namespace": "other"}),
        volume("pv"),
        pod("user").on("n1").volume("tmp").claim("data"),
        pod("stranger", "other").on("n2").claim("data"),
    )


def test_an_exclusive_claim_in_use_rules_out_every_node() -> None:
    found = exclusive_claim_in_use()
    check = compiled(pod().claim("data"), found)
    assert check.reads is Reads.CLUSTER
    for info in found.nodes:
        status = check.filter(info)
        assert status.code is Code.UNSCHEDULABLE
        assert status.reasons == (CLAIM_IN_USE,)
        assert status.evidence == (VolumeConflict("default/data", "in use by default/user on n1"),)


def test_the_disk_is_named_before_the_claim() -> None:
    found = snapshot(node("n"), claim("data", modes=RWOP), pod("user").on("n").claim("data").volume("disk", **ebs("v")))
    check = compiled(pod().claim("data").volume("disk", **ebs("v")), found)
    assert check.filter(found.by_name["n"]).reasons == (DISK_CONFLICT,)


def test_evicting_the_user_frees_the_claim_in_the_fork_alone() -> None:
    found = exclusive_claim_in_use()
    check = compiled(pod().claim("data"), found)
    fork = check.fork()
    fork.remove_pod(found.pods["default/user"], found.by_name["n1"])
    assert fork.filter(found.by_name["n1"]) is SUCCESS
    assert check.filter(found.by_name["n1"]).rejected
    fork.add_pod(found.pods["default/user"], found.by_name["n1"])
    assert fork.filter(found.by_name["n1"]).rejected


def test_evicting_the_user_of_a_claim_of_that_name_elsewhere_frees_it_too() -> None:
    found = exclusive_claim_in_use()
    fork = compiled(pod().claim("data"), found).fork()
    fork.remove_pod(found.pods["other/stranger"], found.by_name["n2"])
    assert fork.filter(found.by_name["n2"]) is SUCCESS


def test_a_pod_counts_once_per_volume_that_names_the_claim() -> None:
    found = exclusive_claim_in_use()
    fork = compiled(pod().claim("data"), found).fork()
    fork.add_pod(pod("twice").claim("data").claim("data").info(), found.by_name["n1"])
    for key in ("default/user", "other/stranger"):
        fork.remove_pod(found.pods[key], found.by_name["n1"])
    assert fork.filter(found.by_name["n1"]).rejected


def test_a_pod_that_is_checked_for_its_disks_also_looks_at_claims_that_come_into_use() -> None:
    found = snapshot(node("n"), claim("data", modes=RWOP))
    check = compiled(pod().claim("data").volume("disk", **gce("a")), found)
    assert check.reads is Reads.CLUSTER
    assert check.filter(found.by_name["n"]) is SUCCESS
    fork = check.fork()
    fork.add_pod(pod("nominated").claim("data").info(), found.by_name["n"])
    assert fork.filter(found.by_name["n"]).reasons == (CLAIM_IN_USE,)
