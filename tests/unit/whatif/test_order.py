"""Draining several nodes: at once, and in the order that does the least harm."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

import kwhatif
from kwhatif.errors import InputError
from kwhatif.report.story import Story
from kwhatif.whatif.maintenance import order as whatif_order
from tests.property.test_simulation import CLASSES, node


def pod(name: str, where: str, cpu: int = 1, app: str = "web") -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": {"app": app},
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": where,
            "terminationGracePeriodSeconds": 10,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}],
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def replica_set(app: str, replicas: int, cpu: int = 1) -> dict[str, Any]:
    template = pod("", "", cpu, app)
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": app, "namespace": "default", "uid": app},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": app}},
            "template": {
                "metadata": {"labels": {"app": app}},
                "spec": {key: value for key, value in template["spec"].items() if key != "nodeName"},
            },
        },
    }


def budget(app: str, allowed: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"maxUnavailable": allowed, "selector": {"matchLabels": {"app": app}}},
    }


def drained(objects: list[dict[str, Any]], *nodes: str, **options: Any) -> Story:
    story = kwhatif.drain(kwhatif.load([*CLASSES, *objects]), *nodes, **options).story
    assert story is not None
    assert story.verdict is not None
    return story


SPREAD = [
    *(node(name, 4) for name in ("a", "b", "c")),
    replica_set("web", 2),
    pod("web-1", "a"),
    pod("web-2", "b"),
]


def test_at_once_is_quicker_than_one_after_another() -> None:
    one, both = (drained(SPREAD, "a", "b", parallel=number) for number in (1, 2))
    assert one.verdict is not None
    assert both.verdict is not None
    assert (one.verdict.ok, both.verdict.ok) == (True, True)
    assert both.verdict.seconds < one.verdict.seconds
    assert [wave.pods for wave in both.waves] == [("default/web-1", "default/web-2")]


def test_at_once_they_share_a_budget() -> None:
    story = drained([*SPREAD, budget("web", 1)], "a", "b", parallel=2)
    assert story.verdict is not None
    assert story.verdict.ok
    assert [wave.pods for wave in story.waves] == [("default/web-1",), ("default/web-2",)]
    assert [row.overrun for row in story.budgets] == [0]


def test_no_more_at_once_than_asked_for() -> None:
    objects = [*SPREAD, node("d", 4), replica_set("db", 1), pod("db-1", "d", app="db")]
    story = drained(objects, "a", "b", "d", parallel=2)
    assert [wave.pods for wave in story.waves] == [("default/web-1", "default/web-2"), ("default/db-1",)]


def test_the_node_that_can_go_comes_before_the_one_that_cannot() -> None:
    objects = [*SPREAD, node("d", 4), replica_set("db", 1), pod("db-1", "a", app="db"), budget("db", 0)]
    story = drained(objects, "a", "b", order=True)
    assert story.verdict is not None
    assert story.verdict.nodes == ("b", "a")
    assert not story.verdict.ok
    given = drained(objects, "a", "b")
    assert given.verdict is not None
    assert (given.verdict.nodes, given.verdict.moved, story.verdict.moved) == (("a", "b"), 1, 2)


def test_nodes_with_nothing_to_evict_come_first_and_each_is_tried_once() -> None:
    empty = [f"n{number:03}" for number in range(150)]
    objects = [*SPREAD, *(node(name, 4) for name in empty)]
    with patch.object(whatif_order, "_drained", side_effect=whatif_order._drained) as tries:
        story = drained(objects, "a", "b", *empty, order=True)
    assert story.verdict is not None
    assert story.verdict.nodes == (*empty, "a", "b")
    assert tries.call_count == 150 + 2 + 1


def test_too_many_nodes_to_put_in_order() -> None:
    names = [f"n{number:03}" for number in range(101)]
    bare = [pod(f"web-{name}", name) for name in names]
    objects = [*(node(name, 1) for name in names), replica_set("web", 101), *bare]
    with pytest.raises(InputError, match="--order: 101 nodes have pods to evict: every one of them would be tried"):
        drained(objects, *names, order=True)


@pytest.mark.parametrize("options", [{"order": True}, {"parallel": 2}])
def test_not_of_each_alone(options: Any) -> None:
    with pytest.raises(InputError, match="leave out --each"):
        kwhatif.drain(kwhatif.load([*CLASSES, *SPREAD]), "a", each=True, **options)


def test_at_least_one_at_once() -> None:
    with pytest.raises(InputError, match="--parallel"):
        kwhatif.drain(kwhatif.load([*CLASSES, *SPREAD]), "a", parallel=0)
