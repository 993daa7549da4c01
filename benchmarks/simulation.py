"""What follows on a large cluster: a rollout that preempts, and many replicas at once."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import kwhatif
from benchmarks.context import Context
from benchmarks.dump import Generator, Shape
from benchmarks.process import KWHATIF, costs_of
from benchmarks.rows import Row, at_most, times
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.story import Story
from kwhatif.sources.dumps.dump import read_cluster

Json = dict[str, Any]
TITLE = "What follows: `simulate`"
NOTE = """\
The same cluster with the Deployments of its pods. One more Deployment fills a pool, and is rolled out with larger pods
of high priority: many have to evict, and whom they evict finds room elsewhere. Seconds are those of the first call on a
session that is loaded, in a process of its own, as that of who asks on the command line."""
NAMESPACE = "team-1"
#: Milli-CPU of a replica before and after the rollout, and of who keeps one from coming without an eviction.
_BEFORE, _AFTER, _IN_THE_WAY = 50, 200, 200
#: Milli-CPU that are free on nodes for whoever is evicted.
_ROOM = 1000


def rows(context: Context) -> Iterator[Row]:
    """Both questions, and the memory of the first beside that of `schedule`."""
    shape = context.large
    path = context.folder / f"workloads-{shape.nodes}.json"
    write(path, shape)
    replicas, many = shape.nodes // 10, shape.nodes * 2
    yield from _calls(path, replicas, many, context.runs)
    manifest = context.manifest("rollout.json", deployment("rolled", replicas, _AFTER))
    source = ("--from", path)
    commands = {name: (*KWHATIF, name, manifest, *source) for name in ("schedule", "simulate")}
    costs = costs_of(1, commands)
    yield Row("`simulate`: memory", costs["simulate"].peak, "GB", "`schedule`", costs["schedule"].peak, times(1.3))


def _calls(path: Path, replicas: int, many: int, runs: int) -> Iterator[Row]:
    found = []
    for _ in range(runs):
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            found.append(process.submit(calls, path, replicas, many).result())
    preempted = found[0][0]
    assert preempted >= replicas // 5
    seconds = [min(column) for column in zip(*found, strict=True)]
    yield Row(f"rollout of {replicas:,} replicas, {preempted:,} pods evicted", seconds[1], "s", target=at_most(3))
    yield Row(f"{many:,} replicas, scaled up", seconds[2], "s", target=at_most(8))


def calls(path: Path, replicas: int, many: int) -> tuple[int, float, float]:
    """How many pods the rollout evicts, and the seconds of both questions."""
    session = Session.of(read_cluster([str(path)], stdin=sys.stdin.buffer).cluster)
    gc.collect()
    gc.freeze()
    _ = kwhatif.simulate  # imported before the time counts
    rolled, rolling = asked(session, deployment("rolled", replicas, _AFTER))
    scaled, scaling = asked(session, deployment("many", many, 100, pool=None))
    assert (rolled.settled, scaled.settled) == ("settled", "settled")
    return sum(gone.how == "Preempted" for gone in rolled.gone), rolling, scaling


def asked(session: Session, manifest: Json) -> tuple[Story, float]:
    """The story, and the seconds of processor time that it took."""
    started = time.process_time()
    report: Report = kwhatif.simulate(session, manifest)
    seconds = time.process_time() - started
    assert report.story is not None
    return report.story, seconds


def write(path: Path, shape: Shape) -> None:
    """A `v1 List` in a file."""
    with path.open("w") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": list(objects(shape))}, file)


def objects(shape: Shape) -> Iterator[Json]:
    """The usual dump, its workloads, and the pool that is to be rolled."""
    generator = Generator(shape)
    tenth = shape.nodes // 10
    pods: list[Json] = []
    for obj in generator.objects():
        if obj["kind"] == "Node":
            number = int(obj["metadata"]["uid"].removeprefix("node-"))
            if number % 10 == 1 and number // 10 < tenth // 5:
                _enlarge(obj)
            pods += _pods_of_pool(obj, number, tenth)
        yield obj
    yield from pods
    pods_of = Counter(number % shape.apps for number in range(shape.nodes * shape.pods_per_node))
    for app in range(shape.apps):
        yield from _workload(app, pods_of[app])
    rolled = deployment("rolled", tenth, _BEFORE)
    yield rolled
    yield _replica_set(rolled, "rolled-1", "rolled-1")
    yield deployment("many", 0, 100, pool=None)


def _enlarge(node: Json) -> None:
    cpu = int(node["status"]["allocatable"]["cpu"].removesuffix("m"))
    resources = {**node["status"]["allocatable"], "cpu": f"{cpu + _ROOM}m"}
    node["status"] = {**node["status"], "allocatable": resources, "capacity": resources}


def _pods_of_pool(node: Json, number: int, tenth: int) -> Iterator[Json]:
    """On each node of the pool a replica, on half of them somebody who will not go."""
    if number % 10:
        return
    name = node["metadata"]["name"]
    yield _pod(f"rolled-1-{number:05}", name, _BEFORE, "rolled", "rolled-1")
    if number // 10 < tenth // 2:
        yield _pod(f"wall-{number:05}", name, _IN_THE_WAY, "wall", None)


def _pod(name: str, node: str, cpu: int, app: str, owner: str | None) -> Json:
    template = deployment(app, 1, cpu)["spec"]["template"]
    meta: Json = {"name": name, "namespace": NAMESPACE, "uid": name, "labels": {"app": app, "pod-template-hash": "1"}}
    if owner is not None:
        meta["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
        ]
    spec = {**template["spec"], "nodeName": node, "priority": 1_000_000}
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T00:00:00Z"}
    status = {"phase": "Running", "startTime": "2026-11-01T00:00:00Z", "conditions": [condition]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def deployment(name: str, replicas: int, cpu: int, *, pool: str | None = "pool-0") -> Json:
    """A Deployment of high priority."""
    resources = {"requests": {"cpu": f"{cpu}m", "memory": "64Mi"}}
    container = {"name": "main", "image": "registry.example.com/team/app-1:1.0", "resources": resources}
    spec: Json = {"priorityClassName": "high", "containers": [container]}
    if pool is not None:
        spec["nodeSelector"] = {"pool": pool}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": name, "annotations": {}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _workload(app: int, replicas: int) -> Iterator[Json]:
    """The Deployment of an app of the dump, and its ReplicaSet: what comes back of it is small."""
    made = deployment(f"app-{app}", replicas, 250, pool=None)
    spec = made["spec"]["template"]["spec"]
    made["metadata"]["namespace"] = f"team-{app % 40}"
    spec["priorityClassName"] = ("low", "medium")[app % 2]
    selector = {"matchLabels": {"app": f"app-{app}"}}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    if app % 5 == 0:
        weighted = [{"weight": 100, "podAffinityTerm": term}]
        spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}
    if app % 50 == 1:
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if app % 7 == 0:
        zone, soft = "topology.kubernetes.io/zone", "ScheduleAnyway"
        constraint = {"labelSelector": selector, "maxSkew": 1, "topologyKey": zone, "whenUnsatisfiable": soft}
        spec["topologySpreadConstraints"] = [constraint]
    yield made
    yield _replica_set(made, f"app-{app}-7c9f8d6b5", f"{app:08x}-0000-463e-a895-d411e37b5985")


def _replica_set(owner: Json, name: str, uid: str) -> Json:
    meta, spec = owner["metadata"], owner["spec"]
    mark = {"pod-template-hash": name.rpartition("-")[2]}
    labels = {**spec["template"]["metadata"]["labels"], **mark}
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }
    number = {"deployment.kubernetes.io/revision": "1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "uid": uid,
            "labels": labels,
            "annotations": number,
            "ownerReferences": [reference],
        },
        "spec": {
            "replicas": spec["replicas"],
            "selector": {"matchLabels": spec["selector"]["matchLabels"] | mark},
            "template": spec["template"] | {"metadata": {"labels": labels}},
        },
    }
