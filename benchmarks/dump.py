"""Seeded dumps of large clusters, with everything that `kubectl get -o json` prints and scheduling does not read."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

Json = dict[str, Any]

ZONES = ("eu-1a", "eu-1b", "eu-1c")
#: Text that YAML reads as text without quotes.
_PLAIN = re.compile(r"[A-Za-z/][-\w./]*(:[-\w./]+)*")
#: ... unless it is one of these.
_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
TIME = "2026-11-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}Z"
#: When the kubelets reported last: after everything else.
HEARTBEAT = TIME.format(day=29, hour=12, minute=0, second=0)


@dataclass(frozen=True)
class Shape:
    """What the cluster looks like."""

    nodes: int = 5_000
    pods_per_node: int = 22
    budgets: int = 4_000
    #: Share of pods with preferred anti-affinity, with required anti-affinity, with a spread constraint.
    preferred_anti_affinity: float = 0.2
    required_anti_affinity: float = 0.02
    spread: float = 0.15
    #: Milli-CPU that stay free on every node.
    free_cpu: int = 300
    #: Whether the pods' ReplicaSets are there, and all pods of one are alike.
    owned: bool = False
    seed: int = 1

    @property
    def apps(self) -> int:
        """How many workloads the pods belong to; every budget guards one."""
        return max(self.budgets, 1)


class Generator:
    """One cluster."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.random = random.Random(shape.seed)

    def objects(self) -> Iterator[Json]:
        """All objects, in the order in which kubectl prints them: by kind, namespace and name."""
        shape = self.shape
        used = [0] * shape.nodes
        pods = [self._pod(number, used) for number in range(shape.nodes * shape.pods_per_node)]
        for number in range(shape.nodes):
            yield self._node(number, used[number] + shape.free_cpu)
        for value, name in ((0, "low"), (100, "medium"), (1_000_000, "high")):
            yield {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
        yield from sorted(pods, key=_place)
        if shape.owned:
            yield from sorted((_replica_set(pods, app, shape) for app in range(shape.apps)), key=_place)
        yield from sorted(map(self._budget, range(shape.budgets)), key=_place)

    def _time(self) -> str:
        """Of 20 days any second: hardly two pods agree."""
        moment = self.random.randrange(20 * 86_400)
        return TIME.format(
            day=1 + moment // 86_400, hour=moment // 3600 % 24, minute=moment // 60 % 60, second=moment % 60
        )

    def _node(self, number: int, cpu: int) -> Json:
        name = f"node-{number:05d}"
        resources = {"cpu": f"{cpu}m", "ephemeral-storage": "94492560486", "memory": "64Gi", "pods": "110"}
        images = [
            {"names": [f"registry.example.com/team/app-{(number + step) % 400}:1.0"], "sizeBytes": 40_000_000 + step}
            for step in range(10)
        ]
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "uid": f"node-{number}",
                "creationTimestamp": "2026-11-01T00:00:00Z",
                "labels": {
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": name,
                    "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
                    "topology.kubernetes.io/region": "eu-1",
                    "pool": f"pool-{number % 10}",
                },
            },
            "spec": {"podCIDR": "10.0.0.0/24"},
            "status": {
                "allocatable": resources,
                "capacity": resources,
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "reason": "KubeletReady",
                        "lastHeartbeatTime": HEARTBEAT,
                        "lastTransitionTime": TIME.format(day=1, hour=8, minute=0, second=0),
                    }
                ],
                "nodeInfo": {"kubeletVersion": "v1.36.2", "operatingSystem": "linux", "architecture": "amd64"},
                "images": images,
            },
        }

    def _pod(self, number: int, used: list[int]) -> Json:
        shape = self.shape
        app = number % shape.apps
        rng = random.Random(app) if shape.owned else self.random
        pick = rng.random()
        namespace, name = f"team-{app % 40}", f"app-{app}-7c9f8d6b5-{number:06x}"
        cpu, memory = rng.choice((250, 500, 750)), rng.choice(("256Mi", "512Mi", "1Gi"))
        node = number % shape.nodes
        used[node] += cpu
        resources = {"limits": {"memory": memory}, "requests": {"cpu": f"{cpu}m", "memory": memory}}
        labels = {"app": f"app-{app}", "pod-template-hash": "7c9f8d6b5", "team": namespace}
        level = (app if shape.owned else number) % 2
        spec = _spec(app, resources) | {
            "nodeName": f"node-{node:05d}",
            "priority": level * 100,
            "priorityClassName": ("low", "medium")[level],
        }
        selector = {"matchLabels": {"app": f"app-{app}"}}
        term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
        if pick < shape.preferred_anti_affinity:
            weighted = [{"weight": 100, "podAffinityTerm": term}]
            spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}
        elif pick < shape.preferred_anti_affinity + shape.required_anti_affinity:
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if rng.random() < shape.spread:
            spec["topologySpreadConstraints"] = [
                {
                    "labelSelector": selector,
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                }
            ]
        created = self._time()
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "annotations": {"prometheus.io/scrape": "true"},
                "creationTimestamp": created,
                "generateName": f"app-{app}-7c9f8d6b5-",
                "labels": labels,
                "name": name,
                "namespace": namespace,
                "ownerReferences": [_owner(app)],
                "resourceVersion": str(1000 + number),
                "uid": f"{number:08x}-135a-463e-a895-d411e37b5985",
            },
            "spec": spec,
            "status": _status(number, app, resources, self._time()),
        }

    def _budget(self, number: int) -> Json:
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"app-{number}", "namespace": f"team-{number % 40}", "uid": f"budget-{number}"},
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": f"app-{number}"}}},
            "status": {
                "currentHealthy": 27,
                "desiredHealthy": 14,
                "disruptionsAllowed": number % 4,
                "expectedPods": 27,
                "observedGeneration": 1,
            },
        }


