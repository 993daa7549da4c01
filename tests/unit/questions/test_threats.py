"""Who could evict pods, what protects them, and which pods a node takes."""

from typing import Any

import pytest

import kwhatif
from kwhatif.report.risks import ThreatsRow, WhoFitsRow
from tests.objects import manifest

CLASSES = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value, **more}
    for name, value, more in (
        ("low", 10, {}),
        ("polite", 500, {"preemptionPolicy": "Never"}),
        ("high", 1000, {}),
    )
]


def node(name: str, cpu: str = "4", **spec: Any) -> dict[str, Any]:
    has = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return manifest(
        "Node",
        {"name": name, "labels": {"kubernetes.io/hostname": name}},
        spec=spec,
        status={"capacity": has, "allocatable": has, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def pod(name: str, cpu: str, priority: str = "low", where: str = "", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu} if cpu else {}}}
    return manifest(
        "Pod",
        {"name": name, "namespace": "shop", "uid": name, "labels": {"app": name.partition("-")[0]}},
        spec={
            "containers": [container],
            "priorityClassName": priority,
            **({"nodeName": where} if where else {}),
            **spec,
        },
        status={"phase": "Running" if where else "Pending"},
    )


def budget(name: str, allowed: int) -> dict[str, Any]:
    return manifest(
        "PodDisruptionBudget",
        {"name": name, "namespace": "shop"},
        spec={"maxUnavailable": allowed, "selector": {"matchLabels": {"app": name}}},
        status={"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    )


def deployment(name: str, cpu: str, priority: str) -> dict[str, Any]:
    made = pod(name, cpu, priority)
    return manifest(
        "Deployment",
        {"name": name, "namespace": "shop", "uid": name},
        spec={
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": made["spec"]},
        },
    )


def threats(objects: list[dict[str, Any]], subject: str, **options: Any) -> ThreatsRow:
    row = kwhatif.threats(kwhatif.load([*CLASSES, *objects]), subject, jobs=1, **options).threats
    assert row is not None
    return row


def said(row: ThreatsRow) -> set[tuple[str, str]]:
    return {(each.kind, each.by) for each in row.threats}


def test_a_class_needs_as_much_as_the_others_leave() -> None:
    """3 of 4 cores are used: what asks for more than one needs room, and the younger of equal pods goes first."""
    row = threats(
        [node("a"), pod("web-0", "2", where="a"), pod("db-0", "1", where="a")], "pod/shop/web-0", only="class"
    )
    (high,) = [each for each in row.threats if each.by == "PriorityClass high"]
    assert (high.requests, high.node, high.pods) == ({"cpu": 2001}, "", ("shop/web-0",))
    assert {(each.name, each.why) for each in row.harmless} == {("low", "priority"), ("polite", "never")}


def test_a_pod_that_is_never_chosen_is_threatened_only_by_who_must_come_to_its_node() -> None:
    objects = [node("a"), node("b"), pod("web-0", "4", where="a"), pod("tiny-0", "100m", "", "b")]
    (high,) = [each for each in threats(objects, "pod/shop/web-0", only="class").threats if each.by.endswith("high")]
    assert (high.requests, high.node) == ({"cpu": 1}, "a")
    assert high.manifest is not None
    assert list(high.manifest["spec"]["tolerations"]) == [{"operator": "Exists"}]


def test_a_pod_that_asks_for_nothing_goes_where_the_node_has_no_place_for_another() -> None:
    full = node("a")
    full["status"]["allocatable"]["pods"] = "1"
    (high,) = [
        each
        for each in threats([full, pod("web-0", "", where="a")], "pod/shop/web-0", only="class").threats
        if each.by.endswith("high")
    ]
    assert high.requests == {"cpu": 1}


def test_pending_pods_workloads_taints_and_nodes_are_asked() -> None:
    tainted = node("a", taints=[{"key": "old", "effect": "NoExecute"}])
    patient: dict[str, Any] = {
        "tolerations": [{"key": "old", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 90}]
    }
    objects = [
        tainted,
        node("b", "1"),
        pod("web-0", "3", where="a", **patient),
        pod("late", "3", "high", **patient),
        deployment("big", "4", "high"),
        budget("web", 0),
    ]
    objects[4]["spec"]["template"]["spec"] |= patient
    row = threats(objects, "pod/shop/web-0")
    assert {("pending", "Pod shop/late"), ("taint", "Node a")} <= said(row)
    without = threats([each for each in objects if each["metadata"]["name"] != "late"], "pod/shop/web-0")
    assert ("template", "Deployment shop/big") in said(without)
    assert next(each.seconds for each in row.threats if each.kind == "taint") == 90
    assert [(each.kind, each.name, each.allowed) for each in row.protections] == [("budget", "shop/web", 0)]
    assert row.shield is not None
    assert (row.shield.value, row.shield.name) == (1000, "high")


def test_a_lost_node_whose_pods_come_for_the_room_of_this_one() -> None:
    replica_set = deployment("big", "3", "high") | {"kind": "ReplicaSet"}
    replica_set["spec"]["replicas"] = 1
    lost: dict[str, Any] = {
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ]
    }
    big = pod("big-0", "3", "high", "b", **lost)
    big["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "big", "uid": "big", "controller": True}
    ]
    row = threats(
        [node("a"), node("b"), pod("web-0", "3", where="a", **lost), big, replica_set],
        "pod/shop/web-0",
        only="outage",
    )
    assert {(each.by, each.because) for each in row.threats} == {("Node a", ""), ("Node b", "ReplicaSet shop/big")}
    assert row.nodes_asked == 2
    assert set(row.skipped) == {"pending", "template", "class", "taint", "drain", "descheduler"}


def test_whom_the_kubelet_evicts_first() -> None:
    objects = [
        node("a"),
        pod("web-0", "1", where="a"),
        pod("db-0", "1", where="a"),
        pod("gold-0", "1", "high", "a"),
        pod("dns-0", "1", "system-node-critical", "a"),
    ]
    row = threats(objects, "node/a", only="taint")
    assert {(each.pod, each.first, each.last, each.of) for each in row.pressure} == {
        ("shop/web-0", 1, 2, 3),
        ("shop/db-0", 1, 2, 3),
        ("shop/gold-0", 3, 3, 3),
    }
    assert [each.pods for each in row.protections if each.kind == "critical"] == [("shop/dns-0",)]


def test_the_descheduler_is_asked_where_there_is_a_policy() -> None:
    policy = {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [
            {
                "name": "all",
                "pluginConfig": [
                    {"name": "DefaultEvictor", "args": {"evictLocalStoragePods": True}},
                    {"name": "RemovePodsViolatingNodeTaints", "args": {}},
                ],
                "plugins": {"deschedule": {"enabled": ["RemovePodsViolatingNodeTaints"]}},
            }
        ],
    }
    web = pod("web-0", "1", where="a")
    web["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "w", "controller": True}
    ]
    row = threats(
        [node("a", taints=[{"key": "x", "effect": "NoSchedule"}]), node("b"), web],
        "pod/shop/web-0",
        policy=policy,
        only="descheduler",
    )
    assert said(row) == {("descheduler", "RemovePodsViolatingNodeTaints")}


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("pod/shop/wep-0", 'pods "wep-0" not found in namespace shop'),
        ("shop/wep-0", 'pods "wep-0" not found in namespace shop'),
        ("pod/shop/late", "it is on no node: nothing can evict it"),
        ("pc/polite", "none of its pods is on a node"),
        ("deploi/shop/web", "'deploi/shop/web' does not name an object"),
    ],
)
def test_who_cannot_be_asked_about(subject: str, problem: str) -> None:
    with pytest.raises(kwhatif.InputError) as raised:
        threats([node("a"), pod("web-0", "1", where="a"), pod("late", "9")], subject)
    assert problem in str(raised.value)


