"""Releases: their defaults are upstream's, and their rules differ where upstream's do."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.admission.defaults import complete_pod_level, without_disabled
from kwhatif.admission.new_pod import complete_pod
from kwhatif.errors import InputError
from kwhatif.kube.gates import default_gates, known_gates
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import AnnotatedMeta, LabelSelector, ObjectMeta
from kwhatif.kube.model.pod import Pod, PodSchedulingGate
from kwhatif.kube.model.pod_spec import Container, ResourceRequirements
from kwhatif.kube.model.policy import LimitRange, LimitRangeItem, LimitRangeSpec
from kwhatif.kube.model.quantity import QuantityText
from kwhatif.kube.model.resource import ResourceSlice
from kwhatif.kube.model.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIStorageCapacity,
    ImageVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    StorageClass,
    StorageRequirements,
)
from kwhatif.kube.model.workload import Namespace, NamespaceMeta
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.configuration.build import build_profiles
from kwhatif.scheduler.configuration.schema import API_VERSION, KIND
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import EnqueueExtensions, QueueingHint
from kwhatif.scheduler.framework.plugin import NodeScorer
from kwhatif.scheduler.framework.profile import Point
from kwhatif.scheduler.framework.status import Code, Status
from kwhatif.scheduler.release import MINORS, NEWEST, Release, find_release, nearest_minor
from kwhatif.scheduler.release.changes import changes
from kwhatif.sources.scheduler.release import gates_of
from kwhatif.state.state import State
from tests import FIXTURES
from tests.builders import PodBuilder, affinity_term, node, pod, requirement, snapshot
from tests.devices import alternative, asking, claim, device, device_class, first_of, request, slice_

MB = 1024 * 1024
DRIVER = "csi.example.com"


@pytest.mark.parametrize("minor", MINORS)
def test_the_gates_that_rules_ask_about_have_upstreams_defaults(minor: int) -> None:
    upstream = gates_of(f"1.{minor}")
    known = known_gates(minor)
    assert {gate: gate in default_gates(minor) for gate in known} == {
        gate: gate in upstream and upstream[gate].default for gate in known
    }


@pytest.mark.parametrize("minor", MINORS)
def test_a_release_is_found_by_its_minor_version(minor: int) -> None:
    release = find_release(minor)
    assert release.minor == minor
    assert release.version == f"1.{minor}"
    assert release is find_release(minor)
    assert release.default_profile().gates == release.gates


def test_versions_that_are_not_modelled_have_a_nearest_one() -> None:
    assert nearest_minor(20) == MINORS[-1]
    assert nearest_minor(99) == NEWEST
    assert [nearest_minor(minor) for minor in MINORS] == list(MINORS)


def filters(release: Release) -> list[str]:
    return [plugin.name for plugin in release.default_profile().filter]


def test_a_plugin_without_its_gate_is_not_in_the_default_profile() -> None:
    assert "NodeDeclaredFeatures" in filters(find_release(36))
    assert "NodeDeclaredFeatures" not in filters(find_release(35))
    assert "NodeDeclaredFeatures" in filters(find_release(35).with_gates({"NodeDeclaredFeatures": True}))


def test_gates_set_by_hand_leave_the_others_as_they_are() -> None:
    release = find_release(36)
    changed = release.with_gates({"DRADeviceTaints": False, "DRAListTypeAttributes": True})
    assert changed.gates ^ release.gates == {"DRADeviceTaints", "DRAListTypeAttributes"}
    assert release.gates == default_gates(36)


def test_plugins_that_a_release_does_not_have_are_not_known() -> None:
    names = {entry.name for entry in find_release(35).entries}
    assert "TopologyPlacementGenerator" not in names
    assert Point.FILTER in find_release(35).entry("NodeDeclaredFeatures").points


def test_only_what_is_asked_for_is_imported() -> None:
    """In a process of its own, since this one has asked for all of them."""
    code = (
        "import sys; from kwhatif.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted(name for name in sys.modules if name.startswith('kwhatif.scheduler.release.')), file=sys.stderr)"
    )
    demo = FIXTURES / "demo"
    arguments = ["schedule", str(demo / "pods" / "small.yaml"), "--from", str(demo / "cluster.yaml")]

    def imported(version: str) -> str:
        command = [sys.executable, "-c", code, *arguments, "--kubernetes-version", version]
        return subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()[-1]

    assert imported("1.36") == ""
    assert imported("1.37") == "kwhatif.scheduler.release.newer"
    assert imported("1.34") == "kwhatif.scheduler.release.older"


# --- points that differ ------------------------------------------------------------------------------------------

GROUP = ["placementGenerate", "placementScore", "podGroupPostFilter"]


@pytest.mark.parametrize(("minor", "known"), [(34, []), (35, []), (36, GROUP[:2]), (37, GROUP)])
def test_a_configuration_names_only_points_that_the_release_has(minor: int, known: list[str]) -> None:
    release = find_release(minor)
    for point in GROUP:
        data = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "profiles": [{"plugins": {point: {"disabled": [{"name": "*"}]}}}],
        }
        if point in known:
            build_profiles(data, "config.yaml", release.entries, gates=release.gates)
            continue
        with pytest.raises(InputError, match=f"profiles\\[0\\].plugins.{point}: unknown field"):
            build_profiles(data, "config.yaml", release.entries, gates=release.gates)


@pytest.mark.parametrize(
    ("minor", "point", "plugin", "accepted"),
    [
        (35, "reserve", "GangScheduling", True),
        (36, "reserve", "GangScheduling", False),
        (36, "placementScore", "NodeResourcesFit", True),
        (36, "filter", "DeferredPodScheduling", False),
        (37, "filter", "DeferredPodScheduling", True),
        (37, "podGroupPostFilter", "DefaultPreemption", True),
        (37, "podGroupPostFilter", "NodeName", False),
    ],
)
def test_plugins_extend_the_points_of_their_release(minor: int, point: str, plugin: str, *, accepted: bool) -> None:
    release = find_release(minor)
    data = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [{"plugins": {point: {"enabled": [{"name": plugin}]}}}],
    }
    if accepted:
        build_profiles(data, "config.yaml", release.entries, gates=release.gates)
    else:
        with pytest.raises(InputError, match=f"{plugin}.* does not (exist|extend)"):
            build_profiles(data, "config.yaml", release.entries, gates=release.gates)


# --- rules that differ -------------------------------------------------------------------------------------------


def score(minor: int, plugin: str, candidate: PodBuilder, within: State) -> int:
    """What the plugin of that release gives the first node."""
    made = next(each for each in find_release(minor).default_profile().score if each.name == plugin)
    scorer = made.pre_score(candidate.info(), within, within.nodes)
    assert isinstance(scorer, NodeScorer)
    return scorer.score(within.nodes[0])


@pytest.mark.parametrize(("minor", "expected"), [(36, 68), (35, 87)])
def test_until_1_35_the_balance_itself_counts(minor: int, expected: int) -> None:
    within = snapshot(node().allocatable(cpu="4", memory="10000"))
    candidate = pod("a").cpu("3").memory("5000")
    assert score(minor, "NodeResourcesBalancedAllocation", candidate, within) == expected


@pytest.mark.parametrize(("minor", "expected"), [(36, 59), (35, 0)])
def test_until_1_35_image_volumes_do_not_count(minor: int, expected: int) -> None:
    within = snapshot(node("a").image(900 * MB, "web:1"), node("b").image(900 * MB, "web:1"), node("c"))
    assert score(minor, "ImageLocality", pod().volume("v", image=ImageVolume(reference="web:1")), within) == expected


def refusals(release: Release, candidate: PodBuilder, within: State) -> list[tuple[str, ...]]:
    """Why each node is turned down."""
    cycle = attempt(release.default_profile(), candidate.info(), within).cycle
    return [cycle.verdicts[each.name].status.reasons for each in within.nodes if each.name in cycle.verdicts]


def test_in_1_35_the_reason_names_the_features() -> None:
    release = find_release(35).with_gates({"NodeDeclaredFeatures": True})
    found = refusals(release, pod().spec(host_network=True, host_users=False), snapshot(node("a")))
    why = "node declared features check failed - unsatisfied requirements: UserNamespacesHostNetworkSupport"
    assert found == [(why,)]


NEEDS: dict[str, dict[str, Any]] = {
    "DRADeviceTaints": {"taint": ("broken", "NoSchedule")},
    "DRADeviceBindingConditions": {"fields": {"binding_conditions": ("ready",)}},
    "DRAPartitionableDevices": {"uses": {"c": {"slots": "1"}}},
}


@pytest.mark.parametrize("gate", NEEDS)
def test_what_a_gate_is_for_counts_only_where_it_is_on(gate: str) -> None:
    """Taints count for nothing without theirs; devices that need the others are taken by nobody."""
    devices = slice_("n1", device("gpu-0", **NEEDS[gate]), count=2)
    counters = slice_("n1", name="counters", counters={"c": {"slots": "4"}}, count=2)
    within = snapshot(node("n1"), device_class(), claim("mine", request()), devices, counters)
    on, off = (bool(refusals(find_release(minor), asking("mine"), within)) for minor in (36, 35))
    assert (on, off) == ((True, False) if gate == "DRADeviceTaints" else (False, True))


COUNTERS = {"c": {"slots": "4"}}
TAKES_3: dict[str, Any] = {"uses": {"c": {"slots": "3"}}}
#: What is there, and how many of its devices can be had together: in 1.34, and in 1.36.
PARTITIONS: dict[str, tuple[list[ResourceSlice], int, int]] = {
    "counters of the slice itself": (
        [slice_("n1", device("a", **TAKES_3), device("b", **TAKES_3), counters=COUNTERS)],
        1,
        0,
    ),
    "each slice has its own counters": (
        [
            slice_("n1", device("a", **TAKES_3), name="x", counters=COUNTERS, count=2),
            slice_("n1", device("b", **TAKES_3), name="y", counters=COUNTERS, count=2),
        ],
        2,
        0,
    ),
    "counters of another slice of the pool": (
        [
            slice_("n1", device("a", **TAKES_3), device("b", **TAKES_3), name="x", count=2),
            slice_("n1", name="y", counters=COUNTERS, count=2),
        ],
        2,
        1,
    ),
    "counters of a slice for no node": (
        [slice_("n1", device("a")), slice_("", pool="n1", name="y", counters=COUNTERS, count=2)],
        1,
        0,
    ),
}


@pytest.mark.parametrize(("slices", "in_1_34", "in_1_36"), PARTITIONS.values(), ids=PARTITIONS.keys())
def test_in_1_34_each_slice_has_its_own_counters(slices: list[ResourceSlice], in_1_34: int, in_1_36: int) -> None:
    for minor, most in ((34, in_1_34), (36, in_1_36)):
        release = find_release(minor).with_gates({"DRAPartitionableDevices": True})
        for count in (1, 2):
            within = snapshot(node("n1"), device_class(), claim("mine", request(count=count)), *slices)
            assert (refusals(release, asking("mine"), within) == []) == (count <= most), (minor, count)


def test_extended_resources_are_left_to_devices_only_where_the_gate_is_on() -> None:
    within = snapshot(node("n1"), device_class(resource="example.com/gpu"), slice_("n1", device("gpu-0")))
    wanting = pod().requests({"example.com/gpu": "1"})
    assert refusals(find_release(36), wanting, within) == []
    assert refusals(find_release(35), wanting, within) == [("Insufficient example.com/gpu",)]
    on = find_release(35).with_gates({"DRAExtendedResource": True})
    assert refusals(on, wanting, within) == []


def test_until_1_34_alternatives_do_not_score() -> None:
    claims = find_release(34).entry("DynamicResources")
    assert Point.SCORE not in claims.points
    assert claims.weight == 1
    assert Point.SCORE in find_release(35).entry("DynamicResources").points


def test_in_1_33_there_are_no_claims_unless_the_gate_is_on() -> None:
    assert "DynamicResources" not in filters(find_release(33))
    assert "DynamicResources" in filters(find_release(33).with_gates({"DynamicResourceAllocation": True}))


@pytest.mark.parametrize(
    ("minor", "reason"), [(34, "node(s) had untolerated taint(s)"), (33, "node(s) had untolerated taint {a: b}")]
)
def test_until_1_33_the_reason_names_the_taint(minor: int, reason: str) -> None:
    within = snapshot(node("n1").taint("a", "b"))
    assert refusals(find_release(minor), pod(), within) == [(reason,)]


@pytest.mark.parametrize(("minor", "code"), [(34, Code.UNRESOLVABLE), (33, Code.UNSCHEDULABLE)])
def test_until_1_33_eviction_is_tried_where_the_pod_is_too_large(minor: int, code: Code) -> None:
    cycle = attempt(find_release(minor).default_profile(), pod().cpu("9").info(), snapshot(node("n1"))).cycle
    assert cycle.verdicts["n1"].status.code is code


def test_without_their_gate_pods_have_no_resources_of_their_own() -> None:
    large = pod().spec(resources=ResourceRequirements(requests={"cpu": "9"})).build()
    assert without_disabled(large, default_gates(33)).spec.resources is None
    assert without_disabled(large, default_gates(34)) is large
    small = pod().build()
    assert without_disabled(small, default_gates(33)) is small


LIMITS = LimitRangeSpec(limits=(LimitRangeItem(type="Container", default_request={"cpu": "500m"}),))


@pytest.mark.parametrize(
    ("minor", "requests"),
    [(36, {"cpu": "2"}), (37, {"cpu": "500m"})],
    ids=["before admission plugins", "after them"],
)
def test_since_1_37_resources_of_the_pod_are_filled_in_after_admission_plugins(
    minor: int, requests: dict[str, QuantityText]
) -> None:
    cluster = Cluster([LimitRange(metadata=ObjectMeta(name="small", namespace="default"), spec=LIMITS)])
    cluster.update_facts(**find_release(minor).facts)
    asked = pod().spec(resources=ResourceRequirements(limits={"cpu": "2"})).build()
    admitted = complete_pod(asked, cluster)
    assert isinstance(admitted, Pod)
    assert admitted.spec.resources == ResourceRequirements(requests=requests, limits={"cpu": "2"})


def test_since_1_37_a_pod_is_limited_as_its_containers_are() -> None:
    first: dict[str, QuantityText] = {"cpu": "3", "memory": "1Gi"}
    second: dict[str, QuantityText] = {"cpu": "1"}
    containers = [
        Container(name=name, resources=ResourceRequirements(limits=limits))
        for name, limits in (("a", first), ("b", second))
    ]
    asked = pod().spec(containers=tuple(containers))
    made = asked.spec(resources=ResourceRequirements(requests={"cpu": "9", "memory": "2Gi"})).build()
    assert complete_pod_level(made, default_gates(36)) is made
    assert complete_pod_level(made, default_gates(37)).spec.resources == ResourceRequirements(
        requests={"cpu": "9", "memory": "2Gi"}, limits={"cpu": "9"}
    )
    low = replace(made, spec=replace(made.spec, resources=ResourceRequirements(requests={"cpu": "1"})))
    assert complete_pod_level(low, default_gates(37)).spec.resources == ResourceRequirements(
        requests={"cpu": "1"}, limits={"cpu": "4"}
    )
    hollow = replace(low, spec=replace(low.spec, containers=()))
    assert complete_pod_level(hollow, default_gates(37)) is hollow


@pytest.mark.parametrize(("minor", "cpu"), [(34, 2000), (35, 2000), (36, 3000), (37, 3000)])
def test_what_a_pod_was_granted_counts_where_the_gate_is_on(minor: int, cpu: int) -> None:
    asked = ResourceRequirements(requests={"cpu": "2"})
    granted = ResourceRequirements(requests={"cpu": "3"})
    resized = pod().spec(resources=asked).status(resources=granted, allocated_resources={"cpu": "3"}).on("n")
    session = Session.of(Cluster([node("n").build(), resized.build()]))
    assert session.for_release(find_release(minor)).state.nodes[0].cpu == cpu
    assert session.state.nodes[0].cpu == 3000


@pytest.mark.parametrize(("minor", "counts"), [(36, False), (37, True)])
def test_since_1_37_a_nomination_counts_of_a_pod_that_is_held_back(minor: int, counts: bool) -> None:
    gated = pod("gated").nominated("n").spec(scheduling_gates=(PodSchedulingGate(name="example.com/wait"),))
    session = Session.of(Cluster([node("n").build(), gated.build()])).for_release(find_release(minor))
    assert bool(session.state.nominated) is counts


@pytest.mark.parametrize(
    ("minor", "feasible"), [(33, True), (34, False), (36, False), (37, True)], ids=["1.33", "1.34", "1.36", "1.37"]
)
def test_a_namespace_selector_is_asked_twice_from_1_34_to_1_36(minor: int, feasible: bool) -> None:
    others = Namespace(metadata=NamespaceMeta(name="other", labels={"env": "prod"}))
    elsewhere = LabelSelector(match_expressions=(requirement("env", "NotIn", "prod"),))
    asked = pod().pod_anti_affinity(affinity_term("zone", LabelSelector(), namespace_selector=elsewhere))
    there = node("n").labels(zone="a"), pod("old", "other").on("n")
    assert (message(minor, asked, *there, others) == "") is feasible


ALL_AS_SECOND = claim("c", first_of("r", alternative("two", count=2), alternative("all", count=None)))


@pytest.mark.parametrize(("minor", "fits"), [(34, False), (35, False), (36, True), (37, True)])
def test_until_1_35_all_devices_are_no_second_alternative(minor: int, fits: bool) -> None:
    there = node("n"), device_class("gpu"), slice_("n", device("d")), ALL_AS_SECOND
    assert (message(minor, asking("c"), *there) == "") is fits


def test_until_1_34_devices_of_a_pool_that_is_not_complete_are_taken() -> None:
    there = node("n"), device_class("gpu"), slice_("n", device("d"), count=2), claim("c", request("r"))
    assert message(34, asking("c"), *there) == ""
    assert "cannot allocate all claims" in message(35, asking("c"), *there)


def test_which_changes_of_claims_and_nodes_wake_pods_with_claims() -> None:
    def actions(minor: int, resource: EventResource) -> ActionType:
        plugin = find_release(minor).entry("DynamicResources").make(default_gates(34))
        assert isinstance(plugin, EnqueueExtensions)
        return next(each.event.action for each in plugin.events_to_register() if each.event.resource is resource)

    node_, claim_ = EventResource.NODE, EventResource.RESOURCE_CLAIM
    assert [ActionType.UPDATE_NODE_ALLOCATABLE in actions(minor, node_) for minor in (33, 34, 37)] == [0, 1, 1]
    assert [ActionType.DELETE in actions(minor, claim_) for minor in (33, 36, 37)] == [0, 0, 1]


def message(minor: int, candidate: PodBuilder, *objects: Any) -> str:
    return attempt(find_release(minor).default_profile(), candidate.info(), snapshot(*objects)).message


def test_from_1_37_on_it_says_where_eviction_makes_room() -> None:
    asking_all = pod().cpu("4").priority(1)
    there = node("n1").allocatable(cpu="4", pods="9"), pod("old").cpu("1").on("n1")
    said = "0/1 nodes are available: 1 Insufficient cpu."
    assert message(36, asking_all, *there) == said
    more = "preemption: found a potential placement for pod on node n1, preempting 1 victims"
    assert message(37, asking_all, *there) == f"{said} {more}"


def test_from_1_37_on_nothing_is_said_of_claims_that_there_are_not() -> None:
    hopeless = "0/1 nodes are available: 1 Insufficient cpu."
    after = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    assert message(36, pod().cpu("99"), node("n1")) == f"{hopeless} no new claims to deallocate, {after}"
    assert message(37, pod().cpu("99"), node("n1")) == f"{hopeless} {after}"


def test_from_1_37_on_the_named_node_is_the_only_one_looked_at() -> None:
    named = pod().spec(node_name="n1").cpu("99")
    said = message(37, named, node("n1"), node("n2"))
    assert said.startswith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeName]")
    assert "didn't match the requested node name" in message(36, named, node("n1"), node("n2"))


@pytest.mark.parametrize(("minor", "expected"), [(36, 59), (37, 29)])
def test_from_1_37_on_image_volumes_count_as_images(minor: int, expected: int) -> None:
    within = snapshot(node("a").image(900 * MB, "web:1"), node("b").image(900 * MB, "web:1"), node("c"))
    assert score(minor, "ImageLocality", pod().volume("v", image=ImageVolume(reference="web:1")), within) == expected


def test_changes_between_releases() -> None:
    names = {(change.since, change.plugin or change.what) for change in changes(35, 36)}
    assert (36, "NodeResourcesBalancedAllocation") in names
    assert (36, "NodeDeclaredFeatures") in names
    assert {since for since, _ in names} == {36}
    assert list(changes(36, 35)) == list(changes(35, 36))
    assert list(changes(36, 36)) == []


def test_every_changed_plugin_is_in_the_catalog() -> None:
    known = {entry.name for entry in find_release(NEWEST).entries}
    assert {change.plugin for change in changes(MINORS[-1], NEWEST)} - {""} <= known


@pytest.mark.parametrize(("minor", "refused"), [(36, False), (37, True)])
def test_from_1_37_on_a_driver_may_have_to_be_there(minor: int, refused: bool) -> None:
    driver = CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=CSIDriverSpec(prevent_pod_scheduling_if_missing=True))
    of_class = StorageClass(
        metadata=AnnotatedMeta(name="fast"), provisioner=DRIVER, volume_binding_mode="WaitForFirstConsumer"
    )
    wanting = pod().claim("data")
    there = CSINode(metadata=AnnotatedMeta(name="n2"), spec=CSINodeSpec(drivers=(CSINodeDriver(name=DRIVER),)))
    waits = PersistentVolumeClaim(
        metadata=AnnotatedMeta(name="data", namespace="default"),
        spec=PersistentVolumeClaimSpec(storage_class_name="fast"),
    )
    within = snapshot(node("n1"), node("n2"), driver, of_class, there, waits)
    why = (f"{DRIVER} CSI driver is not installed on the node",)
    assert refusals(find_release(minor), wanting, within) == ([why] if refused else [])


@pytest.mark.parametrize(("minor", "points"), [(36, {}), (37, {"n1": 80, "n2": 50})])
def test_from_1_37_on_nodes_with_more_storage_left_score_more(minor: int, points: dict[str, int]) -> None:
    driver = CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=CSIDriverSpec(storage_capacity=True))
    of_class = StorageClass(
        metadata=AnnotatedMeta(name="fast"), provisioner=DRIVER, volume_binding_mode="WaitForFirstConsumer"
    )
    pools = [
        CSIStorageCapacity(
            metadata=ObjectMeta(name=name, namespace="default"),
            storage_class_name="fast",
            capacity=size,
            node_topology=LabelSelector(match_labels={"kubernetes.io/hostname": name}),
        )
        for name, size in (("n1", "50Gi"), ("n2", "20Gi"))
    ]
    waits = PersistentVolumeClaim(
        metadata=AnnotatedMeta(name="data", namespace="default"),
        spec=PersistentVolumeClaimSpec(
            storage_class_name="fast", resources=StorageRequirements(requests={"storage": "10Gi"})
        ),
    )
    nodes = [node(name).labels({"kubernetes.io/hostname": name}) for name in ("n1", "n2")]
    within = snapshot(*nodes, driver, of_class, waits, *pools)
    found = attempt(find_release(minor).default_profile(), pod().claim("data").info(), within)
    made = next(each for each in find_release(minor).default_profile().score if each.name == "VolumeBinding")
    scorer = made.pre_score(pod().claim("data").info(), within, within.nodes)
    assert found.scores is not None
    assert ({} if isinstance(scorer, Status) else {each.name: scorer.score(each) for each in within.nodes}) == points


def hint(minor: int, plugin: str, waiting: PodBuilder, old: PodBuilder | None, new: PodBuilder | None) -> QueueingHint:
    """What the plugin's hint of that release says of a pod that changed."""
    made = next(each for each in find_release(minor).default_profile().filter if each.name == plugin)
    register: Any = made
    on_pods = next(each for each in register.events_to_register() if each.event.resource is EventResource.POD)
    before, after = (None if each is None else each.build() for each in (old, new))
    assert on_pods.queueing_hint is not None
    return on_pods.queueing_hint(waiting.info(), before, after, Cluster())


