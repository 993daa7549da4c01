"""A small cluster in which every verb of an edit has something to do."""

import json
from typing import Any

import kwhatif
from kwhatif.questions.session.session import Session
from tests.objects import manifest


def node(name: str, zone: str, **spec: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, "disk": "ssd"}
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    meta = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": status}


def template(app: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "500m"}}}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **spec}}


def workload(kind: str, name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "shop", "uid": f"{kind}-{name}"}
    selector = {"matchLabels": {"app": name}}
    content = {"replicas": replicas, "selector": selector, "template": template(name), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": content}


def owner(kind: str, name: str) -> list[dict[str, Any]]:
    uid = f"{kind}-{name}"
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]


def pod(name: str, node_name: str, app: str, of: list[dict[str, Any]], created: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "shop", "labels": {"app": app}, "ownerReferences": of}
    status: dict[str, Any] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    spec = {**template(app)["spec"], "nodeName": node_name, "priority": 0}
    meta |= {"creationTimestamp": created}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status if node_name else {}}


OBJECTS = [
    node("a1", "a"),
    node("a2", "a", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]),
    node(
        "b1",
        "b",
        unschedulable=True,
        taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    ),
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blog"}},
    manifest("PriorityClass", {"name": "high"}, value=1000),
    workload("Deployment", "web", 3),
    {
        **workload("ReplicaSet", "web-1", 3),
        "metadata": {
            "name": "web-1",
            "namespace": "shop",
            "uid": "ReplicaSet-web-1",
            "labels": {"app": "web", "pod-template-hash": "1"},
            "ownerReferences": owner("Deployment", "web"),
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web", "pod-template-hash": "1"}},
            "template": {**template("web"), "metadata": {"labels": {"app": "web", "pod-template-hash": "1"}}},
        },
    },
    *(
        pod(f"web-1-{index}", node_name, "web", owner("ReplicaSet", "web-1"), f"2026-01-0{index + 1}T00:00:00Z")
        for index, node_name in enumerate(["a1", "a1", "a2"])
    ),
    workload("StatefulSet", "db", 2, serviceName="db"),
    *(pod(f"db-{index}", "a1", "db", owner("StatefulSet", "db"), "2026-01-01T00:00:00Z") for index in range(2)),
    workload("Deployment", "same", 1),
    workload("StatefulSet", "same", 1, serviceName="same"),
    manifest(
        "DaemonSet",
        {"name": "agent", "namespace": "shop"},
        spec={"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent")},
    ),
    manifest(
        "PodDisruptionBudget",
        {"name": "db", "namespace": "shop"},
        spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
        status={"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
    ),
    manifest(
        "CSINode",
        {"name": "a1"},
        spec={"drivers": [{"name": "disk.example.com", "nodeID": "a1", "allocatable": {"count": 5}}]},
    ),
]


def load(*more: dict[str, Any]) -> Session:
    """The cluster, with a few more objects."""
    return kwhatif.load(kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*OBJECTS, *more]})))
