"""podgc: which pods it removes by force, and when."""

from __future__ import annotations

import pytest

from kwhatif.controllers import pod_gc
from kwhatif.controllers.finished_pods import finished_pods
from kwhatif.controllers.pod_gc import PodGC
from kwhatif.model.node import Node, NodeCondition
from kwhatif.model.pod import Pod
from tests.builders import NodeBuilder, node, pod, snapshot
from tests.small_world import SmallWorld

OUT = "node.kubernetes.io/out-of-service"


def world(*objects: object) -> SmallWorld:
    return SmallWorld(snapshot(*objects), PodGC())  # type: ignore[arg-type]


def dead(name: str = "n1") -> NodeBuilder:
    return node(name).status(conditions=(NodeCondition(type="Ready", status="Unknown"),))


def test_pods_of_a_deleted_node_go_after_the_quarantine() -> None:
    at = world(
        node("n1"),
        node("n2"),
        pod("a").on("n1"),
        pod("b").on("n1").terminating(),
        pod("c").on("n1").status(phase="Succeeded"),
        pod("d").on("n2"),
    )
    at.delete(at.state.cluster.all(Node)["n1"])
    at.until(59)
    assert at.gone == []
    at.until(60)
    assert [(moment, how, key) for moment, how, key in at.gone] == [
        (60, "PodGC", "default/a"),
        (60, "PodGC", "default/c"),
    ]
    assert "default/c" not in at.state.cluster.all(Pod)
    assert "default/d" in at.state.cluster.all(Pod)


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    at = world(node("n1"), pod("a").on("n1"))
    at.delete(at.state.cluster.all(Node)["n1"])
    at.until(50)
    at.change(node("n1").build())
    at.until(200)
    assert at.gone == []
    assert at.next_due is None


def test_terminating_pods_of_a_node_out_of_service_go_in_the_next_round() -> None:
    at = world(dead(), pod("a").on("n1").terminating(), pod("b").on("n1"))
    at.change(dead().taint(OUT, effect="NoExecute").build())
    at.until(19)
    assert len(at.state.cluster.all(Pod)) == 2
    at.until(20)
    assert list(at.state.cluster.all(Pod)) == ["default/b"]


def test_not_if_the_node_is_ready() -> None:
    at = world(node("n1"), pod("a").on("n1").terminating())
    at.change(node("n1").taint(OUT, effect="NoExecute").build())
    at.until(100)
    assert len(at.state.cluster.all(Pod)) == 1


def test_a_pod_that_begins_to_end_there_later() -> None:
    at = world(dead().taint(OUT), pod("a").on("n1"))
    at.until(5)
    at.change(pod("a").on("n1").terminating().build())
    at.until(25)
    assert len(at.state.cluster.all(Pod)) == 0


def test_unscheduled_pods_that_are_being_deleted() -> None:
    at = world(node("n1"), pod("a"))
    at.change(pod("a").terminating().build())
    at.until(20)
    assert len(at.state.cluster.all(Pod)) == 0


def test_too_many_finished_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_gc, "MOST_FINISHED", 2)
    at = world(
        node("n1"),
        pod("new").on("n1").meta(creation_timestamp="2026-01-02T00:00:00Z").status(phase="Failed"),
        pod("old").on("n1").meta(creation_timestamp="2026-01-01T00:00:00Z").status(phase="Succeeded"),
        pod("evicted").meta(creation_timestamp="2026-01-03T00:00:00Z").status(phase="Failed", reason="Evicted"),
        pod("last").on("n1"),
    )
    at.change(pod("last").on("n1").meta(creation_timestamp="2026-01-04T00:00:00Z").status(phase="Succeeded").build())
    assert finished_pods(at.state.cluster).count == 4
    at.until(20)
    assert [key for _, _, key in at.gone] == ["default/evicted", "default/old"]
    assert finished_pods(at.state.cluster).count == 2


def test_finished_pods_are_known_by_node() -> None:
    at = world(node("n1"), pod("a").on("n1").status(phase="Failed"), pod("b").on("n1"), pod("c").on("n2"))
    at.change(pod("b").on("n1").status(phase="Succeeded").build())
    assert finished_pods(at.state.cluster).on("n1") == ("default/a", "default/b")
    at.delete(pod("a").build())
    at.delete(pod("b").build())
    assert (finished_pods(at.state.cluster).on("n1"), finished_pods(at.state.cluster).count) == ((), 0)
