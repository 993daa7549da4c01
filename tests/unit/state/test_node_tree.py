"""The scheduler's order of nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.model.node import Node
from kwhatif.state.nodes import NodeTree, zone_of
from tests.builders import node

BETA = "failure-domain.beta.kubernetes.io"
STABLE = "topology.kubernetes.io"


def names(nodes: list[Node]) -> list[str]:
    return NodeTree(nodes).names()


def test_takes_one_node_of_every_zone_in_turn() -> None:
    nodes = [
        node(f"{zone}{index}").zone(zone).build()
        for zone, size in (("a", 3), ("b", 1), ("c", 2))
        for index in range(size)
    ]
    assert names(nodes) == ["a0", "b0", "c0", "a1", "c1", "a2"]


def test_zones_come_in_the_order_of_their_first_nodes() -> None:
    assert names([node("1").zone("z").build(), node("2").zone("a").build(), node("3").zone("z").build()]) == [
        "1",
        "2",
        "3",
    ]


def test_nodes_without_zone_share_one() -> None:
    assert names([node("1").build(), node("2").build(), node("3").zone("a").build()]) == ["1", "3", "2"]


def test_zones_of_one_name_in_two_regions_are_two_zones() -> None:
    east, west = ({f"{STABLE}/region": region, f"{STABLE}/zone": "1"} for region in ("east", "west"))
    assert names([node("1").labels(east).build(), node("2").labels(east).build(), node("3").labels(west).build()]) == [
        "1",
        "3",
        "2",
    ]


def test_the_beta_labels_win_even_when_empty() -> None:
    both = node().labels({f"{BETA}/zone": "", f"{STABLE}/zone": "a", f"{STABLE}/region": "r"}).build()
    assert zone_of(both) == ("r", "")


@given(st.lists(st.sampled_from("abc"), max_size=12))
def test_keeps_every_node_once_and_the_order_within_a_zone(zones: list[str]) -> None:
    nodes = [node(f"{index:02}").zone(zone).build() for index, zone in enumerate(zones)]
    by_name = {one.metadata.name: one for one in nodes}
    order = [by_name[name] for name in names(nodes)]
    assert sorted(names(nodes)) == [one.metadata.name for one in nodes]
    for zone in set(zones):
        within = [one.metadata.name for one in order if zone_of(one)[1] == zone]
        assert within == sorted(within)


@given(st.lists(st.sampled_from("abc"), max_size=12))
def test_no_zone_gets_two_turns_before_another_got_one(zones: list[str]) -> None:
    nodes = [node(f"{index:02}").zone(zone).build() for index, zone in enumerate(zones)]
    left = {zone: zones.count(zone) for zone in set(zones)}
    taken = dict.fromkeys(left, 0)
    by_name = {one.metadata.name: one for one in nodes}
    for name in names(nodes):
        zone = zone_of(by_name[name])[1]
        taken[zone] += 1
        assert all(taken[other] in (taken[zone], taken[zone] - 1) or taken[other] == left[other] for other in left)


def test_nodes_come_and_go() -> None:
    a1, a2, b1 = (node(name).zone(name[0]).build() for name in ("a1", "a2", "b1"))
    tree = NodeTree([a1, a2, b1])
    copy = tree.copy()
    tree.remove(a1)
    assert tree.names() == ["a2", "b1"]
    tree.remove(a2)
    tree.add(a1)
    assert tree.names() == ["b1", "a1"]  # a zone that was empty comes back as the last one
    assert copy.names() == ["a1", "b1", "a2"]


def test_a_node_that_changes_its_zone_comes_last_in_the_new_one() -> None:
    nodes = [node(name).zone(name[0]).build() for name in ("a1", "a2", "b1")]
    tree = NodeTree(nodes)
    assert not tree.update(nodes[0], node("a1").zone("a").labels(disk="ssd").build())
    assert tree.update(nodes[0], node("a1").zone("b").build())
    assert tree.names() == ["a2", "b1", "a1"]
