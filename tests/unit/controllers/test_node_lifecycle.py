"""The node lifecycle controller: conditions, taints, silent kubelets, and zones of which much is lost."""

from typing import Any

import pytest

from kwhatif.controllers.node_lifecycle import NodeHealth, NodeLifecycle, returned
from kwhatif.controllers.taint_eviction import registered
from kwhatif.kube.model.node import Node, NodeCondition
from kwhatif.kube.model.pod import Pod, PodCondition, is_ready
from tests.builders import NodeBuilder, node, pod
from tests.fake_cluster import FakeCluster

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def with_ready(name: str, status: str = "True", **others: str) -> NodeBuilder:
    conditions = (
        NodeCondition(type="Ready", status=status),
        *(NodeCondition(type=t, status=s) for t, s in others.items()),
    )
    return node(name).status(conditions=conditions)


def world(*objects: Any) -> FakeCluster:
    return FakeCluster([NodeLifecycle()], *objects)


def fail(at: FakeCluster, *names: str) -> None:
    at.silent.update(dict.fromkeys(names, at.now))
    at.ask("")


def taints(at: FakeCluster, name: str) -> list[str]:
    return [f"{taint.key}:{taint.effect}" for taint in at.state.cluster.all(Node)[name].spec.taints]


def evicting(at: FakeCluster) -> list[str]:
    return [name for name in at.state.cluster.all(Node) if f"{UNREACHABLE}:NoExecute" in taints(at, name)]


CONDITIONS: dict[str, tuple[NodeBuilder, list[str]]] = {
    "ready": (with_ready("n"), []),
    "no conditions": (node("n"), []),
    "not ready": (with_ready("n", "False"), [f"{NOT_READY}:NoSchedule"]),
    "unknown": (with_ready("n", "Unknown"), [f"{UNREACHABLE}:NoSchedule"]),
    "pressure": (
        with_ready("n", MemoryPressure="True", DiskPressure="True", PIDPressure="False"),
        ["node.kubernetes.io/memory-pressure:NoSchedule", "node.kubernetes.io/disk-pressure:NoSchedule"],
    ),
    "network": (
        with_ready("n", NetworkUnavailable="True"),
        ["node.kubernetes.io/network-unavailable:NoSchedule"],
    ),
    "cordoned": (with_ready("n").cordoned(), ["node.kubernetes.io/unschedulable:NoSchedule"]),
    "taints of others stay": (with_ready("n").taint("a").taint(NOT_READY), ["a:NoSchedule"]),
    "uncordoned": (with_ready("n").taint("node.kubernetes.io/unschedulable"), []),
}


