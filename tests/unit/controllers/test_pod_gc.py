"""podgc: which pods it removes by force, and when."""

from typing import Any

import pytest

from kwhatif.controllers import pod_gc
from kwhatif.controllers.pod_gc import PodGC
from kwhatif.controllers.pods import finished_pods
from kwhatif.kube.model.node import Node, NodeCondition
from kwhatif.kube.model.pod import Pod
from tests.builders import NodeBuilder, node, pod
from tests.fake_cluster import FakeCluster

OUT = "node.kubernetes.io/out-of-service"


def world(*objects: Any) -> FakeCluster:
    return FakeCluster([PodGC()], *objects)


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
    at.remove(Node, "n1").until(59)
    assert at.deleted == []
    at.until(60)
    assert at.deleted == [(60, "PodGC", f"default/{name}") for name in "abc"]
    assert "default/c" not in at.state.cluster.all(Pod)
    assert "default/d" in at.state.cluster.all(Pod)


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    at = world(node("n1"), pod("a").on("n1"))
    at.remove(Node, "n1").until(50)
    at.put(node("n1").build()).until(200)
    assert at.deleted == []
    assert not at.timers


def test_terminating_pods_of_a_node_out_of_service_go_in_the_next_round() -> None:
    at = world(dead(), pod("a").on("n1").terminating(), pod("b").on("n1"))
    at.put(dead().taint(OUT, effect="NoExecute").build()).until(19)
    assert len(at.state.cluster.all(Pod)) == 2
    at.until(20)
    assert list(at.state.cluster.all(Pod)) == ["default/b"]


def test_not_if_the_node_is_ready() -> None:
    at = world(node("n1"), pod("a").on("n1").terminating())
    at.put(node("n1").taint(OUT, effect="NoExecute").build()).until(100)
    assert len(at.state.cluster.all(Pod)) == 1


def test_a_pod_that_begins_to_end_there_later() -> None:
    at = world(dead().taint(OUT), pod("a").on("n1"))
    at.until(5)
    at.put(pod("a").on("n1").terminating().build()).until(25)
    assert len(at.state.cluster.all(Pod)) == 0


def test_unscheduled_pods_that_are_being_deleted() -> None:
    at = world(node("n1"), pod("a"))
    at.put(pod("a").terminating().build()).until(20)
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
    at.put(
        pod("last").on("n1").meta(creation_timestamp="2026-01-04T00:00:00Z").status(phase="Succeeded").build()
    ).settle()
    assert finished_pods(at.state.cluster).count == 4
    at.until(20)
    assert [key for _, _, key in at.deleted] == ["default/evicted", "default/old"]
    assert finished_pods(at.state.cluster).count == 2


def test_finished_pods_are_known_by_node() -> None:
    at = world(node("n1"), pod("a").on("n1").status(phase="Failed"), pod("b").on("n1"), pod("c").on("n2"))
    at.put(pod("b").on("n1").status(phase="Succeeded").build()).settle()
    assert finished_pods(at.state.cluster).on("n1") == ("default/a", "default/b")
    at.gone("default/a", "default/b").settle()
    assert (finished_pods(at.state.cluster).on("n1"), finished_pods(at.state.cluster).count) == ((), 0)
