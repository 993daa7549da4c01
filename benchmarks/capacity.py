"""How many more pods fit: pods counted a second, on 5,000 nodes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import kwhatif
from benchmarks.context import Context
from benchmarks.rows import Row, at_least, at_most
from kwhatif.questions.session.session import Session

TITLE = "Capacity"
NOTE = """\
Beyond loading: making, admitting and placing every pod, and the report. There is room for three more pods of 1 cpu on
every node; the count ends at 10,000. cluster-capacity places some 510 such pods a second on a machine like this."""

Json = dict[str, Any]

TARGET = at_least(5_000)
_SELECTOR = {"matchLabels": {"app": "more"}}
_SPREAD = {
    "maxSkew": 5,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": _SELECTOR,
}


class Counted(NamedTuple):
    """How many pods fit, and the seconds of processor time that it took to know."""

    pods: int
    seconds: float


def _template(**spec: Any) -> Json:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    meta = {"name": "more", "namespace": "team-1", "labels": {"app": "more"}}
    return {"metadata": meta, "spec": {"containers": [container]} | spec}


def _deployment(**spec: Any) -> Json:
    meta = {"name": "more", "namespace": "team-1"}
    made = {"selector": _SELECTOR, "template": _template(**spec)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": made}


#: What is counted -> its manifest.
MANIFESTS: Mapping[str, Json] = {
    "a pod of 1 cpu": {"apiVersion": "v1", "kind": "Pod"} | _template(),
    "a Deployment, 1 cpu a pod": _deployment(),
    "a Deployment that spreads over zones": _deployment(topologySpreadConstraints=[_SPREAD]),
}


def _count(session: Session, manifest: Json, **options: Any) -> Counted:
    started = time.process_time()
    row = kwhatif.capacity(session, manifest, **options).capacity
    seconds = time.process_time() - started
    assert row is not None
    assert row.best is not None
    return Counted(row.best.sets, seconds)


def rows(context: Context) -> Iterator[Row]:
    """Pods a second, how long a cluster takes until it is full, and the search for the fewest nodes."""
    shape = replace(context.large, free_cpu=3_300)
    session = context.session(shape)
    for what, manifest in MANIFESTS.items():
        runs = [_count(session, manifest) for _ in range(context.runs)]
        best = min(runs, key=lambda run: run.seconds)
        yield Row(f"{best.pods:,} pods: {what}", best.pods / best.seconds, "pods/s", target=TARGET)
    pod = MANIFESTS["a pod of 1 cpu"]
    full = _count(session, pod, limit=100_000)
    yield Row(f"{full.pods:,} pods, until no more fit", full.pods / full.seconds, "pods/s", target=TARGET)
    half = replace(shape, nodes=shape.nodes // 2)
    session = context.session(half)
    target = full.pods // 2 + half.nodes
    added = _count(session, pod, target=target, add_nodes_like=session.state.nodes[0].name)
    yield Row(f"the fewest nodes for {target:,} pods", added.seconds, "s", target=at_most(30))
