"""Balance with and without the pod: upstream's own figures, and the limits of the score."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.model.pod import ContainerStatus
from kwhatif.kube.model.pod_spec import ResourceRequirements
from kwhatif.scheduler.framework.plugin import NodeScorer
from kwhatif.scheduler.framework.scoring_strategy import ResourceSpec
from kwhatif.scheduler.framework.status import SKIP
from kwhatif.scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
)
from tests.builders import NodeBuilder, PodBuilder, node, pod, snapshot

GPU = "nvidia.com/gpu"
THREE = NodeResourcesBalancedAllocationArgs(
    resources=(ResourceSpec(name="cpu"), ResourceSpec(name="memory"), ResourceSpec(name=GPU))
)
CPU_ONLY = NodeResourcesBalancedAllocationArgs(resources=(ResourceSpec(name="cpu"),))


def asks(cpu: str, memory: str, name: str = "pod") -> PodBuilder:
    return pod(name).cpu(cpu).memory(memory)


def sized(cpu: str, memory: str, **more: str) -> NodeBuilder:
    return node().allocatable({"cpu": cpu, "memory": memory, **more})


def score(
    candidate: PodBuilder,
    on: NodeBuilder,
    *running: PodBuilder,
    args: NodeResourcesBalancedAllocationArgs | None = None,
) -> int:
    made = snapshot(on, *(other.on("node") for other in running))
    scorer = NodeResourcesBalancedAllocation(args).pre_score(candidate.info(), made, made.nodes)
    assert isinstance(scorer, NodeScorer)
    return scorer.score(made.by_name["node"])


CASES = {
    "the balance suffers: 100 -> 87": (asks("3", "5000"), sized("4", "10000"), [], None, 68),
    "the balance stays: 100 -> 100": (asks("3", "5000"), sized("6", "10000"), [], None, 75),
    "85 -> 82": (asks("3", "5000"), sized("10", "20000"), [pod("a").cpu("3")], None, 73),
    "97 -> 95": (asks("3", "5000"), sized("10", "20000"), [asks("3", "5000", "a")], None, 74),
    "90 -> 80": (asks("3", "5000"), sized("10", "50000"), [asks("3", "5000", "a")], None, 70),
    "the best there is: 50 -> 100": (pod().memory("5000"), sized("3", "5000"), [pod("a").cpu("3")], None, 100),
    "the worst there is: 100 -> 50": (pod().memory("5000"), sized("3", "5000"), [], None, 50),
    "75 -> 50": (pod().cpu("3"), sized("6", "10000"), [pod("a").cpu("3")], None, 62),
    "no defaults for pods that say nothing": (pod().cpu("1"), sized("1", "400Mi"), [pod("a")], None, 50),
    "three resources: 69 -> 70": (
        pod().requests({GPU: "1"}),
        sized("3500m", "40000", **{GPU: "8"}),
        [asks("3", "5000", "a").requests({GPU: "3"})],
        THREE,
        75,
    ),
    "three resources: 62 -> 65": (
        pod().requests({GPU: "1"}),
        sized("3500m", "40000", **{GPU: "8"}),
        [asks("3", "5000", "a")],
        THREE,
        76,
    ),
    "a scalar that the pod does not request is left out: 100 -> 63": (
        asks("3", "5000"),
        sized("3500m", "40000", **{GPU: "8"}),
        [],
        THREE,
        56,
    ),
    "a resource that the node lacks is left out": (asks("3", "5000"), sized("4", "0"), [], None, 75),
    "one resource alone is always balanced": (pod().cpu("3"), sized("4", "10000"), [], CPU_ONLY, 75),
    "more than there is counts as all of it": (asks("9", "10000"), sized("4", "10000"), [], None, 75),
    "pod-level requests count": (
        pod().cpu("1").spec(resources=ResourceRequirements(requests={"cpu": "4", "memory": "10000"})),
        sized("4", "10000"),
        [],
        None,
        75,
    ),
    "the truncated float: a deviation of 0.34 leaves 65, not 66": (
        asks("68m", "0"),
        sized("100m", "1000"),
        [],
        None,
        57,
    ),
}


@pytest.mark.parametrize(("candidate", "on", "running", "args", "expected"), CASES.values(), ids=CASES.keys())
def test_score(
    candidate: PodBuilder,
    on: NodeBuilder,
    running: list[PodBuilder],
    args: NodeResourcesBalancedAllocationArgs | None,
    expected: int,
) -> None:
    assert score(candidate, on, *running, args=args) == expected


def test_the_candidates_own_status_counts() -> None:
    granted = ContainerStatus(name="main", resources=ResourceRequirements(requests={"cpu": "4", "memory": "10000"}))
    candidate = asks("1", "0").status(container_statuses=(granted,))
    assert score(candidate, sized("4", "10000")) == 75


SKIPPED = {
    "a pod that requests nothing": (pod(), None),
    "a pod that requests only what is not looked at": (pod().memory("1Gi").requests({GPU: "1"}), CPU_ONLY),
    "explicit zeros": (asks("0", "0"), None),
}


@pytest.mark.parametrize(("candidate", "args"), SKIPPED.values(), ids=SKIPPED.keys())
def test_nothing_to_balance(candidate: PodBuilder, args: NodeResourcesBalancedAllocationArgs | None) -> None:
    made = snapshot(node())
    assert NodeResourcesBalancedAllocation(args).pre_score(candidate.info(), made, made.nodes) is SKIP


amounts = st.integers(0, 5000)


@given(cpu=st.integers(1, 5000), memory=amounts, used_cpu=amounts, used_memory=amounts)
def test_the_score_stays_within_50_and_100(cpu: int, memory: int, used_cpu: int, used_memory: int) -> None:
    candidate, other = asks(f"{cpu}m", str(memory)), asks(f"{used_cpu}m", str(used_memory), "a")
    assert 50 <= score(candidate, sized("3", "4000"), other) <= 100