@pytest.mark.parametrize(("minor", "expected"), [(36, QueueingHint.QUEUE), (35, QueueingHint.QUEUE_SKIP)])
def test_until_1_35_pods_that_are_only_nominated_wake_nobody(minor: int, expected: QueueingHint) -> None:
    refusing = (
        pod("w").labels(app="w").pod_anti_affinity(affinity_term("zone", LabelSelector(match_labels={"app": "other"})))
    )
    nominated = pod("o").labels(app="other").nominated("n1")
    assert hint(minor, "InterPodAffinity", refusing, nominated, None) is expected
    spreading = pod("w").labels(app="w").spread("zone", LabelSelector(match_labels={"app": "other"}))
    assert hint(minor, "PodTopologySpread", spreading, nominated, None) is expected


@pytest.mark.parametrize(("minor", "expected"), [(36, QueueingHint.QUEUE), (35, QueueingHint.QUEUE_SKIP)])
def test_until_1_35_what_a_deleted_pod_kept_away_does_not_count(minor: int, expected: QueueingHint) -> None:
    waiting = pod("w").labels(app="w").pod_affinity(affinity_term("zone", LabelSelector(match_labels={"app": "other"})))
    keeps_away = pod("o").pod_anti_affinity(affinity_term("zone", LabelSelector(match_labels={"app": "w"}))).on("n1")
    assert hint(minor, "InterPodAffinity", waiting, keeps_away, None) is expected


