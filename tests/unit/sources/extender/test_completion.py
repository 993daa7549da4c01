"""What every stored pod and node has, and a manifest need not say."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.sources.scheduler.extender_objects import as_informed, complete_node, complete_pod, qos_class


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
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "managedFields": [{}], "creationTimestamp": None},
        "spec": {"containers": [{"name": "c", "command": None}], "affinity": None},
    }
    assert as_informed(obj) == {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c"}]}}
