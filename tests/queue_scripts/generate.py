"""Random scripts: `script(family, seed)` is a cluster, and operations that disturb it."""

from collections.abc import Callable
from random import Random
from typing import Any

from tests.queue_scripts import generate_devices as devices
from tests.queue_scripts import generate_volumes as volumes
from tests.queue_scripts.api import merged, without_empty, without_zero

Raw = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
TAINTS = [
    {"key": "k1", "value": "a", "effect": "NoSchedule"},
    {"key": "k1", "value": "b", "effect": "NoSchedule"},
    {"key": "k2", "effect": "NoExecute"},
    {"key": "k3", "value": "a", "effect": "PreferNoSchedule"},
]
TOLERATIONS = [
    {"key": "k1", "operator": "Equal", "value": "a", "effect": "NoSchedule"},
    {"key": "k1", "operator": "Exists"},
    {"key": "k2", "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "zz", "operator": "Exists"},
]
FEATURES = ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "Other"]
LABELS = {"app": ["a", "b", "c"], "tier": ["t1", "t2"], "x": ["1", "2"]}
#: Families in which one plugin alone is to reject pods.
FOCUSED = ("nodeaffinity", "ports", "interpod", "spread", "volumes", "limits", "features", "dra")
#: An operation is worth this much of the ones that a script is made of.
Weighted = tuple[int, Callable[["Writer"], None]]


class Writer:
    """A script in the making. It knows the objects as far as the script itself writes them."""

    def __init__(self, rng: Random, family: str) -> None:
        self.rng = rng
        self.family = family
        #: What a script about volumes is about.
        self.theme = ""
        self.number = 0
        self.cluster: list[Raw] = []
        self.operations: list[Raw] = []
        self.objects: dict[tuple[str, str, str], Raw] = {}
        self.started = False
        #: Operations that are being collected for `during`.
        self.target = self.operations

    # --- writing ------------------------------------------------------------------------------------------

    def next(self) -> int:
        self.number += 1
        return self.number

    def chance(self, percent: float) -> bool:
        return self.rng.random() * 100 < percent

    def create(self, kind: str, name: str, namespace: str = "", api: str = "v1", **fields: Any) -> Raw:
        meta: Raw = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("meta", {})}
        raw = {"kind": kind, "apiVersion": api, "metadata": meta, **fields}
        key = (kind, namespace, name)
        if key not in self.objects:
            self.objects[key] = raw
            if self.started:
                self.target.append({"op": "create", "object": raw})
            else:
                self.cluster.append(raw)
        return raw

    def _place(self, key: tuple[str, str, str]) -> Raw:
        kind, namespace, name = key
        return {"kind": kind, **({"namespace": namespace} if namespace else {}), "name": name}

    def patch(self, key: tuple[str, str, str], patch: Raw) -> None:
        """Patch the object if that changes it."""
        before = self.objects[key]
        after = merged(without_empty(before), patch)
        if without_zero(without_empty(after)) != without_zero(without_empty(before)):
            self.objects[key] = after
            self.target.append({"op": "patch", **self._place(key), "patch": patch})

    def delete(self, key: tuple[str, str, str], *, graceful: bool = False) -> None:
        if not graceful:
            del self.objects[key]
        self.target.append({"op": "delete", **self._place(key), **({"graceful": True} if graceful else {})})

    def add(self, **operation: Any) -> None:
        self.target.append(operation)

    def during(self, steps: Callable[[], None]) -> list[Raw]:
        """Operations for `during`."""
        self.target = []
        steps()
        collected, self.target = self.target, self.operations
        return collected

    def pick(self, kind: str, namespace: str | None = None) -> tuple[str, str, str] | None:
        keys = [key for key in self.objects if key[0] == kind and namespace in (None, key[1])]
        return self.rng.choice(keys) if keys else None


# --- nodes -------------------------------------------------------------------------------------------------


