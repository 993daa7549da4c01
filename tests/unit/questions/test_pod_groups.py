"""Groups of pods in all commands: the gang is judged as a whole, and that is said."""

import json
from typing import Any

import pytest

import kwhatif
from kwhatif.render.autoscale import consolidate
from kwhatif.render.detail import Detail
from tests.gangs.generate import GROUPS, TOPOLOGY, Builder
from tests.karpenter.objects import TYPES, pool

Json = dict[str, Any]


def test_capacity_counts_gangs_rack_by_rack() -> None:
    it = _racks(TOPOLOGY)
    it.gang("g", 4, 4, "2", schedulingConstraints={"topology": [{"key": "rack"}]})
    fit = _json(kwhatif.capacity(_session(it), _text(it.manifest)))["capacity"]["fit"]
    assert fit["sets"] == 3
    (gang,) = fit["gangs"]
    assert gang["placements"] == {"a": 2, "b": 1}
    assert fit["stop"]["pod"] == "default/g"


def test_capacity_counts_more_gangs_like_one_of_the_cluster() -> None:
    it = _racks(GROUPS)
    it.group("g", 2, bound=True)
    it.members("g", 2, "2")
    fit = _json(kwhatif.capacity(_session(it), "podgroup/default/g"))["capacity"]["fit"]
    assert (fit["sets"], fit["gangs"][0]["pods"]) == (6, 2)


@pytest.mark.parametrize(("waiting", "sets"), [(16, 15), (14, 1)])
def test_capacity_places_the_gangs_that_wait_as_a_whole(waiting: int, sets: int) -> None:
    """One that does not fit takes no room."""
    it, one = _racks(GROUPS), _racks(GROUPS)
    it.gang("g", waiting, waiting, "2", priority=10)
    one.pod("one", "2")
    session = kwhatif.load(_text([*it.cluster, *it.manifest]), kubernetes_version="1.37", feature_gates=it.gates)
    found = _json(kwhatif.capacity(session, _text(one.manifest)))
    assert found["capacity"]["fit"]["sets"] == sets
    fates = {row["outcome"] for row in found["queuedBefore"]}
    assert fates == ({"Placed"} if sets == 1 else {"Unschedulable"})


@pytest.mark.parametrize(
    ("count", "topology", "kinds"),
    [
        (16, False, {"min-count", "add-nodes"}),
        (10, True, {"min-count", "drop-topology", "add-nodes"}),
    ],
)
def test_advice_for_a_gang_is_proven(count: int, topology: bool, kinds: set[str]) -> None:
    it = _racks(TOPOLOGY)
    more: Json = {"schedulingConstraints": {"topology": [{"key": "rack"}]}} if topology else {}
    it.gang("g", count, count, "2", **more)
    (row,) = _json(kwhatif.advise(_session(it), _text(it.manifest)))["advise"]["workloads"]
    assert row["workload"] == "PodGroup default/g"
    found = {change["kind"]: change for advice in row["advice"] for change in advice["changes"]}
    assert found.keys() == kinds
    # One node fewer is not enough, and one pod more is too many.
    change = found["add-nodes"]
    for nodes, places in ((change["count"], count), (change["count"] - 1, 0)):
        edited = kwhatif.edited(_session(it), f"add {nodes} nodes like {change['target']}") if nodes else _session(it)
        assert _placed(kwhatif.schedule(edited, _text(it.manifest))) == places
    least = int(found["min-count"]["after"])
    for minimum, fits in ((least, True), (least + 1, False)):
        it.manifest[0]["spec"]["schedulingPolicy"]["gang"]["minCount"] = minimum
        assert bool(_placed(kwhatif.schedule(_session(it), _text(it.manifest)))) is fits


def test_the_queue_tries_a_gang_once() -> None:
    it = _racks(GROUPS)
    it.gang("big", 16, 16, "2", priority=10)
    it.gang("small", 2, 2, "2")
    everything = _text([*it.cluster, *it.manifest])
    rows = _json(kwhatif.pending(kwhatif.load(everything, kubernetes_version="1.37")))["queue"]["pods"]
    assert {row["outcome"] for row in rows if row["pod"].startswith("default/big")} == {"Unschedulable"}
    assert {row["outcome"] for row in rows if row["pod"].startswith("default/small")} == {"Placed"}