def _replica_set(pods: list[Json], app: int, shape: Shape) -> Json:
    """What makes the pods of a workload, every so manyth of all."""
    replicas = pods[app :: shape.apps]
    pod = replicas[0]
    template = {
        "metadata": {"annotations": pod["metadata"]["annotations"], "labels": pod["metadata"]["labels"]},
        "spec": {key: value for key, value in pod["spec"].items() if key not in ("nodeName", "priority")},
    }
    owner = _owner(app)
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": owner["name"], "namespace": pod["metadata"]["namespace"], "uid": owner["uid"]},
        "spec": {
            "replicas": len(replicas),
            "selector": {"matchLabels": {"app": f"app-{app}", "pod-template-hash": "7c9f8d6b5"}},
            "template": template,
        },
        "status": {"replicas": len(replicas), "readyReplicas": len(replicas), "observedGeneration": 0},
    }


def _place(obj: Json) -> tuple[str, str]:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def _owner(app: int) -> Json:
    return {
        "apiVersion": "apps/v1",
        "blockOwnerDeletion": True,
        "controller": True,
        "kind": "ReplicaSet",
        "name": f"app-{app}-7c9f8d6b5",
        "uid": f"{app:08x}-0000-463e-a895-d411e37b5985",
    }


def _spec(app: int, resources: Json) -> Json:
    container = {
        "env": [{"name": "LOG", "value": "info"}, {"name": "TEAM", "value": f"team-{app % 40}"}],
        "image": f"registry.example.com/team/app-{app % 400}:1.0",
        "imagePullPolicy": "IfNotPresent",
        "name": "main",
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "resources": resources,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access", "readOnly": True}
        ],
    }
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [{"fieldRef": {"fieldPath": "metadata.namespace"}, "path": "namespace"}]}},
    ]
    return {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        ],
        "volumes": [{"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": sources}}],
    }


def _status(number: int, app: int, resources: Json, time: str) -> Json:
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "conditions": [
            {"lastProbeTime": None, "lastTransitionTime": time, "status": "True", "type": kind} for kind in kinds
        ],
        "containerStatuses": [
            {
                "allocatedResources": resources["requests"],
                "containerID": f"containerd://{number:064x}",
                "image": f"registry.example.com/team/app-{app % 400}:1.0",
                "imageID": f"registry.example.com/team/app@sha256:{app:064x}",
                "lastState": {},
                "name": "main",
                "ready": True,
                "resources": resources,
                "restartCount": 0,
                "started": True,
                "state": {"running": {"startedAt": time}},
            }
        ],
        "hostIP": "10.0.0.1",
        "phase": "Running",
        "podIP": f"10.{number % 256}.1.1",
        "podIPs": [{"ip": f"10.{number % 256}.1.1"}],
        "qosClass": "Burstable",
        "startTime": time,
    }


def write_json(path: Path, shape: Shape) -> None:
    """A `v1 List` as the API server prints it: compact."""
    with path.open("w") as file:
        file.write('{"apiVersion":"v1","kind":"List","items":[')
        for number, item in enumerate(Generator(shape).objects()):
            file.write("," if number else "")
            file.write(msgspec.json.encode(item).decode())
        file.write("]}")


def write_yaml(path: Path, shape: Shape) -> None:
    """The same as YAML, as `kubectl get -o yaml` prints it."""
    with path.open("w") as file:
        file.write("apiVersion: v1\nitems:\n")
        for item in Generator(shape).objects():
            file.write("".join(_entry(item, "")))
        file.write("kind: List\n")


def _block(value: Json, indent: str) -> Iterator[str]:
    for key, item in sorted(value.items()):
        if isinstance(item, dict) and item:
            yield f"{indent}{key}:\n"
            yield from _block(item, f"{indent}  ")
        elif isinstance(item, list) and item:
            yield f"{indent}{key}:\n"
            for entry in item:
                yield from _entry(entry, indent)
        else:
            yield f"{indent}{key}: {_scalar(item)}\n"


def _entry(value: object, indent: str) -> Iterator[str]:
    """An entry of a list: its first line begins with a dash."""
    if not isinstance(value, dict):
        yield f"{indent}- {_scalar(value)}\n"
        return
    text = "".join(_block(value, f"{indent}  "))
    yield f"{indent}- {text.removeprefix(f'{indent}  ')}"


def _scalar(value: object) -> str:
    """As Go's printer writes it: text is quoted where it would be read as something else."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)