def _node(w: Writer) -> None:
    rng, name = w.rng, f"n{w.next()}"
    labels = {HOST: name}
    if w.chance(90):
        labels[ZONE] = rng.choice(["z1", "z2"])
    for key, values in (("disk", ["ssd", "hdd"]), ("rack", ["r1", "r2"]), ("size", ["5", "9"])):
        if w.chance(30):
            labels[key] = rng.choice(values)
    amounts = {
        "cpu": rng.choice(["1", "2", "4"] if w.family not in FOCUSED else ["16", "32"]),
        "memory": rng.choice(["2Gi", "8Gi"]),
        "pods": "110" if w.family in FOCUSED else rng.choice(["3", "5", "110"]),
    }
    if w.chance(30):
        amounts["example.com/gpu"] = rng.choice(["1", "4"])
    spec: Raw = {}
    if w.chance(35 if w.family in ("taints", "mixed") else 2 if w.family in FOCUSED else 8):
        spec["taints"] = [rng.choice(TAINTS)]
    if w.chance(40 if w.family == "unschedulable" else 1 if w.family in FOCUSED else 5):
        spec["unschedulable"] = True
    status: Raw = {"allocatable": amounts, "capacity": amounts}
    if w.family == "features":
        status["declaredFeatures"] = sorted(rng.sample(FEATURES, rng.randint(0, 1))) or ["Nothing"]
    w.create("Node", name, meta={"labels": labels}, spec=spec, status=status)
    if w.family in ("volumes", "limits", "mixed") and w.chance(100 if w.theme == "limits" else 80):
        volumes.csi_node(w, name)


def _delete_node(w: Writer) -> None:
    if len([key for key in w.objects if key[0] == "Node"]) > 1:
        w.delete(w.pick("Node"))  # type: ignore[arg-type]


def _patch_node(w: Writer) -> None:
    key, rng = w.pick("Node"), w.rng
    if key is None:
        return
    roll = rng.random() * 100
    likes = {
        "taints": 20,
        "nodeaffinity": 45,
        "spread": 45,
        "interpod": 45,
        "unschedulable": 60,
        "resources": 75,
        "features": 88,
    }
    if w.family in ("ports", "volumes", "limits", "dra") and w.chance(70):
        roll = 99
    elif w.chance(75) and w.family in likes:
        roll = likes[w.family]
    if roll < 30:
        taints = [rng.choice(TAINTS)] if w.chance(50) else []
        w.patch(key, {"spec": {"taints": taints or None}})
    elif roll < 55:
        label = rng.choice(["disk", "rack", "size", ZONE])
        values = {"disk": ["ssd", "hdd"], "rack": ["r1", "r2"], "size": ["5", "9"], ZONE: ["z1", "z2"]}[label]
        if w.family == "nodeaffinity":
            values = [*values, *{"disk": ["ssd", "ssd"], "rack": ["r1"], "size": ["9", "7"], ZONE: ["z3", "z3"]}[label]]
        w.patch(key, {"metadata": {"labels": {label: rng.choice([*values, None])}}})
    elif roll < 65:
        w.patch(key, {"spec": {"unschedulable": rng.choice([True, None])}})
    elif roll < 85:
        name = rng.choice(["cpu", "cpu", "memory", "pods", "example.com/gpu", "ephemeral-storage"])
        amounts = {"cpu": ["500m", "1", "2", "4", "8"], "memory": ["1Gi", "4Gi", "16Gi"], "pods": ["1", "4", "110"]}
        amount = rng.choice(amounts.get(name, ["1", "4", None]))
        w.patch(key, {"status": {"allocatable": {name: amount}}})
    elif roll < 93:
        w.patch(key, {"status": {"declaredFeatures": sorted(rng.sample(FEATURES, rng.randint(1, 2)))}})
    else:
        w.patch(key, {"metadata": {"annotations": {"note": f"x{w.next()}"}}})


# --- pods --------------------------------------------------------------------------------------------------


def _selector(rng: Random) -> Raw:
    if rng.random() < 0.15:
        return {"matchExpressions": [{"key": "tier", "operator": rng.choice(["Exists", "DoesNotExist"])}]}
    key = rng.choice(["app", "app", "tier"])
    return {"matchLabels": {key: rng.choice(LABELS[key])}}


def _affinity_terms(rng: Random) -> list[Raw]:
    terms = []
    for _ in range(rng.choice([1, 1, 2])):
        term: Raw = {"labelSelector": _selector(rng), "topologyKey": rng.choice([ZONE, HOST, "rack"])}
        if rng.random() < 0.15:
            term["namespaces"] = ["e"]
        elif rng.random() < 0.15:
            term["namespaceSelector"] = rng.choice([{}, {"matchLabels": {"team": "e"}}])
        terms.append(term)
    return terms


def _node_affinity(w: Writer, spec: Raw) -> None:
    rng = w.rng
    roll = rng.random()
    if roll < 0.4:
        spec["nodeSelector"] = rng.choice(
            [{"disk": "ssd"}, {"rack": "r1"}, {"disk": "ssd", "rack": "r2"}, {"size": "7"}]
        )
        return
    expressions = rng.choice(
        [
            [{"key": "disk", "operator": "In", "values": ["ssd"]}],
            [{"key": "size", "operator": "Gt", "values": ["6"]}],
            [{"key": "rack", "operator": "NotIn", "values": ["r1", "r2"]}],
            [{"key": ZONE, "operator": "In", "values": ["z3"]}],
        ]
    )
    terms: list[Raw] = [{"matchExpressions": expressions}]
    if roll > 0.8:
        terms = [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [rng.choice(["n1", "n2", "n99"])]}]}
        ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec.setdefault("affinity", {})["nodeAffinity"] = required


