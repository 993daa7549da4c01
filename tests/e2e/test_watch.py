"""A cluster that is watched while it changes, and while connections break off, is what reading it then gives."""

from __future__ import annotations

import os
import time
from random import Random
from typing import Any

import kwhatif
from kwhatif.api.live import LiveCluster
from kwhatif.sources.live.options import LiveOptions
from tests.e2e.control_plane import ControlPlane
from tests.e2e.demo import Demo
from tests.property.test_watched_cluster import form

#: How many changes are tried.
CHANGES = int(os.environ.get("KWHATIF_E2E_CHANGES", "2000"))
NAMESPACE = "watched"


def a_pod(name: str, random: Random) -> dict[str, Any]:
    requests = {"cpu": random.choice(("10m", "1", "100")), "memory": "16Mi"}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}]}
    if random.randrange(2):
        spec["nodeName"] = random.choice(("w1", "w2", "w3"))
    labels = {"app": random.choice(("web", "db"))}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def a_node(name: str, random: Random) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": random.choice("ab")}
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    meta = {"name": name, "labels": labels}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}, "status": status}


def a_budget(name: str, random: Random) -> dict[str, Any]:
    spec = {"minAvailable": random.randrange(3), "selector": {"matchLabels": {"app": "web"}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}


PODS, NODES = f"/api/v1/namespaces/{NAMESPACE}/pods", "/api/v1/nodes"
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
MADE = {PODS: a_pod, NODES: a_node, BUDGETS: a_budget}
#: It is there already, is not there, or is of another version.
FINE = (404, 409, 422)


def change(plane: ControlPlane, random: Random) -> None:
    """Something comes, changes or goes."""
    path = random.choice((PODS, PODS, PODS, NODES, BUDGETS))
    name = random.choice(("w1", "w2", "w3", "w4", "w5"))
    match random.randrange(4):
        case 0:
            now = {"gracePeriodSeconds": 0}
            plane.api.send("DELETE", f"{path}/{name}", now, accept=FINE)
        case 1:
            labels = {"metadata": {"labels": {"seen": str(random.randrange(3))}}}
            plane.api.send("PATCH", f"{path}/{name}", labels, accept=FINE)
        case _:
            plane.api.send("POST", path, MADE[path](name, random), accept=FINE)


def test_after_many_changes(plane: ControlPlane, demo: Demo) -> None:
    assert demo is not None, "its objects are there, too"
    random = Random(7)
    plane.api.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}, accept=FINE)
    plane.api.send("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}}, FINE)
    kubeconfig = plane.kubeconfig("admin")
    try:
        with LiveCluster(LiveOptions.of(kubeconfig=kubeconfig), {}) as live:
            live.settle()
            for number in range(CHANGES):
                change(plane, random)
                live.wait(0)
                if number % 100 == 50:
                    random.choice(live.follower._reflectors).break_off()
            read = form(kwhatif.load_live(kubeconfig=kubeconfig))
            end = time.monotonic() + 60
            while _timeless(form(live.session)) != _timeless(read):
                assert time.monotonic() < end, _difference(form(live.session), read)
                live.wait(0.2)
            live.settle()
    finally:
        for path in MADE:
            for name in ("w1", "w2", "w3", "w4", "w5"):
                plane.api.send("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0}, accept=FINE)


def _timeless(known: dict[str, Any]) -> dict[str, Any]:
    minor, gates, _, *others = known["release"]
    return known | {"release": (minor, gates, *others)}


def _difference(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    one, other = _timeless(one), _timeless(other)
    return {name: (one.get(name), other.get(name)) for name in {**one, **other} if one.get(name) != other.get(name)}
