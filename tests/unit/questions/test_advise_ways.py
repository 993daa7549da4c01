"""Kinds of advice that need a cluster of their own: several terms at once, Jobs that end, quotas, victims by hand."""

from __future__ import annotations

from typing import Any

import pytest

import kwhatif
from tests.advising import nodes_for, taken

Object = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def node(name: str, cpu: str = "4") -> Object:
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "20"}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, ZONE: "a"}},
        "spec": {},
        "status": status,
    }


def pod(name: str, cpu: str = "1", on: str = "", job: str = "", labels: Object | None = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    meta: Object = {"name": name, "namespace": "shop", "labels": labels or {}, "uid": f"uid-{name}" if on else ""}
    if job:
        meta["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-{job}", "controller": True}
        ]
    spec = {"containers": [container], **spec, **({"nodeName": on} if on else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def job(name: str) -> Object:
    spec = {
        "parallelism": 2,
        "completions": 2,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}"},
        "spec": spec,
    }


def quota(cpu: str) -> Object:
    spec = {"hard": {"requests.cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "cpu", "namespace": "shop"},
        "spec": spec,
    }


SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def advised(document: Object, *objects: Object) -> tuple[kwhatif.Session, Object]:
    cluster = kwhatif.load({"apiVersion": "v1", "kind": "List", "items": [SHOP, *objects]})
    (row,) = kwhatif.advise(cluster, document, most=20).to_dict()["advise"]["workloads"]
    return cluster, row


def kinds(row: Object) -> list[str]:
    return [" + ".join(change["kind"] for change in advice["changes"]) for advice in row["advice"]]


def away(key: str, **labels: str) -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize("side", ["podAntiAffinity", "podAffinity"])
def test_all_terms_that_object_are_one_advice(side: str) -> None:
    terms = [away(HOST, app="a"), away(HOST, app="b"), away(HOST, app="c")]
    running = []
    if side == "podAntiAffinity":
        running = [pod(name, "1", "n1", labels={"app": name}) for name in "abc"]
    wanted = pod("new", affinity={side: {REQUIRED: terms}})
    cluster, row = advised(wanted, node("n1"), *running)
    combined = next(each for each in row["advice"] if each["changes"][0]["kind"].startswith("soften-"))
    (change,) = combined["changes"]
    assert change["before"] == "app=a and app=b and app=c"
    assert nodes_for(taken(cluster, wanted, [change])) == 1


def test_no_term_is_softened_that_may_stay() -> None:
    terms = [away(HOST, app="a"), away(ZONE, app="b")]
    running = [pod("a", "1", "n1", labels={"app": "a"}), pod("b", "1", "n1", labels={"app": "b"})]
    wanted = pod("new", affinity={"podAntiAffinity": {REQUIRED: terms}})
    _, row = advised(wanted, node("n1"), node("n2"), *running)
    said = [change["before"] for advice in row["advice"] for change in advice["changes"] if "soften" in change["kind"]]
    assert said == ["app=b"]


def test_waiting_for_a_job() -> None:
    running = [pod("etl-0", "2", "n1", "etl"), pod("etl-1", "2", "n1", "etl")]
    cluster, row = advised(pod("new", "3"), node("n1"), job("etl"), *running)
    advice = next(each for each in row["advice"] if each["changes"][0]["kind"] == "job-done")
    (change,) = advice["changes"]
    assert (change["by"], change["target"], change["count"]) == ("waiting", "Job shop/etl", 2)
    assert nodes_for(taken(cluster, pod("new", "3"), [change])) == 1


def test_no_job_is_waited_for_that_is_not_in_the_way() -> None:
    running = [pod("etl-0", "1", "n1", "etl"), pod("web", "3", "n1")]
    _, row = advised(pod("new", "3"), node("n1"), job("etl"), *running)
    assert "job-done" not in kinds(row)
    assert "delete-pod" in kinds(row)


def test_a_quota_is_freed_by_what_uses_it() -> None:
    running = [pod("etl-0", "2", "n1", "etl"), pod("etl-1", "2", "n1", "etl"), pod("debug", "1", "n1")]
    cluster, row = advised(pod("new", "3"), node("n1", "16"), quota("6"), job("etl"), *running)
    assert set(kinds(row)) == {"request-less", "raise-quota", "scale-down", "job-done"}
    for advice in row["advice"]:
        assert nodes_for(taken(cluster, pod("new", "3"), advice["changes"])) == 1, advice
    _, row = advised(pod("new", "2"), node("n1", "16"), quota("6"), job("etl"), *running)
    assert "delete-pod" in kinds(row)


def test_a_quota_is_freed_by_no_more_pods_than_needed() -> None:
    running = [pod(f"debug-{number}", "1", "n1") for number in range(4)]
    _, row = advised(pod("new", "2"), node("n1", "16"), quota("4"), *running)
    deleted = [
        change["count"] for advice in row["advice"] for change in advice["changes"] if "delete" in change["kind"]
    ]
    assert deleted == [2]


def test_victims_that_are_cheaper_by_hand() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    one = pod("big", "3", "n1", priority=10)
    many = [pod(f"small-{number}", "1", "n2", priority=0) for number in range(3)]
    _, row = advised(pod("new", "3", priorityClassName="high"), high, node("n1", "3"), node("n2", "3"), *many, one)
    scheduler, *by_hand = row["going"]
    assert scheduler["by"] == "scheduler"
    assert scheduler["pods"] == row["victims"]
    assert [each["by"] for each in by_hand] == ["hand"] * len(by_hand)
    assert all(each["cost"] < scheduler["cost"] for each in by_hand)
    assert [each["pods"] for each in by_hand] == [["shop/big"]]


def test_a_manifest_of_a_pod_that_is_there_keeps_its_claim() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "new-scratch",
            "namespace": "shop",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "new", "uid": "uid-new", "controller": True}
            ],
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "wait", "resources": {}},
        "status": {"phase": "Pending"},
    }
    wait = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "wait"},
        "provisioner": "disk.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    template = {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "wait",
            "resources": {"requests": {"storage": "1Gi"}},
        }
    }
    wanted = pod("new", volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])
    cluster = kwhatif.load({"apiVersion": "v1", "kind": "List", "items": [SHOP, node("n1"), claim, wait]})
    another = kwhatif.schedule(cluster, wanted).decisions[0]
    assert "pod is not owner" in another.message
    wanted["metadata"]["uid"] = "uid-new"
    assert kwhatif.schedule(cluster, wanted).decisions[0].outcome == "Placed"
