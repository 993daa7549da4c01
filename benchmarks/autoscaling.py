"""Nodes that autoscalers add for 500 pods, and remove of 1,000 nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import kwhatif
from benchmarks.context import Context
from benchmarks.rows import Row, at_most

TITLE = "Autoscaling"
NOTE = """\
1,000 nodes with 10 pods each, of 20 groups or 4 NodePools; 500 pods of 25 workloads wait, of which each asks for what
no node has left. Seconds are those of the call, on a session that is loaded; with the rounds that follow the first, and
of a consolidation with the drain of each node that goes."""

Json = dict[str, Any]
_AT = "2026-11-20T12:00:00Z"
_ZONES = ("a", "b", "c")
_CLASS = {"group": "g", "kind": "Class", "name": "c"}


def rows(context: Context) -> Iterator[Row]:
    """Both autoscalers, both ways."""
    nodes, waiting, types = (40, 20, 6) if context.quick else (1_000, 500, 60)
    groups = {"groups": [_group(number, nodes) for number in range(20)]}
    catalogue = [_type(number) for number in range(types)]
    full = kwhatif.load([*_cluster(nodes, pods=10), *(_waiting(number) for number in range(waiting))])
    what = f"{waiting:,} pods wait, {nodes:,} nodes"
    settings: Json = {"autoscaler": "cluster-autoscaler", "node_groups": groups, "at": _AT}
    yield _row(f"autoscale: {what}, 20 groups", lambda: kwhatif.autoscale(full, **settings), 5)
    karpenter: Json = {"autoscaler": "karpenter", "instance_types": catalogue, "at": _AT}
    yield _row(f"autoscale: {what}, {types} instance types", lambda: kwhatif.autoscale(full, **karpenter), 5)
    half = kwhatif.load([*_cluster(nodes, pods=4)])
    yield _row(f"consolidate: {nodes:,} nodes, 20 groups", lambda: kwhatif.consolidate(half, **settings), 60)
    yield _row(f"consolidate: {nodes:,} nodes, {types} types", lambda: kwhatif.consolidate(half, **karpenter), 60)


def _row(what: str, ask: Callable[[], kwhatif.Report], most: float) -> Row:
    started = time.process_time()
    report = ask()
    seconds = time.process_time() - started
    if report.autoscaler is not None:
        assert any(each.new_nodes or each.scale_up for each in report.autoscaler.rounds)
    else:
        assert report.consolidate is not None
        assert report.consolidate.drains
    return Row(what, seconds, "s", target=at_most(most))


def _cluster(nodes: int, pods: int) -> Iterator[Json]:
    template = {"spec": {"requirements": [], "nodeClassRef": _CLASS}}
    for number in range(4):
        yield {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": f"pool-{number}"},
            "spec": {
                "template": template,
                "disruption": {"budgets": [{"nodes": "100%"}], "consolidateAfter": "0s"},
            },
        }
    for app in range(50):
        yield {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": f"app-{app}", "namespace": "shop", "uid": f"app-{app}"},
            "spec": {
                "replicas": nodes * pods // 50,
                "selector": {"matchLabels": {"app": f"app-{app}"}},
                "template": {"metadata": {"labels": {"app": f"app-{app}"}}, "spec": _spec("700m")},
            },
        }
    for number in range(nodes):
        yield from _node(number)
        for pod in range(pods):
            app = (number * pods + pod) % 50
            yield _pod(f"pod-{number}-{pod}", app, "700m", nodeName=f"node-{number:04}")


def _node(number: int) -> Iterator[Json]:
    name, zone = f"node-{number:04}", _ZONES[number % 3]
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": zone,
        "node.kubernetes.io/instance-type": "type-03",
        "karpenter.sh/capacity-type": "on-demand",
        "karpenter.sh/nodepool": f"pool-{number % 4}",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        "group": f"group-{number % 20:02}",
    }
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T00:00:00Z"}]
    made = "2026-11-01T00:00:00Z"
    yield {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": made},
        "spec": {"providerID": f"cloud:///{name}"},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": conditions},
    }
    ready = [
        {"type": each, "status": "True", "lastTransitionTime": made}
        for each in ("Launched", "Registered", "Initialized", "Consolidatable")
    ]
    yield {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": made},
        "spec": {"requirements": [], "nodeClassRef": _CLASS},
        "status": {
            "providerID": f"cloud:///{name}",
            "nodeName": name,
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": ready,
        },
    }


def _spec(cpu: str, **more: Any) -> Json:
    return {
        "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    } | more


def _pod(name: str, app: int, cpu: str, **more: Any) -> Json:
    owner = {
        "kind": "ReplicaSet",
        "name": f"app-{app}",
        "uid": f"app-{app}",
        "controller": True,
        "apiVersion": "apps/v1",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "labels": {"app": f"app-{app}"},
            "creationTimestamp": "2026-11-02T00:00:00Z",
            "ownerReferences": [owner],
        },
        "spec": _spec(cpu, **more),
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _waiting(number: int) -> Json:
    """Of 25 workloads, each with a spread of its pods over zones, or none."""
    app = 100 + number % 25
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": f"app-{app}"}},
    }
    more = {"topologySpreadConstraints": [spread]} if app % 3 == 0 else {}
    pod = _pod(f"waits-{number}", app, f"{1 + app % 4}", **more)
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return pod | {"status": {"phase": "Pending", "conditions": [condition]}}


def _group(number: int, nodes: int) -> Json:
    name = f"group-{number:02}"
    return {"name": name, "min": 0, "max": nodes, "nodes": f"group={name}", "price": 0.3 + number / 100}


def _type(number: int) -> Json:
    cpu = 2 * (1 + number % 12)
    offerings = [
        {"capacityType": kind, "zone": zone, "price": cpu * (0.05 if kind == "on-demand" else 0.02) + number / 1000}
        for kind in ("on-demand", "spot")
        for zone in _ZONES
    ]
    capacity = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"}
    return {"name": f"type-{number:02}", "capacity": capacity, "offerings": offerings}
