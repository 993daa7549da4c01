"""ImageLocality."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.model.storage import ImageVolume
from kwhatif.scheduler.framework.plugin import NodeScorer
from kwhatif.scheduler.plugins.image_locality import ImageLocality, image_score, normalized_image_name
from kwhatif.state.state import State
from tests.builders import PodBuilder, node, pod, snapshot

MB = 1024 * 1024


def scores(asking: PodBuilder, found: State) -> list[int]:
    scorer = ImageLocality().pre_score(asking.info(), found, found.nodes)
    assert isinstance(scorer, NodeScorer)
    raw = [scorer.score(one) for one in found.nodes]
    assert scorer.normalize(raw, found.nodes) == raw
    return raw


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1.29", "nginx:1.29"),
        ("registry.example.com:5000/web", "registry.example.com:5000/web:latest"),
        ("registry.example.com:5000/web:1", "registry.example.com:5000/web:1"),
        ("shop/web@sha256:0123", "shop/web@sha256:0123"),
        ("", ":latest"),
    ],
)
def test_a_name_without_tag_means_latest(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized


@pytest.mark.parametrize(
    ("total", "containers", "score"),
    [
        pytest.param(0, 1, 0, id="nothing"),
        pytest.param(23 * MB, 1, 0, id="small images count nothing"),
        pytest.param(1000 * MB, 1, 100, id="a large image counts all"),
        pytest.param(5000 * MB, 1, 100, id="more is not better"),
        pytest.param(1000 * MB, 2, 49, id="two containers need twice as much"),
        pytest.param(33 * MB, 1, 1, id="just above one per cent"),
        pytest.param(32 * MB, 1, 0, id="just below one per cent"),
    ],
)
def test_image_score(total: int, containers: int, score: int) -> None:
    assert image_score(total, containers) == score


THREE = snapshot(
    node("all").image(900 * MB, "web:1").image(600 * MB, "tool:latest"),
    node("none"),
    node("web").image(5 * MB, "web:1"),
)


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        pytest.param(pod().image("web:1"), [59, 0, 59], id="two thirds of the nodes have it"),
        pytest.param(pod().image("tool"), [18, 0, 0], id="one third of the nodes has it"),
        pytest.param(pod().image("web"), [0, 0, 0], id="another tag"),
        pytest.param(pod().image("library/web:1"), [0, 0, 0], id="names are compared as they stand"),
        pytest.param(pod().image("web:1").container("b", image="tool"), [39, 0, 29], id="containers add up"),
        pytest.param(
            pod().image("web:1").container("b", image="web:1"), [59, 0, 59], id="one image twice counts twice"
        ),
        pytest.param(pod().image("web:1").init_container(image="tool"), [39, 0, 29], id="init containers count"),
        pytest.param(
            pod().image("web:1").volume("v", image=ImageVolume(reference="tool")),
            [79, 0, 59],
            id="image volumes add to the sum and not to the limit",
        ),
        pytest.param(pod().image("unknown"), [0, 0, 0], id="an image that nobody has"),
        pytest.param(pod().volume("v", image=ImageVolume(reference="web:1")), [59, 0, 59], id="an image volume alone"),
    ],
)
def test_score(asking: PodBuilder, expected: list[int]) -> None:
    assert scores(asking, THREE) == expected


def test_the_spread_is_divided_before_it_is_multiplied() -> None:
    """Exactly, 983302144 * 6 / 11 bytes score 50; in upstream's floating point they are one byte less, and score 49."""
    size = 983302144
    assert image_score(size * 6 // 11, 1) == 50
    builders = [node(f"n{index:02}") for index in range(11)]
    for builder in builders[:6]:
        builder.image(size, "web:1")
    assert scores(pod().image("web:1"), snapshot(*builders)) == [49] * 6 + [0] * 5


def test_a_node_the_cluster_does_not_know_the_images_of_scores_nothing() -> None:
    """An extender may answer with a node of its own."""
    scorer = ImageLocality().pre_score(pod().image("web:1").info(), THREE, THREE.nodes)
    assert isinstance(scorer, NodeScorer)
    assert scorer.score(node("all").image(900 * MB, "web:1").info()) == 0


@given(
    st.lists(st.tuples(st.integers(0, 2000 * MB), st.sets(st.integers(0, 3), min_size=1)), min_size=1, max_size=3),
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
)
def test_agrees_with_the_formula(images: list[tuple[int, set[int]]], used: list[int]) -> None:
    builders = [node(f"n{index}") for index in range(4)]
    for number, (size, holders) in enumerate(images):
        for holder in holders:
            builders[holder].image(size, f"i{number}:1")
    asking = pod().spec(containers=tuple(pod().image(f"i{number}:1").build().spec.containers[0] for number in used))
    found = snapshot(*builders)
    for index, score in enumerate(scores(asking, found)):
        total = 0
        for number in used:
            if number < len(images) and index in images[number][1]:
                size, holders = images[number]
                total += int(float(size) * (float(len(holders)) / float(4)))
        low, high = 23 * MB, 1000 * MB * len(used)
        assert score == 100 * (min(max(total, low), high) - low) // (high - low)
