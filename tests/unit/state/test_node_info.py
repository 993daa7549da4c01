"""Nodes with their pods, and the shapes of nodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.kube.matching.nodes import HostPort
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.node_info import NodeInfo, Shapes, near_unique_keys, nodes_by_label
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.builders import HOSTNAME, NodeBuilder, affinity_term, node, on_name, pod

ANY = "0.0.0.0"
GPU = "example.com/gpu"


def filled(*pods: PodInfo) -> NodeInfo:
    info = node().info()
    for one in pods:
        info.add_pod(one)
    return info


def sums(info: NodeInfo) -> tuple[object, ...]:
    scalars = {name: amount for name, amount in info.scalars.items() if amount}
    return info.cpu, info.memory, info.ephemeral, scalars, info.nonzero_cpu, info.nonzero_memory


def test_knows_what_pods_may_use() -> None:
    info = (
        node().allocatable({"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "2k", GPU: "3", "pods": "7"}).info()
    )
    assert info.allocatable == (1500, 2**30, 2000, ((GPU, 3),))
    assert info.allowed_pods == 7


def test_capacity_stands_in_for_allocatable() -> None:
    info = node().status(allocatable=None, capacity={"cpu": "2", "pods": "5"}).info()
    assert info.allocatable.cpu == 2000
    assert info.allowed_pods == 5


def test_a_node_that_states_no_pods_takes_none() -> None:
    assert node().status(allocatable={"cpu": "2"}).info().allowed_pods == 0


def test_sums_up_its_pods() -> None:
    info = filled(
        pod("a").cpu("500m").memory("1Gi").requests({GPU: "1", "ephemeral-storage": "10"}).info(),
        pod("b").cpu("250m").requests({GPU: "2"}).info(),
    )
    assert sums(info) == (750, 2**30, 10, {GPU: 3}, 750, 2**30 + 200 * 2**20)


def test_pods_that_request_nothing_count_with_defaults_for_scoring() -> None:
    assert sums(filled(pod("a").info())) == (0, 0, 0, {}, 100, 200 * 2**20)


def test_removing_a_pod_moves_the_last_one_into_its_place() -> None:
    pods = [pod(name).info() for name in "abcd"]
    info = filled(*pods)
    info.remove_pod(pods[1])
    assert [one.name for one in info.pods] == ["a", "d", "c"]


def test_a_pod_is_found_by_its_uid() -> None:
    info = filled(pod("a").meta(uid="1").cpu("1").info())
    info.remove_pod(pod("renamed").meta(uid="1").info())
    assert info.pods == []
    assert info.cpu == 0


def test_removing_an_unknown_pod_is_an_error() -> None:
    with pytest.raises(KeyError, match="no corresponding pod b in pods of node"):
        filled(pod("a").info()).remove_pod(pod("b").info())


def test_a_pod_knows_whether_it_has_terms_about_others() -> None:
    term = affinity_term("zone")
    plain = pod("plain").node_affinity(on_name("n1")).info()
    likes = pod("likes").pod_affinity(term).info()
    prefers = pod("prefers").prefer_not_pods(1, term).info()
    refuses = pod("refuses").pod_anti_affinity(term).info()
    assert [info.has_affinity for info in (plain, likes, prefers, refuses)] == [False, True, True, True]


def test_a_port_that_two_pods_hold_is_free_as_soon_as_one_goes() -> None:
    one, two = pod("a").host_port(80).info(), pod("b").host_port(80).info()
    info = filled(one, two)
    info.remove_pod(one)
    assert info.used_ports() == set()
    info.add_pod(one)
    assert info.used_ports() == {HostPort(ANY, "TCP", 80)}


def test_a_clone_changes_alone() -> None:
    first = pod("a").cpu("1").host_port(80).requests({GPU: "1"}).pod_anti_affinity(affinity_term("zone")).info()
    info = filled(first)
    before = sums(info)
    clone = info.clone()
    clone.remove_pod(first)
    clone.add_pod(pod("b").cpu("2").host_port(81).info())
    assert sums(info) == before
    assert info.pods == [first]
    assert info.used_ports() == {HostPort(ANY, "TCP", 80)}
    assert (clone.cpu, clone.used_ports()) == (2000, {HostPort(ANY, "TCP", 81)})


def test_a_clone_knows_all_of_the_node() -> None:
    info = NodeInfo(node("n").labels(disk="ssd").taint("gpu").cordoned().features("X").build(), shape=7)
    info.images = {"web:1": (5, 1)}  # type: ignore[assignment]
    clone = info.clone()
    for fact in ("node", "name", "labels", "taints", "unschedulable", "declared_features", "shape", "images"):
        assert getattr(clone, fact) == getattr(info, fact)
    assert (clone.allocatable, clone.allowed_pods) == (info.allocatable, info.allowed_pods)


_ACTIONS = ["add", "remove", "look", "clone", "clone without"]
steps = st.lists(st.tuples(st.sampled_from(_ACTIONS), st.integers(0, 4)), max_size=20)
requests = st.fixed_dictionaries(
    {}, optional={"cpu": st.integers(0, 9), "memory": st.integers(0, 9), GPU: st.integers(0, 9)}
)
pods_of_all_kinds = st.lists(st.tuples(requests, st.sets(st.integers(80, 82))), min_size=5, max_size=5)


@given(pods_of_all_kinds, steps)
def test_sums_are_those_of_the_pods_at_any_time(
    kinds: list[tuple[dict[str, int], set[int]]], steps: list[tuple[str, int]]
) -> None:
    """Ports follow upstream's set of (ip, protocol, port), however late it is asked for."""
    pods = []
    for index, (requested, ports) in enumerate(kinds):
        builder = pod(f"p{index}").requests(requested)
        for port in sorted(ports):
            builder.host_port(port)
        pods.append(builder.info())
    info = node().info()
    expected_ports: set[HostPort] = set()
    for action, index in steps:
        one = pods[index]
        if action == "add" and one not in info.pods:
            info.add_pod(one)
            expected_ports |= set(one.ports)
        elif action == "remove" and one in info.pods:
            info.remove_pod(one)
            expected_ports -= set(one.ports)
        elif action == "look":
            assert info.used_ports() == expected_ports
        elif action == "clone":
            info = info.clone()
        elif action == "clone without" and one in info.pods:
            info = info.clone_without([one])
            expected_ports -= set(one.ports)
        assert sums(info) == sums(filled(*info.pods))
    assert info.used_ports() == expected_ports


