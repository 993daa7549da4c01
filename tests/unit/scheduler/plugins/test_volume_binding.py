"""VolumeBinding."""

from typing import Any, ClassVar

import pytest

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.pod_spec import NodeSelectorTerm
from kwhatif.kube.model.storage import (
    AWSElasticBlockStore,
    AzureFile,
    ClaimVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
)
from kwhatif.scheduler.framework.evidence import VolumeConflict
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code, Status
from kwhatif.scheduler.plugins.volume_binding import VolumeBinding, VolumeBindingArgs
from kwhatif.state.state import State
from tests.builders import HOSTNAME, ZONE, NodeBuilder, PodBuilder, node, pod, requirement, reserve, selector, snapshot
from tests.storage import (
    EPHEMERAL,
    SELECTED_NODE,
    claim,
    csi_driver,
    csi_node,
    owned_by,
    pool,
    reach,
    storage_class,
    volume,
)

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

#: A class whose volumes exist already.
LOCAL = storage_class("local", "kubernetes.io/no-provisioner")
Objects = list[KubernetesObject | PodBuilder | NodeBuilder]


def on(*names: str) -> Any:
    """Node affinity of a local disk."""
    return reach([requirement(HOSTNAME, "In", *names)])


def in_zone(*zones: str) -> Any:
    return reach([requirement(ZONE, "In", *zones)])


def pre_filter(asking: PodBuilder, within: State) -> NodeFilter | Status:
    return VolumeBinding().pre_filter(asking.info(), within)


def compiled(asking: PodBuilder, within: State) -> NodeFilter:
    result = pre_filter(asking, within)
    assert isinstance(result, NodeFilter)
    return result


def verdict(asking: PodBuilder, *objects: KubernetesObject | PodBuilder | NodeBuilder, name: str = "n1") -> Status:
    """What the plugin says of the node; there are n1 in zone a and n2 in zone b."""
    found = snapshot(node("n1").zone("a"), node("n2").zone("b"), *objects)
    return compiled(asking, found).filter(found.by_name[name])


def fitting(asking: PodBuilder, *objects: KubernetesObject | PodBuilder | NodeBuilder) -> list[str]:
    return [name for name in ("n1", "n2") if verdict(asking, *objects, name=name) is SUCCESS]


# --- PreFilter ---------------------------------------------------------------------------------------------


def test_arguments_have_upstreams_defaults() -> None:
    assert VolumeBinding().args == VolumeBindingArgs(bind_timeout_seconds=600, shape=None)


@pytest.mark.parametrize("asking", [pod(), pod().volume("tmp")])
def test_a_pod_without_claims_is_not_checked(asking: PodBuilder) -> None:
    assert pre_filter(asking, snapshot()) is SKIP


