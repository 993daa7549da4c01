"""What a VerticalPodAutoscaler's updater does about a pod: in place, by eviction, later, or not at all; and what follows."""

from datetime import UTC, datetime
from typing import Any

import pytest

import kwhatif
from kwhatif.report.deciders import ResizeRow, UpdaterRow
from tests.objects import manifest
from tests.unit.workloads.test_injections import Json, container, node, owner, pod, replica_set, template, workload

NOW = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
YOUNG, OLD = "2026-01-02T06:00:00Z", "2026-01-01T06:00:00Z"


def running(name: str, cpu: str = "1", where: str = "n1", started: str = OLD, **status: Any) -> Json:
    made_of = template(containers=[container(cpu=cpu)])
    rows = [{"name": "c", "resources": {"requests": {"cpu": cpu}}, "allocatedResources": {"cpu": cpu}}]
    ready = [{"type": "Ready", "status": "True"}]
    known = {"phase": "Running", "startTime": started, "conditions": ready, "containerStatuses": rows} | status
    return pod("ReplicaSet", "web-1", name, made_of, nodeName=where, status=known)


def web(*pods: Json, replicas: int | None = None) -> list[Json]:
    made_of = template(containers=[container(cpu="1")])
    of, sets = workload("Deployment", made_of), replica_set("web-1", made_of)
    for each in (of, sets):
        each["spec"]["replicas"] = len(pods) if replicas is None else replicas
    sets["spec"]["selector"] = {"matchLabels": {"app": "web"}}
    return [of, sets, *pods]


def vpa(mode: str = "InPlaceOrRecreate", cpu: str = "2", low: str = "1500m", high: str = "3", **policy: Any) -> Json:
    row = {"containerName": "c", "target": {"cpu": cpu}, "lowerBound": {"cpu": low}, "upperBound": {"cpu": high}}
    return manifest(
        "VerticalPodAutoscaler",
        {"name": "web", "namespace": "shop"},
        spec={"targetRef": {"kind": "Deployment", "name": "web"}, "updatePolicy": {"updateMode": mode} | policy},
        status={"recommendation": {"containerRecommendations": [row]}},
    )


def budget(allowed: int) -> Json:
    spec = {"minAvailable": 2 - allowed, "selector": {"matchLabels": {"app": "web"}}}
    status = {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2 - allowed, "expectedPods": 2}
    meta = {"name": "web", "namespace": "shop"}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec, "status": status}


def asked(*objects: Json) -> tuple[ResizeRow, UpdaterRow, kwhatif.Report]:
    report = kwhatif.resize(kwhatif.load(list(objects)), "pod/shop/a", requests="vpa", now=NOW)
    assert report.resize is not None
    assert report.resize.updater is not None
    return report.resize, report.resize.updater, report


