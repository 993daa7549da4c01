"""Pods that find no room where an autoscaler may add nodes; and Karpenter's NodePools, as far as a dump shows them."""

import json
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.kube.matching.requests import pod_resources
from kwhatif.kube.model.bystanders import NodePool
from kwhatif.kube.model.caveat.workloads import NodesNotAdded
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.session.node_autoscalers import objection
from tests.objects import manifest

Json = dict[str, Any]


def node(cpu: str = "4", **meta: Any) -> Json:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return manifest(
        "Node",
        {"name": "a"} | meta,
        status={"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def pod(cpu: str = "8", name: str = "p", **spec: Any) -> Json:
    own = {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": cpu}}}]} | spec
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": own}


def pool(name: str = "general", labels: Json | None = None, status: Json | None = None, **spec: Any) -> Json:
    template = {"metadata": {"labels": labels or {}}, "spec": {"requirements": spec.pop("requirements", [])}}
    template["spec"]["taints"] = spec.pop("taints", [])
    return manifest("NodePool", {"name": name}, spec={"template": template} | spec, status={"resources": status or {}})


def need(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


def wants(*needs: Json) -> Json:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [each]} for each in needs]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


ZONE, ARCH, CPUS = "topology.kubernetes.io/zone", "kubernetes.io/arch", "karpenter.k8s.aws/instance-cpu"
TAINT = {"key": "team", "value": "x", "effect": "NoSchedule"}

CASES: dict[str, tuple[Json, Json, str]] = {
    "nothing is asked": (pool(), pod(), ""),
    "a taint": (pool(taints=[TAINT]), pod(), "taint team=x:NoSchedule"),
    "a taint that it tolerates": (pool(taints=[TAINT]), pod(tolerations=[{"key": "team", "operator": "Exists"}]), ""),
    "the pool by name": (pool(), pod(nodeSelector={"karpenter.sh/nodepool": "general"}), ""),
    "another pool by name": (
        pool(),
        pod(nodeSelector={"karpenter.sh/nodepool": "gpu"}),
        "the pod wants karpenter.sh/nodepool=gpu",
    ),
    "a zone of the pool": (pool(requirements=[need(ZONE, "In", "a", "b")]), pod(nodeSelector={ZONE: "b"}), ""),
    "a zone of others": (
        pool(requirements=[need(ZONE, "In", "a", "b")]),
        pod(nodeSelector={ZONE: "c"}),
        f"the pod wants {ZONE}=c",
    ),
    "a zone of which the pool says nothing": (pool(), pod(nodeSelector={ZONE: "c"}), ""),
    "a label that no new node has": (
        pool(),
        pod(nodeSelector={"disk": "ssd"}),
        "the pod wants disk=ssd, which no new node has",
    ),
    "a label of the pool": (pool(labels={"disk": "ssd"}), pod(nodeSelector={"disk": "ssd"}), ""),
    "not a label that it does not have": (pool(), pod(**wants(need("disk", "NotIn", "ssd"))), ""),
    "not the label of the pool": (
        pool(labels={"disk": "ssd"}),
        pod(**wants(need("disk", "DoesNotExist"))),
        "the pod wants no disk",
    ),
    "one of two terms": (
        pool(labels={"disk": "ssd"}),
        pod(**wants(need("disk", "In", "hdd"), need("disk", "Exists"))),
        "",
    ),
    "an arch that the pool excludes": (
        pool(requirements=[need(ARCH, "NotIn", "arm64")]),
        pod(nodeSelector={ARCH: "arm64"}),
        f"the pod wants {ARCH}=arm64",
    ),
    "more cpus than the pool names": (
        pool(requirements=[need(CPUS, "In", "4", "8")]),
        pod(**wants(need(CPUS, "Gt", "8"))),
        f"the pod wants {CPUS} Gt 8",
    ),
    "its node by name": (
        pool(),
        pod(nodeSelector={"kubernetes.io/hostname": "a"}),
        "the pod wants kubernetes.io/hostname=a, which no new node has",
    ),
    "within the limits": (pool(limits={"cpu": "100"}, status={"cpu": "92"}), pod(), ""),
    "beyond the limits": (
        pool(limits={"cpu": "100"}, status={"cpu": "96"}),
        pod(),
        "limits.cpu 100, of which 96 are used",
    ),
    "as many nodes as there may be": (
        pool(limits={"nodes": "3"}, status={"nodes": "3"}),
        pod(),
        "limits.nodes 3, of which 3 are used",
    ),
    "a pool of a fixed size": (pool(replicas=2), pod(), "has a fixed number of nodes"),
}


@pytest.mark.parametrize(("given", "asked", "expected"), CASES.values(), ids=list(CASES))
def test_whether_a_pool_would_make_a_node(given: Json, asked: Json, expected: str) -> None:
    found = msgspec.json.decode(json.dumps(given), type=NodePool)
    wanted = msgspec.json.decode(json.dumps(asked), type=Pod)
    assert objection(found, wanted, pod_resources(wanted).requested) == expected


SIGNS: dict[str, Json] = {
    "NodePool general": pool(),
    "NodeClaim c": {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "c"}},
    "ConfigMap kube-system/cluster-autoscaler-status": manifest(
        "ConfigMap", {"name": "cluster-autoscaler-status", "namespace": "kube-system"}, data={"status": "x"}
    ),
    "Deployment kube-system/cluster-autoscaler": manifest(
        "Deployment",
        {"name": "cluster-autoscaler", "namespace": "kube-system"},
        spec={"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}},
    ),
    "Node a": node(annotations={"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}),
}


def caveats(report: kwhatif.Report) -> list[NodesNotAdded]:
    return [each for each in report.caveat_details if isinstance(each, NodesNotAdded)]


@pytest.mark.parametrize(("sign", "obj"), SIGNS.items(), ids=list(SIGNS))
def test_what_shows_that_one_runs(sign: str, obj: Json) -> None:
    objects = [obj] if obj["kind"] == "Node" else [node(), obj]
    session = kwhatif.load(objects)
    assert [each.sign for each in caveats(kwhatif.schedule(session, pod()))] == [sign]
    assert not caveats(kwhatif.schedule(session, pod("1")))
    assert not caveats(kwhatif.schedule(kwhatif.load([node()]), pod()))


def test_every_command_says_so() -> None:
    pools = [pool("general"), pool("gpu", weight=10, taints=[TAINT])]
    pending = kwhatif.load([node(), pod(name="waiting"), *pools])
    reports = {
        "schedule": kwhatif.schedule(pending, pod()),
        "preempt": kwhatif.preempt(pending, pod()),
        "gate": kwhatif.gate(pending, pod()),
        "advise": kwhatif.advise(pending, pod()),
        "capacity": kwhatif.capacity(pending, pod()),
        "queue": kwhatif.pending(pending),
        "simulate": kwhatif.simulate(pending),
    }
    for command, report in reports.items():
        found = caveats(report)
        assert [(each.pools, each.objections) for each in found] == [(("general",), ())], command
    refused = kwhatif.schedule(pending, pod(nodeSelector={"disk": "ssd"}))
    assert [each.pool for each in caveats(refused)[0].objections] == ["gpu", "general"]
    assert "no NodePool would allow one for default/p (gpu: taint team=x:NoSchedule; general:" in refused.caveats[-1]
