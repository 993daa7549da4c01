"""Numbers that are valid and absurd get answers."""

from pathlib import Path

import pytest

from tests.cli.running import run

HUGE = 10**40
CLUSTER = f"""
apiVersion: v1
kind: Node
metadata: {{name: n1, labels: {{kubernetes.io/hostname: n1}}}}
status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "110"}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: n2, labels: {{kubernetes.io/hostname: n2}}}}
status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "110", example.com/things: {HUGE}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: runs, namespace: default}}
spec:
  nodeName: n1
  containers: [{{name: c, image: i, resources: {{requests: {{memory: {HUGE}}}}}}}]
status: {{phase: Running}}
---
apiVersion: v1
kind: Pod
metadata: {{name: waits, namespace: default}}
spec:
  containers: [{{name: c, image: i, resources: {{requests: {{memory: {HUGE}}}}}}}]
status: {{phase: Pending}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: disk}}
spec: {{capacity: {{storage: {HUGE}}}, accessModes: [ReadWriteOnce], hostPath: {{path: /disk}}}}
"""
MANIFEST = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers: [{{name: c, image: i, resources: {{requests: {{memory: {HUGE}}}}}}}]
      volumes: [{{name: tmp, emptyDir: {{sizeLimit: {HUGE}}}}}]
"""


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("schedule -f web.yaml", 1),
        ("gate web.yaml", 1),
        ("simulate -f web.yaml", 1),
        ("capacity", 0),
        ("capacity -f web.yaml", 1),
        ("preempt", 1),
        ("advise web.yaml", 1),
        ("queue", 0),
        ("drain n1", 1),
        ("outage n1 --deleted", 1),
        ("outage --each kubernetes.io/hostname --resume sweep.jsonl", 1),
        ("snapshot save saved.json", 0),
    ],
)
def test_a_quantity_may_be_an_integer_of_any_length(
    command: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "web.yaml").write_text(MANIFEST)
    first, again = (run(f"kwhatif {command} --from cluster.yaml") for _ in range(2))
    assert first.code == code, first.stderr
    assert again == first