@pytest.mark.parametrize(
    ("asking", "objects", "reason"),
    [
        pytest.param(pod().claim("data"), [], 'persistentvolumeclaim "data" not found', id="a missing claim"),
        pytest.param(
            pod("web").volume("tmp", **EPHEMERAL),
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-tmp"',
            id="an ephemeral claim that is not there yet",
        ),
        pytest.param(
            pod().claim("data"),
            [claim("data", volume="pv", phase="Lost")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
            id="a lost claim",
        ),
        pytest.param(
            pod().claim("data"),
            [claim("data", meta={"deletion_timestamp": "2026-01-01T00:00:00Z"})],
            'persistentvolumeclaim "data" is being deleted',
            id="a claim that is being deleted",
        ),
        pytest.param(
            pod("web").volume("tmp", **EPHEMERAL),
            [claim("web-tmp", meta=owned_by("db"))],
            "PVC default/web-tmp was not created for pod default/web (pod is not owner)",
            id="an ephemeral claim of another pod",
        ),
        pytest.param(
            pod().claim("fits").claim("data"),
            [claim("fits", volume="pv")],
            'persistentvolumeclaim "data" not found',
            id="the second claim",
        ),
    ],
)
def test_claims_that_stop_the_cycle(asking: PodBuilder, objects: Objects, reason: str) -> None:
    status = pre_filter(asking, snapshot(*objects))
    assert isinstance(status, Status)
    assert status.code is Code.UNRESOLVABLE
    assert status.reasons == (reason,)


@pytest.mark.parametrize(
    ("data", "immediate"),
    [
        pytest.param(claim("data", volume="pv"), False, id="bound"),
        pytest.param(claim("data", "gone", volume="pv"), False, id="bound, whatever the class"),
        pytest.param(claim("data"), False, id="a class that waits"),
        pytest.param(
            claim("data", None, annotations={"volume.beta.kubernetes.io/storage-class": "fast"}),
            False,
            id="by annotation",
        ),
        pytest.param(claim("data", volume="pv", bound=False), True, id="a volume that the user named, not bound yet"),
        pytest.param(claim("data", "now"), True, id="a class that does not wait"),
        pytest.param(claim("data", "gone"), True, id="a class that does not exist"),
        pytest.param(claim("data", None), True, id="no class"),
        pytest.param(claim("data", ""), True, id="the empty class"),
    ],
)
def test_immediate_claims_must_be_bound(data: PersistentVolumeClaim, immediate: bool) -> None:
    found = snapshot(storage_class(), storage_class("now", mode="Immediate"), data)
    result = pre_filter(pod().claim("data"), found)
    assert isinstance(result, Status) is immediate
    if isinstance(result, Status):
        assert result.code is Code.UNRESOLVABLE
        assert result.reasons == ("pod has unbound immediate PersistentVolumeClaims",)


def test_a_class_without_binding_mode_is_an_error_even_after_an_immediate_claim() -> None:
    found = snapshot(storage_class("vague", mode=None), claim("a", None), claim("b", "vague"))
    status = pre_filter(pod().claim("a").claim("b"), found)
    assert isinstance(status, Status)
    assert status.code is Code.ERROR
    assert status.reasons == ('VolumeBindingMode not set for StorageClass "vague"',)


# --- bound claims ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("affinity", "nodes"),
    [
        pytest.param(None, ["n1", "n2"], id="none"),
        pytest.param(reach(), [], id="without terms it is nowhere"),
        pytest.param(on("n1"), ["n1"], id="a host"),
        pytest.param(in_zone("b", "c"), ["n2"], id="a zone"),
        pytest.param(
            reach([requirement(ZONE, "In", "a")], [requirement(HOSTNAME, "In", "n2")]), ["n1", "n2"], id="alternatives"
        ),
        pytest.param(
            reach([requirement(ZONE, "In", "a"), requirement("ssd", "Exists")]), [], id="all expressions of a term"
        ),
        pytest.param(reach([]), [], id="an empty term matches nothing"),
        pytest.param(
            reach([requirement(ZONE, "Near", "a")], [requirement(ZONE, "In", "b")]), ["n2"], id="an invalid term"
        ),
        pytest.param(
            reach(NodeSelectorTerm(match_fields=(requirement("metadata.name", "In", "n1"),))),
            ["n1", "n2"],
            id="fields are taken to hold",
        ),
    ],
)
def test_a_bound_volume_must_reach_the_node(affinity: Any, nodes: list[str]) -> None:
    assert fitting(pod().claim("data"), claim("data", volume="pv"), volume("pv", node_affinity=affinity)) == nodes


def test_a_bound_volume_out_of_reach_is_named_with_what_it_needs() -> None:
    status = verdict(
        pod().claim("fits").claim("data"),
        claim("fits", volume="pv-1"),
        volume("pv-1"),
        claim("data", volume="pv-2"),
        volume("pv-2", node_affinity=reach([requirement(ZONE, "In", "b")], [requirement("ssd", "Exists")])),
    )
    assert status.code is Code.UNRESOLVABLE
    assert status.reasons == (NODE_CONFLICT,)
    assert status.evidence == (VolumeConflict("default/data", f"volume pv-2 needs {ZONE} in (b) or ssd"),)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        pytest.param("lost", "far", NO_VOLUME, id="the missing volume comes first"),
        pytest.param("far", "lost", NODE_CONFLICT, id="the volume out of reach comes first"),
        pytest.param("near", "lost", NO_VOLUME, id="the missing volume alone"),
    ],
)
def test_the_first_bound_claim_that_fails_decides(first: str, second: str, reason: str) -> None:
    status = verdict(
        pod().claim(first).claim(second),
        claim("lost", volume="gone"),
        claim("far", volume="pv-1"),
        claim("near", volume="pv-2"),
        volume("pv-1", node_affinity=on("n2")),
        volume("pv-2", node_affinity=on("n1")),
    )
    assert status.reasons == (reason,)


