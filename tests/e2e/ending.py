"""What a cluster has come to, in the form of a recorded story's `outcome.json`."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.e2e.api import Api, collection
from tests.e2e.stage import Ran
from tests.e2e.watched import Pod, Watched

Json = dict[str, Any]
_WORKLOADS = {"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1"} | {
    "Job": "batch/v1",
    "ReplicationController": "v1",
}


def beginning(api: Api, pods: Watched) -> dict[str, str | None]:
    """UID of each pod -> whose it is."""
    owners = _replica_sets(api)
    return {pod["metadata"]["uid"]: _workload(pod, owners) for pod in pods.there()}


def ending(api: Api, pods: Watched, first: dict[str, str | None], drains: Sequence[Ran]) -> Json:
    """The end of a story whose `beginning` was `first`."""
    owners = _replica_sets(api)
    there = {pod["metadata"]["uid"]: pod for pod in pods.there()}
    gone = pods.gone()
    workloads: dict[str, Json] = {name: {"nodes": Counter(), "pending": 0} for name in _names(api)}
    pending = []
    for pod in there.values():
        if "deletionTimestamp" in pod["metadata"] or pod["status"]["phase"] in ("Succeeded", "Failed"):
            continue
        row = workloads.get(_workload(pod, owners) or "", {"nodes": Counter(), "pending": 0})
        if node := pod["spec"].get("nodeName"):
            row["nodes"][node] += 1
        else:
            row["pending"] += 1
            pending.append(_waiting(pod, owners))
    left = {}
    for uid, workload in first.items():
        last = gone.get(uid) or there[uid]
        if "deletionTimestamp" in last["metadata"] or uid in gone:
            left[_key(last)] = _leaving(last, workload)
    budgets = api.send("GET", collection("PodDisruptionBudget", "policy/v1")).body["items"]
    return {
        "settled": True,
        "stable": True,
        "workloads": workloads,
        "pending": pending,
        "initialPodsGone": left,
        "budgets": {_key(budget): {"disruptionsAllowed": budget["status"]["disruptionsAllowed"]} for budget in budgets},
        "commands": [{"argv": ran.argv, "rc": ran.code} for ran in drains],
    }


def _replica_sets(api: Api) -> dict[str, Json]:
    items = api.send("GET", collection("ReplicaSet", "apps/v1")).body["items"]
    return {item["metadata"]["uid"]: item for item in items}


def _names(api: Api) -> list[str]:
    found = [
        (kind, item)
        for kind, version in _WORKLOADS.items()
        for item in api.send("GET", collection(kind, version)).body["items"]
    ]
    return [
        f"{kind} {_key(item)}"
        for kind, item in found
        if not any(owner.get("controller") for owner in item["metadata"].get("ownerReferences", ()))
    ]


def _workload(pod: Pod, replica_sets: dict[str, Json]) -> str | None:
    """Whose pod it is; of a ReplicaSet that a Deployment has made, the Deployment's."""
    obj, found = pod, None
    while owner := next((each for each in obj["metadata"].get("ownerReferences", ()) if each.get("controller")), None):
        found = f"{owner['kind']} {pod['metadata']['namespace']}/{owner['name']}"
        obj = replica_sets.get(owner["uid"], {"metadata": {}})
    return found


def _waiting(pod: Pod, owners: dict[str, Json]) -> Json:
    conditions = {condition["type"]: condition for condition in pod["status"].get("conditions", ())}
    return {
        "pod": _key(pod),
        "workload": _workload(pod, owners),
        "message": conditions.get("PodScheduled", {}).get("message", ""),
        "nominatedNodeName": pod["status"].get("nominatedNodeName"),
    }


def _leaving(last: Pod, workload: str | None) -> Json:
    none: Json = {}
    target = next((each for each in last["status"].get("conditions", ()) if each["type"] == "DisruptionTarget"), none)
    return {"workload": workload, "was on": last["spec"].get("nodeName"), "reason": target.get("reason")}


def _key(obj: Json) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
