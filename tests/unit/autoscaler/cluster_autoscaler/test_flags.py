"""Settings of the Cluster Autoscaler that are read from the arguments of its own workload."""

import io
import json
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.kube.model.caveat.autoscaling import (
    AutoscalerSettingsAssumed,
    AutoscalerSettingsRead,
    FlagsNotModelled,
    GroupBoundsUnknown,
)
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.save import Moment, saved_objects
from tests.objects import manifest

Json = dict[str, Any]
AT = "2026-01-31T12:00:00Z"


def node(name: str, **labels: str) -> Json:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return manifest(
        "Node",
        {"name": name, "labels": {"kubernetes.io/hostname": name} | labels},
        status={"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def waiting(name: str) -> Json:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    container = {"name": "c", "image": "c", "resources": {"requests": {"cpu": "4"}}}
    return manifest(
        "Pod",
        {"name": name, "namespace": "default", "uid": name},
        spec={"containers": [container]},
        status={"phase": "Pending", "conditions": [condition]},
    )


def running(name: str, on: str) -> Json:
    pod = waiting(name)
    return pod | {"spec": pod["spec"] | {"nodeName": on}, "status": {"phase": "Running"}}


def autoscaler(*args: str, command: tuple[str, ...] = ("./cluster-autoscaler",), image: str = "x") -> Json:
    container: Json = {"name": "ca", "image": image, "args": list(args)} | ({"command": command} if command else {})
    template = {"metadata": {"labels": {"app": "ca"}}, "spec": {"containers": [{"name": "side"}, container]}}
    return manifest(
        "Deployment",
        {"name": "scaler", "namespace": "kube-system"},
        spec={"selector": {"matchLabels": {"app": "ca"}}, "template": template},
    )


def asked(*more: Json, **options: Any) -> kwhatif.Report:
    nodes = [node("a", **{"eks.amazonaws.com/nodegroup": "web"}), node("b", **{"eks.amazonaws.com/nodegroup": "big"})]
    there = [running("x", "a"), running("y", "b"), *(waiting(f"p{number}") for number in range(5))]
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *there, *more]})
    return kwhatif.autoscale(kwhatif.load(kwhatif.text(items)), autoscaler="cluster-autoscaler", at=AT, **options)


def found(report: kwhatif.Report, kind: type) -> Any:
    return next((each for each in report.caveat_details if isinstance(each, kind)), None)


def added(report: kwhatif.Report) -> dict[str, int]:
    assert report.autoscaler is not None
    counts: dict[str, int] = {}
    for each in report.autoscaler.rounds:
        for row in each.scale_up:
            counts[row.group] = counts.get(row.group, 0) + row.delta
    return counts


NODES = ("--nodes=1:3:eks-web-0a1b2c3d-1111-2222-3333-444455556666", "--nodes", "0:2:big")


@pytest.mark.parametrize(
    "deployment",
    [
        autoscaler("--v=4", *NODES, "--expander=random"),
        autoscaler(command=("/cluster-autoscaler", *NODES, "--expander", "random")),
        autoscaler(
            *NODES, "--expander=random", command=(), image="registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1"
        ),
    ],
)
def test_bounds_and_expander_are_those_of_its_arguments(deployment: Json) -> None:
    report = asked(deployment)
    assert added(report) == {"web": 2, "big": 1}
    read = found(report, AutoscalerSettingsRead)
    assert (read.source, read.flags) == ("Deployment kube-system/scaler", ("expander", "nodes"))
    for kind in (AutoscalerSettingsAssumed, GroupBoundsUnknown, FlagsNotModelled):
        assert found(report, kind) is None


def test_flags_count_and_what_is_not_understood_is_said() -> None:
    deployment = autoscaler(
        "--max-nodes-total=4",
        "--balance_similar_node_groups",
        "--ignore-taint=a",
        "--ignore-taint=b",
        "--scale-down-utilization-threshold=most",
        "--max-nodes-per-scaleup=$(MOST)",
        "--capacity-quotas-enabled",
        "--enable-provisioning-requests=false",
        "--cloud-thing=1",
        "--nodes=0:4:gone",
        "--nodes=some",
    )
    report = asked(deployment)
    assert sum(added(report).values()) == 2
    assert found(report, AutoscalerSettingsRead).flags == (
        "balance-similar-node-groups",
        "ignore-taint",
        "max-nodes-total",
        "nodes",
    )
    assert set(found(report, FlagsNotModelled).flags) == {
        "capacity-quotas-enabled",
        "cloud-thing=1",
        "max-nodes-per-scaleup=$(MOST)",
        "nodes=0:4:gone",
        "nodes=some",
        "scale-down-utilization-threshold=most",
    }
    assert found(report, GroupBoundsUnknown).groups == ("big", "web")