def test_what_is_short_is_short_in_the_nearest_rack() -> None:
    """Where most members fit: the scheduler's own words are about the first rack."""
    it = Builder("gangs")
    for name, milli, rack in (("small", 3000, "a"), ("n1", 5000, "b"), ("n2", 5000, "b")):
        it.node(name, milli, {"rack": rack})
    it.gates = TOPOLOGY
    it.gang("g", 8, 8, "2", schedulingConstraints={"topology": [{"key": "rack"}]})
    (row,) = _json(kwhatif.schedule(_session(it), _text(it.manifest)))["podGroups"]["groups"]
    assert (row["placement"], row["fitting"]) == ("b", 4)
    assert [(each["node"], each["nodes"]) for each in row["shortages"]] == [("n1", 2)]


@pytest.mark.parametrize(("asked", "groups"), [((), ["big", "late", "small"]), (("default/small-0",), ["small"])])
def test_the_queue_says_what_becomes_of_the_gangs_that_are_asked_for(asked: Any, groups: list[str]) -> None:
    it = _racks(GROUPS)
    it.gang("big", 16, 16, "2", priority=10)
    it.gang("small", 2, 2, "2")
    it.gang("late", 2, 3, "2")
    session = kwhatif.load(_text([*it.cluster, *it.manifest]), kubernetes_version="1.37")
    rows = _json(kwhatif.pending(session, *asked))["podGroups"]["groups"]
    assert [row["group"].partition("/")[2] for row in rows] == groups
    outcomes = {"big": "unscheduled", "late": "waiting", "small": "scheduled"}
    assert [row["outcome"] for row in rows] == [outcomes[name] for name in groups]


@pytest.mark.parametrize("function", [kwhatif.simulate, kwhatif.gate])
def test_stories_and_the_gate_say_what_becomes_of_the_gang(function: Any) -> None:
    it = _racks(GROUPS)
    it.gang("g", 16, 16, "2")
    report = _json(function(_session(it, gates=None), _text(it.manifest)))
    (row,) = (report["podGroups"] or report["story"]["podGroups"])["groups"]
    assert (row["outcome"], row["fitting"], row["minCount"]) == ("unscheduled", 15, 16)
    assert not [each for each in report["caveatDetails"] if each["code"] == "gangs-not-modelled"]


def test_a_drained_gang_comes_back_together_or_not_at_all() -> None:
    it = _racks(GROUPS)
    it.fill(full=1.0)
    it.group("g", 2, bound=True)
    report = _json(kwhatif.drain(_session(it), "n0", force=True))
    assert report["story"]["podGroups"]["groups"][0]["outcome"] == "waiting"


def test_alone_means_each_gang_alone() -> None:
    """Both fit where they are alone, and only one where they are not; a member never is."""
    it = _racks(GROUPS)
    it.gang("g", 10, 10, "2")
    it.gang("h", 10, 10, "2")
    it.gang("big", 16, 16, "2")
    outcomes = {}
    for alone in (True, False):
        report = _json(kwhatif.schedule(_session(it), _text(it.manifest), alone=alone))
        outcomes[alone] = [row["outcome"] for row in report["podGroups"]["groups"]]
        assert "gangs-not-modelled" not in {each["code"] for each in report["caveatDetails"]}
        assert len(report["decisions"]) == 36
    assert outcomes == {
        True: ["unscheduled", "scheduled", "scheduled"],
        False: ["unscheduled", "scheduled", "unscheduled"],
    }
    waiting = kwhatif.load(_text([*it.cluster, *it.manifest]), kubernetes_version="1.37")
    (row,) = _json(kwhatif.preempt(waiting, "pod/default/big-3", alone=True))["podGroups"]["groups"]
    assert (row["outcome"], row["fitting"], row["pods"]) == ("unscheduled", 15, 16)


@pytest.mark.parametrize("alone", [True, False])
def test_new_members_are_admitted(alone: bool) -> None:
    it = _racks(GROUPS)
    it.gang("g", 2, 2, "2")
    limits = {"limits": [{"type": "Container", "defaultRequest": {"ephemeral-storage": "1Ti"}}]}
    meta = {"name": "limits", "namespace": "default"}
    for pod in it.manifest[1:]:
        pod["metadata"], pod["status"] = {"name": pod["metadata"]["name"], "namespace": "default"}, {}
    session = kwhatif.load(
        [*it.cluster, {"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": limits}],
        kubernetes_version="1.37",
        feature_gates=it.gates,
    )
    decisions = kwhatif.schedule(session, _text(it.manifest), alone=alone).decisions
    assert [each.outcome for each in decisions] == ["Unschedulable"] * 2, "no node has such a disk"
    assert all("LimitRanger" in {row.by for row in each.changes} for each in decisions)