_OFF = "Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"


@pytest.mark.parametrize(
    ("minor", "args", "gates", "expected"),
    [
        (36, {"bindingTimeout": "5s", "filterTimeout": "1s"}, {}, []),
        (36, {"bindingTimeout": "5s"}, {"DRAResourceClaimDeviceStatus": False}, [("bindingTimeout", _OFF)]),
        (
            36,
            {"filterTimeout": "1s"},
            {"DRASchedulerFilterTimeout": False},
            [("filterTimeout", "Forbidden: DRASchedulingFilterTimeout feature gate is disabled")],
        ),
        (35, {"bindingTimeout": "0s"}, {}, [("bindingTimeout", _OFF)]),
        (35, {"bindingTimeout": "5s"}, {"DRADeviceBindingConditions": True}, []),
        (34, {"bindingTimeout": "5s"}, {}, [("bindingTimeout", "unknown field")]),
        (34, {"filterTimeout": "1s"}, {"DRADeviceBindingConditions": True}, []),
        (33, {"bindingTimeout": 5, "whatever": []}, {"DynamicResourceAllocation": True}, []),
    ],
)
def test_what_a_release_refuses_of_the_arguments_of_dynamic_resources(
    minor: int, args: dict[str, Any], gates: dict[str, bool], expected: list[tuple[str, str]]
) -> None:
    assert _refused(find_release(minor).with_gates(gates), "DynamicResources", args) == expected


