"""A cluster that is watched while it changes, and while connections break off, is what reading it then gives."""

import os
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import kwhatif
from kwhatif.api.live import LiveCluster
from kwhatif.sources.live.kubeconfig import LiveOptions
from kwhatif.sources.live.reflector import Patience, Reflector
from tests.e2e.control_plane import ControlPlane
from tests.e2e.demo import Demo
from tests.property.test_watched_cluster import form

#: How many changes are tried.
CHANGES = int(os.environ.get("KWHATIF_E2E_CHANGES", "2000"))
NAMESPACE = "watched"
#: Of this kind nothing comes or goes.
QUIET = "PriorityClass"


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


@pytest.fixture
def watched(plane: ControlPlane, demo: Demo) -> Iterator[LiveCluster]:
    """The cluster with the demo, and a namespace for what comes and goes."""
    assert demo is not None, "its objects are there, too"
    plane.api.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}, accept=FINE)
    plane.api.send("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}}, FINE)
    try:
        with LiveCluster(LiveOptions.of(kubeconfig=plane.kubeconfig("admin")), {}) as live:
            live.settle()
            yield live
    finally:
        for path in MADE:
            for name in ("w1", "w2", "w3", "w4", "w5"):
                plane.api.send("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0}, accept=FINE)


def test_after_many_changes(plane: ControlPlane, watched: LiveCluster) -> None:
    random = Random(7)
    for number in range(CHANGES):
        change(plane, random)
        watched.wait(0)
        if number % 100 == 50:
            random.choice(watched.follower._reflectors).break_off()
    until_it_is_as_read(plane, watched)


def test_a_server_that_has_forgotten_what_happened(plane: ControlPlane, watched: LiveCluster) -> None:
    """No bookmark has come to a quiet list by then: what it knows is as old as its beginning."""
    random = Random(11)
    quiet, lists = watched_at(watched), listed(plane)
    for _ in range(60):
        change(plane, random)
        watched.wait(0)
    assert watched_at(watched) == quiet
    plane.compact()
    plane.restart()  # what it remembers begins now, and etcd does not know more
    for _ in range(60):
        change(plane, random)
        watched.wait(0)
    until_it_is_as_read(plane, watched)
    assert listed(plane) > lists + 1, "it was listed again, and not only to compare"
    assert watched.restarts > 0


def test_bookmarks_are_slow(plane: ControlPlane, watched: LiveCluster) -> None:
    """A quiet list hears of time only once a minute; what was heard is where it goes on."""
    quiet, end = watched_at(watched), time.monotonic() + 180
    random = Random(13)
    for _ in range(20):
        change(plane, random)
    oldest = 0.0
    while watched_at(watched) == quiet:
        assert time.monotonic() < end
        watched.wait(1)
        oldest = max(oldest, watched.age)
        assert not watched.behind
    assert 20 < oldest < Patience().silence
    lists, restarts = listed(plane), watched.restarts
    quietest(watched).break_off()
    while watched.restarts == restarts or watched.behind:
        assert time.monotonic() < end
        watched.wait(1)
    assert listed(plane) == lists
    until_it_is_as_read(plane, watched)


def quietest(live: LiveCluster) -> Reflector:
    """What watches the list of which nothing is changed here."""
    return next(each for each in live.follower._reflectors if each.asked.kind == QUIET)


def watched_at(live: LiveCluster) -> str:
    """The state of the cluster that its watch has seen."""
    watch = quietest(live)._watch
    return "" if watch is None else watch.resource_version


def listed(plane: ControlPlane) -> int:
    """How often that list was read."""
    asked = [each for each in plane.audit() if each.get("userAgent", "").startswith("kwhatif/")]
    return sum(each["verb"] == "list" and each["objectRef"]["resource"] == "priorityclasses" for each in asked)


def until_it_is_as_read(plane: ControlPlane, live: LiveCluster) -> None:
    """Take in what happens, until it is what reading the cluster gives."""
    read = form(kwhatif.load_live(kubeconfig=plane.kubeconfig("admin")))
    end = time.monotonic() + 120
    while live.behind or _timeless(form(live.session)) != _timeless(read):
        assert time.monotonic() < end, (dict(live.behind), _difference(form(live.session), read))
        live.wait(0.2)


def _timeless(known: dict[str, Any]) -> dict[str, Any]:
    minor, gates, _, *others = known["release"]
    return known | {"release": (minor, gates, *others)}


def _difference(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    one, other = _timeless(one), _timeless(other)
    return {name: (one.get(name), other.get(name)) for name in {**one, **other} if one.get(name) != other.get(name)}