def test_a_bare_pod_has_them_too_and_a_snapshot_keeps_the_flags_that_there_are() -> None:
    deployment = autoscaler(*NODES, "--expander=random", "--cloud-thing=secret")
    template = deployment["spec"]["template"]
    pod = template | {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}}
    pod["metadata"] = {"name": "scaler-x", "namespace": "kube-system"}
    for given, source in ((pod, "Pod kube-system/scaler-x"), (deployment, "Deployment kube-system/scaler")):
        dump = {"apiVersion": "v1", "kind": "List", "items": [given]}
        collected = collect_dump(["-"], stdin=io.BytesIO(json.dumps(dump).encode()))
        saved = saved_objects(collected, taken_at=Moment(""), images=False, anonymize=False).objects
        obj = next(each for each in saved if each.metadata.name.startswith("scaler"))
        for kept in (given, json.loads(msgspec.json.encode(obj))):
            report = asked(kept)
            read, left = found(report, AutoscalerSettingsRead), found(report, FlagsNotModelled)
            assert (read.source, read.flags) == (source, ("expander", "nodes"))
            assert (left.flags, added(report)) == (
                ("cloud-thing=secret" if kept is given else "cloud-thing=true",),
                {
                    "web": 2,
                    "big": 1,
                },
            )
        anonymous = saved_objects(collected, taken_at=Moment(""), images=False, anonymize=True).objects
        assert b"nodes" not in msgspec.json.encode(anonymous)


def test_a_file_of_groups_overrides_them() -> None:
    groups = {"groups": [{"name": "web", "max": 2, "nodes": ["a"]}]}
    report = asked(autoscaler(*NODES), node_groups=groups)
    assert added(report) == {"web": 1}
    assert found(report, AutoscalerSettingsRead) is None


@pytest.mark.parametrize(
    ("label", "zone", "cloud"),
    [
        ("kubernetes.azure.com/agentpool", "", "aks-web-12345678-vmss"),
        ("kops.k8s.io/instancegroup", "", "web.cluster.example.com"),
        ("cluster.x-k8s.io/deployment-name", "", "MachineDeployment/default/web"),
        (
            "cloud.google.com/gke-nodepool",
            "eu-b",
            "https://content.googleapis.com/compute/v1/projects/p/zones/eu-b/instanceGroups/gke-main-web-5c1e8f0a-grp",
        ),
    ],
)
def test_groups_are_known_by_the_names_that_clouds_give_them(label: str, zone: str, cloud: str) -> None:
    there = node("c", **{label: "web", **({"topology.kubernetes.io/zone": zone} if zone else {})})
    items = [there, running("x", "c"), waiting("p"), waiting("q"), autoscaler(f"--nodes=1:2:{cloud}")]
    text = kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    report = kwhatif.autoscale(kwhatif.load(text), autoscaler="cluster-autoscaler", at=AT)
    assert list(added(report).values()) == [1]
    assert found(report, GroupBoundsUnknown) is None


def test_another_program_is_not_the_autoscaler() -> None:
    report = asked(autoscaler("--max-nodes-total=2", command=("/bin/sh", "cluster-autoscaler")))
    assert found(report, AutoscalerSettingsAssumed) is not None


def test_pods_that_have_not_waited_long_enough_are_said() -> None:
    young = waiting("young")
    young["metadata"]["creationTimestamp"] = AT
    report = asked(young, autoscaler("--nodes=0:9:web", "--nodes=0:9:big"))
    assert report.autoscaler is not None
    (ignored,) = report.autoscaler.rounds[-1].ignored
    assert (ignored.pod, sum(added(report).values())) == ("default/young", 5)
    assert AT in ignored.reason