def test_a_pod_that_asks_for_the_same_takes_the_place_of_another() -> None:
    before = pod("a").requests(cpu="1").pod_anti_affinity(affinity_term("zone")).info()
    after = PodInfo(replace(before.pod, status=replace(before.pod.status, phase="Running")))
    info = filled(before, pod("b").requests(cpu="2").info())
    counted = sums(info)
    assert info.exchange(before, after)
    assert info.pods[0] is after
    assert sums(info) == counted == sums(info.with_pods(info.pods))


def test_a_pod_that_asks_for_something_else_has_to_be_counted() -> None:
    before = pod("a").requests(cpu="1").info()
    info = filled(before)
    assert not info.exchange(before, pod("a").requests(cpu="2").info())
    info.used_ports()
    assert not info.exchange(before, PodInfo(replace(before.pod, status=replace(before.pod.status, phase="Running"))))
    assert info.pods == [before]


# --- Shapes of nodes ----------------------------------------------------------------------------------


ZONE = "topology.kubernetes.io/zone"


def shapes_of(nodes: list[Node]) -> Shapes:
    return Shapes(near_unique_keys(nodes))


def numbers(*builders: NodeBuilder) -> list[int]:
    nodes = [builder.build() for builder in builders]
    shapes = shapes_of(nodes)
    return [shapes.number(one) for one in nodes]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(node("n").labels(disk="ssd"), id="a label"),
        pytest.param(node("n").taint("gpu"), id="a taint"),
        pytest.param(node("n").taint("gpu", effect="PreferNoSchedule"), id="a soft taint"),
        pytest.param(node("n").cordoned(), id="a cordon"),
        pytest.param(node("n").features("X"), id="a feature"),
    ],
)
def test_nodes_that_a_rule_can_tell_apart_differ_in_shape(other: NodeBuilder) -> None:
    assert numbers(node("n"), other) == [0, 1]


def test_amounts_and_images_are_no_part_of_the_shape() -> None:
    assert numbers(node("n"), node("n").allocatable(cpu="64").image(5, "x")) == [0, 0]


def test_taints_in_another_order_are_another_shape() -> None:
    """The first untolerated taint is evidence, so the order counts."""
    assert numbers(node("n").taint("a").taint("b"), node("n").taint("b").taint("a")) == [0, 1]


def test_hostnames_are_no_part_of_the_shape_of_many_nodes() -> None:
    nodes = [node(f"n{index}").labels(pool="ab"[index % 2]).build() for index in range(8)]
    shapes = shapes_of(nodes)
    assert shapes.unfixed == {HOSTNAME}
    assert [shapes.number(one) for one in nodes] == [0, 1] * 4


def test_few_nodes_keep_all_labels_but_their_hostnames() -> None:
    few = [node(f"n{index}").labels(rack=str(index)).build() for index in range(7)]
    assert near_unique_keys(few) == {HOSTNAME}
    like_the_first = [node(f"new-{index}").labels(rack="0").build() for index in range(1000)]
    shapes = shapes_of(few)
    assert [shapes.number(one) for one in (*few, *like_the_first)] == [*range(7), *[0] * 1000]


def test_a_label_is_near_unique_with_more_values_than_half_the_nodes() -> None:
    def keys(values: int) -> frozenset[str]:
        return near_unique_keys([node("n").labels(rack=str(index % values)).build() for index in range(10)])

    assert keys(5) == frozenset()
    assert keys(6) == {"rack"}


def test_nodes_by_label_follow_the_nodes() -> None:
    nodes = [node("a").zone("1").build(), node("b").zone("2").build(), node("c").without_label(ZONE).build()]
    state = State(Cluster(nodes))
    assert nodes_by_label(state.cluster).of(ZONE) == {"1": ["a"], "2": ["b"], None: ["c"]}
    known = nodes_by_label(state.cluster)
    state.apply(Upsert(node("a").zone("1").cordoned().build()))
    assert nodes_by_label(state.cluster) is known
    state.apply(Upsert(node("a").zone("2").build()), Delete(Node, "b"))
    assert nodes_by_label(state.cluster).of(ZONE) == {"2": ["a"], None: ["c"]}


def test_a_node_of_each_shape() -> None:
    a, b, c = (node(name).without_label(HOSTNAME) for name in "abc")
    state = State(Cluster([a.build(), b.build(), c.cordoned().build()]))
    assert {info.name for info in state.of_shape.values()} == {"a", "c"}
    other = state.fork()
    other.apply(Upsert(b.taint("dedicated").build()))
    assert {info.name for info in other.of_shape.values()} == {"a", "b", "c"}
    assert {info.name for info in state.of_shape.values()} == {"a", "c"}