class TestInTreeVolumes:
    """An in-tree volume is its CSI driver's where the node's kubelet says so."""

    DISK: ClassVar[dict[str, Any]] = {"aws_elastic_block_store": AWSElasticBlockStore(volume_id="vol-1")}
    CSI_ZONE = "topology.ebs.csi.aws.com/zone"
    MIGRATED = csi_node("n1", migrated=["kubernetes.io/gce-pd", "kubernetes.io/aws-ebs"])

    def judge(self, pv: PersistentVolume, *objects: KubernetesObject) -> Status:
        found = snapshot(node("n1").labels({ZONE: "a", self.CSI_ZONE: "b"}), claim("data", volume="pv"), pv, *objects)
        check = compiled(pod().claim("data"), found)
        assert check.reads is Reads.NODE
        return check.filter(found.by_name["n1"])

    @pytest.mark.parametrize(
        ("zone", "csi_nodes", "fits"),
        [
            pytest.param("a", [], True, id="no CSINode: in-tree labels"),
            pytest.param("a", [csi_node("n1", migrated=["kubernetes.io/cinder"])], True, id="another plugin migrated"),
            pytest.param("a", [MIGRATED], False, id="migrated: the driver's label"),
            pytest.param("b", [MIGRATED], True, id="migrated: the driver's label agrees"),
            pytest.param("b", [], False, id="not migrated: the driver's label does not count"),
        ],
    )
    def test_topology_keys(self, zone: str, csi_nodes: list[KubernetesObject], fits: bool) -> None:
        status = self.judge(volume("pv", node_affinity=in_zone(zone), **self.DISK), *csi_nodes)
        assert (status is SUCCESS) is fits

    def test_a_zone_label_becomes_node_affinity(self) -> None:
        status = self.judge(volume("pv", labels={ZONE: "a"}, **self.DISK), self.MIGRATED)
        assert status.reasons == (NODE_CONFLICT,)
        assert status.evidence == (VolumeConflict("default/data", "volume pv needs the zone it is labelled with"),)

    def test_a_plugin_that_the_scheduler_never_translates_stays_in_the_tree(self) -> None:
        share = volume("pv", labels={ZONE: "a"}, azure_file=AzureFile(share_name="s"))
        found = snapshot(
            node("n1"), claim("data", volume="pv"), share, csi_node("n1", migrated=["kubernetes.io/azure-file"])
        )
        check = compiled(pod().claim("data"), found)
        assert check.reads is Reads.SHAPE
        assert check.filter(found.by_name["n1"]) is SUCCESS

    def test_a_volume_that_cannot_be_translated_is_an_error_where_it_would_be(self) -> None:
        broken = volume("pv", aws_elastic_block_store=AWSElasticBlockStore(volume_id="aws://a/b"))
        assert self.judge(broken) is SUCCESS
        status = self.judge(broken, self.MIGRATED)
        assert status.code is Code.ERROR
        assert status.reasons == (
            "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID"
            " Invalid format for AWS volume (aws://a/b)",
        )


