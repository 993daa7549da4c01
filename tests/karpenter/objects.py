"""Small clusters for Karpenter: NodePools, nodes with their NodeClaims, pods, instance types."""

from itertools import count
from typing import Any

from tests.objects import manifest

Json = dict[str, Any]

ZONES = ("a", "b", "c")
_numbers = count(1)


def condition(type_: str, status: str = "True") -> Json:
    return {"type": type_, "status": status, "lastTransitionTime": "2026-11-19T00:00:00Z"}


def pool(name: str = "general", *, labels: Json | None = None, disruption: Json | None = None, **spec: Any) -> Json:
    """A NodePool that is ready; `spec` of the template or of the pool itself."""
    own = {key: spec.pop(key) for key in ("limits", "weight", "replicas") if key in spec}
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"metadata": {"labels": labels or {}}, "spec": {"nodeClassRef": reference, "requirements": [], **spec}}
    default = {
        "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "budgets": [{"nodes": "100%"}],
    }
    return manifest(
        "NodePool",
        {"name": name, "uid": f"pool-{name}"},
        spec={"template": template, "disruption": default | (disruption or {}), **own},
        status={"conditions": [condition("Ready")]},
    )


def node(
    name: str,
    type_: str = "m.large",
    *,
    zone: str = "a",
    capacity_type: str = "on-demand",
    of: str = "general",
    cpu: int = 2,
    conditions: tuple[str, ...] = ("Consolidatable",),
    initialized: bool = True,
    claim: Json | None = None,
    **meta: Any,
) -> list[Json]:
    """A node with its NodeClaim; `claim` is merged into the claim's spec."""
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": zone,
        "karpenter.sh/capacity-type": capacity_type,
        "node.kubernetes.io/instance-type": type_,
        "karpenter.sh/nodepool": of,
    }
    amounts = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "20"}
    own = labels | {"kubernetes.io/hostname": name, "karpenter.sh/registered": "true"}
    if initialized:
        own["karpenter.sh/initialized"] = "true"
    shown = [condition(each) for each in ("Launched", "Registered", "Initialized", *conditions)]
    status = {"providerID": f"aws:///{name}", "nodeName": name, "capacity": amounts, "allocatable": amounts}
    return [
        manifest(
            "NodeClaim",
            {"name": f"claim-{name}", "uid": f"claim-{name}", "labels": labels},
            spec={"requirements": [], **(claim or {})},
            status={**status, "conditions": shown},
        ),
        manifest(
            "Node",
            {"name": name, "uid": f"node-{name}", "labels": own, **meta},
            spec={"providerID": f"aws:///{name}"},
            status={"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
        ),
    ]


def pod(name: str, *, cpu: str = "1", on: str = "", annotations: Json | None = None, **spec: Any) -> Json:
    """A pod that runs on a node, or one for which the scheduler has found no place."""
    requests = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    status: Json = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    if not on:
        unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        status = {"phase": "Pending", "conditions": [unschedulable]}
    meta: Json = {"name": name, "namespace": "default", "uid": f"pod-{name}", "labels": {"app": "web"}}
    meta["creationTimestamp"] = f"2026-11-20T11:00:{next(_numbers) % 60:02}Z"
    if annotations:
        meta["annotations"] = annotations
    containers = [{"name": "main", "image": "app:1", "resources": requests}]
    placed = {"nodeName": on} if on else {}
    return manifest("Pod", meta, spec={"containers": containers, **placed, **spec}, status=status)


def type_(name: str, cpu: int, price: float, *, zones: tuple[str, ...] = ZONES, spot: float | None = None) -> Json:
    """An instance type with 4Gi of memory for each CPU, on demand, and as spot at that part of the price."""
    offerings = [
        {"capacityType": kind, "zone": zone, "price": round(price * part, 4)}
        for zone in zones
        for kind, part in (("on-demand", 1.0), ("spot", spot))
        if part is not None
    ]
    return {
        "name": name,
        "capacity": {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "20"},
        "requirements": [{"key": "example.com/cpu", "operator": "In", "values": [str(cpu)]}],
        "offerings": offerings,
    }


TYPES = [type_("m.large", 2, 0.1), type_("m.xlarge", 4, 0.2), type_("m.2xlarge", 8, 0.4)]


def asked(ask: str, *objects: Json | list[Json], types: list[Json] | None = None, **more: Any) -> Json:
    """A question for `play`."""
    cluster = [each for found in objects for each in (found if isinstance(found, list) else [found])]
    return {"ask": ask, "cluster": cluster, "types": TYPES if types is None else types, **more}
