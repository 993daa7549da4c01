"""Random clusters for Karpenter: pools, nodes on their way and standing, pods of all kinds."""

import random
from collections.abc import Callable, Mapping
from typing import Any

from tests.karpenter.objects import Json, condition
from tests.objects import manifest

ZONES = ("eu-1a", "eu-1b", "eu-1c")
ZONE, HOST, CAPACITY = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "karpenter.sh/capacity-type"
TYPE, ARCH, CPU, FAMILY = (
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "example.com/cpu",
    "example.com/family",
)
APPS = ("web", "api", "db")
_POLICIES = ("WhenEmptyOrUnderutilized", "WhenEmptyOrUnderutilized", "WhenEmpty", "Balanced")
_OLD = "2026-11-19T00:00:00Z"


class Chance:
    """A seeded source of choices."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def often(self, part: float) -> bool:
        """True with that probability."""
        return self.random.random() < part

    def some(self, among: tuple[Any, ...], most: int | None = None) -> list[Any]:
        """At least one of them, in order."""
        count = self.random.randint(1, most or len(among))
        chosen = self.random.sample(range(len(among)), min(count, len(among)))
        return [among[index] for index in sorted(chosen)]


# --- what the cloud has ----------------------------------------------------------------------------------------------


def instance_types(chance: Chance, *, reserved: bool, sizes: tuple[int, ...] = (2, 4, 8, 16)) -> list[Json]:
    found = []
    for family, memory in (("m", 4), ("c", 2), ("r", 8)):
        for cpu in sizes:
            if chance.often(0.15):
                continue
            price = round(0.05 * cpu * (1 + memory / 8), 4)
            name = f"{family}.{cpu}"
            offerings: list[Json] = [
                {
                    "capacityType": kind,
                    "zone": zone,
                    "price": price if kind == "on-demand" else round(price * chance.random.uniform(0.3, 0.7), 4),
                    "available": chance.often(0.9),
                }
                for zone in ZONES
                for kind in ("on-demand", "spot")
                if chance.often(0.85)
            ]
            if reserved and chance.often(0.3):
                reservation = {"reservationID": f"r-{name}", "reservationCapacity": chance.pick((0, 1, 2))}
                offerings.append(
                    {"capacityType": "reserved", "zone": ZONES[0], "price": 0.001, "available": True, **reservation}
                )
            found.append(
                {
                    "name": name,
                    "capacity": {"cpu": str(cpu), "memory": f"{cpu * memory}Gi", "pods": str(10 * cpu)}
                    | ({"nvidia.com/gpu": "1"} if chance.often(0.1) else {}),
                    "overhead": {
                        "kubeReserved": {"cpu": "80m", "memory": "500Mi"},
                        "evictionThreshold": {"memory": "100Mi"},
                    },
                    "requirements": [
                        {"key": CPU, "operator": "In", "values": [str(cpu)]},
                        {"key": FAMILY, "operator": "In", "values": [family]},
                        {"key": ARCH, "operator": "In", "values": chance.pick((["amd64"], ["amd64"], ["arm64"]))},
                        {"key": "example.com/gpu-name", "operator": "DoesNotExist", "values": []},
                    ],
                    "offerings": offerings
                    or [{"capacityType": "spot", "zone": ZONES[0], "price": 0.1, "available": True}],
                }
            )
    return found


def _requirement(chance: Chance) -> Json:
    kind = chance.pick(("zone", "zone", "capacity", "capacity", "cpu", "family", "type", "own", "arch"))
    operator = chance.pick(("In", "In", "NotIn"))
    match kind:
        case "zone":
            return {"key": ZONE, "operator": operator, "values": chance.some(ZONES)}
        case "capacity":
            return {"key": CAPACITY, "operator": "In", "values": chance.some(("spot", "on-demand"))}
        case "cpu":
            return {
                "key": CPU,
                "operator": chance.pick(("Gt", "Lt", "Gte", "Lte")),
                "values": [chance.pick(("2", "4", "8"))],
            }
        case "family":
            return {"key": FAMILY, "operator": operator, "values": chance.some(("m", "c", "r"))}
        case "type":
            return {"key": TYPE, "operator": operator, "values": chance.some(("m.2", "m.4", "c.8", "r.16"))}
        case "arch":
            return {"key": ARCH, "operator": "In", "values": chance.some(("amd64", "arm64"))}
    return {"key": "team", "operator": chance.pick(("In", "NotIn", "Exists", "DoesNotExist")), "values": ["a", "b"]}


def _valid(requirement: Json) -> Json:
    if requirement["operator"] in ("Exists", "DoesNotExist"):
        return {"key": requirement["key"], "operator": requirement["operator"]}
    return requirement


def _taint(chance: Chance) -> Json:
    effect = chance.pick(("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"))
    return {"key": chance.pick(("dedicated", "gpu")), "effect": effect} | ({"value": "x"} if chance.often(0.7) else {})


def node_pool(chance: Chance, name: str, *, min_values: float = 0.15) -> Json:
    requirements = {}
    for _ in range(chance.pick((0, 0, 1, 1, 2))):
        each = _valid(_requirement(chance))
        requirements[each["key"], each["operator"]] = each
    if chance.often(min_values):
        least = {"operator": "Exists", "minValues": chance.pick((1, 2, 3) if min_values < 0.5 else (2, 3, 8, 20))}
        requirements["min", ""] = {"key": chance.pick((FAMILY, TYPE)), **least}
    template: Json = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        "requirements": list(requirements.values()),
        "expireAfter": "720h",
    }
    if chance.often(0.25):
        template["taints"] = [_taint(chance)]
    if chance.often(0.1):
        template["startupTaints"] = [{"key": "starting", "effect": "NoSchedule"}]
    disruption: Json = {
        "consolidateAfter": chance.pick(("0s", "0s", "30s", "10m", "Never") if chance.often(0.3) else ("0s",)),
        "consolidationPolicy": chance.pick(_POLICIES),
        "budgets": [_disruption_budget(chance) for _ in range(chance.pick((1, 1, 2)))],
    }
    spec: Json = {"template": {"metadata": {"labels": {"team": "a"} if chance.often(0.3) else {}}, "spec": template}}
    spec["disruption"] = disruption
    if chance.often(0.4):
        spec["weight"] = chance.pick((1, 10, 50))
    if chance.often(0.2):
        spec["limits"] = chance.pick(({"cpu": "10"}, {"cpu": "40"}, {"memory": "64Gi"}, {"nodes": "3"}))
    return manifest(
        "NodePool", {"name": name, "uid": f"pool-{name}"}, spec=spec, status={"conditions": [condition("Ready")]}
    )


def _disruption_budget(chance: Chance) -> Json:
    found: Json = {"nodes": chance.pick(("100%", "100%", "50%", "10%", "1", "0") if chance.often(0.5) else ("100%",))}
    if chance.often(0.2):
        found["reasons"] = chance.some(("Empty", "Drifted", "Underutilized"))
    if chance.often(0.15):
        found |= {"schedule": chance.pick(("0 11 * * *", "0 9 * * mon-fri", "@daily")), "duration": "2h"}
    return found


# --- what stands -------------------------------------------------------------------------------------------------------


def standing(chance: Chance, name: str, pools: list[Json], types: list[Json]) -> list[Json]:
    """A node with its NodeClaim, in any state; or a node that Karpenter did not make."""
    pool, type_ = chance.pick(pools), chance.pick(types)
    own = {row["key"]: row["values"][0] for row in type_["requirements"] if row["operator"] == "In"}
    offering = chance.pick(type_["offerings"])
    labels = own | {
        "kubernetes.io/os": "linux",
        ZONE: offering["zone"],
        CAPACITY: offering["capacityType"],
        TYPE: type_["name"],
        "karpenter.sh/nodepool": pool["metadata"]["name"],
        **pool["spec"]["template"]["metadata"]["labels"],
    }
    cpu = int(type_["capacity"]["cpu"])
    amounts = {"cpu": f"{cpu * 1000 - 80}m", "memory": f"{int(type_['capacity']['memory'][:-2]) * 1024 - 600}Mi"}
    capacity, free = type_["capacity"], type_["capacity"] | amounts
    state = chance.pick(("ready",) * 8 + ("starting", "launched", "going", "foreign"))
    conditions = [condition(each) for each in ("Launched", "Registered", "Initialized")]
    if chance.often(0.85):
        conditions.append(condition("Consolidatable"))
    if chance.often(0.08):
        conditions.append(condition("Drifted") | {"lastTransitionTime": f"2026-11-19T0{chance.pick((1, 2, 3))}:00:00Z"})
    spec = pool["spec"]["template"]["spec"]
    claim: Json = manifest(
        "NodeClaim",
        {"name": f"claim-{name}", "uid": f"claim-{name}", "labels": labels, "creationTimestamp": _OLD},
        spec={
            "nodeClassRef": spec["nodeClassRef"],
            "requirements": [{"key": "karpenter.sh/nodepool", "operator": "In", "values": [pool["metadata"]["name"]]}],
            "taints": spec.get("taints", []),
            "startupTaints": spec.get("startupTaints", []),
            "expireAfter": "720h",
        },
        status={
            "providerID": f"aws:///{name}",
            "nodeName": name,
            "capacity": capacity,
            "allocatable": free,
            "conditions": conditions,
        },
    )
    if chance.often(0.2):
        claim["spec"]["terminationGracePeriod"] = "1h"
    if chance.often(0.2):
        claim["status"]["lastPodEventTime"] = chance.pick(("2026-11-20T11:59:50Z", "2026-11-20T11:00:00Z"))
    node: Json = manifest(
        "Node",
        {"name": name, "uid": f"node-{name}", "labels": {**labels, HOST: name, "karpenter.sh/registered": "true"}},
        spec={"providerID": f"aws:///{name}", "taints": list(spec.get("taints", []))},
        status={"capacity": capacity, "allocatable": free, "conditions": [{"type": "Ready", "status": "True"}]},
    )
    if chance.often(0.07):
        node["status"]["conditions"][0]["status"] = "False"
    if chance.often(0.05):
        node["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    return _in_state(state, claim, node)


def _in_state(state: str, claim: Json, node: Json) -> list[Json]:
    labels = node["metadata"]["labels"]
    match state:
        case "launched":
            claim["status"]["conditions"] = [condition("Launched")]
            del claim["status"]["nodeName"]
            return [claim]
        case "starting":
            claim["status"]["conditions"] = [condition("Launched"), condition("Registered")]
            node["spec"]["taints"] += [
                {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
                *claim["spec"]["startupTaints"],
            ]
            node["status"] |= {"capacity": {}, "allocatable": {}}
            return [claim, node]
        case "foreign":
            for key in [key for key in labels if key.startswith("karpenter.sh/")]:
                del labels[key]
            return [node]
        case "going":
            claim["metadata"] |= {
                "deletionTimestamp": "2026-11-20T11:58:00Z",
                "finalizers": ["karpenter.sh/termination"],
            }
    labels["karpenter.sh/initialized"] = "true"
    return [claim, node]


# --- pods --------------------------------------------------------------------------------------------------------------


def _selector(app: str) -> Json:
    return {"matchLabels": {"app": app}}


def _pod_term(chance: Chance, app: str) -> Json:
    return {
        "labelSelector": _selector(chance.pick((app, app, *APPS))),
        "topologyKey": chance.pick((ZONE, HOST, HOST, CAPACITY)),
    }


def _affinities(chance: Chance, app: str) -> Json:
    found: Json = {}
    if chance.often(0.25):
        found["nodeAffinity"] = _node_affinity(chance)
    for side, part in (("podAffinity", 0.1), ("podAntiAffinity", 0.2)):
        if chance.often(part):
            if chance.often(0.6):
                found[side] = {"requiredDuringSchedulingIgnoredDuringExecution": [_pod_term(chance, app)]}
            else:
                rows = [
                    {"weight": chance.pick((1, 10, 50)), "podAffinityTerm": _pod_term(chance, app)}
                    for _ in range(chance.pick((1, 2)))
                ]
                found[side] = {"preferredDuringSchedulingIgnoredDuringExecution": rows}
    return found


def _node_affinity(chance: Chance) -> Json:
    def term() -> Json:
        return {"matchExpressions": [_valid(_requirement(chance)) for _ in range(chance.pick((1, 1, 2)))]}

    def expressible(found: Json) -> Json:
        """Without what only NodePools may ask."""
        for each in found["matchExpressions"]:
            each["operator"] = {"Gte": "Gt", "Lte": "Lt"}.get(each["operator"], each["operator"])
        return found

    found: Json = {}
    if chance.often(0.7):
        terms = [expressible(term()) for _ in range(chance.pick((1, 1, 2, 3)))]
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if not found or chance.often(0.4):
        rows = [{"weight": weight, "preference": expressible(term())} for weight in chance.some((1, 20, 80), 2)]
        found["preferredDuringSchedulingIgnoredDuringExecution"] = rows
    return found


def _spread(chance: Chance, app: str) -> Json:
    found: Json = {
        "maxSkew": chance.pick((1, 1, 2)),
        "topologyKey": chance.pick((ZONE, ZONE, HOST, CAPACITY)),
        "whenUnsatisfiable": chance.pick(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": _selector(app),
    }
    if chance.often(0.15) and found["whenUnsatisfiable"] == "DoNotSchedule":
        found["minDomains"] = chance.pick((2, 4))
    if chance.often(0.2):
        found["nodeTaintsPolicy"] = chance.pick(("Honor", "Ignore"))
    if chance.often(0.1):
        found["nodeAffinityPolicy"] = "Ignore"
    return found


def pod_spec(chance: Chance, app: str, *, plain: bool) -> Json:
    requests = {
        "cpu": chance.pick(("100m", "250m", "500m", "1", "1500m", "3", "6")),
        "memory": chance.pick(("128Mi", "1Gi", "3Gi")),
    }
    container: Json = {"name": "main", "image": "app:1", "resources": {"requests": requests}}
    spec: Json = {"containers": [container]}
    if chance.often(0.3):
        spec["tolerations"] = [{"key": chance.pick(("dedicated", "gpu")), "operator": "Exists"}]
    if plain:
        return spec
    if chance.often(0.12):
        container["ports"] = [{"containerPort": 80, "hostPort": chance.pick((80, 443)), "protocol": "TCP"}]
    if chance.often(0.2):
        key, value = chance.pick(
            ((ZONE, ZONES[1]), (CAPACITY, "on-demand"), (ARCH, "arm64"), ("team", "a"), (FAMILY, "c"), ("nope", "x"))
        )
        spec["nodeSelector"] = {key: value}
    affinities = _affinities(chance, app)
    if affinities:
        spec["affinity"] = affinities
    if chance.often(0.3):
        spec["topologySpreadConstraints"] = [_spread(chance, app) for _ in range(chance.pick((1, 1, 2)))]
    if chance.often(0.05):
        requests["nvidia.com/gpu"] = "1"
        container["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    return spec


def pods(chance: Chance, names: list[str], waiting: int, *, plain: bool) -> list[Json]:
    """Pods that run on the nodes, and pods that wait; those of an app are alike."""
    specs = {app: [pod_spec(chance, app, plain=plain) for _ in range(chance.pick((1, 1, 2)))] for app in APPS}
    found = []
    for number in range(waiting + sum(chance.pick((0, 1, 2, 3)) for _ in names)):
        app = chance.pick(APPS)
        found.append(_pod(chance, number, app, chance.pick(specs[app]), "" if number < waiting else chance.pick(names)))
    return found


def _pod(chance: Chance, number: int, app: str, spec: Json, on: str) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": chance.pick(("ReplicaSet", "ReplicaSet", "StatefulSet")), "name": app}
    meta: Json = {
        "name": f"p{number:02}",
        "namespace": "default",
        "uid": f"uid-{number:02}",
        "labels": {"app": app},
        "creationTimestamp": f"2026-11-20T11:00:{chance.random.randrange(4):02}Z",
        "ownerReferences": [owner | {"uid": f"{owner['kind']}-{app}", "controller": True}],
    }
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    if not on:
        return manifest("Pod", meta, spec=spec, status={"phase": "Pending", "conditions": [unschedulable]})
    annotations: Json = {}
    if chance.often(0.08):
        annotations["karpenter.sh/do-not-disrupt"] = chance.pick(("true", "5m", "10h", "soon"))
    if chance.often(0.1):
        annotations["controller.kubernetes.io/pod-deletion-cost"] = chance.pick(("-2000000000", "1000", "900000000"))
    if annotations:
        meta["annotations"] = annotations
    priority = {"priority": chance.pick((-100, 0, 100000000))} if chance.often(0.1) else {}
    ready = {"type": "Ready", "status": chance.pick(("True",) * 9 + ("False",))}
    status = {"phase": "Running", "startTime": "2026-11-20T11:30:00Z", "conditions": [ready]}
    # What it asked of its node then is not checked again, but counts when it moves.
    return manifest("Pod", meta, spec={**spec, **priority, "nodeName": on}, status=status)


def daemon_set(chance: Chance, name: str) -> Json:
    requests = {"cpu": chance.pick(("100m", "400m")), "memory": "128Mi"}
    spec: Json = {"containers": [{"name": "main", "image": "agent:1", "resources": {"requests": requests}}]}
    if chance.often(0.6):
        spec["tolerations"] = [{"operator": "Exists"}]
    if chance.often(0.4):
        affinity = _node_affinity(chance)
        affinity.pop("preferredDuringSchedulingIgnoredDuringExecution", None)
        spec["affinity"] = {"nodeAffinity": affinity} if affinity else {}
    if chance.often(0.2):
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    return manifest(
        "DaemonSet",
        {"name": name, "namespace": "kube-system", "uid": f"ds-{name}"},
        spec={"selector": _selector(name), "template": {"metadata": {"labels": {"app": name}}, "spec": spec}},
    )


def volumes(chance: Chance, objects: list[Json]) -> list[Json]:
    """Claims and volumes for some of the pods, and limits of nodes."""
    zone = {"key": chance.pick((ZONE, ZONE, "topology.ebs.csi.aws.com/zone")), "values": chance.some(ZONES)}
    found: list[Json] = [
        manifest(
            "StorageClass",
            {"name": "ebs"},
            provisioner="ebs.csi.aws.com",
            volumeBindingMode=chance.pick(("WaitForFirstConsumer",) * 5 + ("Immediate",)),
            allowedTopologies=[{"matchLabelExpressions": [zone]}] if chance.often(0.5) else [],
        )
    ]
    for each in objects:
        name = each["metadata"]["name"]
        if each["kind"] == "Node" and chance.often(0.4):
            drivers = [{"name": "ebs.csi.aws.com", "nodeID": name, "allocatable": {"count": chance.pick((0, 1, 2))}}]
            found.append(manifest("CSINode", {"name": name}, spec={"drivers": drivers}))
        elif each["kind"] == "Pod" and chance.often(0.4):
            each["spec"] = {**each["spec"], "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]}
            found += _claim(chance, name)
    return found


def _claim(chance: Chance, name: str) -> list[Json]:
    claim: Json = manifest(
        "PersistentVolumeClaim",
        {"name": name, "namespace": "default", "uid": f"pvc-{name}"},
        spec={"accessModes": ["ReadWriteOnce"], "storageClassName": chance.pick(("ebs",) * 9 + ("nope",))},
        status={"phase": "Pending"},
    )
    if chance.often(0.1):
        return []
    if chance.often(0.5):
        return [claim]
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"} if chance.often(0.9) else {}
    claim["spec"]["volumeName"] = f"pv-{name}"
    terms = [
        {
            "matchExpressions": [
                {"key": chance.pick((ZONE, "topology.gke.io/zone")), "operator": "In", "values": chance.some(ZONES, 2)}
            ]
        }
        for _ in range(chance.pick((1, 1, 2)))
    ]
    source: Json = {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": name}}
    if chance.often(0.2):
        source = chance.pick(({"hostPath": {"path": "/d"}}, {"local": {"path": "/d"}}))
        terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": ["n0"]}]}]
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, **source}
    spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return [claim, {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{name}"}, "spec": spec}]


def pod_budget(chance: Chance, app: str) -> Json:
    kind = chance.pick(({"maxUnavailable": 1}, {"maxUnavailable": 0}, {"minAvailable": "100%"}, {"minAvailable": 1}))
    more = {"unhealthyPodEvictionPolicy": "AlwaysAllow"} if chance.often(0.3) else {}
    return manifest(
        "PodDisruptionBudget",
        {"name": f"budget-{app}-{chance.random.randrange(3)}", "namespace": "default"},
        spec={"selector": _selector(app), **kind, **more},
        status={
            "disruptionsAllowed": chance.pick((0, 1, 1)),
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        },
    )


# --- families ----------------------------------------------------------------------------------------------------------


def _case(
    chance: Chance,
    ask: str,
    *,
    nodes: int,
    waiting: int,
    plain: bool = False,
    flags: tuple[str, ...] = (),
    sizes: tuple[int, ...] = (2, 4, 8, 16),
    min_values: float = 0.15,
    **with_: bool,
) -> Json:
    types = instance_types(chance, reserved=with_.get("reserved", False), sizes=sizes)
    pools = [node_pool(chance, name, min_values=min_values) for name in chance.some(("alpha", "beta", "gamma"), 2)]
    stand = [each for number in range(nodes) for each in standing(chance, f"n{number}", pools, types)]
    names = [each["metadata"]["name"] for each in stand if each["kind"] == "Node"]
    objects = [*pools, *stand, *pods(chance, names, waiting, plain=plain)]
    if with_.get("daemons"):
        objects += [daemon_set(chance, name) for name in chance.some(("agent", "proxy", "log"), 2)]
    if with_.get("volumes"):
        objects += volumes(chance, objects)
    if with_.get("budgets"):
        objects += {each["metadata"]["name"]: each for each in (pod_budget(chance, app) for app in APPS[:2])}.values()
    return {"ask": ask, "cluster": objects, "types": types} | ({"flags": list(flags)} if flags else {})


def _provision(**with_: Any) -> Callable[[Chance], Json]:
    return lambda chance: _case(
        chance, "autoscale", **{"nodes": chance.pick((0, 0, 1, 3)), "waiting": chance.random.randint(1, 10)} | with_
    )


def _consolidate(**with_: Any) -> Callable[[Chance], Json]:
    return lambda chance: _case(
        chance, "consolidate", **{"nodes": chance.random.randint(1, 7), "waiting": chance.pick((0, 0, 1, 3))} | with_
    )


_SPOT_TO_SPOT = ("--feature-gates=SpotToSpotConsolidation=true",)
_MANY_SIZES = (2, 4, 6, 8, 10, 12, 14, 16)

FAMILIES: Mapping[str, Callable[[Chance], Json]] = {
    "plain": _provision(plain=True),
    "constrained": _provision(),
    "daemons": _provision(daemons=True),
    "volumes": _provision(volumes=True),
    "reserved": _provision(reserved=True, plain=True),
    "standing": lambda chance: _case(chance, "autoscale", nodes=5, waiting=8, daemons=True, volumes=chance.often(0.3)),
    "removal": _consolidate(plain=True),
    "removal-constrained": _consolidate(daemons=True),
    "removal-budgets": _consolidate(budgets=True, plain=True),
    "removal-volumes": _consolidate(volumes=True, budgets=True),
    # Karpenter with other settings than its own defaults.
    "ignoring": _provision(flags=("--preference-policy=Ignore",)),
    "best-effort": _provision(flags=("--min-values-policy", "BestEffort"), min_values=0.8),
    "unreserved": _provision(flags=("--feature-gates=ReservedCapacity=false",), reserved=True, plain=True),
    "removal-spot": _consolidate(flags=_SPOT_TO_SPOT, sizes=_MANY_SIZES, min_values=0.3, plain=True),
    "removal-settings": _consolidate(
        flags=(*_SPOT_TO_SPOT, "--preference-policy=Ignore", "--min-values-policy=BestEffort"),
        sizes=_MANY_SIZES,
        min_values=0.5,
    ),
}


def generate(seed: str, family: str) -> Json:
    """A case of the family."""
    return FAMILIES[family](Chance(seed))
