"""HorizontalPodAutoscalers: their bounds are certain, what their metrics ask for is a caveat."""

from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec
from kwhatif.kube.model.caveat.workloads import AutoscalerNotModelled
from kwhatif.render.edits import sentences_of
from kwhatif.workloads.counts import bounded
from tests.objects import manifest

Json = dict[str, Any]


def node(cpu: str = "64") -> Json:
    amounts = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    return manifest(
        "Node",
        {"name": "a"},
        status={"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def workload(replicas: int | None = None, kind: str = "Deployment", **meta: Any) -> Json:
    spec: Json = {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "1"}}}]}
    number = {} if replicas is None else {"replicas": replicas}
    version = "v1" if kind == "ReplicationController" else "apps/v1"
    selector: Json = {"app": "web"} if kind == "ReplicationController" else {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "default"} | meta,
        "spec": number | {"selector": selector, "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}},
    }


def scaler(
    least: int | None = None, most: int = 9, kind: str = "Deployment", name: str = "web", of: str = "web"
) -> Json:
    bounds = ({} if least is None else {"minReplicas": least}) | {"maxReplicas": most}
    return manifest(
        "HorizontalPodAutoscaler",
        {"name": name, "namespace": "default"},
        spec=bounds | {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": of}},
    )


@pytest.mark.parametrize(
    ("replicas", "least", "most", "expected"),
    [
        (1, 12, 30, 12),
        (12, 12, 30, 12),
        (20, 12, 30, 20),
        (31, 12, 30, 30),
        (1, None, 30, 1),
        (0, 12, 30, 0),
        (0, None, 30, 0),
        (0, 0, 30, 0),
        (3, 0, 30, 3),
        (3, 1, None, 3),
    ],
)
def test_bounds(replicas: int, least: int | None, most: int | None, expected: int) -> None:
    spec = HorizontalPodAutoscalerSpec(min_replicas=least, max_replicas=most)
    assert bounded(replicas, HorizontalPodAutoscaler(spec=spec)) == expected


def judged(cluster: list[Json], *manifests: Json) -> dict[str, tuple[int, int]]:
    """How many pods of each workload come, and go, as `gate` has it."""
    report = kwhatif.gate(kwhatif.load([node(), *cluster]), *manifests)
    assert not report.problems
    return {row.name: (row.replicas, row.removed) for row in report.workloads}


def running(replicas: int, kind: str = "Deployment") -> list[Json]:
    """The workload of the cluster with its pods."""
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": kind, "controller": True}
    made = workload(replicas, kind, uid=kind)
    between: list[Json] = []
    if kind == "Deployment":
        between = [workload(replicas, "ReplicaSet", uid="rs", ownerReferences=[owner])]
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
    template = made["spec"]["template"]
    pods = [
        manifest(
            "Pod",
            template["metadata"] | {"name": f"web-{number}", "namespace": "default", "ownerReferences": [owner]},
            spec=template["spec"] | {"nodeName": "a"},
            status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        )
        for number in range(replicas)
    ]
    return [made, *between, *pods]


CASES: dict[str, tuple[list[Json], list[Json], dict[str, tuple[int, int]]]] = {
    "the least of a new one": ([], [workload(), scaler(3)], {"Deployment default/web": (3, 0)}),
    "the order does not matter": ([], [scaler(3), workload()], {"Deployment default/web": (3, 0)}),
    "more than the most": ([], [workload(12), scaler(3)], {"Deployment default/web": (9, 0)}),
    "between the bounds": ([], [workload(5), scaler(3)], {"Deployment default/web": (5, 0)}),
    "none is left so": ([], [workload(0), scaler(3)], {"Deployment default/web": (0, 0)}),
    "another's autoscaler": ([], [workload(), scaler(3, of="other")], {"Deployment default/web": (1, 0)}),
    "of a StatefulSet": (
        [],
        [workload(kind="StatefulSet"), scaler(3, kind="StatefulSet")],
        {"StatefulSet default/web": (3, 0)},
    ),
    "of the cluster": ([scaler(3)], [workload()], {"Deployment default/web": (3, 0)}),
    "a changed one counts": ([scaler(3)], [workload(), scaler(4)], {"Deployment default/web": (4, 0)}),
    "what runs is kept": ([*running(5), scaler(3)], [workload()], {"Deployment default/web": (0, 0)}),
    "what runs is too few": ([*running(2), scaler(4)], [workload()], {"Deployment default/web": (2, 0)}),
    "what runs is scaled by an autoscaler alone": (running(2), [scaler(4)], {"Deployment default/web": (2, 0)}),
    "what runs is within its bounds": (running(5), [scaler(4)], {}),
    "what runs is too many": (running(5), [scaler(1, 2)], {"Deployment default/web": (0, 3)}),
    "a custom kind": ([], [scaler(4, kind="Rollout")], {}),
}


@pytest.mark.parametrize(("cluster", "manifests", "expected"), CASES.values(), ids=list(CASES))
def test_how_many_pods_are_judged(
    cluster: list[Json], manifests: list[Json], expected: dict[str, tuple[int, int]]
) -> None:
    assert judged(cluster, *manifests) == expected


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"])
def test_all_of_them_are_judged(kind: str) -> None:
    report = kwhatif.gate(kwhatif.load([node("2500m")]), workload(kind=kind), scaler(3, kind=kind))
    assert [each.outcome for each in report.decisions] == ["Placed", "Placed", "Unschedulable"]
    (caveat,) = (each for each in report.caveat_details if isinstance(each, AutoscalerNotModelled))
    assert (caveat.target, caveat.replicas) == (f"{kind} default/web", 3)
    assert caveat.message.endswith("counts with 3 replicas, the least that it allows")


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        (scaler(5, 4), "spec.maxReplicas", "4 must be greater than or equal to minReplicas, which is 5"),
        (scaler(-1), "spec.minReplicas", "-1 must be greater than or equal to 1"),
        (scaler(1, 0), "spec.maxReplicas", "0 must be greater than 0"),
        (scaler(0), "spec.minReplicas", "0 must be greater than or equal to 1"),
        (scaler(of=""), "spec.scaleTargetRef.name", "is required"),
    ],
)
def test_what_the_api_server_refuses(given: Json, field: str, message: str) -> None:
    session = kwhatif.load([node()], kubernetes_version="1.36")
    with pytest.raises(kwhatif.InputError) as wrong:
        kwhatif.schedule(session, workload(), given)
    assert [(each.field, each.message) for each in wrong.value.problems] == [(field, message)]


