"""VolumeZone."""

import pytest

from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.scheduler.framework.evidence import VolumeConflict
from kwhatif.scheduler.framework.incremental import Signed
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code, Status
from kwhatif.scheduler.plugins.volume_zone import NO_VOLUME_ZONE, VolumeZone
from kwhatif.state.state import State
from tests.builders import ZONE, PodBuilder, node, pod, snapshot
from tests.storage import EPHEMERAL, claim, storage_class, volume

REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


def pre_filter(asking: PodBuilder, within: State) -> NodeFilter | Status:
    return VolumeZone().pre_filter(asking.info(), within)


@pytest.mark.parametrize(
    "asking",
    [
        pytest.param(pod(), id="no volumes"),
        pytest.param(pod().volume("tmp"), id="no claims"),
        pytest.param(pod().claim("waiting"), id="a claim that waits for its first consumer"),
        pytest.param(pod().claim("anywhere"), id="a volume without zone labels"),
        pytest.param(pod().claim("unreadable"), id="a zone label with an empty part"),
        pytest.param(pod("web").volume("tmp", **EPHEMERAL), id="an ephemeral volume, whatever its labels"),
    ],
)
def test_pre_filter_skips(asking: PodBuilder) -> None:
    found = snapshot(
        storage_class(),
        claim("waiting"),
        claim("anywhere", volume="pv-1"),
        claim("unreadable", volume="pv-2"),
        claim("web-tmp", volume="pv-3"),
        volume("pv-1", labels={"tier": "a"}),
        volume("pv-2", labels={ZONE: "a__ __b"}),
        volume("pv-3", labels={ZONE: "a"}),
    )
    assert pre_filter(asking, found) is SKIP


@pytest.mark.parametrize(
    ("existing", "reason"),
    [
        pytest.param(None, 'persistentvolumeclaim "data" not found', id="no claim"),
        pytest.param(claim("data", volume="pv"), 'persistentvolume "pv" not found', id="no volume"),
        pytest.param(
            claim("data", None),
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="neither volume nor class",
        ),
        pytest.param(
            claim("data", "gone"), 'storageclass.storage.k8s.io "gone" not found', id="a class that does not exist"
        ),
        pytest.param(
            claim("data", "vague"), 'VolumeBindingMode not set for StorageClass "vague"', id="a class without mode"
        ),
        pytest.param(claim("data", "now"), "PersistentVolume had no name", id="an unbound claim that does not wait"),
    ],
)
def test_pre_filter_stops_the_cycle(existing: PersistentVolumeClaim | None, reason: str) -> None:
    found = snapshot(
        storage_class("now", mode="Immediate"), storage_class("vague", mode=None), *([existing] if existing else [])
    )
    status = pre_filter(pod().claim("data"), found)
    assert isinstance(status, Status)
    assert status.code is Code.UNRESOLVABLE
    assert status.reasons == (reason,)


def test_a_claim_volume_without_a_name_stops_the_cycle() -> None:
    status = pre_filter(pod().claim(""), snapshot())
    assert isinstance(status, Status)
    assert status.reasons == ("PersistentVolumeClaim had no name",)


@pytest.mark.parametrize(
    ("on_volume", "on_node", "fits"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="the same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="another zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one of the zones"),
        pytest.param({ZONE: " a __b"}, {ZONE: "a"}, True, id="zones with blanks around them"),
        pytest.param({ZONE: "a"}, {}, True, id="a node that names no zone or region"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, False, id="a node that names its region only"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="an old label on the volume, a current one on the node"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "b"}, False, id="the same, another zone"),
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, False, id="the node's old label comes first"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, False, id="a current label on the volume, an old one on the node"),
        pytest.param({BETA_REGION: "r"}, {REGION: "r"}, True, id="regions likewise"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False, id="all labels must agree"),
        pytest.param(
            {ZONE: "a", REGION: "__"}, {ZONE: "a", REGION: "s"}, True, id="an unreadable label does not count"
        ),
    ],
)
def test_filter(on_volume: dict[str, str], on_node: dict[str, str], fits: bool) -> None:
    found = snapshot(node("n").labels(on_node), claim("data", volume="pv"), volume("pv", labels=on_volume))
    check = pre_filter(pod().claim("data"), found)
    assert isinstance(check, NodeFilter)
    assert (check.filter(found.by_name["n"]) is SUCCESS) is fits


def test_evidence_names_the_volume_and_its_zones() -> None:
    found = snapshot(
        node("n").zone("c"),
        claim("fits", volume="pv-1"),
        claim("data", volume="pv-2"),
        volume("pv-1", labels={ZONE: "c"}),
        volume("pv-2", labels={ZONE: "b__a"}),
    )
    check = pre_filter(pod().claim("fits").claim("data"), found)
    assert isinstance(check, NodeFilter)
    status = check.filter(found.by_name["n"])
    assert status.code is Code.UNRESOLVABLE
    assert status.reasons == (NO_VOLUME_ZONE,)
    assert status.evidence == (VolumeConflict("default/data", f"volume pv-2 is in {ZONE} a, b"),)


@pytest.mark.parametrize(
    ("zones", "reads"),
    [
        pytest.param(2, Reads.SHAPE, id="few zones: once per shape"),
        pytest.param(10, Reads.NODE, id="a zone for every node: each node"),
    ],
)
def test_reads(zones: int, reads: Reads) -> None:
    nodes = [node(f"n{number}").zone(f"z{number % zones}") for number in range(10)]
    check = pre_filter(
        pod().claim("data"), snapshot(*nodes, claim("data", volume="pv"), volume("pv", labels={ZONE: "a"}))
    )
    assert isinstance(check, NodeFilter)
    assert check.reads is reads


@pytest.mark.parametrize(("zone", "is_same"), [("a", True), ("b", False)])
def test_numbered_pods_with_volumes_of_one_zone_are_replicas(zone: str, *, is_same: bool) -> None:
    """So that the pods of a StatefulSet, each with a claim of its own, are not compiled and tried anew."""
    found = snapshot(
        claim("data-0", volume="pv-0"),
        claim("data-1", volume="pv-1"),
        volume("pv-0", labels={ZONE: "a"}),
        volume("pv-1", labels={ZONE: zone}),
    )
    first, second = (pre_filter(pod(f"db-{number}").claim(f"data-{number}"), found) for number in (0, 1))
    assert isinstance(first, Signed)
    assert isinstance(second, Signed)
    assert (first.signature == second.signature) is is_same