# --- volumes that exist already ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "offered", "fits"),
    [
        pytest.param(claim("data", "local"), volume("pv", "local"), True, id="the same size"),
        pytest.param(claim("data", "local", "1Gi"), volume("pv", "local", "1025Mi"), True, id="larger"),
        pytest.param(claim("data", "local", "1Gi"), volume("pv", "local", "1023Mi"), False, id="smaller"),
        pytest.param(
            claim("data", "local", "1.0005"), volume("pv", "local", "1001m"), True, id="sizes are exact to the milli"
        ),
        pytest.param(claim("data", "local", "1001m"), volume("pv", "local", "1"), False, id="a milli too small"),
        pytest.param(claim("data", "local", None), volume("pv", "local", "1"), True, id="no size asked"),
        pytest.param(claim("data", "local"), volume("pv", "fast"), False, id="another class"),
        pytest.param(
            claim("data", "local"),
            volume("pv", "fast", annotations={"volume.beta.kubernetes.io/storage-class": "local"}),
            True,
            id="the class by annotation",
        ),
        pytest.param(claim("data", "local"), volume("pv", "local", phase="Released"), False, id="not available"),
        pytest.param(claim("data", "local"), volume("pv", "local", phase="Pending"), False, id="not available yet"),
        pytest.param(claim("data", "local"), volume("pv", "local", deleted=True), False, id="being deleted"),
        pytest.param(
            claim("data", "local", volume_mode="Block"), volume("pv", "local"), False, id="another volume mode"
        ),
        pytest.param(
            claim("data", "local", volume_mode="Filesystem"),
            volume("pv", "local"),
            True,
            id="Filesystem is the default mode",
        ),
        pytest.param(
            claim("data", "local", volume_attributes_class_name="gold"),
            volume("pv", "local"),
            False,
            id="attributes class",
        ),
        pytest.param(
            claim("data", "local", volume_attributes_class_name=""),
            volume("pv", "local"),
            True,
            id="no attributes class",
        ),
        pytest.param(
            claim("data", "local", modes=["ReadWriteMany"]),
            volume("pv", "local"),
            False,
            id="an access mode that is missing",
        ),
        pytest.param(
            claim("data", "local"),
            volume("pv", "local", modes=["ReadOnlyMany", "ReadWriteOnce"]),
            True,
            id="more access modes",
        ),
        pytest.param(
            claim("data", "local", selector=selector(tier="a")),
            volume("pv", "local", labels={"tier": "b"}),
            False,
            id="selector",
        ),
        pytest.param(
            claim("data", "local", selector=selector(tier="a")),
            volume("pv", "local", labels={"tier": "a"}),
            True,
            id="selected",
        ),
        pytest.param(
            claim("data", "local"), volume("pv", "local", claim="other"), False, id="reserved for another claim"
        ),
        pytest.param(claim("data", "local"), volume("pv", "local", claim="data"), True, id="reserved for this claim"),
        pytest.param(
            claim("data", "local"),
            volume("pv", "local", claim="data", claim_uid="uid-data"),
            True,
            id="the same by UID",
        ),
        pytest.param(
            claim("data", "local"),
            volume("pv", "local", claim="data", claim_uid="old"),
            False,
            id="for a claim of the past",
        ),
        pytest.param(
            claim("data", "local"),
            volume("pv", "local", claim="data", phase="Bound", modes=[], labels={}),
            True,
            id="a reserved volume needs no phase and no modes",
        ),
        pytest.param(
            claim("data", "local", "2Gi"), volume("pv", "local", claim="data"), False, id="but it needs the size"
        ),
        pytest.param(
            claim("data", "local"), volume("pv", "local", claim="data", deleted=True), False, id="and to stay"
        ),
    ],
)
def test_which_volume_does_for_a_claim(wanted: PersistentVolumeClaim, offered: PersistentVolume, fits: bool) -> None:
    assert (verdict(pod().claim("data"), LOCAL, wanted, offered) is SUCCESS) is fits


def test_a_local_disk_does_for_its_own_node_only() -> None:
    disks = [volume("pv-1", "local", node_affinity=on("n1")), volume("pv-2", "local", "1Mi", node_affinity=on("n2"))]
    assert fitting(pod().claim("data"), LOCAL, claim("data", "local"), *disks) == ["n1"]


def test_evidence_of_a_claim_without_volume() -> None:
    status = verdict(pod().claim("data"), LOCAL, claim("data", "local"))
    assert status.code is Code.UNRESOLVABLE
    assert status.reasons == (BIND_CONFLICT,)
    assert status.evidence == (
        VolumeConflict("default/data", "no volume of class local fits, and none is provisioned"),
    )


def test_an_invalid_selector_of_a_claim_is_an_error() -> None:
    invalid = selector(requirement("tier", "Near", "a"))
    status = verdict(pod().claim("data"), LOCAL, claim("data", "local", selector=invalid))
    assert status.code is Code.ERROR
    assert status.message.startswith("error creating internal label selector for claim: default/data: ")


def reserved(asking: PodBuilder, *objects: KubernetesObject, name: str = "n1") -> State:
    """The snapshot after the pod went to the node."""
    found = snapshot(node("n1").zone("a"), node("n2").zone("b"), *objects)
    check = compiled(asking, found)
    assert check.filter(found.by_name[name]) is SUCCESS
    reserve(check, found, name)
    return found


def takers(found: State) -> dict[str, str]:
    """Volume -> the claim that has it."""
    volumes = found.cluster.all(PersistentVolume).values()
    return {volume.metadata.name: ref.name for volume in volumes if (ref := volume.spec.claim_ref) is not None}


