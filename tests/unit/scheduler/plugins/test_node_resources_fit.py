"""Room on the node, reason by reason; and the three scoring strategies against upstream's own figures."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta
from kwhatif.kube.model.pod_spec import ResourceRequirements
from kwhatif.kube.model.resource import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from kwhatif.scheduler.framework.evidence import InsufficientResource
from kwhatif.scheduler.framework.incremental import Reprieving
from kwhatif.scheduler.framework.plugin import Reads
from kwhatif.scheduler.framework.scoring_strategy import (
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    least_allocated,
    most_allocated,
    requested_to_capacity_ratio,
)
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status
from kwhatif.scheduler.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import PodRow, State
from tests.builders import NodeBuilder, PodBuilder, node, pod, snapshot
from tests.examples import examples

GPU = "nvidia.com/gpu"


def ask(
    candidate: PodBuilder, on: NodeBuilder, *running: PodBuilder, args: NodeResourcesFitArgs | None = None
) -> Status:
    made = snapshot(on, *(other.on("node") for other in running))
    return NodeResourcesFit(args).pre_filter(candidate.info(), made).filter(made.by_name["node"])


def small(**amounts: str) -> NodeBuilder:
    return node().allocatable({"cpu": "2", "memory": "4Gi", "pods": "3"}).allocatable(amounts)


def fit(asked: dict[str, str], made: State) -> Reprieving:
    compiled = NodeResourcesFit().pre_filter(pod("asking").requests(asked).info(), made)
    assert isinstance(compiled, Reprieving)
    return compiled


# --- Pods put back ------------------------------------------------------------------------------------

AMOUNTS = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["0", "250m", "300m", "500m", "700m", "1"]),
        "memory": st.sampled_from(["1Gi", "2Gi"]),
        "ephemeral-storage": st.sampled_from(["1Gi", "2Gi"]),
        GPU: st.sampled_from(["0", "1", "2"]),
    },
)


@given(AMOUNTS, st.lists(AMOUNTS, max_size=8), st.booleans())
def test_putting_pods_back_on_sums_is_like_trying_them_out(
    asked: dict[str, str], pods: list[dict[str, str]], keeps_one: bool
) -> None:
    there = small(**{"ephemeral-storage": "4Gi", GPU: "3", "pods": "5"})
    kept = [pod("kept").requests({"cpu": "500m"}).on("node")] if keeps_one else []
    made = snapshot(there, *kept)
    room = fit(asked, made)
    infos = [pod(f"p{number}").requests(amounts).info() for number, amounts in enumerate(pods)]
    tried = made.by_name["node"].clone()
    if room.filter(tried) is not SUCCESS:
        return
    expected: list[PodInfo] = []
    for info in infos:
        tried.add_pod(info)
        if room.filter(tried) is not SUCCESS:
            tried.remove_pod(info)
            expected.append(info)
    found = room.reprieve_all(PodRow(infos), made.by_name["node"])
    assert found is not None
    assert found.refused == expected
    assert room.has_same_answer(found.scope)
    back = made.by_name["node"]
    assert room.statuses_with(infos, found.refused, back) == Reprieving.statuses_with(room, infos, found.refused, back)


@given(AMOUNTS, AMOUNTS, st.lists(AMOUNTS, max_size=8))
@settings(max_examples=examples(500))
def test_within_the_scope_the_same_pods_stay(
    asked: dict[str, str], other: dict[str, str], pods: list[dict[str, str]]
) -> None:
    made = snapshot(small(**{"ephemeral-storage": "4Gi", GPU: "3", "pods": "5"}))
    there, row = (
        made.by_name["node"],
        PodRow([pod(str(number)).requests(each).info() for number, each in enumerate(pods)]),
    )
    one, two = fit(asked, made), fit(other, made)
    found, again = (each.reprieve_all(row, there) if each.filter(there) is SUCCESS else None for each in (one, two))
    if found is not None and two.has_same_answer(found.scope):
        assert again is not None
        assert again.refused == found.refused


SCOPES = {
    "as little as lets no more of them stay": ({"cpu": "501m"}, True),
    "so little that another one could stay": ({"cpu": "500m"}, False),
    "as much as those need that stay leave": ({"cpu": "1"}, True),
    "more than that": ({"cpu": "1001m"}, False),
    "something else": ({"cpu": "600m", "memory": "1Gi"}, False),
    "nothing": ({}, False),
}


@pytest.mark.parametrize(("asked", "expected"), SCOPES.values(), ids=SCOPES.keys())
def test_scope(asked: dict[str, str], expected: bool) -> None:
    """Of 2 cpu, the pod asks for 600m: beside it one of three can stay that request 1, 1 and 500m."""
    made = snapshot(small(pods="9"))
    row = PodRow([pod(cpu).cpu(cpu).info() for cpu in ("1", "1", "500m")])
    found = fit({"cpu": "600m"}, made).reprieve_all(row, made.by_name["node"])
    assert found is not None
    assert [each.name for each in found.refused] == ["1", "500m"]
    assert fit(asked, made).has_same_answer(found.scope) == expected


def test_a_pod_without_a_place_needs_no_resource_to_be_short() -> None:
    made = snapshot(small(pods="2"))
    row = PodRow([pod(name).cpu("100m").info() for name in "ab"])
    found = fit({"cpu": "500m"}, made).reprieve_all(row, made.by_name["node"])
    assert found is not None
    assert [each.name for each in found.refused] == ["b"]
    assert fit({"cpu": "1m"}, made).has_same_answer(found.scope)


# --- Filter -------------------------------------------------------------------------------------------

FILTER = {
    "a pod that fits exactly": (pod().cpu("2").memory("4Gi"), small(), [], None, ()),
    "one milli-cpu too much": (pod().cpu("2001m"), small(), [], Code.UNRESOLVABLE, ("Insufficient cpu",)),
    "room is taken by another pod": (
        pod().cpu("1500m"),
        small(),
        [pod("a").cpu("1")],
        Code.UNSCHEDULABLE,
        ("Insufficient cpu",),
    ),
    "every shortage is a reason, in a fixed order": (
        pod().requests({GPU: "1", "ephemeral-storage": "1Gi", "memory": "4Gi", "cpu": "2"}),
        small(pods="1", **{"ephemeral-storage": "1Gi"}),
        [pod("a").cpu("1").memory("1Gi").requests({"ephemeral-storage": "1Mi"})],
        Code.UNRESOLVABLE,
        (
            "Too many pods",
            "Insufficient cpu",
            "Insufficient memory",
            "Insufficient ephemeral-storage",
            f"Insufficient {GPU}",
        ),
    ),
    "one resource above the whole node decides, whatever else is short": (
        pod().cpu("1500m").memory("5Gi"),
        small(),
        [pod("a").cpu("1")],
        Code.UNRESOLVABLE,
        ("Insufficient cpu", "Insufficient memory"),
    ),
    "too many pods alone can be helped by eviction": (
        pod(),
        small(pods="1"),
        [pod("a")],
        Code.UNSCHEDULABLE,
        ("Too many pods",),
    ),
    "a node that takes no pods at all counts as full, not as too small": (
        pod(),
        small(pods="0"),
        [],
        Code.UNSCHEDULABLE,
        ("Too many pods",),
    ),
    "a node that does not say how many pods it takes, takes none": (
        pod(),
        node().status(allocatable={"cpu": "2", "memory": "4Gi"}),
        [],
        Code.UNSCHEDULABLE,
        ("Too many pods",),
    ),
    "what is not requested is not looked at, overcommitted as it may be": (
        pod().memory("1Gi"),
        small(),
        [pod("a").cpu("3").memory("1Gi")],
        None,
        (),
    ),
    "a pod that requests nothing fits an overcommitted node": (
        pod(),
        small(),
        [pod("a").cpu("9").memory("9Gi")],
        None,
        (),
    ),
    "a scalar that the node does not have": (
        pod().requests({GPU: "1"}),
        small(),
        [],
        Code.UNRESOLVABLE,
        (f"Insufficient {GPU}",),
    ),
    "a scalar that is taken": (
        pod().requests({GPU: "2"}),
        small(**{GPU: "2"}),
        [pod("a").requests({GPU: "1"})],
        Code.UNSCHEDULABLE,
        (f"Insufficient {GPU}",),
    ),
    "a request of zero of an unknown scalar": (pod().requests({GPU: "0"}), small(), [], None, ()),
    "hugepages": (
        pod().requests({"hugepages-2Mi": "4Mi"}),
        small(**{"hugepages-2Mi": "2Mi"}),
        [],
        Code.UNRESOLVABLE,
        ("Insufficient hugepages-2Mi",),
    ),
    "a name without a domain is no resource to the scheduler": (pod().requests(gpu="9"), small(), [], None, ()),
    "overhead counts": (
        pod().cpu("1").spec(overhead={"cpu": "1500m"}),
        small(),
        [],
        Code.UNRESOLVABLE,
        ("Insufficient cpu",),
    ),
    "a request for the pod as a whole replaces the containers'": (
        pod().cpu("100m").spec(resources=ResourceRequirements(requests={"cpu": "3"})),
        small(),
        [],
        Code.UNRESOLVABLE,
        ("Insufficient cpu",),
    ),
}


@pytest.mark.parametrize(("candidate", "on", "running", "code", "reasons"), FILTER.values(), ids=FILTER.keys())
def test_filter(
    candidate: PodBuilder, on: NodeBuilder, running: list[PodBuilder], code: Code | None, reasons: tuple[str, ...]
) -> None:
    status = ask(candidate, on, *running)
    assert (status.code, status.reasons) == (code or Code.SUCCESS, reasons)
    assert (status is SUCCESS) == (code is None)


def test_evidence_tells_what_is_asked_used_and_there() -> None:
    status = ask(pod().cpu("1500m").memory("5Gi"), small(pods="1"), pod("a").cpu("600m").memory("1Gi"))
    gib = 1024**3
    assert status.evidence == (
        InsufficientResource("pods", 1, 1, 1),
        InsufficientResource("cpu", 1500, 600, 2000),
        InsufficientResource("memory", 5 * gib, gib, 4 * gib),
    )


IGNORED = {
    "an ignored resource": (NodeResourcesFitArgs(ignored_resources=("other.io/x",)), ("Insufficient nvidia.com/gpu",)),
    "an ignored group": (NodeResourcesFitArgs(ignored_resource_groups=("nvidia.com",)), ("Insufficient other.io/x",)),
    "a group is matched as a whole": (
        NodeResourcesFitArgs(ignored_resource_groups=("nvidia", "io")),
        ("Insufficient nvidia.com/gpu", "Insufficient other.io/x"),
    ),
}


@pytest.mark.parametrize(("args", "reasons"), IGNORED.values(), ids=IGNORED.keys())
def test_ignored_extended_resources(args: NodeResourcesFitArgs, reasons: tuple[str, ...]) -> None:
    candidate = pod().requests({GPU: "1", "other.io/x": "1"})
    assert ask(candidate, small(), args=args).reasons == reasons


def test_only_extended_resources_can_be_ignored() -> None:
    args = NodeResourcesFitArgs(ignored_resources=("cpu", "hugepages-2Mi"))
    status = ask(pod().cpu("9").requests({"hugepages-2Mi": "2Mi"}), small(), args=args)
    assert status.reasons == ("Insufficient cpu", "Insufficient hugepages-2Mi")


DELEGATED = {
    "the node has none of its own: DynamicResources decides": (small(), []),
    "the node says zero": (small(**{GPU: "0"}), []),
    "a device plugin on the node provides it: room counts": (small(**{GPU: "1"}), [f"Insufficient {GPU}"]),
}


@pytest.mark.parametrize(("on", "reasons"), DELEGATED.values(), ids=DELEGATED.keys())
def test_an_extended_resource_with_a_device_class_behind_it(on: NodeBuilder, reasons: list[str]) -> None:
    gpu = DeviceClass(metadata=ObjectMeta(name="gpu"), spec=DeviceClassSpec(extended_resource_name=GPU))
    made = snapshot(on, gpu)
    candidate = pod().requests({GPU: "2", "other.io/x": "1"}).info()
    status = NodeResourcesFit().pre_filter(candidate, made).filter(made.by_name["node"])
    assert list(status.reasons) == [*reasons, "Insufficient other.io/x"]


def test_the_verdict_depends_on_the_pods_of_the_node() -> None:
    assert NodeResourcesFit().pre_filter(pod().info(), snapshot()).reads is Reads.PODS


@given(cpu=st.integers(0, 4000), used=st.integers(0, 4000), allocatable=st.integers(0, 4000), more=st.integers(0, 4000))
def test_more_room_never_turns_a_yes_into_a_no(cpu: int, used: int, allocatable: int, more: int) -> None:
    def fits(amount: int) -> bool:
        return ask(pod().cpu(f"{cpu}m"), small(cpu=f"{amount}m"), pod("a").cpu(f"{used}m")) is SUCCESS

    assert fits(allocatable + more) or not fits(allocatable)


# --- Score --------------------------------------------------------------------------------------------


def sized(cpu: str, memory: str, **more: str) -> NodeBuilder:
    return node().allocatable({"cpu": cpu, "memory": memory, **more})


def score(candidate: PodBuilder, on: NodeBuilder, *running: PodBuilder, strategy: ScoringStrategy | None = None) -> int:
    made = snapshot(on, *(other.on("node") for other in running))
    plugin = NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=strategy) if strategy else None)
    return plugin.pre_score(candidate.info(), made, made.nodes).score(made.by_name["node"])


def asks(cpu: str, memory: str, name: str = "pod") -> PodBuilder:
    return pod(name).cpu(cpu).memory(memory)


LEAST = {
    "nothing requested explicitly": (asks("0", "0"), sized("4", "10000"), [], 100),
    "a quarter and a half left": (asks("3", "5000"), sized("4", "10000"), [], 37),
    "two halves left": (asks("3", "5000"), sized("6", "10000"), [], 50),
    "other pods count": (asks("0", "0"), sized("10", "20000"), [asks("6", "5000", "a")], 57),
    "more than there is counts 0 for that resource": (asks("11", "5000"), sized("10", "20000"), [], 37),
    "a resource that the node lacks does not count": (asks("1", "1000"), sized("4", "0"), [], 75),
    "a node with neither": (asks("1", "1000"), sized("0", "0"), [], 0),
    "a pod that says nothing counts 100m and 200Mi": (pod(), sized("1", "400Mi"), [], (90 + 50) // 2),
    "so do pods on the node": (asks("0", "0"), sized("1", "400Mi"), [pod("a")], (90 + 50) // 2),
    "every container counts": (pod().container("side"), sized("1", "1000Mi"), [], (80 + 60) // 2),
    "pod-level requests of the candidate are not looked at": (
        asks("1", "0").spec(resources=ResourceRequirements(requests={"cpu": "3"})),
        sized("4", "10000"),
        [],
        (75 + 100) // 2,
    ),
    "pod-level requests of a pod on the node are": (
        asks("0", "0"),
        sized("4", "10000"),
        [asks("1", "0", "a").spec(resources=ResourceRequirements(requests={"cpu": "3"}))],
        (25 + 100) // 2,
    ),
    "overhead counts": (asks("1", "0").spec(overhead={"cpu": "1"}), sized("4", "10000"), [], (50 + 100) // 2),
}


@pytest.mark.parametrize(("candidate", "on", "running", "expected"), LEAST.values(), ids=LEAST.keys())
def test_least_allocated_is_the_default(
    candidate: PodBuilder, on: NodeBuilder, running: list[PodBuilder], expected: int
) -> None:
    assert score(candidate, on, *running) == expected


WEIGHTED = (ResourceSpec(name="cpu", weight=3), ResourceSpec(name="memory", weight=1))
WITH_GPU = (ResourceSpec(name=GPU, weight=3), ResourceSpec(name="cpu"))
RISING = RequestedToCapacityRatioParam(
    shape=(UtilizationShapePoint(utilization=0, score=0), UtilizationShapePoint(utilization=100, score=10))
)
FALLING = RequestedToCapacityRatioParam(
    shape=(UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100, score=0))
)


def strategy(
    kind: str, *resources: ResourceSpec, ratio: RequestedToCapacityRatioParam | None = None
) -> ScoringStrategy:
    return ScoringStrategy(type=kind, resources=resources, requested_to_capacity_ratio=ratio)


STRATEGIES = {
    "least, with weights": (strategy("LeastAllocated", *WEIGHTED), asks("3", "5000"), (25 * 3 + 50) // 4),
    "a weight of 0 means 1": (
        strategy("LeastAllocated", ResourceSpec(name="cpu", weight=0), ResourceSpec(name="memory", weight=0)),
        asks("3", "5000"),
        37,
    ),
    "most": (strategy("MostAllocated"), asks("3", "5000"), (75 + 50) // 2),
    "most, overcommitted": (strategy("MostAllocated"), asks("9", "5000"), (100 + 50) // 2),
    "a scalar counts only for a pod that requests it": (strategy("MostAllocated", *WITH_GPU), asks("3", "0"), 75),
    "a scalar counts": (strategy("MostAllocated", *WITH_GPU), asks("3", "0").requests({GPU: "1"}), (12 * 3 + 75) // 4),
    "ephemeral storage counts": (
        strategy("MostAllocated", ResourceSpec(name="ephemeral-storage")),
        asks("0", "0").requests({"ephemeral-storage": "300"}),
        30,
    ),
    "ephemeral storage has no default": (strategy("MostAllocated", ResourceSpec(name="ephemeral-storage")), pod(), 0),
    "a name that no node has": (strategy("LeastAllocated", ResourceSpec(name="storage")), asks("1", "1"), 0),
    "a falling line rounds the mean half up": (
        strategy("RequestedToCapacityRatio", ratio=FALLING),
        asks("3", "5000"),
        38,
    ),
    "a resource that scores 0 is not in the mean": (
        strategy("RequestedToCapacityRatio", *WEIGHTED, ratio=FALLING),
        asks("9", "5000"),
        50,
    ),
    "nothing scores": (strategy("RequestedToCapacityRatio", ratio=RISING), asks("0", "0"), 0),
}


@pytest.mark.parametrize(("strategy", "candidate", "expected"), STRATEGIES.values(), ids=STRATEGIES.keys())
def test_strategies(strategy: ScoringStrategy, candidate: PodBuilder, expected: int) -> None:
    on = sized("4", "10000", **{GPU: "8", "ephemeral-storage": "1000"})
    assert score(candidate, on, strategy=strategy) == expected


DEVICES = {
    "devices of the class, of which one is held": (sized("4", "10000"), (1 + 1) * 100 // 4),
    "a device plugin on the node comes first": (sized("4", "10000", **{GPU: "8"}), 1 * 100 // 8),
    "a node without devices": (sized("4", "10000").meta(name="other"), 0),
}


@pytest.mark.parametrize(("on", "expected"), DEVICES.values(), ids=DEVICES.keys())
def test_devices_behind_an_extended_resource_count(on: NodeBuilder, expected: int) -> None:
    held = DeviceRequestAllocationResult(request="r", driver="x.io", pool="node", device="d1")
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(held,)))
    slice_spec = ResourceSliceSpec(
        driver="x.io",
        pool=ResourcePool(name="node", generation=1, resource_slice_count=1),
        node_name="node",
        devices=tuple(Device(name=f"d{index}") for index in range(4)),
    )
    made = snapshot(
        on,
        DeviceClass(metadata=ObjectMeta(name="gpu"), spec=DeviceClassSpec(extended_resource_name=GPU)),
        ResourceSlice(metadata=ObjectMeta(name="s"), spec=slice_spec),
        ResourceClaim(
            metadata=AnnotatedMeta(name="c", namespace="default"), status=ResourceClaimStatus(allocation=allocation)
        ),
    )
    args = NodeResourcesFitArgs(scoring_strategy=strategy("MostAllocated", ResourceSpec(name=GPU)))
    scorer = NodeResourcesFit(args).pre_score(pod().requests({GPU: "1"}).info(), made, made.nodes)
    assert scorer.score(made.nodes[0]) == expected


LINES = {
    "rising": ([(10, 1), (90, 9)], {0: 10, 10: 10, 15: 15, 20: 20, 89: 89, 90: 90, 99: 90, 100: 90}),
    "up and down": ([(0, 2), (40, 10), (100, 0)], {0: 20, 20: 60, 30: 80, 40: 100, 70: 50, 100: 0}),
    "flat": ([(50, 7)], {0: 70, 50: 70, 100: 70}),
    "a falling line is truncated toward the left score": ([(0, 10), (90, 0)], {1: 99, 2: 98, 10: 89, 89: 2}),
    "a rising line is truncated": ([(0, 0), (90, 10)], {1: 1, 2: 2, 10: 11, 89: 98}),
}


@pytest.mark.parametrize(("points", "expected"), LINES.values(), ids=LINES.keys())
def test_broken_line(points: list[tuple[int, int]], expected: dict[int, int]) -> None:
    shape = [UtilizationShapePoint(utilization=utilization, score=score) for utilization, score in points]
    score_of = requested_to_capacity_ratio(shape)
    assert {utilization: score_of(utilization, 100) for utilization in expected} == expected


@given(requested=st.integers(0, 2**63), allocatable=st.integers(1, 2**63))
def test_least_and_most_are_two_sides_of_one_share(requested: int, allocatable: int) -> None:
    least, most = least_allocated(requested, allocatable), most_allocated(requested, allocatable)
    assert least >= 0
    assert most <= 100
    assert least + most == 100 or (least + most == 99 and requested * 100 % allocatable)
