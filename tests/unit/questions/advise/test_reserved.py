"""Nodes that are kept for somebody come last in advice, and keep their taints."""

from typing import Any

import pytest

import kwhatif
from kwhatif.questions.advise.reserved import is_reserved
from kwhatif.scheduler.framework.evidence import UntoleratedTaint
from tests.objects import manifest

Json = dict[str, Any]


def node(name: str, cpu: str = "8", taint: Json | None = None, **devices: str) -> Json:
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"} | {
        f"nvidia.com/{key}": value for key, value in devices.items()
    }
    return manifest(
        "Node",
        {"name": name, "labels": {"kubernetes.io/hostname": name}},
        spec={"taints": [taint | {"effect": "NoSchedule"}] if taint else []},
        status={"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def pod(cpu: str = "6", node_name: str = "", **devices: str) -> Json:
    requests = {"cpu": cpu} | {f"nvidia.com/{key}": value for key, value in devices.items()}
    resources = {"requests": requests, "limits": {key: value for key, value in requests.items() if "/" in key}}
    spec: Json = {"containers": [{"name": "c", "image": "c", "resources": resources}]}
    if node_name:
        spec["nodeName"] = node_name
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{node_name}"}, "spec": spec}


def advised(asked: Json, *nodes: Json) -> list[str]:
    full = [pod("7", each["metadata"]["name"]) for each in nodes if not each["spec"]["taints"]]
    report = kwhatif.advise(kwhatif.load([*nodes, *full]), asked)
    assert report.advise is not None
    (row,) = report.advise.workloads
    return ["+".join(change.kind for change in each.changes) for each in row.advice]


GPU, TEAM, PLAIN = {"key": "nvidia.com/gpu"}, {"key": "dedicated", "value": "db"}, {"key": "maintenance"}


@pytest.mark.parametrize(
    "taint", [GPU, TEAM, {"key": "workload", "value": "gpu"}, {"key": "node-role.kubernetes.io/x"}]
)
def test_a_new_node_comes_before_a_reserved_one(taint: Json) -> None:
    found = advised(pod(), node("a"), node("b"), node("gpu", taint=taint))
    assert found.index("add-nodes") < found.index("tolerate")
    assert "untaint" not in found


def test_another_taint_is_tolerated_first() -> None:
    found = advised(pod(), node("a"), node("b"), node("c", taint=PLAIN))
    assert found[0] == "tolerate"
    assert "untaint" in found


def test_who_asks_for_the_device_goes_there() -> None:
    found = advised(pod(gpu="1"), node("a"), node("b"), node("gpu", taint=GPU, gpu="4"))
    assert found[0] == "tolerate"
    assert "untaint" not in found


def test_a_node_with_devices_is_not_the_model_of_a_new_one() -> None:
    session = kwhatif.load([*(node(name) for name in "ab"), node("gpu", "7", gpu="4"), pod("7", "a"), pod("7", "b")])
    report = kwhatif.advise(kwhatif.edited(session, "cordon gpu"), pod())
    assert report.advise is not None
    edits = [change.edits for advice in report.advise.workloads[0].advice for change in advice.changes]
    assert ("add 1 node like a",) in edits
    assert ("add 1 node like gpu",) not in edits


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("nvidia.com/gpu", "", True),
        ("amd.com/gpu", "true", True),
        ("team", "search", True),
        ("company.example/tenant", "x", True),
        ("node-role.kubernetes.io/control-plane", "", True),
        ("kubernetes.io/arch", "arm64", True),
        ("workload", "batch", False),
        ("maintenance", "", False),
        ("node.cilium.io/agent-not-ready", "", False),
    ],
)
def test_which_taints_keep_a_node_for_somebody(key: str, value: str, *, expected: bool) -> None:
    assert is_reserved(UntoleratedTaint(key=key, value=value, effect="NoSchedule"), None) == expected