@pytest.mark.parametrize(
    ("volumes", "taken"),
    [
        pytest.param(
            [volume("a", "local", "3Gi"), volume("b", "local", "2Gi"), volume("c", "local", "4Gi")],
            {"b": "data"},
            id="the smallest",
        ),
        pytest.param([volume("b", "local"), volume("a", "local")], {"a": "data"}, id="of equal ones the first by name"),
        pytest.param(
            [volume("a", "local"), volume("z", "local", "9Gi", claim="data")],
            {"z": "data"},
            id="one that is reserved for the claim, however large",
        ),
        pytest.param(
            [volume("a", "local", node_affinity=on("n2")), volume("b", "local", "9Gi", node_affinity=on("n1"))],
            {"b": "data"},
            id="the smallest within reach",
        ),
    ],
)
def test_which_volume_a_claim_gets(volumes: list[PersistentVolume], taken: dict[str, str]) -> None:
    assert takers(reserved(pod().claim("data"), LOCAL, claim("data", "local"), *volumes)) == taken


def test_a_reserved_volume_out_of_reach_is_no_match_whatever_else_there_is() -> None:
    volumes = [volume("a", "local", claim="data", node_affinity=on("n2")), volume("b", "local")]
    assert fitting(pod().claim("data"), LOCAL, claim("data", "local"), *volumes) == ["n2"]


def test_small_claims_choose_first_so_that_large_ones_find_room() -> None:
    found = reserved(
        pod().claim("large").claim("small"),
        LOCAL,
        claim("large", "local", "5Gi"),
        claim("small", "local", "1Gi"),
        volume("pv-1", "local", "5Gi"),
        volume("pv-2", "local", "6Gi"),
    )
    assert takers(found) == {"pv-1": "small", "pv-2": "large"}


def test_a_pod_that_mounts_its_claim_twice_is_taken_to_need_two_volumes() -> None:
    twice = pod().claim("data").volume("again", persistent_volume_claim=ClaimVolumeSource(claim_name="data"))
    objects: Objects = [LOCAL, claim("data", "local"), volume("pv", "local", claim="data")]
    assert verdict(twice, *objects).reasons == (BIND_CONFLICT,)
    assert verdict(twice, *objects, volume("pv-2", "local")) is SUCCESS


def test_two_claims_need_two_volumes() -> None:
    objects: Objects = [LOCAL, claim("a", "local"), claim("b", "local"), volume("pv-1", "local")]
    assert verdict(pod().claim("a").claim("b"), *objects).evidence == (
        VolumeConflict("default/b", "no volume of class local fits, and none is provisioned"),
    )
    assert verdict(pod().claim("a").claim("b"), *objects, volume("pv-2", "local")) is SUCCESS


# --- volumes that can be made ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fast", "nodes"),
    [
        pytest.param(storage_class(), ["n1", "n2"], id="a provisioner"),
        pytest.param(storage_class(provisioner="kubernetes.io/no-provisioner"), [], id="no provisioner"),
        pytest.param(storage_class(provisioner=""), [], id="an empty provisioner"),
        pytest.param(storage_class(topologies=[{ZONE: ["a", "c"]}]), ["n1"], id="in a zone"),
        pytest.param(storage_class(topologies=[{ZONE: ["b"]}, {HOSTNAME: ["n1"]}]), ["n1", "n2"], id="alternatives"),
        pytest.param(storage_class(topologies=[{ZONE: ["a"], "ssd": ["yes"]}]), [], id="all labels of a term"),
        pytest.param(storage_class(topologies=[{}]), [], id="an empty term matches nothing"),
        pytest.param(storage_class(topologies=[{ZONE: []}]), [], id="a label without values matches nothing"),
    ],
)
def test_where_a_class_provisions(fast: KubernetesObject, nodes: list[str]) -> None:
    assert fitting(pod().claim("data"), fast, claim("data")) == nodes


def test_evidence_of_a_class_that_provisions_elsewhere() -> None:
    fast = storage_class(topologies=[{ZONE: ["b", "c"]}, {"ssd": ["yes"]}])
    status = verdict(pod().claim("data"), fast, claim("data"))
    assert status.reasons == (BIND_CONFLICT,)
    assert status.evidence == (
        VolumeConflict(
            "default/data",
            f"no volume of class fast fits, and none is provisioned outside {ZONE} in (b,c) or ssd in (yes)",
        ),
    )


TRACKED = csi_driver("csi.example.com")