def _inter_pod(w: Writer, spec: Raw) -> None:
    for kind in w.rng.choice(
        [["podAffinity"], ["podAntiAffinity"], ["podAntiAffinity"], ["podAffinity", "podAntiAffinity"]]
    ):
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": _affinity_terms(w.rng)}
        spec.setdefault("affinity", {})[kind] = terms


def _spread(w: Writer, spec: Raw) -> None:
    spec["topologySpreadConstraints"] = []
    for key in w.rng.sample([ZONE, HOST, "rack"], w.rng.choice([1, 1, 2])):
        constraint = {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": _selector(w.rng),
        }
        if w.chance(40):
            constraint["nodeTaintsPolicy"] = "Honor"
        if w.chance(25):
            constraint["minDomains"] = 3
        spec["topologySpreadConstraints"].append(constraint)


def _ports(w: Writer, spec: Raw) -> None:
    port: Raw = {"containerPort": 80, "hostPort": w.rng.choice([80, 80, 80, 8080])}
    if w.chance(25):
        port["protocol"] = "UDP"
    if w.chance(25):
        port["hostIP"] = w.rng.choice(["127.0.0.1", "10.0.0.1"])
    spec["containers"][0]["ports"] = [port]


def _features(w: Writer, spec: Raw) -> None:
    if w.chance(60):
        spec["hostNetwork"], spec["hostUsers"] = True, False
    else:
        rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
        spec["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}


def _tolerations(w: Writer, spec: Raw) -> None:
    spec["tolerations"] = w.rng.sample(TOLERATIONS, w.rng.choice([1, 1, 2]))


_TRAITS: dict[str, Callable[[Writer, Raw], None]] = {
    "nodeaffinity": _node_affinity,
    "interpod": _inter_pod,
    "spread": _spread,
    "ports": _ports,
    "features": _features,
    "taints": _tolerations,
    "volumes": volumes.trait,
    "limits": volumes.trait,
    "dra": devices.trait,
}


def _requests(w: Writer) -> Raw:
    rng = w.rng
    heavy = w.family in ("resources", "preemption", "deletes", "updates", "backoff", "errors", "mixed")
    requests = {"cpu": rng.choice(["500m", "1", "2", "3", "6"] if heavy else ["100m", "100m", "200m", "1"])}
    if w.chance(30):
        requests["memory"] = rng.choice(["256Mi", "1Gi", "3Gi"])
    if w.family == "resources" and w.chance(30):
        requests[rng.choice(["example.com/gpu", "ephemeral-storage"])] = "1"
    return requests


def _container(w: Writer) -> Raw:
    requests = _requests(w)
    limits = {name: amount for name, amount in requests.items() if name == "example.com/gpu"}
    return {"name": "c", "image": "i", "resources": {"requests": requests, **({"limits": limits} if limits else {})}}


def _pod(w: Writer) -> None:
    rng, number = w.rng, w.next()
    name, namespace = f"p{number}", "e" if w.chance(15) else "d"
    labels = {"app": rng.choice(LABELS["app"])}
    if w.chance(30):
        labels["tier"] = rng.choice(LABELS["tier"])
    preempts = w.family in ("preemption", "mixed", "errors", "deletes", "inflight")
    spec: Raw = {
        "priority": rng.choice([0, 0, 5, 10, 50]) if preempts else rng.choice([0, 0, 0, 5]),
        "containers": [_container(w)],
    }
    if w.family in _TRAITS and w.chance(92):
        _TRAITS[w.family](w, spec)
    elif w.family == "mixed" and w.chance(60):
        _TRAITS[rng.choice(sorted(_TRAITS))](w, spec)
    elif w.family == "unschedulable" and w.chance(20):
        _tolerations(w, spec)
    if w.started and "resourceClaims" not in spec and w.chance(50 if w.family == "gates" else 4):
        spec["schedulingGates"] = [
            {"name": gate} for gate in rng.sample(["example.com/a", "example.com/b"], rng.choice([1, 2]))
        ]
    if w.chance(5):
        spec["preemptionPolicy"] = "Never"
    node = w.pick("Node")
    bound = 50 if w.theme == "limits" else 35 if w.family in ("ports", "interpod", "spread") else 15
    if node is not None and "schedulingGates" not in spec and (not w.started or w.chance(bound)):
        spec["nodeName"] = node[2]
    raw = w.create("Pod", name, namespace, meta={"labels": labels, "uid": f"uid-{name}"}, spec=spec)
    if not w.started:
        raw["status"] = {"startTime": f"2025-12-31T00:{number % 60:02}:00Z", "phase": "Running"}
    if w.started and w.family in ("dra", "mixed") and "resourceClaims" in spec:
        devices.after_pod(w, raw)


def _patch_pod(w: Writer) -> None:  # noqa: PLR0912 - one branch for each kind of change
    key, rng = w.pick("Pod"), w.rng
    if key is None:
        return
    if w.family in ("unschedulable", "taints", "gates", "features") and w.chance(70):  # most others have found a node
        key = [one for one in w.objects if one[0] == "Pod"][-rng.choice([1, 1, 2, 3]) :][0]
    spec = w.objects[key]["spec"]
    roll = rng.random() * 100
    if w.family == "gates" and w.chance(60):
        roll = 70
    elif w.family == "interpod" and w.chance(60):
        roll = 10
    elif w.family == "unschedulable" and w.chance(60):
        roll = 40
    elif w.family == "resources" and w.chance(70):
        roll = 60
    if w.family == "features" and w.chance(85):
        _need_other_features(w)
        return
    if roll < 35:
        label = rng.choice(["app", "app", "tier", "x"])
        value = rng.choice([*LABELS[label], None]) if label != "app" else rng.choice(LABELS[label])
        w.patch(key, {"metadata": {"labels": {label: value}}})
    elif roll < 50 or (w.family in ("unschedulable", "taints", "spread") and w.chance(40)):
        now = spec.get("tolerations", [])
        more = [toleration for toleration in TOLERATIONS if toleration not in now]
        if more:
            new = (
                TOLERATIONS[3]
                if w.family == "unschedulable" and TOLERATIONS[3] in more and w.chance(80)
                else rng.choice(more)
            )
            w.patch(key, {"spec": {"tolerations": [*now, new]}})
    elif roll < 65:
        old = spec["containers"][0]
        name, amount = rng.choice(list(_requests(w).items()))
        if w.family == "resources" and w.chance(80):  # many pods do not ask for memory: nothing for them
            name, amount = "memory", rng.choice(["64Mi", "2Gi"])
        resources = {**old["resources"], "requests": {**old["resources"]["requests"], name: amount}}
        if "limits" in old["resources"]:
            return
        w.patch(key, {"spec": {"containers": [{**old, "resources": resources}]}})
    elif roll < 80:
        gates = spec.get("schedulingGates", [])
        if gates:
            w.patch(key, {"spec": {"schedulingGates": gates[1:] or None}})
    elif roll < 88:
        w.patch(key, {"status": {"nominatedNodeName": rng.choice(["n1", "n2", None])}})
    elif roll < 94:
        w.patch(key, {"status": {"phase": rng.choice(["Succeeded", "Failed"])}})
        del w.objects[key]
    else:
        w.patch(key, {"metadata": {"annotations": {"note": f"x{w.next()}"}}})


def _need_other_features(w: Writer) -> None:
    """A pod that was tried, and has perhaps been rejected for what it needs."""
    needing = [key for key, raw in w.objects.items() if key[0] == "Pod" and raw["spec"].get("hostUsers") is False]
    if needing:
        if w.target is w.operations:
            w.add(op="schedule", until="idle")
        w.patch(w.rng.choice(needing[-4:]), {"spec": {"hostNetwork": None, "hostUsers": None}})


def _delete_pod(w: Writer) -> None:
    key = w.pick("Pod")
    # A pod that is deleted while it is bound is another story: in flight, only pods that were never here to be tried.
    if key is not None and (w.target is w.operations or "nodeName" in w.objects[key]["spec"]):
        w.delete(key, graceful=w.chance(40))


# --- time and attempts --------------------------------------------------------------------------------------


def _advance(w: Writer) -> None:
    slow = w.family == "backoff"
    w.add(
        op="advance",
        seconds=w.rng.choice([0.1, 0.25, 0.5, 1, 1, 2, 2.3, 4, 7.5, 11, *([12.2, 31, 60] if slow else []), 330]),
    )


def _schedule(w: Writer) -> None:
    operation: Raw = {"op": "schedule"}
    if w.chance(60):
        operation["until"] = "idle"
    fails = w.family == "errors"
    if w.chance(35 if fails else 3):
        operation["fail"] = "bind" if w.chance(70) else "evict"
        if operation["fail"] == "evict":
            operation.pop("until", None)  # the pod would come back at once, again and again
    elif w.chance(50 if w.family == "inflight" else 4) and "until" not in operation:
        operation["during"] = w.during(lambda: _meanwhile(w))
    w.add(**operation)


def _meanwhile(w: Writer) -> None:
    for _ in range(w.rng.choice([1, 2])):
        w.rng.choice([_patch_node, _patch_pod, _delete_pod, _node])(w)


_COMMON: list[Weighted] = [
    (24, _pod),
    (26, _schedule),
    (9, _advance),
    (14, _patch_node),
    (9, _patch_pod),
    (5, _delete_pod),
    (3, lambda w: w.add(op="finish")),
    (4, _node),
    (2, _delete_node),
]
#: Few attempts, many events: the pods that wait are asked again and again.
_FOCUSED: list[Weighted] = [
    (12, _pod),
    (14, _schedule),
    (4, _advance),
    (3, _patch_node),
    (3, _patch_pod),
    (3, _delete_pod),
    (1, lambda w: w.add(op="finish")),
    (1, _node),
]
_MORE: dict[str, list[Weighted]] = {
    "volumes": [(40, volumes.operation), (6, _delete_pod)],
    "limits": [(36, volumes.operation), (14, _delete_pod), (12, _schedule)],
    "dra": [(35, devices.operation)],
    "mixed": [(8, volumes.operation), (8, devices.operation)],
    "deletes": [(15, _delete_pod)],
    "updates": [(20, _patch_pod)],
    "unschedulable": [(30, _patch_pod)],
    "taints": [(25, _patch_pod)],
    "resources": [(15, _patch_node), (30, _patch_pod)],
    "nodeaffinity": [(40, _patch_node), (6, _node)],
    "features": [(25, _patch_node), (6, _node), (15, _patch_pod)],
    "gates": [(12, _patch_pod)],
    "inflight": [(15, _schedule)],
    "backoff": [(10, _advance), (10, _schedule)],
    "spread": [(8, _node), (6, _delete_node), (24, _patch_node), (20, _patch_pod), (14, _delete_pod), (6, _schedule)],
    "interpod": [(24, _patch_pod), (16, _delete_pod), (10, _patch_node), (4, _node)],
    "ports": [(40, _delete_pod)],
}
FAMILIES = (
    "resources", "nodeaffinity", "taints", "unschedulable", "ports", "interpod", "spread", "volumes", "limits", "gates",
    "preemption", "updates", "deletes", "backoff", "errors", "inflight", "dra", "features", "mixed",
)  # fmt: skip
#: How many scripts of each there are, compared with the others: volumes have the most hints.
WEIGHTS = {
    "volumes": 14,
    "limits": 15,
    "spread": 6,
    "interpod": 4,
    "ports": 4,
    "dra": 8,
    "nodeaffinity": 3,
    "unschedulable": 12,
    "taints": 6,
    "gates": 4,
    "features": 8,
    "resources": 3,
}
#: How many operations each has: more where rare answers need many events.
LENGTHS = {
    "spread": 100,
    "ports": 100,
    "interpod": 80,
    "volumes": 150,
    "limits": 190,
    "features": 220,
    "taints": 180,
    "resources": 150,
    "unschedulable": 90,
    "gates": 90,
    "dra": 90,
}


def script(family: str, seed: int) -> Raw:
    """A script of the family; the same seed gives the same one."""
    w = Writer(Random(f"{family}/{seed}"), family)
    for name in ("d", "e"):
        w.create("Namespace", name, meta={"labels": {"kubernetes.io/metadata.name": name, "team": name}})
    if family in ("volumes", "limits", "mixed"):
        volumes.cluster(w)
    if family in ("dra", "mixed"):
        devices.cluster(w)
    for _ in range(1 if family == "ports" else w.rng.choice([1, 2, 2, 3])):
        _node(w)
    if family != "gates":
        for _ in range(w.rng.randint(0, 4)):
            _pod(w)
    w.started = True
    choices = [*(_FOCUSED if family in FOCUSED else _COMMON), *_MORE.get(family, [])]
    if family in FOCUSED:
        for _ in range(8):
            _pod(w)
        w.add(op="schedule", until="idle")
    while len(w.operations) < LENGTHS.get(family, 60):
        w.rng.choices([step for _, step in choices], [weight for weight, _ in choices])[0](w)
    return {"config": {}, "cluster": w.cluster, "operations": w.operations}
