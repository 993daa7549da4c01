"""Taint eviction: who leaves a node with NoExecute taints, and when."""

from typing import Any

import pytest

from kwhatif.controllers.taint_eviction import TaintEviction
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import Toleration
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.fake_cluster import FakeCluster

KEY = "default/pod"


def toleration(seconds: int | None = None, key: str = "a", operator: str = "Exists", **fields: Any) -> Toleration:
    return Toleration(key=key, operator=operator, effect="NoExecute", toleration_seconds=seconds, **fields)


def on_node(*tolerations: Toleration) -> PodBuilder:
    return pod().on("n1").spec(tolerations=tolerations).status(phase="Running")


def tainted(*keys: str) -> NodeBuilder:
    made = node("n1")
    for key in keys:
        made = made.taint(key, effect="NoExecute")
    return made


def world(given: PodBuilder, on: NodeBuilder | None = None) -> FakeCluster:
    return FakeCluster([TaintEviction()], on or node("n1"), given)


CASES: dict[str, tuple[tuple[Toleration, ...], tuple[str, ...], float | None]] = {
    "not tolerated": ((), ("a",), 0),
    "tolerated forever": ((toleration(),), ("a",), None),
    "for a time": ((toleration(30),), ("a",), 30),
    "for no time": ((toleration(0),), ("a",), 0),
    "for less than no time": ((toleration(-1),), ("a",), 0),
    "one of two is not tolerated": ((toleration(30),), ("a", "b"), 0),
    "the shorter of two times": ((toleration(30), toleration(20, "b")), ("a", "b"), 20),
    "one for a time, one forever": ((toleration(30), toleration(key="b")), ("a", "b"), 30),
    "the first toleration that fits is the one that counts": ((toleration(30), toleration()), ("a",), 30),
    "also where it is longer": ((toleration(), toleration(30)), ("a",), None),
    "another value": ((toleration(operator="Equal", value="x"),), ("a",), 0),
    "numbers are not compared": ((toleration(operator="Lt", value="5"),), ("a",), 0),
    "everything": ((Toleration(operator="Exists"),), ("a", "b"), None),
}


@pytest.mark.parametrize(("tolerations", "taints", "gone"), CASES.values(), ids=CASES.keys())
def test_when_it_goes(tolerations: tuple[Toleration, ...], taints: tuple[str, ...], gone: float | None) -> None:
    at = world(on_node(*tolerations))
    at.put(tainted(*taints).build()).until(1000)
    assert at.deleted == ([] if gone is None else [(gone, "TaintEviction", KEY)])
    if gone is not None:
        assert at.state.cluster.all(Pod)[KEY].status.conditions[0].reason == "DeletionByTaintManager"


def test_other_effects_evict_nobody() -> None:
    at = world(on_node())
    at.put(node("n1").taint("a").taint("b", effect="PreferNoSchedule").build()).settle()
    assert at.deleted == []


def test_a_timer_that_runs_is_not_moved_by_another_taint() -> None:
    at = world(on_node(toleration(30), toleration(0, "b")))
    at.put(tainted("a").build()).until(10)
    at.put(tainted("a", "b").build()).until(100)
    assert at.deleted == [(30, "TaintEviction", KEY)]


def test_but_a_taint_that_is_not_tolerated_is_not_waited_for() -> None:
    at = world(on_node(toleration(30)))
    at.put(tainted("a").build()).until(10)
    at.put(tainted("a", "b").build()).settle()
    assert at.deleted == [(10, "TaintEviction", KEY)]


def test_without_taints_the_timer_is_cancelled_and_starts_anew_later() -> None:
    at = world(on_node(toleration(30)))
    at.put(tainted("a").build()).until(10)
    at.put(node("n1").build()).settle()
    assert not at.timers
    at.until(20)
    at.put(tainted("a").build()).until(100)
    assert at.deleted == [(50, "TaintEviction", KEY)]


def test_what_is_tolerated_for_ever_cancels_it_too() -> None:
    at = world(on_node(toleration(30)))
    at.put(tainted("a").build()).settle()
    at.put(on_node(toleration()).build()).until(100)
    assert at.deleted == []


def test_a_pod_that_comes_to_a_tainted_node() -> None:
    at = FakeCluster([TaintEviction()], tainted("a"))
    at.put(on_node(toleration(5)).build()).until(100)
    assert at.deleted == [(5, "TaintEviction", KEY)]


def test_another_pod_of_the_name_has_a_timer_of_its_own() -> None:
    at = world(on_node(toleration(30)).meta(uid="one"))
    at.put(tainted("a").build()).until(10)
    at.gone(KEY).settle()
    at.put(on_node(toleration(30)).meta(uid="two").build()).until(100)
    assert at.deleted == [(40, "TaintEviction", KEY)]


def test_a_node_that_goes_neither_evicts_nor_cancels() -> None:
    at = world(on_node(toleration(30)))
    at.put(tainted("a").build()).settle()
    at.remove(Node, "n1").settle()
    assert at.state.cluster.get(Node, "n1") is None
    at.until(100)
    assert at.deleted == [(30, "TaintEviction", KEY)]


def test_finished_pods_go_as_well_and_their_objects_at_once() -> None:
    at = world(on_node().status(phase="Succeeded"))
    at.put(tainted("a").build()).settle()
    assert (at.deleted, len(at.state.cluster.all(Pod))) == ([(0, "TaintEviction", KEY)], 0)
