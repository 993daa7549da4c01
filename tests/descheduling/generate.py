"""Random cases of descheduling: clusters full of what strategies look for, and policies that look for it."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.objects import manifest

Json = dict[str, Any]

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_NAMESPACES = ("shop", "shop", "pay")
_APPS = ("web", "api", "cart")
_ZONES = ("a", "b", "c")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _time(random: Random, most: int) -> str:
    return (NOW - timedelta(seconds=random.randrange(most))).strftime("%Y-%m-%dT%H:%M:%SZ")


def generate(seed: object, family: str) -> Json:
    """A case: `now`, `policy` (text), `cluster` (objects)."""
    made = _Case(Random(f"{seed}"))
    return {
        "now": NOW.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "policy": json.dumps(made.policy(family)),
        "cluster": made.cluster(),
    }


class _Case:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.nodes = [f"n{index}" for index in range(random.randint(2, 6))]

    def some(self, chance: float) -> bool:
        return self.random.random() < chance

    # --- the cluster ---------------------------------------------------------------------------------

    def cluster(self) -> list[Json]:
        random = self.random
        pods = [self.pod(index) for index in range(random.randint(4, 16) * len(self.nodes) // 2)]
        metrics = [*map(self.node_metrics, self.nodes), *map(self.pod_metrics, pods)]
        namespaces = [
            manifest("Namespace", {"name": name, "labels": {"tier": random.choice("xy")}})
            for name in dict.fromkeys(_NAMESPACES)
        ]
        budgets = [self.budget(index) for index in range(random.randrange(4))]
        return [*namespaces, *map(self.node, self.nodes), *pods, *budgets, *filter(None, metrics)]

    def node(self, name: str) -> Json:
        random = self.random
        labels = {"kubernetes.io/hostname": name}
        if self.some(0.9):
            labels["zone"] = random.choice(_ZONES)
        if self.some(0.5):
            labels["disk"] = random.choice(("ssd", "hdd"))
        taints = [
            {"key": random.choice("kl"), "value": random.choice(("", "1", "2")), "effect": effect}
            for effect in ("NoSchedule", "PreferNoSchedule", "NoExecute")
            if self.some(0.07)
        ]
        conditions = [{"type": "Ready", "status": "False" if self.some(0.05) else "True"}] if self.some(0.9) else []
        amounts = {"cpu": random.choice(("2", "4")), "memory": random.choice(("4Gi", "8Gi")), "pods": "20"}
        return manifest(
            "Node",
            {"name": name, "labels": labels},
            spec={"unschedulable": self.some(0.1), "taints": taints},
            status={"allocatable": amounts, "capacity": amounts, "conditions": conditions},
        )

    def pod(self, index: int) -> Json:
        random = self.random
        app, namespace = random.choice(_APPS), random.choice(_NAMESPACES)
        phase = random.choices(("Running", "Pending", "Failed", "Succeeded"), (14, 1, 2, 1))[0]
        meta: Json = {
            "name": f"{app}-{index}",
            "namespace": namespace,
            "uid": f"uid-{index}",
            "labels": {"app": app} | ({"rev": random.choice("12")} if self.some(0.3) else {}),
            "creationTimestamp": _time(random, 200_000),
            "ownerReferences": self.owners(app, namespace),
        }
        for key, chance in (("evict", 0.03), ("prefer-no-eviction", 0.08)):
            if self.some(chance):
                meta.setdefault("annotations", {})[f"descheduler.alpha.kubernetes.io/{key}"] = ""
        for key, value, chance in (("mirror", "x", 0.03), ("source", random.choice(("api", "file")), 0.05)):
            if self.some(chance):
                meta.setdefault("annotations", {})[f"kubernetes.io/config.{key}"] = value
        if self.some(0.04):
            meta["deletionTimestamp"] = _time(random, 100)
            meta["finalizers"] = ["example.com/wait"]
        return manifest("Pod", meta, spec=self.spec(app), status=self.status(phase))

    def owners(self, app: str, namespace: str) -> list[Json]:
        kinds = self.random.choices(
            ((), ("ReplicaSet",), ("StatefulSet",), ("DaemonSet",), ("ReplicaSet", "Thing")), (1, 20, 2, 1, 1)
        )
        return [
            {
                "apiVersion": "apps/v1",
                "kind": kind,
                "name": app,
                "uid": f"{kind}-{namespace}-{app}",
                "controller": place == 0,
            }
            for place, kind in enumerate(kinds[0])
        ]

    def spec(self, app: str) -> Json:
        random = self.random
        requests: Json = {}
        if self.some(0.85):
            requests["cpu"] = random.choice(("50m", "100m", "250m", "500m"))
        if self.some(0.7):
            requests["memory"] = random.choice(("64Mi", "128Mi", "512Mi"))
        resources: Json = {"requests": requests} if requests else {}
        if requests and self.some(0.2):
            resources["limits"] = requests
        spec: Json = {
            "nodeName": random.choice(self.nodes),
            "containers": [{"name": "main", "image": f"{app}:{random.choice('1112')}", "resources": resources}],
            "tolerations": self.tolerations(),
        }
        spec["priority"] = random.choice((0, 0, 0, 0, 100, 1000, 2_000_000_000))
        if self.some(0.15):
            spec["nodeSelector"] = {"disk": random.choice(("ssd", "hdd"))}
        if self.some(0.1):
            volume: dict[str, Any] = random.choice(
                ({"emptyDir": {}}, {"hostPath": {"path": "/x"}}, {"configMap": {"name": "x"}})
            )
            spec["volumes"] = [{"name": "v", **volume}]
        affinity = self.affinity(app)
        if affinity:
            spec["affinity"] = affinity
        if self.some(0.4):
            spec["topologySpreadConstraints"] = [self.constraint(app)]
        return spec

    def tolerations(self) -> list[Json]:
        random = self.random
        found: list[Json] = []
        if self.some(0.2):
            found.append({"key": random.choice("kl"), "operator": "Exists"})
        if self.some(0.15):
            operator = random.choice(("Equal", "Lt", "Gt"))
            found.append({"key": "k", "operator": operator, "value": "1", "effect": "NoSchedule"})
        if self.some(0.05):
            found.append({"operator": "Exists"})
        return found

    def affinity(self, app: str) -> Json:
        random = self.random
        found: Json = {}
        term = {"matchExpressions": [{"key": "disk", "operator": random.choice(("In", "NotIn")), "values": ["ssd"]}]}
        if self.some(0.2):
            found["nodeAffinity"] = {_REQUIRED: {"nodeSelectorTerms": [term]}}
        elif self.some(0.2):
            weight = random.randint(1, 3)
            found["nodeAffinity"] = {_PREFERRED: [{"weight": weight, "preference": term}]}
        if self.some(0.25):
            anti: Json = {
                "labelSelector": {"matchLabels": {"app": random.choice((app, "web"))}},
                "topologyKey": random.choice(("zone", "kubernetes.io/hostname")),
            }
            if self.some(0.2):
                anti["namespaces"] = ["shop", "pay"]
            found["podAntiAffinity"] = {_REQUIRED: [anti]}
        return found

    def constraint(self, app: str) -> Json:
        random = self.random
        found: Json = {
            "maxSkew": random.choice((1, 1, 2)),
            "topologyKey": random.choice(("zone", "zone", "kubernetes.io/hostname")),
            "whenUnsatisfiable": random.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchLabels": {"app": app}},
        }
        if self.some(0.2):
            found["matchLabelKeys"] = ["rev"]
        for name, chance in (("nodeAffinityPolicy", 0.2), ("nodeTaintsPolicy", 0.2)):
            if self.some(chance):
                found[name] = random.choice(("Honor", "Ignore"))
        return found

    def status(self, phase: str) -> Json:
        random = self.random
        waiting = {"waiting": {"reason": random.choice(("CrashLoopBackOff", "ImagePullBackOff"))}}
        ended = {
            "terminated": {"reason": random.choice(("Error", "OOMKilled")), "exitCode": random.choice((0, 1, 137))}
        }
        state: Json = (
            ended if phase in ("Failed", "Succeeded") else random.choices(({"running": {}}, waiting), (6, 1))[0]
        )
        ready = phase == "Running" and self.some(0.85)
        found: Json = {
            "phase": phase,
            "conditions": [
                {"type": "Ready", "status": str(ready), "lastTransitionTime": _time(random, 100_000)},
            ],
            "containerStatuses": [
                {
                    "name": "main",
                    "image": "x",
                    "imageID": "",
                    "ready": ready,
                    "restartCount": random.choice((0, 0, 3, 40, 200)),
                    "state": state,
                }
            ],
        }
        if self.some(0.9):
            found["startTime"] = _time(random, 200_000)
        if phase == "Failed" and self.some(0.3):
            found["reason"] = random.choice(("Evicted", "NodeAffinity"))
        return found

    def budget(self, index: int) -> Json:
        random = self.random
        allowed = random.choice((-1, 0, 0, 1, 1, 2, 5))
        spec: Json = {
            "selector": random.choice(({"matchLabels": {"app": random.choice(_APPS)}}, {})),
            "minAvailable": 1,
        }
        if self.some(0.3):
            spec["unhealthyPodEvictionPolicy"] = random.choice(("AlwaysAllow", "IfHealthyBudget"))
        healthy = random.randint(0, 3)
        status = {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": random.randint(0, 3),
            "expectedPods": 3,
            "observedGeneration": random.choice((1, 1, 1, 0)),
        }
        return manifest(
            "PodDisruptionBudget",
            {"name": f"b{index}", "namespace": random.choice(_NAMESPACES), "generation": 1},
            spec=spec,
            status=status,
        )

    def node_metrics(self, name: str) -> Json | None:
        if self.some(0.02):
            return None
        usage = {"cpu": f"{self.random.randrange(4_000_000_000)}n", "memory": f"{self.random.randrange(8000)}Mi"}
        return manifest("NodeMetrics", {"name": name}, timestamp="2026-11-20T11:59:00Z", window="20s", usage=usage)

    def pod_metrics(self, pod: Json) -> Json | None:
        if self.some(0.1):
            return None
        usage = {"cpu": f"{self.random.randrange(900_000_000)}n", "memory": f"{self.random.randrange(900)}Mi"}
        return manifest(
            "PodMetrics",
            {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]},
            timestamp="2026-11-20T11:59:00Z",
            window="20s",
            containers=[{"name": "main", "usage": usage}],
        )

    # --- the policy ----------------------------------------------------------------------------------

    def policy(self, family: str) -> Json:
        random = self.random
        strategies = [family] if family in ARGUMENTS else random.sample(sorted(ARGUMENTS), random.randint(2, 4))
        profile: Json = {
            "name": "default",
            "pluginConfig": [{"name": name, "args": ARGUMENTS[name](self)} for name in strategies],
            "plugins": {
                "deschedule": {"enabled": [name for name in strategies if name not in _BALANCE]},
                "balance": {"enabled": [name for name in strategies if name in _BALANCE]},
            },
        }
        if self.some(0.6):
            profile["pluginConfig"].append({"name": "DefaultEvictor", "args": self.evictor()})
        made: Json = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [profile]}
        for field, chance in (("PerNode", 0.25), ("PerNamespace", 0.2), ("Total", 0.15)):
            if self.some(chance):
                made[f"maxNoOfPodsToEvict{field}"] = random.randint(0, 3)
        if self.some(0.1):
            made["nodeSelector"] = random.choice(("zone", "zone in (a,b)", "zone!=c", "disk=ssd"))
        if self.some(0.7):
            made["metricsProviders"] = [{"source": "KubernetesMetrics"}]
        return made

    def evictor(self) -> Json:
        random = self.random
        found: Json = {}
        if self.some(0.4):
            found["nodeFit"] = True
        if self.some(0.2):
            found["minReplicas"] = random.randint(1, 4)
        if self.some(0.2):
            found["minPodAge"] = random.choice(("1h", "24h"))
        if self.some(0.2):
            found["priorityThreshold"] = {"value": random.choice((100, 1000))}
        if self.some(0.2):
            found["noEvictionPolicy"] = random.choice(("Preferred", "Mandatory"))
        if self.some(0.15):
            found["labelSelector"] = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}
        if self.some(0.15):
            found["namespaceLabelSelector"] = {"matchLabels": {"tier": "x"}}
        if self.some(0.3):
            off = ["PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods"]
            found["podProtections"] = {"defaultDisabled": random.sample(off, random.randint(1, 3))}
        elif self.some(0.3):
            found[random.choice(("evictLocalStoragePods", "evictFailedBarePods", "evictDaemonSetPods"))] = True
        return found

    def chosen(self) -> Json:
        found: Json = {}
        if self.some(0.15):
            found["namespaces"] = {self.random.choice(("include", "exclude")): [self.random.choice(_NAMESPACES)]}
        if self.some(0.1):
            found["labelSelector"] = {"matchLabels": {"app": self.random.choice(_APPS)}}
        return found

    def thresholds(self) -> tuple[Json, Json]:
        names = self.random.sample(("cpu", "memory", "pods"), self.random.randint(1, 3))
        low = {name: self.random.choice((10, 20, 30, 40)) for name in names}
        return low, {name: low[name] + self.random.choice((5, 15, 30)) for name in names}

    def low(self) -> Json:
        low, high = self.thresholds()
        found: Json = {"thresholds": low, "targetThresholds": high}
        if self.some(0.2):
            found["useDeviationThresholds"] = True
        if self.some(0.3):
            found["metricsUtilization"] = {"source": "KubernetesMetrics"}
        if self.some(0.15):
            found["evictionLimits"] = {"node": self.random.randint(1, 2)}
        if self.some(0.15):
            found["evictableNamespaces"] = {"exclude": [self.random.choice(_NAMESPACES)]}
        return found

    def high(self) -> Json:
        found: Json = {"thresholds": {name: percent + 15 for name, percent in self.thresholds()[0].items()}}
        if self.some(0.2):
            found["evictionModes"] = ["OnlyThresholdingResources"]
        if self.some(0.15):
            found["numberOfNodes"] = 1
        return found

    def life_time(self) -> Json:
        random = self.random
        found: Json = self.chosen() | {"maxPodLifeTimeSeconds": random.choice((3600, 86_400))}
        if self.some(0.3):
            found["states"] = random.sample(("Running", "Failed", "CrashLoopBackOff", "OOMKilled", "Evicted"), 2)
        if self.some(0.2):
            least = {"minTimeSinceLastTransitionSeconds": 3600} if self.some(0.5) else {}
            found["conditions"] = [{"type": "Ready", "status": random.choice(("True", "False")), **least}]
        if self.some(0.15):
            found["ownerKinds"] = {random.choice(("include", "exclude")): ["ReplicaSet"]}
        if self.some(0.1):
            found["exitCodes"] = [1, 137]
        return found

    def failed(self) -> Json:
        found: Json = self.chosen()
        if self.some(0.5):
            found["minPodLifetimeSeconds"] = self.random.choice((0, 50_000))
        if self.some(0.3):
            found["reasons"] = self.random.sample(("Error", "OOMKilled", "Evicted"), 2)
        if self.some(0.2):
            found["excludeOwnerKinds"] = ["StatefulSet"]
        if self.some(0.2):
            found["exitCodes"] = [137]
        return found

    def taints(self) -> Json:
        found: Json = self.chosen()
        if self.some(0.4):
            found["includePreferNoSchedule"] = True
        if self.some(0.3):
            found[self.random.choice(("includedTaints", "excludedTaints"))] = [self.random.choice(("k", "k=1", "l"))]
        return found

    def spread(self) -> Json:
        found: Json = self.chosen()
        if self.some(0.4):
            found["constraints"] = ["DoNotSchedule", "ScheduleAnyway"]
        if self.some(0.3):
            found["topologyBalanceNodeFit"] = self.some(0.5)
        return found


_BALANCE = frozenset(
    {"HighNodeUtilization", "LowNodeUtilization", "RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"}
)
ARGUMENTS: Mapping[str, Callable[[_Case], Json]] = {
    "HighNodeUtilization": _Case.high,
    "LowNodeUtilization": _Case.low,
    "PodLifeTime": _Case.life_time,
    "RemoveDuplicates": lambda case: {"excludeOwnerKinds": ["Thing"]} if case.some(0.1) else {},
    "RemoveFailedPods": _Case.failed,
    "RemovePodsHavingTooManyRestarts": lambda case: (
        case.chosen()
        | {"podRestartThreshold": case.random.choice((1, 40))}
        | ({"states": ["CrashLoopBackOff"]} if case.some(0.2) else {})
    ),
    "RemovePodsViolatingInterPodAntiAffinity": _Case.chosen,
    "RemovePodsViolatingNodeAffinity": lambda case: (
        case.chosen() | {"nodeAffinityType": case.random.sample((_REQUIRED, _PREFERRED), case.random.randint(1, 2))}
    ),
    "RemovePodsViolatingNodeTaints": _Case.taints,
    "RemovePodsViolatingTopologySpreadConstraint": _Case.spread,
}
FAMILIES = (*ARGUMENTS, "mixed")
