"""Pods on nodes that the input lacks, and static pods: what stays where it is, and what goes with its node."""

from typing import Any

import pytest

import kwhatif
from kwhatif.report.story import Story
from tests.objects import manifest

Object = dict[str, Any]


def node(name: str) -> Object:
    status = {"allocatable": {"cpu": "4", "pods": "20"}, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(name: str, on: str, owner: bool = True, conditions: tuple[Object, ...] = (), **meta: Any) -> Object:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
    owners = {"ownerReferences": [reference]} if owner else {}
    return manifest(
        "Pod",
        {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "web"}, **owners, **meta},
        spec={"nodeName": on, "containers": [{"name": "c", "image": "i"}]},
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}, *conditions]},
    )


WEB = manifest(
    "ReplicaSet",
    {"name": "web", "namespace": "shop", "uid": "rs"},
    spec={
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
)


def cluster(*pods: Object) -> kwhatif.Session:
    return kwhatif.load([node("a"), node("b"), WEB, *pods])


def story(report: kwhatif.Report) -> Story:
    assert report.story is not None
    return report.story


ELSEWHERE = "1 pod is on 1 node that the input lacks (far): taken to stay there"


def test_a_pod_on_a_node_that_the_input_lacks_stays_and_counts() -> None:
    report = kwhatif.simulate(cluster(pod("web-1", "a"), pod("web-2", "far")))
    assert (story(report).settled, story(report).gone, story(report).events) == ("settled", (), ())
    assert ELSEWHERE in report.caveats


@pytest.mark.parametrize("command", ["schedule", "drain", "outage", "deschedule"])
def test_every_answer_says_that_nodes_are_lacking(command: str) -> None:
    session = cluster(pod("web-1", "a"), pod("web-2", "far"))
    match command:
        case "schedule":
            report = kwhatif.schedule(session, pod("new", "", owner=False))
        case "drain":
            report = kwhatif.drain(session, "a")
        case "outage":
            report = kwhatif.outage(session, "a")
        case _:
            report = kwhatif.deschedule(session, strategy="RemoveDuplicates")
    assert ELSEWHERE in report.caveats


def test_such_a_pod_ends_when_it_is_deleted() -> None:
    report = kwhatif.simulate(cluster(pod("web-1", "a"), pod("web-2", "far")), then=["delete pod/shop/web-2"])
    assert [(gone.pod, gone.how) for gone in story(report).gone] == [("shop/web-2", "Deleted")]
    (row,) = story(report).workloads
    assert (sum(row.after.values()), row.terminating) == (2, 0)


@pytest.mark.parametrize("first", [True, False])
def test_a_node_that_is_said_to_be_gone_takes_its_pods_along(*, first: bool) -> None:
    session = cluster(pod("web-1", "a"), pod("web-2", "far"), pod("web-3", "farther"))
    if first:
        report = kwhatif.simulate(kwhatif.edited(session, "delete node/far"))
    else:
        report = kwhatif.simulate(session, then=["delete node/far"])
    assert [(gone.pod, gone.how) for gone in story(report).gone][-1] == ("shop/web-2", "PodGC")
    assert "shop/web-3" not in {gone.pod for gone in story(report).gone if gone.how == "PodGC"}


def test_a_node_that_nobody_names_cannot_be_deleted() -> None:
    with pytest.raises(kwhatif.InputError, match='nodes "nowhere" not found'):
        kwhatif.edited(cluster(pod("web-2", "far")), "delete node/nowhere")


def test_a_pod_that_the_garbage_collector_has_marked_shows_that_its_node_is_gone() -> None:
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}
    report = kwhatif.simulate(cluster(pod("web-1", "a"), pod("web-2", "far", conditions=(mark,))))
    assert [gone.pod for gone in story(report).gone] == ["shop/web-2"]
    assert "nodes-not-in-input" not in {caveat.code for caveat in report.caveat_details}


@pytest.mark.parametrize(
    "static",
    [
        pytest.param({"annotations": {"kubernetes.io/config.mirror": "0af"}}, id="by its annotation alone"),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "a", "controller": True}]}, id="by owner"
        ),
    ],
)
def test_a_static_pod_goes_with_its_node(static: Object) -> None:
    report = kwhatif.outage(
        cluster(pod("web-1", "b"), pod("web-2", "b"), pod("proxy-a", "a", owner=False, **static)), "a"
    )
    verdict = story(report).verdict
    assert verdict is not None
    assert (verdict.ok, verdict.worst, verdict.moved, story(report).blocked) == (True, None, 0, ())
    assert "toleration-unknown" not in {caveat.code for caveat in report.caveat_details}
