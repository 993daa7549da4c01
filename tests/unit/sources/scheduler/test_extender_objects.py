"""Pods and nodes as an extender is sent them: the original, with what admission has changed since."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.admission.new_pod import stored_pod
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.saved import Originals, SessionOriginals
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.scheduler.extender_objects import (
    WholeObjects,
    as_informed,
    complete_node,
    complete_pod,
    overlay,
    qos_class,
)
from kwhatif.state.pod_info import PodInfo
from tests.builders import node, pod
from tests.objects import manifest

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


# --- What every stored pod and node has, and a manifest need not say ----------------------------------


def completed(pod: dict[str, Any]) -> dict[str, Any]:
    complete_pod(pod, "shop/web")
    return pod


def test_a_pod_of_a_manifest() -> None:
    assert completed({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}}) == {
        "metadata": {"name": "web", "uid": "shop/web", "generation": 1},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "app:1",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "enableServiceLinks": True,
        },
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    }


def test_what_a_pod_says_itself_stays() -> None:
    pod: dict[str, Any] = {
        "metadata": {"name": "web", "uid": "u", "generation": 7},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "app",
                    "resources": {},
                    "terminationMessagePath": "/x",
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "imagePullPolicy": "Never",
                }
            ],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "dnsPolicy": "None",
            "securityContext": {"runAsUser": 1},
            "enableServiceLinks": False,
        },
        "status": {"phase": "Running", "qosClass": "Burstable"},
    }
    assert completed({**pod, "spec": {**pod["spec"]}}) == pod


def test_quantities_are_written_as_the_api_server_writes_them() -> None:
    resources = {"requests": {"cpu": 0.5, "memory": "1024Mi"}, "limits": {"cpu": 2}}
    pod = completed({"spec": {"initContainers": [{"resources": resources}], "overhead": {"cpu": "0.25"}}})
    assert pod["spec"]["initContainers"][0]["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": "2"},
    }
    assert pod["spec"]["overhead"] == {"cpu": "250m"}


PULLED = {
    "app": "Always",
    "app:latest": "Always",
    "app:1": "IfNotPresent",
    "registry:5000/app": "Always",
    "registry:5000/app:1": "IfNotPresent",
    "app@sha256:abc": "IfNotPresent",
    "app:latest@sha256:abc": "Always",
    "": "IfNotPresent",
}


@pytest.mark.parametrize(("image", "policy"), PULLED.items())
def test_image_pull_policy(image: str, policy: str) -> None:
    assert completed({"spec": {"containers": [{"image": image}]}})["spec"]["containers"][0]["imagePullPolicy"] == policy


def container(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


BOTH = {"cpu": "1", "memory": "1Gi"}
QOS: dict[str, tuple[dict[str, Any], str]] = {
    "nothing is asked": ({"containers": [container()]}, "BestEffort"),
    "nothing of cpu and memory is asked": ({"containers": [container({"a.io/x": "1", "cpu": "0"})]}, "BestEffort"),
    "something is asked": ({"containers": [container({"cpu": "1"})]}, "Burstable"),
    "all is limited, and requested in full": ({"containers": [container(BOTH, BOTH)]}, "Guaranteed"),
    "written differently": (
        {"containers": [container({"cpu": "1000m", "memory": "1024Mi"}, BOTH)]},
        "Guaranteed",
    ),
    "less is requested": ({"containers": [container({"cpu": "500m", "memory": "1Gi"}, BOTH)]}, "Burstable"),
    "one container is not limited": ({"containers": [container(BOTH, BOTH), container()]}, "Burstable"),
    "an init container is not": (
        {"containers": [container(BOTH, BOTH)], "initContainers": [container({"cpu": "1"})]},
        "Burstable",
    ),
    "the pod as a whole counts alone": (
        {"resources": {"requests": BOTH, "limits": BOTH}, "containers": [container({"cpu": "1"})]},
        "Guaranteed",
    ),
}


@pytest.mark.parametrize(("spec", "expected"), QOS.values(), ids=QOS.keys())
def test_qos_class(spec: dict[str, Any], expected: str) -> None:
    assert qos_class(spec) == expected


def test_a_node_of_a_manifest() -> None:
    node: dict[str, Any] = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": 4}, "nodeInfo": {"osImage": "x"}}}
    complete_node(node)
    assert node["spec"] == {}
    assert node["status"]["capacity"] == {"cpu": "4"}
    assert node["status"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    assert (node["status"]["nodeInfo"]["osImage"], node["status"]["nodeInfo"]["machineID"]) == ("x", "")


def test_informers_know_no_kinds_no_managed_fields_and_no_nulls() -> None:
    obj = manifest(
        "Pod",
        {"name": "web", "managedFields": [{}], "creationTimestamp": None},
        spec={"containers": [{"name": "c", "command": None}], "affinity": None},
    )
    assert as_informed(obj) == {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c"}]}}


# --- Changes of a partial object on the whole one -----------------------------------------------------


CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "nothing changed": ({"a": 1, "x": 2}, {"a": 1}, {"a": 1}, {"a": 1, "x": 2}),
    "a changed value": ({"a": 1, "x": 2}, {"a": 1}, {"a": 3}, {"a": 3, "x": 2}),
    "a new value": ({"x": 2}, {}, {"a": 3}, {"a": 3, "x": 2}),
    "a value that is gone": ({"a": 1, "x": 2}, {"a": 1}, {}, {"x": 2}),
    "deep inside": (
        {"spec": {"a": 1, "x": {"y": 2}}},
        {"spec": {"a": 1}},
        {"spec": {"a": 3, "b": 4}},
        {"spec": {"a": 3, "b": 4, "x": {"y": 2}}},
    ),
    "a value that the whole spells out and the partial view leaves to its default": (
        {"a": 0, "x": 2},
        {},
        {"a": 5},
        {"a": 5, "x": 2},
    ),
    "a map in which the partial view shows nothing before": (
        {"spec": {"x": {"y": 2}}},
        {},
        {"spec": {"a": 3}},
        {"spec": {"a": 3, "x": {"y": 2}}},
    ),
    "items of a list keep what is theirs": (
        [{"a": 1, "x": 1}, {"a": 2, "x": 2}],
        [{"a": 1}, {"a": 2}],
        [{"a": 1}, {"a": 3}],
        [{"a": 1, "x": 1}, {"a": 3, "x": 2}],
    ),
    "an appended item": ([{"a": 1, "x": 1}], [{"a": 1}], [{"a": 1}, {"b": 2}], [{"a": 1, "x": 1}, {"b": 2}]),
    "an item put before the others": (
        [{"name": "c", "x": 1}],
        [{"name": "c"}],
        [{"name": "init"}, {"name": "c", "a": 2}],
        [{"name": "init"}, {"name": "c", "a": 2, "x": 1}],
    ),
    "an item that is gone": (
        [{"name": "a", "x": 1}, {"name": "b", "x": 2}],
        [{"name": "a"}, {"name": "b"}],
        [{"name": "b"}],
        [{"name": "b", "x": 2}],
    ),
    "items without names": (["a", "b"], ["a", "b"], ["b"], ["b"]),
    "a value of another type": ({"a": "1"}, {"a": 1}, {"a": 2}, {"a": 2}),
    "a map that was none": ({"a": None}, {}, {"a": {"b": 1}}, {"a": {"b": 1}}),
}


@pytest.mark.parametrize(("whole", "before", "after", "expected"), CASES.values(), ids=CASES.keys())
def test_overlay(whole: Any, before: Any, after: Any, expected: Any) -> None:
    assert overlay(whole, before, after) == expected


JSON = st.recursive(
    st.integers(0, 3) | st.sampled_from("xyz"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_where_all_is_shown_the_change_is_all_there_is(before: Any, after: Any) -> None:
    assert overlay(before, before, after) == after