def test_it_may_scale_to_none_where_that_is_on() -> None:
    session = kwhatif.load([node()], kubernetes_version="1.37")
    assert {row.name: row.replicas for row in kwhatif.gate(session, workload(2), scaler(0)).workloads} == {
        "Deployment default/web": 2
    }


# --- later -------------------------------------------------------------------------------------------------------


def pods_after(report: kwhatif.Report) -> dict[str, int]:
    assert report.story is not None
    return {row.workload: sum(row.after.values()) for row in report.story.workloads}


def test_its_controller_scales_in_a_simulation() -> None:
    report = kwhatif.simulate(kwhatif.load([node(), *running(2), scaler(4)]))
    assert pods_after(report) == {"Deployment default/web": 4}
    assert report.story is not None
    said = [(each.at, each.actor, each.verb) for each in report.story.events if each.verb == "scaled"]
    assert said[0] == (15.0, "HorizontalPodAutoscaler default/web", "scaled")


def test_one_of_the_manifests_scales_in_a_simulation() -> None:
    report = kwhatif.simulate(kwhatif.load([node()]), workload(), scaler(3))
    assert pods_after(report) == {"Deployment default/web": 3}


def test_whoever_scales_below_it_is_scaled_back() -> None:
    session = kwhatif.load([node(), *running(5), scaler(4)])
    assert pods_after(kwhatif.simulate(session, then=["scale deploy/web=1"])) == {"Deployment default/web": 4}
    edited = kwhatif.edited(session, "scale deploy/web=1")
    assert len([info for info in edited.state.pods.values() if info.namespace == "default"]) == 4
    assert "HorizontalPodAutoscaler default/web makes that 4" in sentences_of(edited.changes[0].remarks)
    gone = kwhatif.edited(session, "scale deploy/web=0")
    assert not gone.state.pods
