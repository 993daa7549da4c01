"""The gate: 50 workloads with 500 replicas in all, against a cluster of 1,000 nodes and 20,000 pods."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

import kwhatif
from benchmarks.context import Context
from benchmarks.dump import Shape
from benchmarks.rows import Row, at_most
from kwhatif.render.formats import FORMATS

TITLE = "The gate"
NOTE = """\
Beyond loading a dump of 1,000 nodes and 20,000 pods: reading the manifests, judging, and the report as Markdown.
Where pods have to evict, every node is tried for the first pod of each workload. Nodes are kept without the pods that
may be evicted, with running sums of what these request: so a request of its own costs some 20 µs a node, and a third of
that where what was found for another one holds. The other replicas, numbered pods of StatefulSets included, cost a few
milliseconds each. What is kept of a node holds as long as its budgets allow as much; why a pod cannot stay is found out
for those candidates that are shown."""

Json = dict[str, Any]

WORKLOADS, REPLICAS = 50, 10
CLUSTER = Shape(nodes=1_000, pods_per_node=20, budgets=800, free_cpu=2_000)

#: What the pods ask for -> the class and cpu of a manifest set's workloads; without, it is `_MIXED`, or each its own.
SETS: dict[str, tuple[str, str]] = {
    "there is room": ("medium", "100m"),
    "all have to evict": ("high", "2500m"),
    "some fit, others evict, the rest stays pending": ("", ""),
    "all have to evict, no two workloads request the same": ("high", ""),
}
_MIXED = (("low", "250m"), ("medium", "3"), ("high", "3"), ("low", "64"), ("medium", "1"))


def manifests(set_name: str) -> list[Json]:
    """The workloads of a set: every fifth a StatefulSet with claims, some spread, some apart, some with a budget."""
    made: list[Json] = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "late"},
            "provisioner": "csi.example.com",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    ]
    for number in range(WORKLOADS):
        priority_class, cpu = SETS[set_name]
        if not priority_class:
            priority_class, cpu = _MIXED[number % len(_MIXED)]
        made.append(_workload(number, priority_class, cpu or f"{2500 + 10 * number}m"))
        if number % 10 == 0:
            made.append(_budget(number))
    return made


def _workload(number: int, priority_class: str, cpu: str) -> Json:
    name = f"new-{number}"
    resources = {"requests": {"cpu": cpu, "memory": "256Mi"}, "limits": {"memory": "256Mi"}}
    container = {"name": "main", "image": f"registry.example.com/team/app-{number}:2.0", "resources": resources}
    selector = {"matchLabels": {"app": name}}
    pod: Json = {"priorityClassName": priority_class, "containers": [container]}
    if number % 3 == 0:
        pod["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ]
    if number % 3 == 1:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        kind = "required" if number % 2 else "preferred"
        terms = [term] if number % 2 else [{"weight": 100, "podAffinityTerm": term}]
        pod["affinity"] = {"podAntiAffinity": {f"{kind}DuringSchedulingIgnoredDuringExecution": terms}}
    spec: Json = {
        "replicas": REPLICAS,
        "selector": selector,
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
    }
    if number % 5 == 0:
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        spec |= {"serviceName": name, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}]}
    kind = "Deployment" if number % 5 else "StatefulSet"
    meta = {"name": name, "namespace": f"team-{number % 40}"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}


def _budget(number: int) -> Json:
    name, namespace = f"new-{number}", f"team-{number % 40}"
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def rows(context: Context) -> Iterator[Row]:
    """Reading the manifests, judging, and writing the report as Markdown, for each set; each time by a new process."""
    dump = context.json(replace(CLUSTER, nodes=10) if context.quick else CLUSTER)
    for name in SETS:
        path = context.folder / "manifests.yaml"
        path.write_text(yaml.safe_dump_all(manifests(name)))
        seconds = min(_by_a_process(dump, path) for _ in range(2 * context.runs))
        yield Row(f"{WORKLOADS} workloads, {WORKLOADS * REPLICAS} replicas: {name}", seconds, "s", target=at_most(2))


def _by_a_process(dump: Path, path: Path) -> float:
    ran = subprocess.run([sys.executable, "-m", "benchmarks.gate", dump, path], stdout=subprocess.PIPE, check=True)
    return float(ran.stdout)


def main(dump: str, path: str) -> None:
    """Print how many seconds of processor time it takes once the dump is loaded."""
    session = kwhatif.load(dump)
    before = time.process_time()
    report = kwhatif.gate(session, path)
    FORMATS["markdown"](report)
    seconds = time.process_time() - before
    assert len(report.decisions) == WORKLOADS * REPLICAS
    assert not report.problems
    print(seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
