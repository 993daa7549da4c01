"""All what-ifs of an audit of one cluster, as the command asks them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.context import Context
from benchmarks.dump import Shape
from benchmarks.process import KWHATIF
from benchmarks.rows import Row, at_most

TITLE = "An audit of everything"
NOTE = """Every node and every zone is lost, every node is drained, every workload restarted and scaled, all pods of
each budget evicted, more pods of each class come; with two processes. Seconds are those of the clock, from reading the
dump to the last finding. A tenth of what each node has is free: most losses find room for their pods.
"""

_JOBS = 2


def rows(context: Context) -> Iterator[Row]:
    """The whole command, without fixes and with the fixes of the first screen."""
    nodes, workloads = (10, 5) if context.quick else (1_000, 500)
    shape = Shape(nodes=nodes, pods_per_node=20, budgets=workloads, free_cpu=1_000, owned=True)
    what = f"{nodes:,} nodes, {nodes * 20:,} pods, {workloads:,} workloads"
    target = None if context.quick else at_most(180)
    dump = _with_deployments(context.json(shape))
    yield Row(f"{what}: findings", _seconds(dump, "--fixes", "0"), "s", target=target)
    yield Row(f"{what}: findings and fixes of the first ten", _seconds(dump), "s")


def _with_deployments(dump: Path) -> Path:
    """The same cluster, in which each ReplicaSet is made by a Deployment."""
    data = json.loads(dump.read_bytes())
    made = []
    for each in data["items"]:
        if each["kind"] == "ReplicaSet":
            meta = each["metadata"]
            name = meta["name"].rpartition("-")[0]
            owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"deployment-{name}"}
            meta["ownerReferences"] = [{**owner, "controller": True}]
            spec = {**each["spec"], "selector": {"matchLabels": {"app": name}}}
            given = each["spec"]["template"]["metadata"]
            labels = {key: value for key, value in given["labels"].items() if key != "pod-template-hash"}
            spec["template"] = {**spec["template"], "metadata": {**given, "labels": labels}}
            place = {"name": name, "namespace": meta["namespace"], "uid": owner["uid"]}
            made.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": place, "spec": spec})
    path = dump.with_suffix(".deployments.json")
    path.write_text(json.dumps({**data, "items": [*data["items"], *made]}))
    return path


def _seconds(dump: Path, *options: str) -> float:
    argv = [*KWHATIF, "audit", "--jobs", _JOBS, "--from", dump, "-o", "json", *options]
    start = time.perf_counter()
    with Path(os.devnull).open("w") as nowhere:
        done = subprocess.run([str(each) for each in argv], stdout=nowhere, stderr=nowhere, check=False)
    assert done.returncode in (0, 1), done.returncode
    return time.perf_counter() - start
