"""`python -m tests.e2e.random_stories FOLDER --seed 1 --count 20`: stories that nobody has thought of, to be played.

`KWHATIF_E2E_FOLDER=FOLDER KWHATIF_E2E_STORIES=all make e2e` plays them, each for about a minute. Ties of scores are
rare, but there are some: what differs is to be read, not counted.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

from tests.differential.dice import Dice

Json = dict[str, Any]
#: What one of its kind requests; nodes have 2 to 4 cpu.
_CPUS = ("500m", "700m", "1", "1300m", "1500m", "2")
_DAEMON_CPUS = ("200m", "300m", "400m")
_KINDS = {"Deployment": 6.0, "StatefulSet": 3.0, "DaemonSet": 1.5, "Job": 1.2, "ReplicaSet": 1.0}
_SCALABLE = ("Deployment", "StatefulSet", "ReplicaSet")
_STRATEGIES: tuple[Json, ...] = (
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "34%"}},
    {"type": "Recreate"},
)
_DAEMON_STRATEGIES: tuple[Json, ...] = (
    {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "67%"}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
    {"type": "OnDelete"},
)
_STEPS = {"new": 5.0, "change": 3.0, "scale": 3.0, "drain": 3.0, "taint": 1.5, "deleteNode": 1.0, "cordon": 1.0} | {
    "delete": 0.7,
    "label": 0.7,
    "loseNode": 3.0,
}
#: Pods leave a node that is lost after so many seconds, in stories where one may be lost.
_BRIEFLY = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    for key in ("not-ready", "unreachable")
]
#: Seconds without a change after which a story is over: pods of a Job come back 40 after three of them have failed, and
#: pods of a node that is gone are deleted within 60.
_QUIET, _QUIET_OF_JOBS, _LEAST_OF_LOST_NODES = 7, 45, 75


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    asked = parser.parse_args()
    for number in range(asked.seed, asked.seed + asked.count):
        folder = asked.folder / f"random-{number}"
        folder.mkdir(parents=True)
        cluster, action = story(Dice(f"stories/{number}"))
        (folder / "cluster.yaml").write_text(yaml.safe_dump_all(cluster))
        (folder / "action.yaml").write_text(yaml.safe_dump(action, sort_keys=False))


def story(dice: Dice) -> tuple[list[Json], Json]:
    """The objects that are there at first, and the action: setup, steps, and how long to wait."""
    nodes = [
        _node(name, str(dice.randint(2, 4)), f"z{place % 2}") for place, name in enumerate("abcd"[: dice.randint(2, 4)])
    ]
    classes = [
        _object("PriorityClass", name, value=value) for name, value in (("low", 100), ("mid", 500), ("high", 1000))
    ]
    briefly = dice.chance(0.25)
    workloads = [_workload(dice, name, briefly=briefly) for name in ("web", "db", "etl")[: dice.randint(1, 3)]]
    setup: list[Json] = []
    for workload in workloads:
        setup += [{"apply": [workload]}, {"settle": {"quiet": 3}}]
    budgets = [_budget(dice, each) for each in workloads if each["kind"] in _SCALABLE and dice.chance(0.35)]
    if budgets:
        setup.append({"apply": budgets})
    if dice.chance(0.12):
        setup.append({"apply": [_object("ResourceQuota", "few", spec={"hard": {"pods": str(dice.randint(3, 9))}})]})
    steps: list[Json] = []
    for number in range(dice.pick(1, 1, 1, 2)):
        steps += [*_step(dice, workloads, nodes, number, briefly=briefly), {"settle": {"quiet": 4}}]
    return [*classes, *nodes], {"setup": setup, "steps": steps[:-1], "settle": _patience(workloads, steps)}


def _patience(workloads: list[Json], steps: list[Json]) -> Json:
    wait: Json = {"quiet": _QUIET_OF_JOBS if any(each["kind"] == "Job" for each in workloads) else _QUIET}
    is_lost = any(what in each for each in steps for what in ("deleteNode", "loseNode"))
    return wait | ({"atLeast": _LEAST_OF_LOST_NODES} if is_lost else {})


def _object(kind: str, name: str, **fields: Any) -> Json:
    groups = {"Job": "batch/v1", "PriorityClass": "scheduling.k8s.io/v1", "PodDisruptionBudget": "policy/v1"}
    version = groups.get(kind, "apps/v1" if kind in _KINDS else "v1")
    space = {} if kind in ("Node", "PriorityClass") else {"namespace": "default"}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **space}, **fields}


def _node(name: str, cpu: str, zone: str) -> Json:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": zone}
    room = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    made = _object("Node", name, spec={}, status={"capacity": room, "allocatable": room, "conditions": conditions})
    made["metadata"]["labels"] = labels
    return made


def _workload(dice: Dice, name: str, *, briefly: bool) -> Json:
    kind = dice.weighted(_KINDS)
    selector, replicas = {"matchLabels": {"app": name}}, dice.randint(1, 4)
    cpu = dice.one(_DAEMON_CPUS if kind == "DaemonSet" else _CPUS)
    spec: Json = {"template": _template(dice, name, cpu, briefly=briefly)}
    if kind == "Job":
        spec["template"]["spec"]["restartPolicy"] = dice.pick("Never", "OnFailure")
        return _object(kind, name, spec=spec | _of_job(dice, spec["template"], replicas))
    spec["selector"] = selector
    if kind != "DaemonSet":
        spec["replicas"] = replicas
    if kind == "Deployment":
        spec["strategy"] = dice.one(_STRATEGIES)
    if kind == "StatefulSet":
        spec |= {"serviceName": name, "podManagementPolicy": dice.pick("OrderedReady", "Parallel")} | _of_set(dice)
    if kind == "DaemonSet":
        spec["updateStrategy"] = dice.one(_DAEMON_STRATEGIES)
    if kind != "ReplicaSet" and dice.chance(0.15):
        spec["minReadySeconds"] = 3
    return _object(kind, name, spec=spec)


def _of_job(dice: Dice, template: Json, replicas: int) -> Json:
    replicas = min(replicas, 3)
    spec: Json = {"parallelism": replicas, "completions": replicas, "backoffLimit": dice.pick(0, 4, 4)}
    if dice.chance(0.4):
        spec["completionMode"] = "Indexed"
    if template["spec"]["restartPolicy"] == "Never" and dice.chance(0.3):
        rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
        return spec | {"podFailurePolicy": {"rules": [rule]}}
    return spec | ({"podReplacementPolicy": "Failed"} if dice.chance(0.25) else {})


def _of_set(dice: Dice) -> Json:
    spec: Json = {"ordinals": {"start": 3}} if dice.chance(0.2) else {}
    if dice.chance(0.25):
        spec["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": dice.pick(1, 2, 4)}}
    elif dice.chance(0.15):
        spec["updateStrategy"] = {"type": "OnDelete"}
    return spec


def _template(dice: Dice, name: str, cpu: str, *, briefly: bool) -> Json:
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}}}
    spec: Json = {"containers": [container], "terminationGracePeriodSeconds": 30}
    if dice.chance(0.75):
        spec["priorityClassName"] = dice.pick("low", "mid", "high")
    selector = {"matchLabels": {"app": name}}
    match dice.weighted({"": 6.0, "apart": 1.2, "spread": 1.2, "never": 0.8, "tolerates": 0.8}):
        case "apart":
            term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        case "spread":
            key = dice.pick("kubernetes.io/hostname", "topology.kubernetes.io/zone")
            constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [constraint | {"labelSelector": selector}]
        case "never":
            spec["preemptionPolicy"] = "Never"
        case "tolerates":
            effect = dice.pick("NoSchedule", "NoExecute")
            toleration = {"key": "dedicated", "operator": "Exists", "effect": effect}
            is_brief = effect == "NoExecute" and dice.chance(0.4)
            spec["tolerations"] = [toleration | ({"tolerationSeconds": 4} if is_brief else {})]
    if briefly:
        spec["tolerations"] = [*spec.get("tolerations", []), *_BRIEFLY]
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def _budget(dice: Dice, workload: Json) -> Json:
    name = workload["metadata"]["name"]
    allowed = dice.pick({"minAvailable": dice.pick(1, 2, "50%")}, {"maxUnavailable": dice.pick(0, 1, 2, "50%")})
    spec: Json = allowed | {"selector": {"matchLabels": {"app": name}}}
    if dice.chance(0.3):
        spec["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    return _object("PodDisruptionBudget", name, spec=spec)


def _step(dice: Dice, workloads: list[Json], nodes: list[Json], number: int, *, briefly: bool) -> list[Json]:
    workload, node = dice.one(workloads), dice.one(nodes)["metadata"]["name"]
    scaled = {"kind": workload["kind"].lower(), "name": workload["metadata"]["name"], "replicas": dice.randint(0, 6)}
    what = dice.weighted(_STEPS)
    match what:
        case "drain":
            return [{what: {"node": node, "timeout": 20}}]
        case "taint":
            return [{what: {"node": node, "taint": f"dedicated=x:{dice.pick('NoSchedule', 'NoExecute', 'NoExecute')}"}}]
        case "deleteNode":
            return [{what: node}]
        case "loseNode" if briefly:
            return [{what: node}]
        case "label":
            return [{what: {"node": node, "labels": {"topology.kubernetes.io/zone": dice.pick("z0", "z1", "z2")}}}]
        case "delete":
            return [{what: {"kind": workload["kind"].lower(), "name": workload["metadata"]["name"]}}]
        case "cordon":
            return [{what: node}, *([{"scale": scaled}] if workload["kind"] in _SCALABLE else [])]
        case "scale" if workload["kind"] in _SCALABLE:
            return [{what: scaled}]
        case "change" if workload["kind"] in ("Deployment", "StatefulSet", "DaemonSet"):
            changed: Json = json.loads(json.dumps(workload))
            container = changed["spec"]["template"]["spec"]["containers"][0]
            container["resources"]["requests"]["cpu"] = dice.one(_CPUS)
            if dice.chance(0.3) and "replicas" in changed["spec"]:
                changed["spec"]["replicas"] = dice.randint(1, 5)
            return [{"apply": [changed]}]
    new = _workload(dice, f"new{number}", briefly=briefly)
    if dice.chance(0.7):
        new["spec"]["template"]["spec"]["priorityClassName"] = "high"
    return [{"apply": [new]}]


if __name__ == "__main__":
    main()
