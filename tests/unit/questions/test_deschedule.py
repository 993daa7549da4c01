"""What comes of evictions: replacements, later runs, moments, and what is said about it."""

import json
from typing import Any

import pytest

import kwhatif
from kwhatif.errors import InputError
from kwhatif.render.comparison import headline
from tests.objects import manifest

AT = "2026-01-31T12:00:00Z"
OLD = "2026-01-01T00:00:00Z"
LIFE: dict[str, Any] = {"name": "PodLifeTime", "args": {"maxPodLifeTimeSeconds": 3600}}


def node(name: str, **labels: str) -> dict[str, Any]:
    amounts = {"cpu": "2", "memory": "4Gi", "pods": "10"}
    return manifest(
        "Node",
        {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        status={"allocatable": amounts, "capacity": amounts},
    )


def pod(name: str, on: str, owner: str | None = "ReplicaSet", cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    owners = [] if owner is None else [{"apiVersion": "apps/v1", "kind": owner, "name": "web", "controller": True}]
    return manifest(
        "Pod",
        {
            "name": name,
            "namespace": "shop",
            "labels": {"app": "web" if owner else "other"},
            "creationTimestamp": OLD,
            "ownerReferences": owners,
        },
        spec={
            "nodeName": on,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
        status={"phase": "Running", "startTime": OLD, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def replica_set(replicas: int, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container], **spec}}
    return manifest(
        "ReplicaSet",
        {"name": "web", "namespace": "shop"},
        spec={"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    )


def policy(*configs: dict[str, Any], **others: Any) -> dict[str, Any]:
    evictor = {"name": "DefaultEvictor", "args": {"podProtections": {"defaultDisabled": ["FailedBarePods"]}}}
    enabled = [config["name"] for config in configs]
    profile = {
        "name": "p",
        "pluginConfig": [evictor, *configs],
        "plugins": {"deschedule": {"enabled": enabled}},
    }
    return {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [profile], **others}


def report_of(*objects: dict[str, Any], rules: dict[str, Any] | None = None, **options: Any) -> kwhatif.Report:
    session = kwhatif.load(kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects]})))
    text = kwhatif.text(json.dumps(policy(LIFE) if rules is None else rules))
    return kwhatif.deschedule(session, text, at=AT, **options)


def ask(*objects: dict[str, Any], rules: dict[str, Any] | None = None, **options: Any) -> kwhatif.DescheduleRow:
    row = report_of(*objects, rules=rules, **options).deschedule
    assert row is not None
    return row


def landing(row: kwhatif.DescheduleRow) -> kwhatif.ReplacementRow:
    (evicted,) = row.evicted
    assert evicted.replacement is not None
    return evicted.replacement


def test_a_pod_moves() -> None:
    others = replica_set(1, "1"), pod("web-1", "a", cpu="1"), pod("other-1", "a", None, cpu="1")
    row = ask(node("a"), node("b"), *others)
    assert landing(row).landing == "Elsewhere"
    assert landing(row).node == "b"
    assert [(spared.pod, spared.stage) for spared in row.spared] == [("shop/other-1", "Filter")]


def test_a_pod_comes_back_to_its_node() -> None:
    selector = {"disk": "ssd"}
    row = ask(node("a", **selector), node("b"), replica_set(1, nodeSelector=selector), pod("web-1", "a"))
    assert landing(row).landing == "SameNode"
    assert landing(row).node == "a"
    assert [each.evicted for each in row.rounds] == [1, 0], "what has just come is young"
    assert row.course == "Settles"


def test_a_pod_stays_pending() -> None:
    row = ask(node("a"), node("b"), replica_set(1, nodeSelector={"disk": "ssd"}), pod("web-1", "a"))
    assert landing(row).landing == "Pending"
    assert "didn't match Pod's node affinity/selector" in landing(row).message


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ([replica_set(1), pod("web-2", "b", priority=2_000_000_000)], "it goes without the descheduler, too"),
        ([replica_set(5) | {"metadata": {"name": "api", "namespace": "shop"}}], "its ReplicaSet is not there any more"),
    ],
)
def test_a_pod_that_nobody_wants_is_not_replaced(others: list[dict[str, Any]], why: str) -> None:
    row = ask(node("a"), node("b"), pod("web-1", "a"), *others)
    assert landing(row).landing == "None"
    assert landing(row).message == why