def test_a_kind_of_threat_that_there_is_not() -> None:
    with pytest.raises(kwhatif.InputError, match="did you mean outage"):
        threats([node("a"), pod("web-0", "1", where="a")], "pod/shop/web-0", only="outages")


def test_who_fits() -> None:
    objects = [
        node("a", "2"),
        node("b", "8"),
        pod("web-0", "1", where="a"),
        pod("small", "1", nodeSelector={"kubernetes.io/hostname": "a"}),
        pod("any", "1"),
        pod("evicting", "2", "high", nodeSelector={"kubernetes.io/hostname": "a"}),
        pod("elsewhere", "4"),
        pod("gated", "1", schedulingGates=[{"name": "wait"}]),
        pod("other", "1", schedulerName="other"),
        deployment("big", "9", "high"),
    ]
    report = kwhatif.who_fits(kwhatif.load([*CLASSES, *objects]), "a")
    row = report.who_fits
    assert isinstance(row, WhoFitsRow)
    found = {each.subject: (each.verdict, each.victims, each.message) for each in row.takers}
    assert found == {
        "Pod shop/evicting": ("evicts", ("shop/web-0",), ""),
        "Pod shop/small": ("chosen", (), ""),
        "Pod shop/any": ("fits", (), ""),
        "Pod shop/elsewhere": ("no", (), "Insufficient cpu"),
        "Pod shop/gated": ("no", (), "waiting for scheduling gates: [wait]"),
        "Deployment shop/big": ("no", (), "Insufficient cpu"),
    }
    assert row.free == {"cpu": 1000, "memory": 8 << 30, "pods": 9}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": "shop"},
        "spec": {"hard": {"pods": "0"}},
        "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}},
    }
    report = kwhatif.who_fits(kwhatif.load([*CLASSES, node("a"), deployment("big", "1", "high"), quota]), "a")
    assert isinstance(report.who_fits, WhoFitsRow)
    [refused] = report.who_fits.takers
    assert "exceeded quota" in refused.message
    assert refused.priority == 1000
    with pytest.raises(kwhatif.InputError, match='nodes "c" not found'):
        kwhatif.who_fits(kwhatif.load([*CLASSES, *objects]), "c")
