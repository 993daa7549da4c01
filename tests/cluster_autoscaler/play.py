"""Small clusters as JSON has them, and what the Cluster Autoscaler does with them."""

import json
import lzma
from typing import Any

import kwhatif
from kwhatif.report import Report
from tests import FIXTURES
from tests.objects import manifest

CASES = FIXTURES / "cluster_autoscaler" / "cases.jsonl.xz"
NOW = "2026-11-20T12:00:00Z"
Json = dict[str, Any]
#: What is compared of each row.
_ROWS = {
    "options": ("group", "nodes", "pods"),
    "scaleUp": ("group", "delta"),
    "refused": ("pod", "reasons"),
    "nodes": ("node", "removable", "reason", "pod"),
}


def node(name: str, cpu: str = "4", memory: str = "16Gi", **more: Any) -> Json:
    """A node that has been ready for long; `taints`, `labels`, `annotations`, `unschedulable`, `ready`, `gpus`."""
    room = {"cpu": cpu, "memory": memory, "pods": str(more.get("pods", 110))}
    room |= {"nvidia.com/gpu": more["gpus"]} if "gpus" in more else {}
    return manifest(
        "Node",
        {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **more.get("labels", {})},
            "annotations": more.get("annotations", {}),
            "creationTimestamp": more.get("created", "2026-11-01T00:00:00Z"),
        },
        spec={"taints": more.get("taints", []), "unschedulable": more.get("unschedulable", False)},
        status={
            "capacity": room,
            "allocatable": room,
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True" if more.get("ready", True) else "False",
                    "lastTransitionTime": more.get("since", "2026-11-01T00:00:00Z"),
                }
            ],
        },
    )


def pod(name: str, cpu: str = "1", on: str = "", **more: Any) -> Json:
    """A pod of ReplicaSet `app`, on a node or unschedulable; other fields of `spec`, `metadata` and `status` by name."""
    placed = {"type": "PodScheduled", "status": "True"}
    waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    owner = more.get("owner", "ReplicaSet/app")
    kind, _, owner_name = owner.partition("/")
    group = {"ReplicationController": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
    reference = {"apiVersion": group, "kind": kind, "name": owner_name, "uid": owner_name, "controller": True}
    return manifest(
        "Pod",
        {
            "name": name,
            "namespace": more.get("namespace", "default"),
            "uid": name,
            "labels": more.get("labels", {"app": "app"}),
            "annotations": more.get("annotations", {}),
            "ownerReferences": [reference] if owner else [],
            "creationTimestamp": more.get("created", "2026-11-20T10:00:00Z"),
            **more.get("metadata", {}),
        },
        spec={
            "containers": [
                {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
            ],
            "schedulerName": "default-scheduler",
            "priority": more.get("priority", 0),
            **({"nodeName": on} if on else {}),
            **more.get("spec", {}),
        },
        status={
            "phase": "Running" if on else "Pending",
            "conditions": [placed if on else waits],
            **more.get("status", {}),
        },
    )


def replica_set(name: str = "app", replicas: int = 3) -> Json:
    """The owner of pods."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "app:1"}]}}
    return manifest(
        "ReplicaSet",
        {"name": name, "namespace": "default", "uid": name},
        spec={"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    )


def group(name: str, *nodes: str, **more: Any) -> Json:
    """A group of up to 10 nodes."""
    found: Json = {"name": name, "min": 0, "max": 10, **more}
    return found | ({"nodes": list(nodes)} if nodes else {})


def asked(ask: str, objects: list[Json], settings: Json) -> Report:
    """The report of one of the two commands."""
    session = kwhatif.load(kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})))
    groups = kwhatif.text(json.dumps(settings), "groups.yaml")
    ask_ = kwhatif.autoscale if ask == "autoscale" else kwhatif.consolidate
    return ask_(session, autoscaler="cluster-autoscaler", node_groups=groups, at=NOW)


def scaled_up(objects: list[Json], *groups: Json, **settings: Any) -> Json:
    """The first round of `autoscale`; flags as `flags`."""
    report = asked("autoscale", objects, {"groups": list(groups), **settings}).to_dict()
    found: Json = report["autoscaler"]["rounds"][0]
    return found


def added(objects: list[Json], *groups: Json, **settings: Any) -> dict[str, int]:
    """How many nodes each group gets."""
    return {each["group"]: each["delta"] for each in scaled_up(objects, *groups, **settings)["scaleUp"]}


def refusals(found: Json) -> dict[str, dict[str, str]]:
    """Pod -> group -> reason, of a round."""
    return {row["pod"]: {each["group"]: each["reason"] for each in row["reasons"]} for row in found["refused"]}


def verdicts(objects: list[Json], *groups: Json, **settings: Any) -> dict[str, str]:
    """Node -> "goes", or why it stays, of `consolidate`."""
    report = asked("consolidate", objects, {"groups": list(groups), **settings}).to_dict()
    return {row["node"]: "goes" if row["removable"] else row["reason"] for row in report["consolidate"]["nodes"]}


def plain(value: Any) -> Any:
    """Whatever the order of rows, and of names within them."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return sorted((plain(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
    return value


def compared(found: Json) -> Json:
    """The fields of a round, or of a plan, that are compared."""
    return {
        name: plain([{field: row.get(field) or None for field in fields} for row in found.get(name) or []])
        for name, fields in _ROWS.items()
    }


def stored_cases() -> list[Json]:
    """The cases of the fixtures."""
    return [json.loads(line) for line in lzma.decompress(CASES.read_bytes()).splitlines()]


def agrees(case: Json) -> bool:
    """Whether kwhatif decides in one of the ways that were seen."""
    report = asked(case["ask"], case["cluster"], case["groups"]).to_dict()
    found = report["consolidate"] if case["ask"] == "consolidate" else report["autoscaler"]["rounds"][0]
    return compared(found) in [compared(outcome) for outcome in case["outcomes"]]
