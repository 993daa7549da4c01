"""What benchmarks share: generated dumps, and sessions on them."""

from __future__ import annotations

import gc
import json
import sys
from functools import cache
from pathlib import Path

from benchmarks.dump import Shape, write_json, write_yaml
from kwhatif.questions.session.session import Session
from kwhatif.sources.dumps.dump import read_cluster

#: A pod that no node has room for: it must evict. As a manifest, which is YAML, too.
EVICTING_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "candidate", "namespace": "team-1", "labels": {"app": "app-1"}},
    "spec": {
        "priorityClassName": "high",
        "containers": [
            {"name": "main", "image": "x", "resources": {"requests": {"cpu": "2", "memory": "256Mi"}}},
        ],
    },
}


def cluster_of(nodes: int) -> Shape:
    """The usual cluster, in another size."""
    return Shape(nodes=nodes, budgets=max(nodes * 4 // 5, 1))


class Context:
    """Made once per run; what it makes is kept, since making it takes longer than most measurements."""

    def __init__(self, folder: Path, *, quick: bool = False) -> None:
        self.folder = folder
        self.quick = quick
        #: The cluster of the issue, and one of a tenth of it, to see the growth.
        self.large, self.small = (cluster_of(50), cluster_of(5)) if quick else (cluster_of(5_000), cluster_of(500))
        #: How often something is measured; the fastest counts, since noise of a machine only ever adds.
        self.runs = 1 if quick else 3
        self.json = cache(self._json)
        self.yaml = cache(self._yaml)
        self.session = cache(self._session)

    def manifest(self, name: str = "pod.yaml", content: object = EVICTING_POD) -> Path:
        """A manifest in a file."""
        path = self.folder / name
        path.write_text(json.dumps(content))
        return path

    def _json(self, shape: Shape) -> Path:
        """The dump of such a cluster."""
        owned = "-owned" if shape.owned else ""
        path = self.folder / f"{shape.nodes}-{shape.pods_per_node}-{shape.free_cpu}{owned}.json"
        write_json(path, shape)
        return path

    def _yaml(self, shape: Shape) -> Path:
        path = self.folder / f"{shape.nodes}-{shape.pods_per_node}.yaml"
        write_yaml(path, shape)
        return path

    def _session(self, shape: Shape) -> Session:
        """A session on such a cluster."""
        session = Session.of(read_cluster([str(self.json(shape))], stdin=sys.stdin.buffer).cluster)
        gc.collect()
        gc.freeze()
        return session
