"""What a case is made of: files of a small cluster, manifests, a policy, a scheduler's configuration."""

import json
import lzma
from functools import cache
from typing import Any

import yaml

from tests import FIXTURES
from tests.differential.dice import Dice
from tests.differential.generate import FAMILIES, generate
from tests.hostile import steps
from tests.karpenter.judge import stored_cases

Object = dict[str, Any]
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: Which parts of the input a mutation may hit. A part is a list of objects, each of which becomes a document.
Parts = dict[str, list[Any]]

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
            "pluginConfig": [{"name": "NodeResourcesFit", "args": {}}],
        }
    ],
}


_KUBECONFIG: Object = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "test",
    # A port at which nobody answers: what is tested is how the file is read.
    "clusters": [{"name": "near", "cluster": {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}}],
    "users": [{"name": "me", "user": {"token": "secret"}}],
    "contexts": [{"name": "test", "context": {"cluster": "near", "user": "me", "namespace": "shop"}}],
}


def base(dice: Dice) -> Parts:
    """A random cluster, manifests that fit it, and one file of every other kind; not to be changed, some are shared."""
    case = generate(dice.one(FAMILIES), dice.randrange(2**31), 0)
    manifests = [case.pod] if dice.chance(0.5) else [_workload(dice, case.pod)]
    if dice.chance(0.3):
        manifests.append(dice.one(_manifests()))
    cluster = dice.one(_owned()) if dice.chance(0.35) else case.cluster
    there = {obj["metadata"]["name"] for obj in cluster if obj["kind"] == "Namespace"}
    needed = {obj["metadata"].get("namespace", "default") for obj in manifests} - there
    cluster = [
        *cluster,
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in sorted(needed)),
    ]
    descheduled, descheduler = dice.one(_descheduler())
    return {
        "cluster": cluster,
        "manifests": manifests,
        "policy": [_POLICY],
        "config": [case.config or _CONFIG],
        "edits": [[steps.mapped(dice, cluster, manifests, acts=False) for _ in range(dice.pick(1, 1, 3))]],
        "scenario": [steps.scenario(dice, cluster, manifests)],
        "descheduler": [descheduler],
        "descheduled": descheduled,
        "kubeconfig": [_KUBECONFIG],
        **dice.one(_scaled()),
    }


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
        cron: Object = {"schedule": "0 1 * * *", "jobTemplate": {"spec": job}}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": head, "spec": job if kind == "Job" else cron}
    body: Object = {"selector": {"matchLabels": labels}, "template": template}
    if kind != "DaemonSet":
        body["replicas"] = replicas
    if kind == "StatefulSet":
        body["serviceName"] = meta["name"]
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": head, "spec": body}


@cache
def _manifests() -> list[Object]:
    """The repository's own manifests."""
    found: list[Object] = []
    for path in sorted((FIXTURES / "gate").rglob("*.yaml")):
        if path.parent.name not in ("broken", "charts") and path.name not in ("kwhatif.yaml", "wrong-policy.yaml"):
            documents = yaml.load_all(path.read_bytes(), yaml.CSafeLoader)
            found += [
                document for document in documents if document and "metadata" in document
            ]  # no edits, no policies
    return found


@cache
def _owned() -> list[list[Object]]:
    """The clusters of the stories: small, with the controllers' objects."""
    paths = sorted((FIXTURES / "stories").glob("*/cluster.yaml"))
    return [_plain(list(yaml.load_all(path.read_bytes(), _Loader))) for path in paths]


@cache
def _scaled() -> list[Parts]:
    """Clusters of Karpenter with their instance types, and of the Cluster Autoscaler with their node groups."""
    pools = [case for number, case in enumerate(stored_cases()) if number % 9 == 0]
    with lzma.open(FIXTURES / "cluster_autoscaler" / "cases.jsonl.xz", "rt") as lines:
        groups = [json.loads(line) for number, line in enumerate(lines) if number % 9 == 0]
    return [
        {"types": [pool["types"]], "pooled": pool["cluster"], "groups": [group["groups"]], "grouped": group["cluster"]}
        for pool, group in zip(pools, groups, strict=False)
    ]


@cache
def _descheduler() -> list[tuple[list[Object], Object]]:
    """Clusters, each with a policy of a descheduler."""
    with lzma.open(FIXTURES / "descheduler" / "cases.jsonl.xz", "rt") as lines:
        cases = [json.loads(line) for number, line in enumerate(lines) if number % 6 == 0]
    return [(case["cluster"], yaml.load(case["policy"], _Loader)) for case in cases]


def _plain(documents: list[Any]) -> list[Object]:
    """The objects of the documents: lists are taken apart, and times are texts."""
    found = [item for document in documents if document for item in document.get("items", [document])]
    return json.loads(json.dumps(found, default=lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ")))