@pytest.mark.parametrize(("given", "expected"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_taints_of_conditions(given: NodeBuilder, expected: list[str]) -> None:
    at = world(with_ready("other"))
    at.put(given.build()).settle()
    assert [taint for taint in taints(at, "n") if "NoSchedule" in taint] == expected


def test_a_new_node_is_not_ready_until_the_controller_has_seen_it() -> None:
    new = registered(with_ready("n").build())
    assert [taint.key for taint in new.spec.taints] == [NOT_READY]
    assert registered(new) is new
    at = world(with_ready("other"))
    at.put(new).settle()
    assert taints(at, "n") == []


def test_a_silent_node_is_lost_after_the_grace_period() -> None:
    ready = pod("p").on("n").status(phase="Running", conditions=(PodCondition(type="Ready", status="True"),))
    at = world(with_ready("n"), with_ready("other"), ready)
    fail(at, "n")
    at.until(49)
    assert taints(at, "n") == []
    at.until(50)
    lost = at.state.cluster.all(Node)["n"]
    assert {(each.type, each.status) for each in lost.status.conditions} == {
        (name, "Unknown") for name in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
    }
    assert taints(at, "n") == [f"{UNREACHABLE}:NoSchedule", f"{UNREACHABLE}:NoExecute"]
    unready = at.state.cluster.all(Pod)["default/p"]
    assert unready.status.phase == "Running"
    assert unready.status.conditions[0] == PodCondition(type="Ready", status="False", last_transition_time=at.stamp(50))


def test_it_comes_back() -> None:
    ready = PodCondition(type="Ready", status="True")
    at = world(
        with_ready("n"),
        with_ready("other"),
        pod("p").on("n").status(phase="Running", conditions=(ready,)),
        pod("q").on("n").status(phase="Running", conditions=(PodCondition(type="Ready", status="False"),)),
    )
    fail(at, "n")
    at.until(60)
    del at.silent["n"]
    at.write(*returned("n", at))
    assert taints(at, "n") == []
    assert {name: is_ready(each) for name, each in at.state.cluster.all(Pod).items()} == {
        "default/p": True,
        "default/q": False,
    }
    assert not at.timers


def test_a_node_that_is_back_in_time_is_never_lost() -> None:
    at = world(with_ready("n"), with_ready("other"))
    fail(at, "n")
    at.until(30)
    del at.silent["n"]
    at.write(*returned("n", at))
    at.until(100)
    assert taints(at, "n") == []


def test_lost_nodes_of_a_zone_are_tainted_one_in_ten_seconds() -> None:
    at = world(*(with_ready(f"n{index}") for index in range(9)))
    fail(at, "n1", "n2", "n3")
    at.until(50)
    assert evicting(at) == ["n1"]
    at.until(60)
    assert evicting(at) == ["n1", "n2"]
    at.until(69)
    assert evicting(at) == ["n1", "n2"]
    at.until(70)
    assert evicting(at) == ["n1", "n2", "n3"]
    assert not at.timers


def test_zones_do_not_wait_for_each_other() -> None:
    at = world(*(with_ready(f"{zone}{index}").zone(zone) for zone in "ab" for index in range(3)))
    fail(at, "a1", "b1")
    at.until(50)
    assert evicting(at) == ["a1", "b1"]


def test_most_of_a_small_zone_lost_stops_it_after_the_first() -> None:
    at = world(*(with_ready(f"{zone}{index}").zone(zone) for zone in "ab" for index in range(4)))
    fail(at, "a0", "a1", "a2")
    at.until(1000)
    assert evicting(at) == ["a0"]
    assert taints(at, "a2") == [f"{UNREACHABLE}:NoSchedule"]


def test_two_lost_nodes_are_no_disruption_of_a_zone() -> None:
    at = world(*(with_ready(f"n{index}") for index in range(3)))
    fail(at, "n0", "n1")
    at.until(60)
    assert evicting(at) == ["n0", "n1"]


def test_most_of_a_large_zone_lost_makes_it_slow() -> None:
    at = world(*(with_ready(f"n{index:02}") for index in range(51)))
    fail(at, *(f"n{index:02}" for index in range(40)))
    at.until(149)
    assert evicting(at) == ["n00"]
    at.until(150)
    assert evicting(at) == ["n00", "n01"]


def test_a_whole_zone_lost_goes_on_at_the_normal_rate() -> None:
    at = world(*(with_ready(f"{zone}{index}").zone(zone) for zone in "ab" for index in range(4)))
    fail(at, *(f"a{index}" for index in range(4)))
    at.until(80)
    assert evicting(at) == ["a0", "a1", "a2", "a3"]


def test_all_nodes_lost_evict_nobody_until_some_are_back() -> None:
    at = world(*(with_ready(f"n{index}") for index in range(3)))
    fail(at, "n0", "n1", "n2")
    at.until(1000)
    assert evicting(at) == []
    del at.silent["n0"]
    at.write(*returned("n0", at))
    at.until(1009)
    assert evicting(at) == []
    at.until(1020)
    assert evicting(at) == ["n1", "n2"]


def test_a_zone_that_was_lost_before_is_lost_from_the_start() -> None:
    before = [with_ready(f"a{index}", "Unknown").taint(UNREACHABLE, effect="NoExecute") for index in range(3)]
    at = world(*before, with_ready("a3"), with_ready("a4"))
    fail(at, "a3")
    at.until(1000)
    assert "a3" not in evicting(at)


def test_excluded_nodes_are_not_counted() -> None:
    excluded = {"node.kubernetes.io/exclude-disruption": ""}
    at = world(*(with_ready(f"n{index}").labels(excluded if index else {}) for index in range(4)))
    fail(at, "n1", "n2", "n3")
    at.until(1000)
    assert evicting(at) == ["n1", "n2", "n3"]


def test_a_lost_node_that_is_not_ready_changes_its_taint_at_once() -> None:
    at = world(with_ready("n", "Unknown").taint(UNREACHABLE, effect="NoExecute"), with_ready("other"))
    at.put(with_ready("n", "False").taint(UNREACHABLE, effect="NoExecute").build()).settle()
    assert sorted(taints(at, "n")) == [f"{NOT_READY}:NoExecute", f"{NOT_READY}:NoSchedule"]


def test_the_health_that_is_kept_up_is_what_would_be_found() -> None:
    at = world(*(with_ready(f"{zone}{index}").zone(zone) for zone in "ab" for index in range(3)))
    health = at.state.cluster.derived(NodeHealth, Node)
    assert (dict(health.counts), list(health.unwell)) == ({("", "a"): (0, 3), ("", "b"): (0, 3)}, [])
    at.put(with_ready("a0", "False").zone("a").build(), with_ready("b0", "Unknown").zone("c").build()).settle()
    at.remove(Node, "a1").settle()
    kept, fresh = at.state.cluster.derived(NodeHealth, Node), NodeHealth(at.state.cluster)
    assert (kept.counts, set(kept.unwell)) == (fresh.counts, set(fresh.unwell))
    assert (set(kept.unwell), health.unwell) == ({"a0", "b0"}, {})
