"""Objects written into etcd itself, before an API server reads them: so they keep their UIDs, statuses and ages."""

import base64
import copy
import json
from collections.abc import Iterable, Sequence
from typing import Any

import urllib3

Object = dict[str, Any]

#: Kind -> what etcd's key calls it, where that is not the plural in an address.
_FOLDERS = {
    "Node": "minions",
    "ReplicationController": "controllers",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "PriorityClass": "priorityclasses",
    "StorageClass": "storageclasses",
    "Lease": "leases",
}
#: What the admission plugin DefaultTolerationSeconds adds to pods.
_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]
_JOB_LABEL = "batch.kubernetes.io/controller-uid"
_JOB_FINALIZER = "batch.kubernetes.io/job-tracking"


def store(etcd: str, objects: Iterable[Object]) -> None:
    """Write objects as the API server would have done, with what it adds to Jobs and pods.

    Defaults are not needed: the API server adds them to whatever it reads.
    """
    pool = urllib3.PoolManager(timeout=30, retries=False)
    for obj in objects:
        body = {"key": _text(_key(obj)), "value": _text(json.dumps(_finished(obj), default=str))}
        response = pool.request("POST", f"{etcd}/v3/kv/put", json=body)
        assert response.status == 200, response.data.decode()
    pool.clear()


def _key(obj: Object) -> str:
    folder = _FOLDERS.get(obj["kind"], obj["kind"].lower() + "s")
    name = [obj["metadata"]["namespace"]] if "namespace" in obj["metadata"] else []
    return "/".join(["/registry", folder, *name, obj["metadata"]["name"]])


def _finished(obj: Object) -> Object:
    new = copy.deepcopy(obj)
    metadata = new["metadata"]
    metadata.setdefault("uid", f"{new['kind'].lower()}-{metadata['name']}")
    metadata.setdefault("creationTimestamp", "2026-03-01T00:00:00Z")
    if "spec" in new:
        metadata.setdefault("generation", 1)
    owners = [owner for owner in metadata.get("ownerReferences", ()) if owner["kind"] == "Job"]
    if new["kind"] == "Job":
        label = {_JOB_LABEL: metadata["uid"]}
        new["spec"]["selector"] = {"matchLabels": label}
        template = new["spec"]["template"].setdefault("metadata", {})
        template["labels"] = {
            **template.get("labels", {}),
            **label,
            "job-name": metadata["name"],
            "batch.kubernetes.io/job-name": metadata["name"],
        }
    elif new["kind"] == "Pod":
        _finish_pod(new, owners)
    return new


def _finish_pod(pod: Object, jobs: Sequence[Object]) -> None:
    tolerations = pod["spec"].setdefault("tolerations", [])
    keys = {each.get("key", "") for each in tolerations if each.get("effect", "NoExecute") == "NoExecute"}
    tolerations += [each for each in _TOLERATIONS if not keys & {"", each["key"]}]
    if jobs:
        pod["metadata"]["labels"][_JOB_LABEL] = jobs[0]["uid"]
        pod["metadata"].setdefault("finalizers", []).append(_JOB_FINALIZER)


def _text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