@pytest.mark.parametrize(
    ("edit", "fates"),
    [
        ("add 1 node like n1", {"big": "Placed", "late": "Gated", "small": "Unschedulable"}),
        ("cordon n1", {"big": "Unschedulable", "late": "Gated", "small": "Placed"}),
        ("delete pod/default/late-1", {"big": "Unschedulable", "late": "Gated", "small": "Placed"}),
    ],
)
def test_edits_happen_to_a_queue_of_gangs(edit: str, fates: dict[str, str]) -> None:
    it = _racks(GROUPS)
    it.gang("big", 18, 18, "2")
    it.gang("late", 2, 3, "2")
    it.gang("small", 2, 2, "2")
    session = kwhatif.load(_text([*it.cluster, *it.manifest]), kubernetes_version="1.37")
    report = _json(kwhatif.pending(kwhatif.edited(session, edit)))
    rows = [row for row in report["queue"]["pods"] if row["after"]["fate"] != "Gone"]
    for name, outcome in fates.items():
        assert {row["after"]["outcome"] for row in rows if row["pod"].startswith(f"default/{name}-")} == {outcome}
    assert {row["group"].partition("/")[2] for row in report["podGroups"]["groups"]} == fates.keys()
    assert "gangs-not-modelled" not in {each["code"] for each in report["caveatDetails"]}
    behind = next(row["after"]["behind"] for row in rows if row["pod"] == "default/small-0")
    assert bool(behind) is (fates["small"] == "Unschedulable")


def test_the_gangs_of_a_cluster_are_one_kind_of_what_may_grow() -> None:
    it = _racks(GROUPS)
    for name in ("g", "h"):
        it.group(name, 2, bound=True)
        it.members(name, 2, "2")
    row = _json(kwhatif.capacity(_session(it)))["capacity"]["shapes"][0]
    assert (row["gangs"], row["running"], row["workloads"]) == (2, 4, ["PodGroup default/g", "PodGroup default/h"])
    assert (row["fit"]["sets"], row["fit"]["gangs"][0]["pods"]) == (5, 2)
    assert row["fit"]["stop"]["gang"]["fitting"] == 1


@pytest.mark.parametrize(
    ("most", "nodes", "placed"),
    [
        ((4,), [3], [6]),
        ((2,), [2], [0]),
        ((2, 2), [2, 1], [0, 6]),
    ],
)
@pytest.mark.parametrize("waits", [True, False])
def test_an_autoscaler_adds_nodes_pod_by_pod_and_the_scheduler_places_the_gang(
    most: tuple[int, ...], nodes: list[int], placed: list[int], waits: bool
) -> None:
    """Two pods fit on a node. One group is scaled up in a round, and no pod gets a node before all six can."""
    it, big = Builder("gangs"), Builder("gangs")
    it.node("small", 1000, {})
    big.node("big", 4000, {})
    it.gang("g", 6, 6, "2")
    template = {"node": big.cluster[0]}
    groups = {"groups": [{"name": f"g{place}", "max": count, "template": template} for place, count in enumerate(most)]}
    if waits:
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        it.cluster += [
            each | ({"status": {"conditions": [condition]}} if each["kind"] == "Pod" else {}) for each in it.manifest
        ]
    given = () if waits else (_text(it.manifest),)
    report = _json(kwhatif.autoscale(_session(it), *given, node_groups=groups))
    rounds = [found for found in report["autoscaler"]["rounds"] if found["scaleUp"]]
    assert [sum(each["delta"] for each in found["scaleUp"]) for found in rounds] == nodes
    assert [len(found["placed"]) for found in rounds] == placed
    codes = {each["code"] for each in report["caveatDetails"]}
    assert "autoscaler-knows-no-groups" in codes
    assert "gangs-not-modelled" not in codes
    # Where the gang does not fit in the end, the autoscaler sees room for some of its pods.
    assert ("pods-left-by-autoscaler" in codes) is not any(placed)
    if not waits:
        session = kwhatif.with_autoscaler(_session(it), node_groups=groups)
        assert _placed(kwhatif.schedule(session, *given)) == sum(placed)


