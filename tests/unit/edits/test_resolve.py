"""Many edits, one after another: each takes as many steps as it changes objects, and says what a full pass finds."""

import sys
from types import FrameType
from typing import Any

import pytest

import kwhatif
from kwhatif.scheduler.framework.reference import use_reference
from tests.objects import manifest
from tests.unit.workloads.test_injections import owner

Json = dict[str, Any]

CONTAINER: Json = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}


def node(name: str) -> Json:
    return manifest(
        "Node",
        {"name": name, "labels": {"kubernetes.io/hostname": name}},
        status={
            "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )


def daemon_set(name: str) -> Json:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [CONTAINER]}}
    return manifest(
        "DaemonSet",
        {"name": name, "namespace": "ops", "uid": f"DaemonSet-{name}"},
        spec={"selector": {"matchLabels": {"app": name}}, "template": template},
    )


def pod(name: str, on: str, app: str, **labels: str) -> Json:
    return manifest(
        "Pod",
        {
            "name": name,
            "namespace": "ops",
            "uid": name,
            "labels": {"app": app, **labels},
            "ownerReferences": [owner("DaemonSet", app)],
        },
        spec={"nodeName": on, "containers": [CONTAINER]},
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    )


NODES = [f"n{number}" for number in range(1, 9)]
CLUSTER = [
    *map(node, NODES),
    *map(daemon_set, ("logs", "net")),
    *(
        pod(f"{app}-{on}", on, app, **{"controller-revision-hash": "old"} if app == "logs" else {})
        for app in ("logs", "net")
        for on in NODES
    ),
]

#: Between new nodes, what could make untrue what is known of DaemonSets, names and pods.
MIXED = [
    ["add 2 nodes like n1", "add 1 node like n1", "add 3 nodes like n2"],
    ["add 1 node like n1", "delete pod/ops/logs-n1", "add 1 node like n1"],
    ["add 1 node like n1", "label pod/ops/net-n2 app=other", "add 2 nodes like n1"],
    ["add 1 node like n1", "delete node/n1-new-1", "add 1 node like n1"],
    ["add 2 nodes like n1", "delete daemonset/ops/net", "add 1 node like n1"],
    ["add 1 node like n3", "cordon n1 n2 n1", "taint n3 n1 a=b:NoSchedule", "add 1 node like n3"],
]


@pytest.mark.parametrize("edits", MIXED, ids=lambda edits: edits[1])
def test_what_is_kept_between_edits_changes_nothing(edits: list[str]) -> None:
    session = kwhatif.load(CLUSTER)
    kept = kwhatif.edited(session, *edits)
    use_reference(on=True)
    try:
        plain = kwhatif.edited(session, *edits)
    finally:
        use_reference(on=False)
    assert kept.changes == plain.changes
    assert list(kept.state.pods) == list(plain.state.pods)
    assert [each.name for each in kept.state.nodes] == [each.name for each in plain.state.nodes]
    assert [info.pod for info in kept.state.pods.values()] == [info.pod for info in plain.state.pods.values()]


def calls(session: kwhatif.Session, count: int) -> int:
    """How many calls of functions it takes to make so many edits."""
    seen = 0

    def count_call(frame: FrameType, event: str, arg: object) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    edits = ["add 1 node like n1"] * count
    sys.setprofile(count_call)
    try:
        kwhatif.edited(session, *edits)
    finally:
        sys.setprofile(None)
    return seen


def test_more_edits_take_as_many_steps_each() -> None:
    session = kwhatif.load(CLUSTER)
    calls(session, 1)  # what is loaded, or built, once
    first, second, fourth = (calls(session, count) for count in (20, 40, 80))
    assert fourth - second < 2.2 * (second - first)
