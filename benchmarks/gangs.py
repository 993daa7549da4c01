"""A gang: 512 pods that land together or not at all, on 1,000 nodes with 5,000 pods, anywhere or in one of 20 racks."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kwhatif
from benchmarks.context import Context
from benchmarks.rows import Row, at_most

TITLE = "A gang"
NOTE = """\
Beyond loading the dump: `schedule`, and its report as JSON. Members are tried one after another, each beside those
before it; with a topology, on every rack that the scheduler would try."""

Json = dict[str, Any]

NODES, RACKS, MEMBERS = 1_000, 20, 512
_RACK = "example.com/rack"
_GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"


def cluster(nodes: int) -> list[Json]:
    """Nodes of 32 cpu, each with five pods of different sizes."""
    made: list[Json] = []
    for number in range(nodes):
        name = f"n{number:04}"
        labels = {"kubernetes.io/hostname": name, _RACK: f"r{number % RACKS:02}"}
        status: Json = {
            "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        made.append(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}
        )
        for place in range(5):
            spec = _spec(f"{500 + (number * 7 + place * 130) % 900}m") | {"nodeName": name, "priority": 0}
            made.append(_pod(f"low-{number}-{place}", spec) | {"status": {"phase": "Running"}})
    return made


def gang(members: int, *, racked: bool) -> list[Json]:
    """A PodGroup and its pods, all of which have to fit."""
    policy: Json = {"schedulingPolicy": {"gang": {"minCount": members}}}
    topology = {"schedulingConstraints": {"topology": [{"key": _RACK}]}} if racked else {}
    meta = {"name": "train", "namespace": "default"}
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": meta,
        "spec": policy | topology,
    }
    spec = _spec("1") | {"schedulingGroup": {"podGroupName": "train"}}
    return [group, *(_pod(f"train-{number}", spec) for number in range(members))]


def _pod(name: str, spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _spec(cpu: str) -> Json:
    resources = {"requests": {"cpu": cpu, "memory": "512Mi"}}
    return {"containers": [{"name": "main", "image": "registry.example.com/train:1", "resources": resources}]}


def rows(context: Context) -> Iterator[Row]:
    """Each time by a new process."""
    nodes, members = (40, 16) if context.quick else (NODES, MEMBERS)
    dump = _written(context.folder / "gang-cluster.json", cluster(nodes))
    for racked, where in ((False, "anywhere"), (True, f"in one of {RACKS} racks")):
        manifest = _written(context.folder / "gang.json", gang(members, racked=racked))
        seconds = min(_by_a_process(dump, manifest, members) for _ in range(context.runs))
        yield Row(f"a gang of {members:,} on {nodes:,} nodes, {where}", seconds, "s", target=at_most(3))


def _written(path: Path, objects: list[Json]) -> Path:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return path


def _by_a_process(dump: Path, manifest: Path, members: int) -> float:
    command: list[str | Path] = [sys.executable, "-m", "benchmarks.gangs", dump, manifest, str(members)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def main(dump: str, manifest: str, members: str) -> None:
    """Print how many seconds of processor time it takes once the dump is loaded."""
    session = kwhatif.load(dump, kubernetes_version="1.37", feature_gates=_GATES)
    before = time.process_time()
    report = kwhatif.schedule(session, manifest)
    report.to_json()
    seconds = time.process_time() - before
    assert report.pod_groups is not None
    (group,) = report.pod_groups.groups
    assert (group.outcome, group.placed) == ("scheduled", int(members)), group.message
    print(seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
