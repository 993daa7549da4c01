"""Shapes of nodes."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.node_info import Shapes, near_unique_keys, nodes_by_label
from kwhatif.state.state import State
from tests.builders import HOSTNAME, NodeBuilder, node

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
