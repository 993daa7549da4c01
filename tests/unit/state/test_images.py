"""Image states of the cluster."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.overlay import Overlay
from kwhatif.state.nodes import ImageStates, add_images, images_on, remove_images
from tests.builders import NodeBuilder, node, snapshot


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
