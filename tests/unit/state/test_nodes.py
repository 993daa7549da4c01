"""The scheduler's order of nodes, and the image states of the cluster."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.overlay import Overlay
from kwhatif.state.nodes import ImageStates, NodeTree, add_images, images_on, remove_images, zone_of
from tests.builders import NodeBuilder, node, snapshot

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


# --- Image states of the cluster ----------------------------------------------------------------------


def image_states(nodes: Iterable[Node]) -> ImageStates:
    states: ImageStates = Overlay()
    for one in nodes:
        add_images(states, one, set())
    return states


def test_counts_the_nodes_that_have_a_name() -> None:
    states = image_states(
        [node("a").image(10, "web:1", "web@sha256:x").image(7, "db:1").build(), node("b").image(10, "web:1").build()]
    )
    assert states == {"web:1": (10, 2), "web@sha256:x": (10, 1), "db:1": (7, 1)}


def test_a_name_that_a_node_lists_twice_makes_it_one_node() -> None:
    twice = node("a").image(10, "web:1", "web:1").image(20, "web:1").build()
    states = image_states([twice])
    assert states == {"web:1": (10, 1)}
    remove_images(states, twice)
    assert states == {}


def test_the_size_is_the_first_nodes_in_the_servers_order_whatever_the_zones() -> None:
    """Zones are walked in turn: a2 comes after b, though it was known before it."""
    found = snapshot(
        node("b").zone("2").image(30, "web:1"), node("a2").zone("1").image(20, "web:1"), node("a1").zone("1")
    )
    assert [one.name for one in found.nodes] == ["a1", "b", "a2"]
    assert found.images == {"web:1": (20, 2)}
    assert found.by_name["b"].images == {"web:1"}
    assert found.by_name["a1"].images == set()


def test_the_size_stays_until_no_node_has_the_image() -> None:
    first, second = node("a").image(10, "web:1").build(), node("b").image(20, "web:1").build()
    states = image_states([first, second])
    remove_images(states, first)
    assert states == {"web:1": (10, 1)}
    remove_images(states, second)
    add_images(states, second, set())
    assert states == {"web:1": (20, 1)}


def test_names_are_taken_as_they_stand() -> None:
    states = image_states([node().image(1, "docker.io/library/nginx:latest").build()])
    assert "nginx:latest" not in states


nodes = st.lists(
    st.lists(st.tuples(st.integers(1, 9), st.lists(st.sampled_from("wxyz"), max_size=2)), max_size=3), max_size=4
)


@given(nodes)
def test_agrees_with_counting_naively(lists: list[list[tuple[int, list[str]]]]) -> None:
    built = []
    for index, images in enumerate(lists):
        builder: NodeBuilder = node(f"n{index}")
        for size, names in images:
            builder.image(size, *names)
        built.append(builder.build())
    states = image_states(built)
    every = [(index, size, name) for index, images in enumerate(lists) for size, names in images for name in names]
    assert states.keys() == {name for _, _, name in every}
    for name, (size, count) in states.items():
        assert size == next(other for _, other, named in every if named == name)
        assert count == len({index for index, _, named in every if named == name})
    for index, one in enumerate(built):
        assert images_on(one) == {name for place, _, name in every if place == index}
    for one in built:
        remove_images(states, one)
    assert states == {}