PAIR = web(running("a"), running("b", where="n2"))
NODES = [node("n1"), node("n2")]
for each_node in NODES:  # they date the dump
    each_node["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-02T12:00:00Z"


def test_what_fits_is_resized_in_place() -> None:
    row, updater, report = asked(*NODES, *PAIR, vpa())
    assert (row.decision, row.change, updater.acts, updater.vpa) == ("Fits", "cpu 1 to 2", "resizes", "shop/web")
    assert row.is_resized
    assert report.story is not None


@pytest.mark.parametrize(("mode", "acts", "why"), [("Recreate", "evicts", "mode"), ("", "evicts", "mode"), ("Auto", "evicts", "mode"), ("Off", "leaves", "mode"), ("Initial", "leaves", "mode"), ("InPlace", "leaves", "mode")])  # fmt: skip
def test_modes(mode: str, acts: str, why: str) -> None:
    row, updater, report = asked(*NODES, *PAIR, vpa(mode))
    assert (updater.acts, updater.why, updater.mode) == (acts, why, mode or "Recreate")
    assert (report.story is not None) is (acts == "evicts")
    assert not row.is_resized


def test_what_is_deferred_is_evicted_after_five_minutes_and_comes_back_with_more() -> None:
    full = pod("", "", "full", template("full", containers=[container(cpu="2500m")]), meta={"ownerReferences": []})
    row, updater, report = asked(*NODES, *PAIR, full, vpa())
    assert (row.decision, updater.acts, updater.why, updater.after) == ("Deferred", "evicts", "deferred", 300)
    assert report.story is not None
    assert [(gone.pod, gone.how) for gone in report.story.gone] == [("shop/a", "Evicted")]
    assert report.story.seconds >= 300
    (web_row,) = (each for each in report.story.workloads if each.workload == "Deployment shop/web")
    assert web_row.after == {"n2": 2}


def test_a_budget_that_allows_nothing_holds_the_eviction_back() -> None:
    _, updater, report = asked(*NODES, *PAIR, vpa("Recreate"), budget(0))
    assert updater.acts == "evicts"
    assert updater.refused == "Cannot evict pod as it would violate the pod's disruption budget."
    assert report.story is None
    assert not asked(*NODES, *PAIR, vpa("Recreate"), budget(1))[1].refused


def test_what_the_api_server_refuses_is_evicted() -> None:
    row, updater, _ = asked(*NODES, *PAIR, vpa(cpu="9", high="9"))
    assert (row.decision, updater.acts, updater.why) == ("Refused", "evicts", "refused")


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        (web(running("a")), ("waits", "few-replicas", 1, 2)),
        ([*web(running("a")), vpa(minReplicas=1)], ("resizes", "", 0, 0)),
        (web(running("a"), running("b"), running("c"), replicas=5), ("waits", "group", 3, 3)),
        (web(running("a"), running("b"), running("c"), replicas=4), ("resizes", "", 0, 0)),
        ([*web(running("a"), running("b", phase="Pending"))], ("waits", "group", 1, 1)),
        (web(running("a", "1600m"), running("b")), ("resizes", "", 0, 0)),
        (web(running("a", "1600m", started=YOUNG), running("b")), ("leaves", "within-bounds", 0, 0)),
        (web(running("a", "1900m"), running("b")), ("leaves", "within-bounds", 0, 0)),
        (web(running("a", "1800m"), running("b")), ("resizes", "", 0, 0)),
        (web(running("a", "3500m", started=YOUNG), running("b", where="n2")), ("resizes", "", 0, 0)),
        (web(running("a", started=YOUNG), running("b")), ("resizes", "", 0, 0)),
        (
            web(running("a", conditions=[{"type": "PodResizeInProgress", "status": "True"}]), running("b")),
            ("waits", "in-progress", 0, 0),
        ),
        (
            web(running("a", conditions=[{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]), running("b")),
            ("evicts", "infeasible", 0, 0),
        ),
    ],
)  # fmt: skip
def test_whether_it_is_due_and_its_group_allows_it(objects: list[Json], expected: tuple[str, str, int, int]) -> None:
    more = [] if objects[-1]["kind"] == "VerticalPodAutoscaler" else [vpa()]
    _, updater, _ = asked(*NODES, *objects, *more)
    assert (updater.acts, updater.why, updater.replicas, updater.needed) == expected


def test_a_pod_of_which_nothing_is_recommended_is_refused() -> None:
    with pytest.raises(kwhatif.InputError, match="no VerticalPodAutoscaler of the input recommends anything"):
        kwhatif.resize(kwhatif.load([*NODES, *PAIR]), "pod/shop/a", requests="vpa")
    static = pod("", "", "a", template(), meta={"ownerReferences": [owner("Node", "n1")]})
    with pytest.raises(kwhatif.InputError, match="recommends anything"):
        kwhatif.resize(kwhatif.load([*NODES, static, vpa()]), "shop/a", requests="vpa")
    with pytest.raises(TypeError, match="without limits"):
        kwhatif.resize(kwhatif.load([*NODES, *PAIR]), "pod/shop/a", requests="vpa", limits={"cpu": "2"})