@pytest.mark.parametrize(
    ("objects", "fits"),
    [
        pytest.param([], True, id="no CSIDriver"),
        pytest.param([csi_driver("csi.example.com", tracks_capacity=False)], True, id="a driver that keeps no track"),
        pytest.param([TRACKED], False, id="a driver that keeps track, without a pool"),
        pytest.param([TRACKED, pool("p", "fast", "1Gi", node_topology=selector())], True, id="a pool for everybody"),
        pytest.param([TRACKED, pool("p", "fast", "1Gi", node_topology=None)], False, id="a pool for nobody"),
        pytest.param(
            [TRACKED, pool("p", "slow", "1Gi", node_topology=selector())], False, id="a pool of another class"
        ),
        pytest.param([TRACKED, pool("p", "fast", "1023Mi", node_topology=selector())], False, id="a pool too small"),
        pytest.param(
            [TRACKED, pool("p", "fast", None, node_topology=selector())], False, id="a pool that says no size"
        ),
        pytest.param(
            [TRACKED, pool("p", "fast", "1073741823500m", node_topology=selector())], True, id="sizes in whole bytes"
        ),
        pytest.param(
            [TRACKED, pool("p", "fast", "9Gi", maximum_volume_size="1Mi", node_topology=selector())],
            False,
            id="the largest volume counts, not the sum",
        ),
        pytest.param(
            [TRACKED, pool("p", "fast", "1Mi", maximum_volume_size="9Gi", node_topology=selector())],
            True,
            id="the largest volume counts even if the sum is smaller",
        ),
        pytest.param(
            [TRACKED, pool("p", "fast", "9Gi", node_topology=selector(requirement(ZONE, "In", "a", "c")))],
            True,
            id="a pool in the zone",
        ),
        pytest.param(
            [TRACKED, pool("p", "fast", "9Gi", node_topology=selector(requirement(ZONE, "In", "b")))],
            False,
            id="a pool in another zone",
        ),
        pytest.param(
            [TRACKED, pool("p", "fast", "9Gi", node_topology=selector(requirement(ZONE, "Near", "a")))],
            False,
            id="a pool with an invalid selector",
        ),
    ],
)
def test_storage_capacity(objects: Objects, fits: bool) -> None:
    status = verdict(pod().claim("data"), storage_class(), claim("data"), *objects)
    assert (status is SUCCESS) is fits
    if not fits:
        assert status.code is Code.UNRESOLVABLE
        assert status.reasons == (NO_SPACE,)
        assert status.evidence == (
            VolumeConflict("default/data", "no storage pool of class fast has 1Gi left for the node"),
        )


def test_a_claim_without_size_needs_no_capacity() -> None:
    assert verdict(pod().claim("data"), storage_class(), TRACKED, claim("data", size=None)) is SUCCESS


def test_a_volume_that_exists_is_preferred_to_a_new_one() -> None:
    found = reserved(pod().claim("data"), storage_class(), claim("data"), volume("pv", size="9Gi"))
    assert takers(found) == {"pv": "data"}
    assert SELECTED_NODE not in found.cluster.all(PersistentVolumeClaim)["default/data"].metadata.annotations


@pytest.mark.parametrize(
    ("selected", "nodes"), [pytest.param("n2", ["n2"], id="a node"), pytest.param("", [], id="an empty annotation")]
)
def test_a_claim_for_which_a_node_was_chosen_goes_nowhere_else(selected: str, nodes: list[str]) -> None:
    data = claim("data", annotations={SELECTED_NODE: selected})
    assert fitting(pod().claim("data"), storage_class(), data) == nodes
    assert verdict(pod().claim("data"), storage_class(), data).evidence == (
        VolumeConflict("default/data", f"a volume is being provisioned for node {selected}"),
    )


def test_a_claim_for_which_a_node_was_chosen_takes_no_volume_that_exists() -> None:
    data = claim("data", "local", annotations={SELECTED_NODE: "n1"})
    assert verdict(pod().claim("data"), LOCAL, data, volume("pv", "local")).reasons == (BIND_CONFLICT,)


def test_claims_with_a_node_are_provisioned_before_the_others() -> None:
    chosen = claim("chosen", "tracked", "9Gi", annotations={SELECTED_NODE: "n1"})
    status = verdict(
        pod().claim("small").claim("chosen"),
        LOCAL,
        storage_class("tracked"),
        TRACKED,
        claim("small", "local", "1Gi"),
        chosen,
    )
    assert status.reasons == (NO_SPACE,)