def test_a_failed_pod_without_owner_is_not_replaced() -> None:
    failed = pod("lone", "a", None) | {"status": {"phase": "Failed"}}
    assert landing(ask(node("a"), node("b"), failed)).message == "no controller replaces it"


def test_a_pod_of_a_stateful_set_keeps_its_name() -> None:
    stateful = replica_set(1) | {"kind": "StatefulSet"}
    stateful["spec"]["updateStrategy"] = {"type": "OnDelete"}
    assert landing(ask(node("a"), node("b"), stateful, pod("web-0", "a", "StatefulSet"))).pod == "shop/web-0"


def test_a_replacement_evicts_in_turn_and_its_victim_stays_pending() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
    web = replica_set(1, "1500m", priorityClassName="high", nodeSelector={"disk": "ssd"})
    rules = policy({"name": "PodLifeTime", "args": {**LIFE["args"], "labelSelector": {"matchLabels": {"app": "web"}}}})
    low = pod("low-1", "b", "ReplicaSet", cpu="2")
    low["metadata"] |= {"labels": {"app": "low"}}
    low["metadata"]["ownerReferences"][0]["name"] = "low"
    owner = replica_set(1, "2", nodeSelector={"disk": "ssd"})
    owner["metadata"]["name"] = "low"
    owner["spec"]["selector"]["matchLabels"] = owner["spec"]["template"]["metadata"]["labels"] = {"app": "low"}
    row = ask(node("a"), node("b", disk="ssd"), web, pod("web-1", "a", cpu="1"), owner, low, high, rules=rules)
    assert (landing(row).landing, landing(row).node, landing(row).victims) == ("Preempts", "b", ("shop/low-1",))
    assert [key.rpartition("-")[0] for key in row.displaced] == ["shop/low"]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("ReplicaSet", "its ReplicaSet is not there any more"),
        ("Rollout", "what makes pods of a Rollout is not modelled"),
    ],
)
def test_owners_that_are_not_known_make_no_pods(kind: str, why: str) -> None:
    other = replica_set(0)
    other["metadata"]["name"] = "other"  # so the kind is in the input, and the owner of web-1 is gone
    report = report_of(node("a"), node("b"), other, pod("web-1", "a", kind))
    assert report.deschedule is not None
    assert (landing(report.deschedule).landing, landing(report.deschedule).message) == ("None", why)
    assert "owners-silent" in {caveat.code for caveat in report.caveat_details}


def test_what_the_api_server_refuses_is_not_replaced() -> None:
    quota = manifest("ResourceQuota", {"name": "few", "namespace": "shop"}, spec={"hard": {"requests.cpu": "50m"}})
    row = ask(node("a"), node("b"), replica_set(1), pod("web-1", "a"), quota)
    assert landing(row).landing == "None"
    assert "exceeded quota: few" in landing(row).message


def test_a_duplicate_that_comes_back_is_endless() -> None:
    objects = [node("a"), node("b"), replica_set(2)]
    objects += [pod(name, "a", tolerations=[]) for name in ("web-1", "web-2")]
    full = [pod(f"full-{index}", "b", None, cpu="1", priority=2_000_000_000) for index in range(2)]
    rules = {"name": "RemoveDuplicates", "args": {}}
    profile = {"name": "p", "pluginConfig": [rules], "plugins": {"balance": {"enabled": ["RemoveDuplicates"]}}}
    row = ask(*objects, *full, rules={**policy(), "profiles": [profile]})
    assert landing(row).landing == "SameNode"
    assert row.course == "Endless"


def test_one_run_leaves_it_open() -> None:
    row = ask(node("a"), node("b"), replica_set(1), pod("web-1", "a"), rounds=1)
    assert (len(row.rounds), row.course) == (1, "Open")


def test_the_moment_decides_about_ages() -> None:
    session = kwhatif.load(
        kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("a"), node("b"), pod("x", "a")]}))
    )
    young = kwhatif.deschedule(session, strategy="PodLifeTime", at="2026-01-01T12:00:00Z")
    old = kwhatif.deschedule(session, strategy="PodLifeTime", at=AT)
    undated = kwhatif.deschedule(session, strategy="PodLifeTime")
    assert [len(report.deschedule.evicted) for report in (young, old) if report.deschedule] == [0, 1]
    assert "moment-not-known" in {caveat.code for caveat in undated.caveat_details}
    assert undated.deschedule is not None
    assert undated.deschedule.at == OLD


