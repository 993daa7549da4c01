"""What a case is made of: files of a small cluster, manifests, a policy, a scheduler's configuration."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.differential.dice import Dice
from tests.differential.generate import FAMILIES, generate

ROOT = Path(__file__).parents[2]
Object = dict[str, Any]

#: Which parts of the input a mutation may hit. A part is a list of objects, each of which becomes a document.
Parts = dict[str, list[Object]]

_POLICY: Object = {
    "apiVersion": "kwhatif.dev/v1",
    "kind": "Policy",
    "preemption": "fail",
    "maxVictims": {"count": 10},
    "protectedVictims": [{"name": "system", "namespaces": ["kube-system"]}, {"name": "top", "minPriority": 100000}],
    "priorityClasses": [{"name": "system-classes", "forbidden": ["system-*"]}],
    "expressions": [{"name": "replicas", "expression": "workload.replicas <= 20", "message": "many", "level": "warn"}],
    "exceptions": [
        {"rules": ["denied"], "workloads": ["Deployment ml/*"], "reason": "more GPUs arrive", "expires": "2026-12-31"}
    ],
}
_CONFIG: Object = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "percentageOfNodesToScore": 100,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "score": {"disabled": [{"name": "ImageLocality"}], "enabled": [{"name": "NodeAffinity", "weight": 5}]}
            },
            "pluginConfig": [{"name": "NodeResourcesFitArgs", "args": {}}],
        }
    ],
}


class Input(NamedTuple):
    """An input before it is mutated."""

    cluster: list[Object]
    manifests: list[Object]
    policy: list[Object]
    config: list[Object]

    def parts(self) -> Parts:
        """A deep copy, by name."""
        return json.loads(json.dumps(self._asdict()))


def base(dice: Dice) -> Input:
    """A random cluster with manifests that fit it."""
    case = generate(dice.one(FAMILIES), dice.randrange(2**31), 0)
    manifests = [case.pod] if dice.chance(0.5) else [_workload(dice, case.pod)]
    if dice.chance(0.3):
        manifests.append(dice.one(_manifests()))
    config = case.config or _CONFIG
    return Input(case.cluster, json.loads(json.dumps(manifests)), [_POLICY], [config])


def _workload(dice: Dice, pod: Object) -> Object:
    """The pod as the template of a workload."""
    meta, spec = pod["metadata"], dict(pod["spec"])
    for field in ("nodeName", "priority"):
        spec.pop(field, None)
    labels = meta.get("labels") or {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    head = {"name": meta["name"], "namespace": meta.get("namespace", "default")}
    replicas = dice.pick(1, 2, 3, 8)
    kind = dice.pick("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob")
    if kind in ("Job", "CronJob"):
        spec["restartPolicy"] = "Never"
        job = {"parallelism": replicas, "completions": replicas, "template": template}
        body = job if kind == "Job" else {"schedule": "0 1 * * *", "jobTemplate": {"spec": job}}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": head, "spec": body}
    body = {"selector": {"matchLabels": labels}, "template": template}
    if kind != "DaemonSet":
        body["replicas"] = replicas
    if kind == "StatefulSet":
        body["serviceName"] = meta["name"]
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": head, "spec": body}


@cache
def _manifests() -> list[Object]:
    """The repository's own manifests."""
    found: list[Object] = []
    for path in sorted((ROOT / "fixtures" / "gate").rglob("*.yaml")):
        if path.parent.name not in ("broken", "charts") and path.name not in ("kwhatif.yaml", "wrong-policy.yaml"):
            found += [document for document in yaml.safe_load_all(path.read_text()) if document]
    return found
