"""Many runs with other choices: what is the same in all of them, and how often is the rest?"""

from typing import Any

import pytest

import kwhatif
from tests.objects import manifest


def node(name: str, cpu: str = "2", **labels: str) -> dict[str, Any]:
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "20"}, "conditions": [READY]}
    meta = {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}


READY = {"type": "Ready", "status": "True"}


def pod(name: str, cpu: str, where: str = "", priority: int = 0, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    whole = {"containers": [container], "priority": priority, "terminationGracePeriodSeconds": 30, **spec}
    status = {"phase": "Running", "conditions": [READY]} if where else {"phase": "Pending"}
    return manifest(
        "Pod",
        {"name": name, "namespace": "default", "uid": name},
        spec={**whole, **({"nodeName": where} if where else {})},
        status=status,
    )


def priority_class(name: str, value: int) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


#: Two equal nodes, of which `picky` wants the first: whoever comes before it decides by chance.
CHOICE = [node("a"), node("b"), priority_class("high", 10), priority_class("low", 0)]


def choice() -> list[dict[str, Any]]:
    early = pod("early", "2", priorityClassName="high", priority=10)
    late = pod("late", "2", nodeName="", priorityClassName="low", nodeSelector={"kubernetes.io/hostname": "a"})
    return [early, late]


def facts(runs: int, seed: int = 1) -> dict[tuple[str, str], int]:
    report = kwhatif.simulate(kwhatif.load(CHOICE), choice(), runs=runs, seed=seed)
    assert report.story is not None
    assert report.story.runs is not None
    return {(row.what, row.subject): row.runs for row in report.story.runs.facts}


def test_what_hangs_on_chance_is_so_in_some_runs() -> None:
    found = facts(40)
    assert found["placed", "Pod default/early"] == 40
    pending = found["pending", "Pod default/late"]
    assert 5 < pending < 35
    assert found["placed", "Pod default/late"] == 40 - pending
    assert found["settled", "settled"] + found["settled", "pending"] == 40


def test_the_seed_decides() -> None:
    assert facts(10, 3) == facts(10, 3)
    assert any(facts(10, 3) != facts(10, seed) for seed in range(4, 8))


def test_the_surest_comes_first() -> None:
    assert sorted(facts(12).values(), reverse=True) == list(facts(12).values())


def test_pods_end_between_at_once_and_when_their_grace_is_over() -> None:
    cluster = [node("a"), priority_class("high", 10), pod("victim", "2", "a")]
    report = kwhatif.simulate(
        kwhatif.load(cluster), pod("vip", "2", priorityClassName="high", priority=10), start="0s", runs=30
    )
    assert report.story is not None
    assert report.story.seconds == 30
    assert report.story.conventions == {"stopTimes": 1}
    row = report.story.runs
    assert row is not None
    assert 0 < row.seconds_least < 10
    assert 20 < row.seconds_most < 30
    assert {(fact.what, fact.runs) for fact in row.facts} >= {("preempted", 30), ("placed", 30)}


def test_whom_to_evict_is_a_choice_too() -> None:
    cluster = [node("a"), node("b"), priority_class("high", 10), pod("x", "2", "a"), pod("y", "2", "b")]
    report = kwhatif.simulate(kwhatif.load(cluster), pod("vip", "2", priorityClassName="high", priority=10), runs=30)
    assert report.story is not None
    assert report.story.conventions["evictions"] == 1
    assert report.story.runs is not None
    preempted = {row.subject: row.runs for row in report.story.runs.facts if row.what == "preempted"}
    assert preempted.keys() == {"Pod default/x", "Pod default/y"}
    assert sum(preempted.values()) == 30


def test_no_runs_and_a_wrong_number() -> None:
    report = kwhatif.simulate(kwhatif.load(CHOICE), choice())
    assert report.story is not None
    assert report.story.runs is None
    assert any("1 node (simulate --runs tries others)" in line for line in report.story.assumptions)
    with pytest.raises(ValueError, match="negative"):
        kwhatif.simulate(kwhatif.load(CHOICE), runs=-1)
