"""Pods and nodes as an extender is sent them: the original, with what admission has changed since."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwhatif.admission.new_pod import stored_pod
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.saved import Originals, SessionOriginals
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.scheduler.extender_objects import WholeObjects
from kwhatif.state.pod_info import PodInfo
from tests.builders import node, pod

MANIFEST = """
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {for: the extender}
  creationTimestamp: null
spec:
  priorityClassName: high
  hostNetwork: true
  schedulerName: null
  terminationGracePeriodSeconds: 5
  volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]
  containers:
  - name: c
    image: app:1
    env: [{name: A, value: b}]
    ports: [{name: http, containerPort: 80}]
    resources: {limits: {cpu: 2, memory: 1024Mi}}
    volumeMounts: [{name: v, mountPath: /v}]
"""


def sent(tmp_path: Path, manifest: str) -> dict[str, Any]:
    path = tmp_path / "pod.yaml"
    path.write_text(manifest)
    candidates = Originals()
    found = read_manifest_set([str(path)], stdin=io.BytesIO(), default_namespace="shop", originals=candidates)
    (read,) = found.manifests
    assert isinstance(read.object, Pod)
    classes = Cluster([PriorityClass(metadata=ObjectMeta(name="high"), value=1000)])
    admitted = stored_pod(read.object, classes)
    assert isinstance(admitted, Pod)
    return WholeObjects(SessionOriginals(Originals(), candidates)).candidate(PodInfo(admitted))


def test_a_manifest_with_all_that_admission_and_the_api_server_add(tmp_path: Path) -> None:
    assert sent(tmp_path, MANIFEST) == {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "shop/web",
            "generation": 1,
            "annotations": {"for": "the extender"},
        },
        "spec": {
            "priorityClassName": "high",
            "priority": 1000,
            "preemptionPolicy": "PreemptLowerPriority",
            "hostNetwork": True,
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 5,
            "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
            "containers": [
                {
                    "name": "c",
                    "image": "app:1",
                    "env": [{"name": "A", "value": "b"}],
                    "ports": [{"name": "http", "containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
                    "resources": {
                        "limits": {"cpu": "2", "memory": "1Gi"},
                        "requests": {"cpu": "2", "memory": "1Gi"},
                    },
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "enableServiceLinks": True,
        },
        "status": {"phase": "Pending", "qosClass": "Guaranteed"},
    }


def test_a_pod_that_was_read_from_nowhere_is_sent_as_far_as_it_is_known() -> None:
    info = pod("made", "shop").cpu("500m").labels(app="x").toleration("t", "Exists").priority(7).info()
    found = WholeObjects(SessionOriginals(Originals(), Originals())).candidate(info)
    assert found["metadata"] == {
        "name": "made",
        "namespace": "shop",
        "labels": {"app": "x"},
        "uid": "shop/made",
        "generation": 1,
    }
    assert found["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m"}}
    assert (found["spec"]["priority"], found["spec"]["tolerations"]) == (7, [{"key": "t", "operator": "Exists"}])
    assert found["status"] == {"phase": "Pending", "qosClass": "Burstable"}


def originals(**objects: dict[str, Any]) -> Originals:
    found = Originals()
    for obj in objects.values():
        found.add(json.dumps(obj).encode(), "", "default")
    return found


def test_a_candidate_of_a_manifest_is_not_the_pod_of_that_name_in_the_cluster() -> None:
    head = {"kind": "Pod", "metadata": {"name": "pod", "namespace": "default"}}
    both = SessionOriginals(
        originals(pod=head | {"spec": {"hostAliases": "stored"}}),
        originals(pod=head | {"spec": {"hostAliases": "new"}}),
    )
    objects = WholeObjects(both)
    assert objects.candidate(pod().info())["spec"]["hostAliases"] == "new"
    assert objects.victim(pod().info())["spec"]["hostAliases"] == "stored"
    pending = WholeObjects(both._replace(candidates=Originals()))
    assert pending.candidate(pod().info())["spec"]["hostAliases"] == "stored"


def test_a_node_is_sent_whole_and_encoded_once() -> None:
    stored = {"kind": "Node", "metadata": {"name": "n", "annotations": {"a": "b"}}, "spec": {"podCIDR": "10.0.0.0/8"}}
    objects = WholeObjects(SessionOriginals(originals(node=stored), Originals()))
    known = node("n").meta(annotations={"a": "b"}).build()
    first = objects.node(known)
    found = msgspec.json.decode(first)
    assert (found["metadata"]["annotations"], found["spec"]) == ({"a": "b"}, {"podCIDR": "10.0.0.0/8"})
    assert found["status"]["allocatable"] == {"cpu": "4", "memory": "16Gi", "pods": "110"}
    assert objects.node(known) is first
    cordoned = msgspec.json.decode(objects.node(node("n").cordoned().build()))
    assert cordoned["spec"] == {"podCIDR": "10.0.0.0/8", "unschedulable": True}


# --- where originals come from ------------------------------------------------------------------------


def items(count: int) -> list[dict[str, Any]]:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "extra": "node"}
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "n"}, "extra": "pod"}
    return [node, *(pod | {"metadata": {"name": f"p{number}", "namespace": "shop"}} for number in range(count))]


def listing(count: int, **json_options: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items(count)}, **json_options)


FILES: dict[str, Callable[[], str]] = {
    "a list": lambda: listing(3),
    "a long list, which is taken apart": lambda: listing(10_000, indent=4),
    "a long list on one line": lambda: listing(15_000),
    "documents": lambda: "\n---\n".join(json.dumps(item, indent=1) for item in items(3)),
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_originals_are_kept_however_a_file_is_read(tmp_path: Path, text: Callable[[], str]) -> None:
    (tmp_path / "cluster.json").write_text(text())
    kept = Originals()
    loaded = read_cluster([str(tmp_path / "cluster.json")], stdin=io.BytesIO(), originals=kept)
    assert isinstance(loaded.cluster, Cluster)
    for kind in (Pod, Node):
        for key in loaded.cluster.all(kind):
            assert (kept.get(kind.__name__, key) or {})["extra"] == kind.__name__.lower()
