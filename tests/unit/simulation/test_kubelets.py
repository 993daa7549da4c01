"""Nodes that are lost in the input: their kubelets say nothing, until they are back."""

from typing import Any

import pytest

import kwhatif
from kwhatif.report.story import Story, StoryWorkloadRow
from tests.objects import manifest
from tests.property.test_simulation import CLASSES, node

HEARTBEAT = "2026-01-01T00:00:00Z"
MARKED, LONG_BEFORE = "2026-01-01T00:00:50Z", "2025-12-01T00:00:00Z"


def lost(name: str) -> dict[str, Any]:
    made = node(name, 4)
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    ready = {"type": "Ready", "status": "Unknown", "lastHeartbeatTime": HEARTBEAT}
    return made | {"spec": {"taints": taints}, "status": made["status"] | {"conditions": [ready]}}


def pod(name: str, kind: str, *, since: str = MARKED, patience: int | None = 300) -> dict[str, Any]:
    """A pod on node b that is not ready since then, and goes so many seconds after its node is lost."""
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
        | ({} if patience is None else {"tolerationSeconds": patience})
        for key in ("not-ready", "unreachable")
    ]
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "db", "uid": "owner", "controller": True}
    return manifest(
        "Pod",
        {"name": name, "namespace": "default", "uid": name, "labels": {"app": "db"}, "ownerReferences": [owner]},
        spec={"nodeName": "b", "priority": 0, "containers": [{"name": "c", "image": "i"}], "tolerations": tolerations},
        status={
            "phase": "Running",
            "startTime": LONG_BEFORE,
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": since}],
        },
    )


def workload(kind: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": "db"}}, "template": template}
    named = {"serviceName": "db"} if kind == "StatefulSet" else {}
    replicas = {"updateStrategy": {"type": "OnDelete"}} if kind == "DaemonSet" else {"replicas": 1}
    meta = {"name": "db", "namespace": "default", "uid": "owner"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec | named | replicas}


def played(kind: str, *steps: str, name: str = "db-0", **fields: Any) -> tuple[Story, StoryWorkloadRow]:
    cluster = [*CLASSES, node("a", 4), lost("b"), workload(kind), pod(name, kind, **fields)]
    said = kwhatif.simulate(kwhatif.load(cluster), then=list(steps)).story
    assert said is not None
    return said, next(row for row in said.workloads if row.workload == f"{kind} default/db")


def test_a_stateful_set_waits_for_ever_for_its_pod() -> None:
    said, row = played("StatefulSet", "wait 10m")
    assert (said.settled, row.after, row.terminating) == ("terminating", {}, 1)


def test_a_replica_set_makes_another_pod() -> None:
    said, row = played("ReplicaSet", "wait 10m")
    assert (said.settled, row.after, row.terminating) == ("terminating", {"a": 1}, 1)


def test_once_the_node_is_back_the_pod_goes_and_another_one_comes() -> None:
    said, row = played("StatefulSet", "recover b")
    assert (said.settled, sum(row.after.values()), row.ready_after, row.terminating) == ("settled", 1, 1, 0)


@pytest.mark.parametrize(("since", "ready"), [(MARKED, 1), (LONG_BEFORE, 0)])
def test_pods_that_were_ready_before_are_so_again(since: str, ready: int) -> None:
    _, row = played("DaemonSet", "recover b", name="db-x", since=since, patience=None)
    assert row.ready_after - row.after["a"] == ready


def test_who_is_being_deleted_is_not_left_behind() -> None:
    leaving = pod("db-0", "ReplicaSet")
    leaving["metadata"] |= {"deletionTimestamp": MARKED, "deletionGracePeriodSeconds": 30}
    leaving["spec"]["tolerations"] = []
    cluster = [*CLASSES, node("a", 4), lost("b"), workload("ReplicaSet"), leaving]
    report = kwhatif.simulate(kwhatif.load(cluster), then=["cordon a"])
    assert "toleration-unknown" not in {caveat.code for caveat in report.caveat_details}