@pytest.mark.parametrize(
    ("minor", "strategy", "expected"),
    [
        (35, {"type": "LeastAllocated", "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 5}]}}, []),
        (
            35,
            {"type": "LeastAllocated", "requestedToCapacityRatio": {"shape": []}},
            [("scoringStrategy.shape", "Required value: at least one point must be specified")],
        ),
        (
            33,
            {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": []}},
            [("scoringStrategy.shape", "Required value: at least one point must be specified")],
        ),
        (
            35,
            {"type": "RequestedToCapacityRatio"},
            [
                (
                    "scoringStrategy.requestedToCapacityRatio",
                    "Required value: must be specified when type is RequestedToCapacityRatio",
                )
            ],
        ),
        (
            36,
            {"type": "LeastAllocated", "requestedToCapacityRatio": {"shape": []}},
            [
                (
                    "scoringStrategy.requestedToCapacityRatio",
                    "Forbidden: must be nil when type is not RequestedToCapacityRatio",
                )
            ],
        ),
    ],
)
def test_until_1_35_a_shape_may_stand_beside_any_strategy(
    minor: int, strategy: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert _refused(find_release(minor), "NodeResourcesFit", {"scoringStrategy": strategy}) == expected


def _refused(release: Release, plugin: str, args: dict[str, Any]) -> list[tuple[str, str]]:
    profile = {"pluginConfig": [{"name": plugin, "args": args}]}
    data = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
    try:
        build_profiles(data, "config.yaml", release.entries, gates=release.gates)
    except InputError as refused:
        prefix = "profiles[0].pluginConfig[0].args."
        return [(problem.field.removeprefix(prefix), problem.message) for problem in refused.problems]
    return []


@pytest.mark.parametrize(
    "ask",
    [
        kwhatif.edited,
        lambda session, said: kwhatif.simulate(session, then=[said]),
        lambda session, said: kwhatif.simulate(session, said["apply"]),
    ],
    ids=["edit", "later edit", "simulated manifest"],
)
def test_what_is_applied_has_the_fields_of_the_release(ask: Callable[[Session, dict[str, Any]], object]) -> None:
    container = {"name": "main", "image": "i", "restartPolicy": "Never"}
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
    asked = pod().build()
    applied = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": asked.metadata.name, "namespace": "default"},
        "spec": {"containers": [container | {"restartPolicyRules": rules}]},
    }
    nodes = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"pods": "9"}}}
    for version in ("1.33", "1.35"):
        session = kwhatif.load([nodes], kubernetes_version=version)
        if version == "1.33":
            with pytest.raises(InputError, match="unknown field.*restartPolicyRules"):
                ask(session, {"apply": applied})
        else:
            assert ask(session, {"apply": applied}) is not None
