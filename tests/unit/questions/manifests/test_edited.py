"""Who owns what once labels were edited before a simulation begins: as if somebody had edited them in it."""

from typing import Any

import pytest

import kwhatif
from tests.objects import manifest
from tests.unit.workloads.test_injections import RS, node, owner

Json = dict[str, Any]

CONTAINER: Json = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}


def pod(name: str, app: str, **meta: Any) -> Json:
    return manifest(
        "Pod",
        {"name": name, "namespace": "shop", "uid": name, "labels": {"app": app}} | meta,
        spec={"nodeName": "n1", "containers": [CONTAINER]},
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    )


def owned(name: str, app: str = "web") -> Json:
    return pod(name, app, ownerReferences=[owner(RS, "web")])


SET: Json = {
    "apiVersion": "apps/v1",
    "kind": RS,
    "metadata": {"name": "web", "namespace": "shop", "uid": f"{RS}-web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}},
    },
}
CLUSTER = [node("n1", "8"), SET, owned("a"), owned("b"), pod("alone", "other")]

CASES = [
    ("label pod/shop/a app=old", ["released Pod shop/a", "created"]),
    ("label pod/shop/a tier=1", []),
    ("label pod/shop/alone app=web", ["adopted Pod shop/alone", "deleted Pod shop/a"]),
    ("label pod/shop/alone app=else", []),
]


def acts(**options: Any) -> list[str]:
    """What the ReplicaSet does."""
    edits = options.pop("edits", [])
    session = kwhatif.load(CLUSTER)
    report = kwhatif.simulate(kwhatif.edited(session, *edits) if edits else session, **options)
    assert report.story is not None
    events = [each for each in report.story.events if each.actor == f"{RS} shop/web"]
    return [each.verb if each.verb == "created" else f"{each.verb} {each.object}" for each in events]


@pytest.mark.parametrize(("edit", "expected"), CASES)
def test_a_label_that_is_edited_first_decides_as_one_that_is_edited_then(edit: str, expected: list[str]) -> None:
    assert acts(edits=[edit]) == acts(then=[edit]) == expected


def test_a_dump_whose_labels_do_not_fit_is_taken_to_be_settled() -> None:
    report = kwhatif.simulate(kwhatif.load([*CLUSTER[:2], owned("a", "other"), owned("b")]))
    assert report.story is not None
    assert report.story.events == ()


def test_a_pod_that_is_released_first_is_lost_with_its_node() -> None:
    session = kwhatif.edited(kwhatif.load(CLUSTER), "label pod/shop/a app=old")
    report = kwhatif.outage(session, "n1")
    assert report.story is not None
    assert "Pod shop/a" in {row.workload for row in report.story.workloads}
