"""Laws of Karpenter's rules: names and order do not matter, room helps, and nothing asked is nothing done."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.autoscaler.karpenter.requirements import Requirement, requirement
from tests.examples import examples
from tests.karpenter.objects import Json, asked, node, pod, pool
from tests.karpenter.play import canonical, play

VALUES = ("1", "2", "3", "x")


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    operator = draw(st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")))
    number = operator in ("Gt", "Lt", "Gte", "Lte")
    wanted = st.sampled_from(VALUES[:3]) if number else st.sampled_from(VALUES)
    values = draw(st.lists(wanted, min_size=1, max_size=1 if number else 3))
    return requirement("key", operator, () if operator in ("Exists", "DoesNotExist") else values)


@given(requirements(), requirements(), requirements())
@settings(max_examples=examples(300))
def test_intersection_is_an_intersection(one: Requirement, other: Requirement, third: Requirement) -> None:
    both = one.intersection(other)
    for value in VALUES:
        assert both.has(value) is (one.has(value) and other.has(value))
    assert both == other.intersection(one)
    assert both.intersection(third) == one.intersection(other.intersection(third)) or not _bounded(one, other, third)
    # A value beyond those here may be left; where no value is, they do not intersect.
    assert one.intersects(other) is other.intersects(one)
    assert one.intersects(other) or not any(both.has(value) for value in VALUES)


def _bounded(*each: Requirement) -> bool:
    """Excluded values are forgotten where bounds exclude them anyhow, so the texts may differ, not the meaning."""
    return all(one.gte is None and one.lte is None for one in each)


@st.composite
def clusters(draw: st.DrawFn) -> list[Json]:
    """Pools, nodes with pods, and pods that wait; none has an opinion about others."""
    pools = [pool(f"pool-{number}", weight=draw(st.integers(1, 3))) for number in range(draw(st.integers(1, 2)))]
    names = [f"n{number}" for number in range(draw(st.integers(0, 4)))]
    nodes = [each for name in names for each in node(name, cpu=draw(st.sampled_from((2, 4))), of="pool-0")]
    running = [
        pod(f"r{number}", on=draw(st.sampled_from(names)), cpu=draw(st.sampled_from(("100m", "500m"))))
        for number in range(draw(st.integers(0, 5)) if names else 0)
    ]
    waiting = [
        pod(f"p{number}", cpu=draw(st.sampled_from(("250m", "1", "3", "9"))))
        for number in range(draw(st.integers(0, 6)))
    ]
    return [*pools, *nodes, *running, *waiting]


@given(clusters(), st.randoms(use_true_random=False), st.sampled_from(("autoscale", "consolidate")))
@settings(max_examples=examples(60))
def test_the_order_of_the_input_does_not_matter(objects: list[Json], chance: random.Random, ask: str) -> None:
    shuffled = list(objects)
    chance.shuffle(shuffled)
    assert canonical(ask, play(asked(ask, objects))) == canonical(ask, play(asked(ask, shuffled)))


@given(clusters())
@settings(max_examples=examples(60))
def test_one_more_empty_node_never_refuses_more(objects: list[Json]) -> None:
    before = play(asked("autoscale", objects))
    after = play(asked("autoscale", objects, node("zz-more", cpu=64, of="elsewhere")))
    assert {row["pod"] for row in after["refused"]} <= {row["pod"] for row in before["refused"]}
    assert len(after["newNodes"]) <= len(before["newNodes"])


@given(clusters())
@settings(max_examples=examples(60))
def test_every_pod_has_one_end(objects: list[Json]) -> None:
    found = play(asked("autoscale", objects))
    rows: list[Any] = [*found["newNodes"], *found["existing"]]
    ends = [name for row in rows for name in row["pods"]]
    ends += [row["pod"] for row in (*found["refused"], *found["ignored"])]
    waiting = [each["metadata"]["name"] for each in objects if each["kind"] == "Pod" and "nodeName" not in each["spec"]]
    assert sorted(ends) == sorted(f"default/{name}" for name in waiting)


@given(clusters())
@settings(max_examples=examples(60))
def test_nothing_pending_adds_nothing(objects: list[Json]) -> None:
    quiet = [each for each in objects if each["kind"] != "Pod" or "nodeName" in each["spec"]]
    assert not any(play(asked("autoscale", quiet)).values())