@pytest.mark.parametrize(("limit", "placed"), [(None, 6), ("4", 0)])
def test_karpenter_adds_nodes_pod_by_pod_too(limit: str | None, placed: int) -> None:
    it = Builder("gangs")
    it.node("small", 1000, {})
    it.gang("g", 6, 6, "2")
    it.cluster.append(pool(limits={} if limit is None else {"cpu": limit}))
    types = kwhatif.text(json.dumps(TYPES))
    report = _json(kwhatif.autoscale(_session(it), _text(it.manifest), instance_types=types))
    rounds = report["autoscaler"]["rounds"]
    assert sum(len(found["placed"]) for found in rounds) == placed
    assert sum(len(node["pods"]) for found in rounds for node in found["newNodes"]) == (placed or 2)
    assert bool([row for found in rounds for row in found["refused"]]) is not bool(placed)
    (caveat,) = [each for each in report["caveatDetails"] if each["code"] == "autoscaler-knows-no-groups"]
    assert (caveat["autoscaler"], caveat["groups"]) == ("karpenter", ["default/g"])


def _racks(gates: str) -> Builder:
    """Rack a takes 8 pods of 2 cpu, rack b 7."""
    it = Builder("gangs")
    it.gates = gates
    for number, (milli, rack) in enumerate([(8100, "a"), (8200, "a"), (8300, "b"), (6400, "b")]):
        it.node(f"n{number}", milli, {"rack": rack})
    return it


def _session(it: Builder, gates: str | None = "") -> kwhatif.Session:
    asked = it.gates if gates == "" else gates
    return kwhatif.load(_text(it.cluster), kubernetes_version="1.37", feature_gates=asked)


def _text(objects: list[Json]) -> Any:
    return kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def _json(report: Any) -> Json:
    found: Json = json.loads(report.to_json())
    return found


def _placed(report: Any) -> int:
    (row,) = _json(report)["podGroups"]["groups"]
    placed: int = row["placed"]
    return placed


def test_gangs_that_fit_by_evicting_count_where_that_is_asked() -> None:
    it = _racks(GROUPS)
    it.fill(full=1.0)
    it.gang("g", 2, 2, "2", priority=100)
    it.manifest.insert(0, _class("high", 100))
    for each in it.manifest[1:]:
        each["spec"]["priorityClassName"] = "high"
    found = _json(kwhatif.capacity(_session(it), _text(it.manifest), with_preemption=True))
    capacity = found["capacity"]
    assert capacity["fit"]["stop"]["outcome"] == "Preempts"
    more = capacity["preempting"]
    assert more["fit"]["gangs"][0]["fit"] > capacity["fit"]["gangs"][0]["fit"]
    assert more["evicting"] == 2 * (more["fit"]["sets"] - capacity["fit"]["sets"])
    assert set(more["victims"]) < {
        pod["metadata"]["namespace"] + "/" + pod["metadata"]["name"] for pod in it.cluster if pod["kind"] == "Pod"
    }


def _class(name: str, value: int) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def test_a_group_that_is_refused_leaves_its_pods_outside_the_queue() -> None:
    it = _racks(GROUPS)
    it.gang("g", 2, 2, "1")
    it.manifest[0]["spec"]["schedulingPolicy"] = {"gang": {"minCount": 0}}
    del it.manifest[0]["metadata"]["uid"]  # not one that the API server has taken
    report = kwhatif.schedule(_session(it), _text(it.manifest))
    outcomes = [each.outcome for each in report.decisions]
    assert sorted(outcomes) == ["Denied", "Gated", "Gated"]
    refused = next(each for each in report.decisions if each.outcome == "Denied")
    assert "spec.schedulingPolicy.gang.minCount: Required value" in refused.message


@pytest.mark.parametrize(
    ("field", "value", "gate"),
    [
        ("resourceClaims", [{"name": "a", "resourceClaimName": "a"}], "DRAWorkloadResourceClaims"),
        ("parentCompositePodGroupName", "top", "CompositePodGroup"),
    ],
)
def test_fields_of_gates_that_are_not_modelled_are_named(field: str, value: Any, gate: str) -> None:
    it = _racks(GROUPS)
    it.gang("g", 2, 2, "1")
    del it.manifest[0]["metadata"]["uid"]
    it.manifest[0]["spec"] |= {field: value, "workloadRef": {"workloadName": "w", "templateName": "t"}}
    dropped = _json(kwhatif.schedule(_session(it), _text(it.manifest)))
    assert not [each for each in dropped["caveatDetails"] if each["code"] == "group-fields-not-modelled"]
    it.cluster += it.manifest
    found = _json(kwhatif.pending(_session(it)))
    (caveat,) = [each for each in found["caveatDetails"] if each["code"] == "group-fields-not-modelled"]
    assert (caveat["groups"], caveat["field"], caveat["gate"]) == (["default/g"], field, gate)


