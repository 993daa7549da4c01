"""Nodes that an autoscaler adds on the way to an answer, in one moment and with time, of both autoscalers."""

from typing import Any

import pytest

import kwhatif
from kwhatif.render.advise import advice_sentence
from tests.objects import manifest
from tests.unit.questions.manifests.test_daemons import Json, daemon_set, node, spec_of

POOL: Json = manifest(
    "NodePool",
    {"name": "general"},
    spec={"template": {"spec": {"requirements": [], "nodeClassRef": {"group": "g", "kind": "Class", "name": "c"}}}},
)
TYPES = [
    {
        "name": "large",
        "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
        "offerings": [{"capacityType": "on-demand", "zone": "a", "price": 1.0}],
    }
]
GROUPS = {"groups": [{"name": "general", "min": 1, "max": 3, "nodes": ["a"]}], "expander": "least-waste"}
STARTUP = {"key": "startup-taint.cluster-autoscaler.kubernetes.io/net", "effect": "NoSchedule"}


def web(replicas: int = 3, cpu: str = "5", **more: Any) -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec_of(cpu, **more)}
    return manifest(
        "Deployment",
        {"name": "web", "namespace": "default"},
        spec={"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    )


def waiting(name: str, cpu: str = "5", **more: Any) -> Json:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return manifest(
        "Pod",
        {"name": name, "namespace": "default", "uid": name},
        spec=spec_of(cpu, **more),
        status={"phase": "Pending", "conditions": [condition]},
    )


WITH: dict[str, Json] = {
    "karpenter": {"autoscaler": "karpenter", "instance_types": TYPES},
    "cluster-autoscaler": {"autoscaler": "cluster-autoscaler", "node_groups": GROUPS},
}
AT = "2026-01-31T12:00:00Z"


def cluster(*more: Json) -> kwhatif.Session:
    return kwhatif.load([node("a", "6"), POOL, *more])


def grown(name: str, *more: Json, **options: Any) -> kwhatif.Session:
    return kwhatif.with_autoscaler(cluster(*more), at=AT, **WITH[name], **options)


@pytest.fixture(params=WITH)
def name(request: pytest.FixtureRequest) -> str:
    """Each of the autoscalers."""
    found: str = request.param
    return found


def where(report: kwhatif.Report) -> list[str]:
    return sorted(each.node or "-" for each in report.decisions)


def added(report: kwhatif.Report) -> int:
    rounds = () if report.autoscaler is None else report.autoscaler.rounds
    return sum(len(each.new_nodes) + sum(row.delta for row in each.scale_up) for each in rounds)


def test_manifests_are_applied_and_nodes_come_for_what_finds_no_room(name: str) -> None:
    report = kwhatif.autoscale(cluster(), web(), at=AT, **WITH[name])
    assert added(report) == 2
    assert report.autoscaler is not None
    placed = [row.node for each in report.autoscaler.rounds for row in each.placed]
    assert sorted(placed) == ["general-new-1", "general-new-2"]
    assert [each.outcome for each in report.decisions].count("Placed") == 1


def test_daemon_sets_take_their_room_on_new_nodes_first(name: str) -> None:
    daemons = [daemon_set("agent", "2"), daemon_set("late", "1")]
    report = kwhatif.autoscale(cluster(*daemons), web(1, "5500m"), at=AT, **WITH[name])
    assert added(report) == 0 or name == "karpenter"
    report = kwhatif.autoscale(cluster(*daemons), web(2, "2"), waiting("p", "4"), at=AT, **WITH[name])
    assert report.autoscaler is not None
    assert all(row.pod.startswith("default/") for each in report.autoscaler.rounds for row in each.placed)


@pytest.mark.parametrize("ask", [kwhatif.schedule, kwhatif.gate, kwhatif.preempt])
def test_the_answer_goes_on_with_new_nodes(name: str, ask: Any) -> None:
    without, with_nodes = ask(cluster(), web()), ask(grown(name), web())
    assert where(without) == ["-", "-", "a"]
    assert where(with_nodes) == ["a", "general-new-1", "general-new-2"]
    assert added(with_nodes) == 2
    assert {"cloud-capacity-unknown", "node-startup-assumed"} <= {each.code for each in with_nodes.caveat_details}
    assert "node-autoscaler" in {each.code for each in without.caveat_details}
    assert "node-autoscaler" not in {each.code for each in with_nodes.caveat_details}


def test_what_fits_needs_no_node(name: str) -> None:
    report = kwhatif.schedule(grown(name), web(1))
    assert where(report) == ["a"]
    assert added(report) == 0


def test_what_no_node_would_take_stays_pending(name: str) -> None:
    report = kwhatif.schedule(grown(name), web(1, "50"))
    assert where(report) == ["-"]
    assert report.autoscaler is not None
    assert [row.pod.startswith("default/web-") for row in report.autoscaler.rounds[0].refused] == [True]


def test_pods_that_wait_get_nodes_too(name: str) -> None:
    session = grown(name, waiting("p", "5"), waiting("q", "5"))
    report = kwhatif.preempt(session)
    assert where(report) == ["a", "general-new-1"]
    report = kwhatif.pending(session)
    assert report.autoscaler is not None
    assert report.queue is not None
    assert added(report) >= 1


def test_nodes_come_in_time(name: str) -> None:
    report = kwhatif.simulate(grown(name, node_startup="2m"), web())
    assert report.story is not None
    assert not report.story.pending
    came = [
        event for event in report.story.events if event.object.startswith("Node general-new-") and event.verb == "ready"
    ]
    delay = {"karpenter": 1.0, "cluster-autoscaler": 10.0}[name]
    assert [event.at for event in came] == [120.0 + delay] * 2
    assert report.story.parameters["nodeStartup"] == 120.0
    assert kwhatif.simulate(cluster(), web()).story.pending  # type: ignore[union-attr]


def test_a_drained_node_is_replaced(name: str) -> None:
    owned = {"ownerReferences": [{"kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}]}
    running = manifest(
        "Pod",
        {"name": "r-1", "namespace": "default", "uid": "r-1", "labels": {"app": "r"}} | owned,
        spec=spec_of("5", nodeName="a"),
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    )
    for without, with_nodes in (
        (kwhatif.drain(cluster(running), "a"), kwhatif.drain(grown(name, running), "a")),
        (kwhatif.outage(cluster(running), "a", deleted=True), kwhatif.outage(grown(name, running), "a", deleted=True)),
    ):
        assert without.story is not None
        assert with_nodes.story is not None
        assert [row.pod for row in without.story.pending]
        assert not with_nodes.story.pending
        assert added(with_nodes) == 1
    each = kwhatif.drain(grown(name, running), "a", each=True)
    assert [row.verdict.ok for row in each.scenarios] == [True]


def test_pods_wait_for_the_end_of_startup_taints() -> None:
    template = node("t", "8", taints=(STARTUP,))
    groups = {"groups": [{"name": "general", "min": 0, "max": 3, "template": {"node": template}}]}
    report = kwhatif.autoscale(cluster(daemon_set("agent", "4")), web(1, "4"), node_groups=groups, at=AT)
    assert report.autoscaler is not None
    assert added(report) == 1 or not report.autoscaler.rounds[0].scale_up
    session = kwhatif.with_autoscaler(cluster(), node_groups=groups, at=AT)
    report = kwhatif.simulate(session, web(2))
    assert report.story is not None
    assert not report.story.pending


def test_more_than_a_group_may_have(name: str) -> None:
    report = kwhatif.schedule(grown(name), web(6))
    expected = {"karpenter": 0, "cluster-autoscaler": 3}[name]
    assert where(report).count("-") == expected


def test_a_limit_of_the_pool_is_kept() -> None:
    pool = POOL | {"spec": POOL["spec"] | {"limits": {"cpu": "16"}}}
    session = kwhatif.with_autoscaler(kwhatif.load([node("a", "6"), pool]), at=AT, **WITH["karpenter"])
    report = kwhatif.schedule(session, web(4))
    assert where(report) == ["-", "a", "general-new-1", "general-new-2"]


def test_what_cannot_be_meant_together(name: str) -> None:
    with pytest.raises(ValueError, match="do not judge each of them alone"):
        kwhatif.schedule(grown(name), web(), alone=True)
    with pytest.raises(ValueError, match="come in time"):
        kwhatif.gate(grown(name), web(), rollout="final")
    with pytest.raises(ValueError, match="neither evict for them nor add nodes"):
        kwhatif.capacity(grown(name), web(), with_preemption=True)
    with pytest.raises(TypeError, match="needs a manifest"):
        kwhatif.capacity(grown(name))
    with pytest.raises(ValueError, match=r"upgrade\(\) does not reckon with an autoscaler"):
        kwhatif.upgrade(grown(name), to="1.37")
    with pytest.raises(kwhatif.InputError, match="node-startup"):
        grown(name, node_startup="soon")


@pytest.mark.parametrize("reference", ["", "1"])
def test_fast_and_plain_are_the_same(name: str, reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWHATIF_REFERENCE", reference)
    report = kwhatif.simulate(grown(name, waiting("p")), web(), then=["scale deploy/default/web=4"])
    assert report.story is not None
    ends = {row.workload: row.after for row in report.story.workloads}
    assert ends["Deployment default/web"]
    assert added(report) == {"karpenter": 4, "cluster-autoscaler": 2}[name]


def running(name: str, on: str, cpu: str = "1", **more: Any) -> Json:
    owner = {"kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
    return manifest(
        "Pod",
        {"name": name, "namespace": "default", "uid": name, "labels": {"app": "r"}, "ownerReferences": [owner]},
        spec=spec_of(cpu, nodeName=on, **more),
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    )


def owner(replicas: int) -> Json:
    template = {"metadata": {"labels": {"app": "r"}}, "spec": spec_of("1")}
    return manifest(
        "ReplicaSet",
        {"name": "r", "namespace": "default", "uid": "r"},
        spec={"replicas": replicas, "selector": {"matchLabels": {"app": "r"}}, "template": template},
    )


def priced(price: float | None = 0.5) -> Json:
    group = {"name": "general", "min": 1, "max": 3, "nodes": ["a", "b"]} | ({} if price is None else {"price": price})
    return {"groups": [group]}


def test_each_removal_is_proven_by_a_drain() -> None:
    session = kwhatif.load([node("a"), node("b"), owner(2), running("p", "a"), running("q", "b")])
    report = kwhatif.consolidate(session, node_groups=priced(), at=AT)
    assert report.consolidate is not None
    (drain,) = report.consolidate.drains
    assert drain.nodes == ("a",)
    assert [(row.node, row.pods) for row in drain.landed] == [("b", 1)]
    assert drain.ok
    assert report.consolidate.saved == 0.5


def test_a_drain_that_does_not_end_is_said() -> None:
    # New pods of this owner ask for a label that no node has: the autoscaler does not see that.
    changed = owner(2)
    changed["spec"]["template"]["spec"] = spec_of("1", nodeSelector={"disk": "ssd"})
    session = kwhatif.load([node("a"), node("b"), changed, running("p", "a"), running("q", "b")])
    report = kwhatif.consolidate(session, node_groups=priced(None), at=AT)
    assert report.consolidate is not None
    (drain,) = report.consolidate.drains
    assert not drain.ok
    assert len(drain.pending) == 1
    assert report.consolidate.saved is None
    explained = kwhatif.consolidate(session, node_groups=priced(None), at=AT, explain="node/a")
    assert explained.consolidate is not None
    assert explained.consolidate.drains == (drain,)
    stays = kwhatif.consolidate(session, node_groups=priced(None), at=AT, explain="node/b")
    assert stays.consolidate is not None
    assert not stays.consolidate.drains


def test_objects_that_cannot_be_understood_or_are_not_modelled_are_said(name: str) -> None:
    wrong = POOL | {"metadata": {"name": "wrong"}, "spec": {"weight": "heavy"}}
    overlay = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": "o"}, "spec": {}}
    session = cluster(wrong, overlay)
    codes = {each.code: each.message for each in kwhatif.autoscale(session, at=AT, **WITH[name]).caveat_details}
    assert codes["autoscaler-object-unreadable"].startswith(
        "NodePool wrong cannot be understood, and is left out: spec.weight"
    )
    assert "NodeOverlay" in codes["autoscaler-objects-not-modelled"]
    others = {each.code for each in kwhatif.schedule(session, web(1)).caveat_details}
    assert "autoscaler-object-unreadable" in others
    assert "autoscaler-objects-not-modelled" not in others


def advised(report: kwhatif.Report) -> list[str]:
    """The sentences of the advice, each with what comes of it."""
    assert report.advise is not None
    (row,) = report.advise.workloads
    return [advice_sentence(each) for each in row.advice]


def test_advice_raises_the_maximum_of_a_group_as_far_as_is_needed() -> None:
    said = advised(kwhatif.advise(grown("cluster-autoscaler"), web(6)))
    assert "let the node group general have 6 nodes (its maximum is 3); then all 6 pods fit" in said


def test_advice_raises_the_limit_of_a_pool() -> None:
    pool = POOL | {"spec": POOL["spec"] | {"limits": {"cpu": "16"}}}
    session = kwhatif.with_autoscaler(kwhatif.load([node("a", "6"), pool]), at=AT, **WITH["karpenter"])
    assert "raise limits.cpu of NodePool general to 24 (16); then all 4 pods fit" in advised(
        kwhatif.advise(session, web(4))
    )


def test_advice_labels_a_group_and_tolerates_its_taint(name: str) -> None:
    report = kwhatif.advise(grown(name), web(2, nodeSelector={"team": "x"}))
    target = {"karpenter": "NodePool general", "cluster-autoscaler": "general"}[name]
    assert any(f"label the nodes of {target} with team=x; then all 2 pods fit" in each for each in advised(report))


def test_advice_tolerates_the_taint_of_a_pool() -> None:
    taints = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]
    spec = {"template": {"spec": POOL["spec"]["template"]["spec"] | {"taints": taints}}}
    session = kwhatif.with_autoscaler(kwhatif.load([node("a", "6"), POOL | {"spec": spec}]), at=AT, **WITH["karpenter"])
    assert "tolerate the taint dedicated=db:NoSchedule; then all 2 pods fit" in advised(kwhatif.advise(session, web(2)))


# --- how many more fit -----------------------------------------------------------------------------------------------

LIMITED = POOL | {"spec": POOL["spec"] | {"limits": {"cpu": "24"}}}


def counted(name: str, *more: Json, cpu: str = "3", **options: Any) -> Any:
    session = kwhatif.load([node("a", "6"), LIMITED, *more])
    found = kwhatif.capacity(kwhatif.with_autoscaler(session, at=AT, **WITH[name]), web(cpu=cpu), **options)
    assert found.capacity is not None
    assert found.capacity.grown is not None
    return found.capacity


@pytest.mark.parametrize("waits", [(), ("p",)])
def test_as_many_fit_as_the_bounds_allow(name: str, waits: tuple[str, ...]) -> None:
    """Node a takes two, and so does each node that comes; where a pod of 4 cpu waits, it gets a new node first.

    Of so many replicas all are placed, and of one more as many.
    """
    more = [waiting(each, "4") for each in waits]
    row = counted(name, *more)
    nodes, beside = {"karpenter": (3, 1), "cluster-autoscaler": (2, 0)}[name]
    sets = 2 + 2 * nodes - (2 - beside) * len(waits)
    assert (row.fit.sets, row.grown.fit.sets, row.grown.nodes) == (2, sets, {"general": nodes})
    words = {"karpenter": "all available instance types exceed limits", "cluster-autoscaler": "max node group size"}
    refused = row.grown.refused
    assert words[name] in refused.message + "".join(each.reason for each in refused.reasons)
    for replicas in (sets, sets + 1):
        session = kwhatif.load([node("a", "6"), LIMITED, *more])
        report = kwhatif.autoscale(session, web(replicas, "3"), at=AT, **WITH[name])
        assert report.autoscaler is not None
        placed = {each.pod for found in report.autoscaler.rounds for each in found.placed} - {"default/p"}
        assert where(report).count("a") + len(placed) == sets


def test_a_target_may_be_met_by_new_nodes(name: str) -> None:
    assert counted(name, target=6).target.met
    assert not counted(name, target=60).target.met


def test_what_has_no_bounds_is_counted_up_to_the_limit_and_said(name: str) -> None:
    groups = {"groups": [{"name": "general", "nodes": ["a"]}]}
    extra: Json = {"node_groups": groups} if name == "cluster-autoscaler" else {}
    session = kwhatif.with_autoscaler(cluster(), at=AT, **{**WITH[name], **extra})
    row = kwhatif.capacity(session, web(cpu="3"), limit=50).capacity
    assert row is not None
    assert row.grown is not None
    assert (row.grown.fit.sets, row.grown.fit.stop, row.grown.unbounded) == (50, None, ("general",))
    assert row.grown.nodes == {"general": 24}


def test_no_node_helps_a_pod_that_no_new_node_would_take(name: str) -> None:
    row = counted(name, cpu="9")
    assert (row.grown.fit.sets, row.grown.nodes) == (0, {})
    assert row.grown.refused is not None