def test_an_evicted_pod_counts_against_its_budget() -> None:
    budget = manifest(
        "PodDisruptionBudget",
        {"name": "web", "namespace": "shop"},
        spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    )
    row = ask(node("a"), node("b"), replica_set(2), pod("web-1", "a"), pod("web-2", "b"), budget)
    assert [each.pod for each in row.evicted] == ["shop/web-1"]
    (kept,) = row.refused
    assert (kept.by, kept.budgets) == ("pdb", ("shop/web",))
    assert [each.evicted for each in row.rounds] == [1, 1, 0], "the budget allows one more when the first has moved"


@pytest.mark.parametrize("options", [{}, {"policy": "x.yaml", "strategy": "PodLifeTime"}, {"strategy": "Life"}])
def test_either_a_policy_or_a_strategy(options: dict[str, Any]) -> None:
    session = kwhatif.load(kwhatif.text(json.dumps(node("a"))))
    with pytest.raises((ValueError, TypeError)):
        kwhatif.deschedule(session, options.pop("policy", None), **options)


def test_a_policy_that_is_not_there() -> None:
    session = kwhatif.load(kwhatif.text(json.dumps(node("a"))))
    with pytest.raises(InputError):
        kwhatif.deschedule(session, "/nowhere/policy.yaml")


@pytest.mark.parametrize(
    ("metrics", "code"),
    [
        ({"source": "KubernetesMetrics"}, "no-metrics"),
        ({"source": "Prometheus", "prometheus": {"query": "q"}}, "prometheus-not-asked"),
    ],
)
def test_use_that_nobody_knows_is_a_caveat(metrics: dict[str, Any], code: str) -> None:
    resource = "cpu" if code == "no-metrics" else "MetricResource"
    args = {"thresholds": {resource: 10}, "targetThresholds": {resource: 20}, "metricsUtilization": metrics}
    config = [{"name": "LowNodeUtilization", "args": args}]
    providers = [{"source": "KubernetesMetrics"}, {"source": "Prometheus", "prometheus": {"url": "http://x"}}]
    profile = {"name": "p", "pluginConfig": config, "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}}}
    session = kwhatif.load(
        kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("a"), node("b")]}))
    )
    rules = {**policy(), "profiles": [profile], "metricsProviders": providers}
    report = kwhatif.deschedule(session, kwhatif.text(json.dumps(rules)), at=AT)
    assert code in {caveat.code for caveat in report.caveat_details}
    assert report.deschedule is not None
    assert report.deschedule.plugins[0].error


def test_edits_change_what_is_evicted_and_where_it_lands() -> None:
    objects = [node("a"), node("b"), replica_set(1, "1"), pod("web-1", "a", cpu="1")]
    session = kwhatif.load(kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})))

    def asked(*edits: str) -> kwhatif.Report:
        edited = kwhatif.edited(session, *edits) if edits else session
        return kwhatif.deschedule(edited, kwhatif.text(json.dumps(policy(LIFE))), at=AT)

    def differences(*edits: str) -> list[tuple[str, str | None, str | None]]:
        ends = kwhatif.compare(asked(), asked(*edits)).difference.ends
        return [(row.subject, row.before, row.after) for row in ends]

    moved = "evicted, lands on b"
    assert differences("cordon b") == [("Pod shop/web-1", moved, "evicted, lands on a again")]
    assert differences("cordon a", "cordon b") == [("Pod shop/web-1", moved, "evicted, stays pending")]
    assert differences("delete pod/shop/web-1") == [("Pod shop/web-1", moved, None)]
    assert differences("budget shop/web app=web minAvailable=1") == [("Pod shop/web-1", moved, "stays (pdb)")]
    assert differences("label node/a x=y") == []
    said = headline(kwhatif.compare(asked(), asked("delete pod/shop/web-1")))
    assert said == "With these edits, 0 pods are evicted, 1 without them; 1 thing ends differently"
    assert headline(kwhatif.compare(asked(), asked("cordon b"))) == "With these edits, 1 thing ends differently"