@pytest.mark.parametrize(("beside", "after"), [("4", 3), ("6", 2)])
def test_a_removal_that_breaks_a_gang_is_not_a_good_one(beside: str, after: int) -> None:
    """The autoscaler knows neither groups nor racks: where rack a has no room for the third pod, the gang is broken."""
    it = Builder("gangs")
    for name, rack in (("n0", "a"), ("n1", "a"), ("n2", "b")):
        it.node(name, 8000, {"rack": rack, "eks.amazonaws.com/nodegroup": "web"})
    it.group("t", 3, bound=True, schedulingConstraints={"topology": [{"key": "rack"}]})
    meta = {"name": "t", "namespace": "default", "uid": "job-t"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "t", "uid": "job-t", "controller": True}
    for number, name in enumerate(("n0", "n0", "n1")):
        it.pod(f"t-{number}", "1", group="t", node=name)
        it.cluster[-1]["metadata"] |= {"labels": {"job": "t"}, "ownerReferences": [owner]}
    template = {"metadata": {"labels": {"job": "t"}}, "spec": it.cluster[-1]["spec"] | {"restartPolicy": "Never"}}
    del template["spec"]["nodeName"]
    spec = {"parallelism": 3, "selector": {"matchLabels": {"job": "t"}}, "template": template}
    it.cluster.append(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec, "status": {"active": 3}}
    )
    it.pod("a", beside, node="n0")
    it.pod("b", "5", node="n2")
    session = kwhatif.load(_text(it.cluster), kubernetes_version="1.37", feature_gates=TOPOLOGY)
    report = kwhatif.consolidate(session, autoscaler="cluster-autoscaler", at="2026-11-27T00:00:00Z")
    drain = next(each for each in _json(report)["consolidate"]["drains"] if each["nodes"] == ["n1"])
    assert drain["groups"] == [{"group": "default/t", "minCount": 3, "before": 3, "after": after}]
    said = "is whole again" if after == 3 else "is broken: 2 of its 3 pods have a node, it needs 3"
    assert report.consolidate is not None
    blocks = [repr(block) for block in consolidate(report, report.consolidate, Detail())]
    assert any(f"group default/t {said}" in block for block in blocks)


def test_the_gate_counts_whom_a_gang_evicts() -> None:
    """They are counted once, with the first of its pods, and so is the budget that they break."""
    it = _racks(GROUPS)
    it.pod("web-0", "4", node="n0")
    it.pod("web-1", "4", node="n1")
    it.budget("web")
    it.cluster[-1]["spec"] = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 2}
    it.cluster[-1]["status"] |= {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2}
    it.cluster.append(_class("high", 100))
    it.gang("g", 15, 15, "2", priority=100)
    report = _json(kwhatif.gate(_session(it), _text(it.manifest)))
    (first,) = [each for each in report["decisions"] if each["outcome"] == "Preempts"]
    (chosen,) = first["preemption"]["candidates"]
    assert [(each["pod"], each["violates"]) for each in chosen["victims"]] == [
        ("default/web-0", ["default/b-web"]),
        ("default/web-1", ["default/b-web"]),
    ]
    found = {(each["rule"], each["level"]) for each in report["policy"]["findings"]}
    assert ("budgetViolation", "fail") in found


def test_a_named_workload_starts_again_also_where_there_are_groups() -> None:
    """Its pods go and are made again: a cluster with groups, which takes time to settle, gives the same answer."""
    it = Builder("gangs")
    it.node("n1", 4000, {})
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [container]}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": "u", "controller": True}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "w"}}, "template": template}
    meta = {"name": "w-0", "namespace": "x", "labels": {"app": "w"}, "ownerReferences": [owner]}
    workload: list[Json] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "w", "namespace": "x", "uid": "u"}, "spec": spec},
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], "nodeName": "n1"}, "status": {"phase": "Running"}},
    ]  # fmt: skip
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "x"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    for objects in ([*it.cluster, *workload], [*it.cluster, *workload, group]):
        session = kwhatif.load(_text(objects), kubernetes_version="1.37", feature_gates=it.gates)
        report = kwhatif.schedule(session, "replicaset/x/w")
        assert [(each.outcome, each.node) for each in report.decisions] == [("Placed", "n1")]
        assert [(row.update, row.removed) for row in report.workloads] == [("restarted", 1)]
