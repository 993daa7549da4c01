"""Random clusters with groups of pods, by family; the same name gives the same case."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.objects import manifest

Json = dict[str, Any]

GROUPS = "GenericWorkload=true"
TOPOLOGY = f"{GROUPS},TopologyAwareWorkloadScheduling=true"
POLICY = f"{GROUPS},PodGroupPreemptionPolicy=true"
_SIZES = ("300m", "500m", "700m", "1", "1500m", "2", "2500m")
_BIG = ("1", "1500m", "2", "3")
_PRIORITIES = (0, 10, 100)
_START = datetime(2026, 11, 20, 10, tzinfo=UTC)


class Builder:
    """A case in the making."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.cluster: list[Json] = []
        self.manifest: list[Json] = []
        self.gates = GROUPS
        self._moments = 0
        self._nodes: list[str] = []
        self._free: dict[str, int] = {}

    # --- nodes -------------------------------------------------------------------------------------------

    def nodes(self, least: int = 2, most: int = 6, racks: int = 0) -> None:
        """Nodes of different sizes, so that few of them are equally good."""
        for number in range(self.random.randint(least, most)):
            milli = self.random.choice((2000, 3000, 4000, 6000)) + 100 * number
            labels = {"rack": "abcdefgh"[number % racks]} if racks else {}
            self.node(f"n{number}", milli, labels)

    def node(self, name: str, milli: int, labels: Json, **spec: Any) -> None:
        """One node."""
        amounts = {"cpu": f"{milli}m", "memory": "64Gi", "pods": "110"}
        self._nodes.append(name)
        self._free[name] = milli
        self.cluster.append(
            manifest(
                "Node",
                {"name": name, "uid": f"node-{name}", "labels": {"kubernetes.io/hostname": name, **labels}},
                spec=spec,
                status={
                    "capacity": amounts,
                    "allocatable": amounts,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            )
        )

    # --- pods and groups ---------------------------------------------------------------------------------

    def pod(self, name: str, cpu: str, *, priority: int = 0, group: str = "", node: str = "", **more: Any) -> Json:
        """One pod, bound if it has a node; the later it is made the later it was created."""
        self._moments += 1
        at = _START + timedelta(seconds=self._moments, hours=0 if node else 1)
        stamp = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        spec: Json = {
            "schedulerName": "default-scheduler",
            "priority": priority,
            "preemptionPolicy": "PreemptLowerPriority",
            "containers": [
                {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
            ],
            **more,
        }
        status: Json = {"phase": "Pending"}
        if group:
            spec["schedulingGroup"] = {"podGroupName": group}
        if node:
            spec["nodeName"] = node
            self._free[node] -= _milli(cpu)
            status = {
                "phase": "Running",
                "startTime": stamp,
                "conditions": [{"type": "PodScheduled", "status": "True"}],
            }
        app = group or name.partition("-")[0]
        made: Json = manifest(
            "Pod",
            {
                "name": name,
                "namespace": "default",
                "uid": f"pod-{name}",
                "creationTimestamp": stamp,
                "labels": {"app": app},
            },
            spec=spec,
            status=status,
        )
        (self.cluster if node else self.manifest).append(made)
        return made

    def group(self, name: str, least: int | None, *, priority: int = 0, bound: bool = False, **spec: Any) -> None:
        """A PodGroup; without a least number its policy is `basic`."""
        policy: Json = {"basic": {}} if least is None else {"gang": {"minCount": least}}
        (self.cluster if bound else self.manifest).append(
            manifest(
                "PodGroup",
                {"name": name, "namespace": "default", "uid": f"group-{name}"},
                spec={"schedulingPolicy": policy, "priority": priority, **spec},
            )
        )

    def gang(self, name: str, count: int, least: int | None, cpu: str, *, priority: int = 0, **spec: Any) -> None:
        """A group and its pods."""
        pod = spec.pop("pod", {})
        self.group(name, least, priority=priority, **spec)
        for number in range(count):
            self.pod(f"{name}-{number}", cpu, priority=priority, group=name, **pod)

    def fill(self, *, full: float = 0.8, priorities: tuple[int, ...] = (0,), apps: tuple[str, ...] = ("low",)) -> None:
        """Single pods on the nodes, up to that part of them."""
        for place, name in enumerate(self._nodes):
            number, least = 0, (1 - full) * self._free[name]
            while self._free[name] > least + 300:
                size = min(self.random.choice((500, 700, 800, 1000, 1500)), int(self._free[name] - least))
                app = self.random.choice(apps)
                self.pod(f"{app}-{place}-{number}", f"{size}m", priority=self.random.choice(priorities), node=name)
                number += 1
                if self.random.random() < 0.15:
                    break

    def budget(self, app: str) -> None:
        """A budget over the pods of an app, with what its status allows."""
        pods = sum(one["kind"] == "Pod" and one["metadata"]["labels"]["app"] == app for one in self.cluster)
        allowed = self.random.choice((0, 0, 1, 2))
        self.cluster.append(
            manifest(
                "PodDisruptionBudget",
                {"name": f"b-{app}", "namespace": "default", "uid": f"pdb-{app}"},
                spec={"selector": {"matchLabels": {"app": app}}, "maxUnavailable": allowed},
                status={
                    "disruptionsAllowed": min(allowed, pods),
                    "currentHealthy": pods,
                    "desiredHealthy": max(pods - allowed, 0),
                    "expectedPods": pods,
                },
            )
        )

    def members(self, name: str, count: int, cpu: str, *, priority: int = 0, nodes: list[str] | None = None) -> int:
        """Pods of a group that run already, where there is room; returns how many."""
        made = 0
        for number in range(count):
            free = [each for each in nodes or self._nodes if self._free[each] >= _milli(cpu)]
            if not free:
                break
            self.pod(f"{name}-b{number}", cpu, priority=priority, group=name, node=self.random.choice(free))
            made += 1
        return made

    def case(self, about: str) -> Json:
        """What was made."""
        return {"about": about, "gates": self.gates, "cluster": self.cluster, "manifest": self.manifest}


def _milli(cpu: str) -> int:
    return int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000


# --- families ----------------------------------------------------------------------------------------


def _fits(it: Builder) -> None:
    it.nodes(4, 6)
    count = it.random.randint(2, 5)
    it.gang("g", count, count, it.random.choice(_SIZES))


def _toobig(it: Builder) -> None:
    it.nodes(2, 3)
    count = it.random.randint(5, 9)
    it.gang("g", count, count, it.random.choice(_BIG))
    if it.random.random() < 0.5:
        it.pod("single", "1")


def _toofew(it: Builder) -> None:
    it.nodes()
    count = it.random.randint(1, 3)
    it.gang("g", count, count + it.random.randint(1, 2), it.random.choice(_SIZES))
    if it.random.random() < 0.7:
        it.pod("single", "500m")


def _partial(it: Builder) -> None:
    it.nodes(2, 3)
    it.gang("g", it.random.randint(4, 9), it.random.randint(1, 3), it.random.choice(_BIG))


def _basic(it: Builder) -> None:
    it.nodes(2, 3)
    it.gang("b", it.random.randint(2, 6), None, it.random.choice(_BIG))
    it.gang("g", 2, 2, "1")


def _shapes(it: Builder) -> None:
    it.nodes(2, 4)
    count, sizes = it.random.randint(4, 6), it.random.choice((("1", "3"), ("1", "2"), ("300m", "1"), ("500m", "2500m")))
    it.group("g", it.random.choice((count, count, count - 1)))
    for number in range(count):
        it.pod(f"g-{number}", sizes[number % 2] if it.random.random() < 0.8 else it.random.choice(_SIZES), group="g")


def _members(it: Builder) -> None:
    it.nodes()
    size = it.random.choice(_BIG)
    made = it.members("g", it.random.randint(1, 4), size)
    count = it.random.randint(1, 5)
    it.gang("g", count, max(made + count - it.random.choice((0, 0, 1, 2, -1)), 1), size)


def _gated(it: Builder) -> None:
    it.nodes(2, 4)
    count = it.random.randint(2, 4)
    gated = it.random.randrange(count)
    it.group("g", it.random.randint(1, count))
    for number in range(count):
        gates: Json = {"schedulingGates": [{"name": "example.com/wait"}]} if number == gated else {}
        it.pod(f"g-{number}", "1", group="g", **gates)
    it.pod("single", "1")


def _competing(it: Builder) -> None:
    it.nodes(3, 4)
    for number in range(it.random.randint(2, 4)):
        count, priority = it.random.randint(2, 4), it.random.choice((0, 0, 10))
        never = {"preemptionPolicy": "Never"}
        it.gang(f"g{number}", count, count, it.random.choice(_SIZES), priority=priority, pod=never)


def _constrained(it: Builder) -> None:
    it.nodes(3, 6, racks=3)
    count = it.random.randint(2, 5)
    near = {
        "topologyKey": it.random.choice(("kubernetes.io/hostname", "rack")),
        "labelSelector": {"matchLabels": {"app": "g"}},
    }
    kind = it.random.choice(("affinity", "anti", "spread", "selector", "taint", "prefers", "port"))
    pod: Json = {}
    if kind == "affinity":
        pod["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    elif kind == "anti":
        pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    elif kind == "prefers":
        term = {"weight": 100, "podAffinityTerm": near}
        pod["affinity"] = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif kind == "spread":
        rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **near}
        pod["topologySpreadConstraints"] = [rule]
    elif kind == "selector":
        for node in it.cluster[:2]:
            node["metadata"]["labels"]["gpu"] = "yes"
        pod["nodeSelector"] = {"gpu": "yes"}
    elif kind == "taint":
        for node in it.cluster[:2]:
            node["spec"]["taints"] = [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}]
        if it.random.random() < 0.5:
            pod["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    it.gang("g", count, count, it.random.choice(_SIZES), pod=pod)
    if kind == "port":
        for one in it.manifest[1:]:
            one["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]


def _topology(it: Builder) -> None:
    it.gates = TOPOLOGY
    it.nodes(4, 8, racks=it.random.choice((2, 2, 3)))
    it.fill(full=it.random.choice((0.3, 0.5)), apps=("low",))
    count = it.random.randint(2, 4)
    least = count if it.random.random() < 0.6 else it.random.randint(1, count)
    it.gang("g", count, least, it.random.choice(_SIZES), schedulingConstraints=_rack(it))


def _topology_none(it: Builder) -> None:
    it.gates = TOPOLOGY
    it.nodes(3, 5, racks=2)
    count = it.random.randint(5, 8)
    it.gang("g", count, count, it.random.choice(_BIG), schedulingConstraints=_rack(it, other=0.3))


def _topology_members(it: Builder) -> None:
    it.gates = TOPOLOGY
    it.nodes(4, 7, racks=2)
    racks = it.random.choice((["a"], ["b"], ["a", "b"] if it.random.random() < 0.3 else ["a"]))
    there = [one["metadata"]["name"] for one in it.cluster if one["metadata"]["labels"]["rack"] in racks]
    made = it.members("g", it.random.randint(1, 3), "500m", nodes=there)
    count = it.random.randint(1, 4)
    it.gang(
        "g",
        count,
        max(1, made + count - it.random.choice((0, 0, 1))),
        it.random.choice(_SIZES),
        schedulingConstraints=_rack(it),
    )


def _topology_preempt(it: Builder) -> None:
    it.gates = TOPOLOGY
    it.nodes(4, 7, racks=it.random.choice((2, 3)))
    it.fill(priorities=(0, 5), apps=("low", "web"))
    if it.random.random() < 0.5:
        it.budget("web")
    count = it.random.randint(2, 5)
    it.gang("g", count, count, it.random.choice(_BIG), priority=100, schedulingConstraints=_rack(it))


def _rack(it: Builder, other: float = 0.05) -> Json:
    return {"topology": [{"key": "nolabel" if it.random.random() < other else "rack"}]}


def _preempt(it: Builder) -> None:
    it.nodes(2, 4)
    it.fill(full=it.random.choice((0.7, 0.95)), priorities=(0, 0, 5), apps=("low", "web"))
    if it.random.random() < 0.6:
        it.budget("web")
    count = it.random.randint(2, 4)
    it.gang("g", count, it.random.choice((count, count, 1)), it.random.choice((*_BIG, "2500m")), priority=100)
    if it.random.random() < 0.15:
        it.manifest[1]["spec"]["preemptionPolicy"] = "Never"


def _preempt_groups(it: Builder) -> None:
    it.nodes(3, 4)
    _old(it, "old")
    if it.random.random() < 0.3:
        _old(it, "older")
    it.fill(full=it.random.choice((0.8, 1.0)), priorities=(0, 0, 5), apps=("low", "web"))
    if it.random.random() < 0.4:
        it.budget(it.random.choice(("web", "old")))
    if it.random.random() < 0.5:
        it.pod("vip", it.random.choice(("1", "1500m", "2", "3")), priority=100)
    else:
        count = it.random.randint(1, 3)
        it.gang("g", count, count, it.random.choice(_BIG), priority=100)


def _old(it: Builder, name: str) -> None:
    mode: Json = it.random.choice(({"disruptionMode": {"single": {}}}, {"disruptionMode": {"all": {}}}, {}))
    priority = it.random.choice((0, 0, 0, 5, 50))
    it.group(name, it.random.choice((1, 2)), priority=priority, bound=True, **mode)
    it.members(name, it.random.randint(1, 4), it.random.choice(("500m", "1")), priority=priority)


def _mixed(it: Builder) -> None:
    it.nodes(4, 8, racks=3)
    it.fill(full=it.random.choice((0.6, 0.9)), apps=("low", "web"))
    for number in range(it.random.randint(1, 3)):
        count, priority = it.random.randint(2, 5), it.random.choice(_PRIORITIES)
        it.gang(
            f"g{number}",
            count,
            it.random.randint(1, count),
            it.random.choice(("700m", "1", "1500m", "2")),
            priority=priority,
        )
    for number in range(it.random.randint(1, 5)):
        it.pod(f"single-{number}", it.random.choice(_SIZES), priority=it.random.choice(_PRIORITIES))


def _invalid(it: Builder) -> None:
    """Members that do not agree with their group."""
    it.gates = it.random.choice((GROUPS, POLICY))
    it.nodes(3, 5)
    count, priority = it.random.randint(2, 4), it.random.choice((0, 10))
    more: Json = {}
    if it.gates == POLICY:
        more["preemptionPolicy"] = it.random.choice(("Never", "PreemptLowerPriority"))
    it.gang("g", count, count, "500m", priority=priority, **more)
    wrong = it.random.choice(it.manifest[1:])
    kind = it.random.choice(("priority", "policy", "scheduler", "none"))
    if kind == "priority":
        wrong["spec"]["priority"] = 5
    elif kind == "policy":
        wrong["spec"]["preemptionPolicy"] = "Never"
    elif kind == "scheduler":
        wrong["spec"]["schedulerName"] = "other"
    it.pod("single", "500m")


def _devices(it: Builder) -> None:
    """Members with a device each, or one for all of them."""
    it.nodes(2, 4)
    resource = "resource.k8s.io/v1"
    driver = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    it.cluster.append(_object(resource, "DeviceClass", "gpu", spec={"selectors": [driver]}))
    for node in [one["metadata"]["name"] for one in it.cluster if one["kind"] == "Node"]:
        devices = [{"name": f"gpu-{number}"} for number in range(it.random.randint(0, 3))]
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": devices}
        it.cluster.append(_object(resource, "ResourceSlice", f"slice-{node}", spec=spec))
    for name in ("g0", "g1")[: it.random.randint(1, 2)]:
        count, shared, priority = it.random.randint(1, 4), it.random.random() < 0.25, it.random.choice((0, 0, 10))
        it.group(name, it.random.choice((count, count, None, it.random.randint(1, count))), priority=priority)
        for number in range(count):
            claim = f"{name}-shared" if shared else f"{name}-claim-{number}"
            if not shared or number == 0:
                request = {
                    "name": "gpu",
                    "exactly": {
                        "deviceClassName": "gpu",
                        "allocationMode": "ExactCount",
                        "count": it.random.choice((1, 1, 2)),
                    },
                }
                made = _object(resource, "ResourceClaim", claim, spec={"devices": {"requests": [request]}})
                made["metadata"] |= {"namespace": "default", "uid": f"claim-{claim}"}
                it.cluster.append(made)
            pod = it.pod(f"{name}-{number}", "500m", priority=priority, group=name)
            if number == 0 or it.random.random() < 0.9:
                pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": claim}]
                pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]


def _object(version: str, kind: str, name: str, **more: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "uid": f"{kind}-{name}"}, **more}


def _wild(it: Builder) -> None:
    """A little of everything."""
    it.gates = it.random.choice((GROUPS, TOPOLOGY))
    it.nodes(3, 7, racks=it.random.choice((2, 3)))
    if it.random.random() < 0.5:
        _old(it, "old")
    if it.random.random() < 0.7:
        it.fill(full=it.random.choice((0.5, 0.9)), priorities=(0, 5), apps=("low", "web"))
    if it.random.random() < 0.3:
        it.budget("web")
    for number in range(it.random.randint(1, 2)):
        name, count, priority = f"g{number}", it.random.randint(1, 5), it.random.choice(_PRIORITIES)
        size = it.random.choice(_SIZES)
        made = it.members(name, it.random.randint(1, 2), size, priority=priority) if it.random.random() < 0.2 else 0
        least = it.random.choice((None, made + count, made + count, it.random.randint(1, made + count)))
        more: Json = {"schedulingConstraints": _rack(it)} if it.gates == TOPOLOGY and it.random.random() < 0.7 else {}
        if it.random.random() < 0.3:
            more["disruptionMode"] = {"all": {}}
        it.group(name, least, priority=priority, **more)
        for each in range(count):
            it.pod(
                f"{name}-{each}",
                size if it.random.random() < 0.7 else it.random.choice(_SIZES),
                priority=priority,
                group=name,
            )
    for number in range(it.random.randint(0, 3)):
        it.pod(f"single-{number}", it.random.choice(_SIZES), priority=it.random.choice(_PRIORITIES))
    if it.random.random() < 0.3:
        it.random.shuffle(it.manifest)


FAMILIES: dict[str, Callable[[Builder], None]] = {
    "basic": _basic,
    "competing": _competing,
    "constrained": _constrained,
    "devices": _devices,
    "fits": _fits,
    "gated": _gated,
    "invalid": _invalid,
    "members": _members,
    "mixed": _mixed,
    "partial": _partial,
    "preempt": _preempt,
    "preempt_groups": _preempt_groups,
    "shapes": _shapes,
    "toobig": _toobig,
    "toofew": _toofew,
    "topology": _topology,
    "topology_members": _topology_members,
    "topology_none": _topology_none,
    "topology_preempt": _topology_preempt,
    "wild": _wild,
}


def generate(seed: str, family: str) -> Json:
    """The case of that seed."""
    it = Builder(seed)
    FAMILIES[family](it)
    return it.case(family) | {"case": seed}