def test_bound_and_waiting_claims_are_both_objected_to_in_upstreams_order() -> None:
    far: Objects = [claim("far", volume="pv"), volume("pv", node_affinity=on("n2"))]
    lost = claim("lost", volume="gone")
    waiting: Objects = [LOCAL, storage_class(), TRACKED, claim("local", "local"), claim("tracked")]
    both = [
        (pod().claim("local").claim("far"), (NODE_CONFLICT, BIND_CONFLICT)),
        (pod().claim("tracked").claim("far"), (NODE_CONFLICT, NO_SPACE)),
        (pod().claim("lost").claim("tracked"), (NO_SPACE, NO_VOLUME)),
    ]
    for asking, reasons in both:
        status = verdict(asking, *far, lost, *waiting)
        assert status.code is Code.UNRESOLVABLE
        assert status.reasons == reasons
        assert len(status.evidence) == 2


# --- Reserve -----------------------------------------------------------------------------------------------


def test_the_next_pod_does_not_get_the_same_volume() -> None:
    found = reserved(
        pod("first").claim("a"),
        LOCAL,
        claim("a", "local"),
        claim("b", "local"),
        volume("pv-1", "local", node_affinity=on("n1")),
    )
    assert compiled(pod("next").claim("b"), found).filter(found.by_name["n1"]).reasons == (BIND_CONFLICT,)
    again = compiled(pod("beside").claim("a"), found)
    assert [info.name for info in found.nodes if again.filter(info) is SUCCESS] == ["n1"]


def test_the_next_pod_follows_a_claim_that_is_being_provisioned() -> None:
    found = reserved(pod("first").claim("data"), storage_class(), claim("data"), name="n2")
    again = compiled(pod("next").claim("data"), found)
    assert [info.name for info in found.nodes if again.filter(info) is SUCCESS] == ["n2"]


def test_reserving_changes_a_fork_alone() -> None:
    original = snapshot(node("n1"), LOCAL, claim("data", "local"), volume("pv", "local"))
    found = original.fork()
    reserve(compiled(pod().claim("data"), found), found)
    assert takers(found) == {"pv": "data"}
    assert original.cluster.all(PersistentVolume)["pv"].spec.claim_ref is None


def test_nothing_is_reserved_for_bound_claims() -> None:
    bound = claim("data", volume="pv")
    found = reserved(pod().claim("data"), bound, volume("pv"))
    assert found.cluster.all(PersistentVolumeClaim)["default/data"] is bound
    assert takers(found) == {}


# --- what the answer depends on ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asking", "reads"),
    [
        pytest.param(pod().claim("zonal"), Reads.SHAPE, id="a volume of a zone"),
        pytest.param(pod().claim("hosted"), Reads.NODE, id="a volume of a host"),
        pytest.param(pod().claim("zonal").claim("hosted"), Reads.NODE, id="both"),
        pytest.param(pod().claim("waiting"), Reads.SHAPE, id="a class that provisions in zones"),
        pytest.param(pod().claim("local"), Reads.NODE, id="a class with a disk per host"),
        pytest.param(pod().claim("pooled"), Reads.NODE, id="a class with a pool per host"),
        pytest.param(pod().claim("reserved"), Reads.NODE, id="a volume of a host that is reserved for the claim"),
        pytest.param(pod().claim("chosen"), Reads.NODE, id="a claim for which a node was chosen"),
    ],
)
def test_reads(asking: PodBuilder, reads: Reads) -> None:
    nodes = [node(f"n{number}").zone("ab"[number % 2]) for number in range(10)]
    found = snapshot(
        *nodes,
        LOCAL,
        storage_class("pinned", "kubernetes.io/no-provisioner"),
        storage_class(topologies=[{ZONE: ["a"]}]),
        storage_class("tracked", "tracked.example.com"),
        csi_driver("tracked.example.com"),
        pool("p", "tracked", "9Gi", node_topology=selector(requirement(HOSTNAME, "In", "n1"))),
        claim("zonal", volume="pv-1"),
        claim("hosted", volume="pv-2"),
        claim("waiting"),
        claim("local", "local"),
        claim("pooled", "tracked"),
        claim("reserved", "pinned"),
        claim("chosen", annotations={SELECTED_NODE: "n1"}),
        volume("pv-1", claim="zonal", node_affinity=in_zone("a")),
        volume("pv-2", claim="hosted", node_affinity=on("n1")),
        volume("pv-3", "local", node_affinity=on("n2")),
        volume("pv-4", "pinned", claim="reserved", node_affinity=on("n2")),
    )
    assert compiled(asking, found).reads is reads
