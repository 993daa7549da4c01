"""`outage`: what comes back, and what does not."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.node import NodeCondition
from kwhatif.kube.model.pod import PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, ResourceRequirements, Toleration
from kwhatif.kube.model.workload import StatefulSet, StatefulSetSpec
from kwhatif.questions.maintenance.outage import OutageSimulation, outage
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import SettledCluster
from kwhatif.render.worded import worded_story
from kwhatif.report.story import BlockedRow, Story
from tests.builders import NodeBuilder, PodBuilder, cluster, node, pod, selector
from tests.unit.questions.maintenance.test_drain import QUICK, READY, bare, web


def living(name: str) -> NodeBuilder:
    return node(name).status(conditions=(NodeCondition(type="Ready", status="True"),))


def patient(builder: PodBuilder, seconds: int | None) -> PodBuilder:
    toleration = Toleration(
        key="node.kubernetes.io/unreachable", operator="Exists", effect="NoExecute", toleration_seconds=seconds
    )
    return builder.spec(tolerations=(toleration,))


def lost(*objects: Any, nodes: tuple[str, ...] = ("n1",), deleted: bool = False) -> Story:
    report = outage(Session.of(cluster(*objects)), nodes, QUICK, deleted=deleted)
    assert report.story is not None
    return worded_story(report.story)


THREE = [living("n1"), living("n2"), living("n3")]
WEB = [patient(each, 30) if isinstance(each, PodBuilder) else each for each in web("n1", "n2")]


def test_a_deployment_comes_back_once_its_pods_are_evicted() -> None:
    verdict = lost(*THREE, *WEB).verdict
    assert verdict is not None
    assert (verdict.of, verdict.ok, verdict.moved, verdict.seconds) == ("outage", True, 1, 82)


def test_with_the_node_object_gone_podgc_removes_them() -> None:
    story = lost(*THREE, *WEB, deleted=True)
    assert story.verdict is not None
    assert (story.verdict.ok, story.verdict.seconds) == (True, 62)
    assert [(gone.pod, gone.how) for gone in story.gone] == [("shop/web-0", "PodGC")]


def stateful() -> list[Any]:
    template = PodTemplateSpec(spec=PodSpec(containers=(Container(name="c", image="i"),)))
    made = StatefulSet(
        metadata=ObjectMeta(name="db", namespace="shop", uid="uid-db"),
        spec=StatefulSetSpec(replicas=1, selector=selector(app="db"), template=template),
    )
    zero = pod("db-0", "shop").labels(app="db").owner("StatefulSet", "db").on("n1")
    return [made, patient(zero.status(phase="Running", conditions=(READY,)), 30)]


LEFT: dict[str, tuple[list[Any], tuple[str, str], str]] = {
    "a bare pod": ([*THREE, bare("a")], ("shop/a", "no-successor"), "it has no controller"),
    "a StatefulSet's": (
        [*THREE, *stateful()],
        ("shop/db-0", "waits-for-node"),
        "it is terminating, and is not replaced until its silent node",
    ),
    "one that tolerates it forever": (
        [*THREE, patient(bare("a").owner("ReplicaSet", "x"), None)],
        ("shop/a", "stays"),
        "it tolerates the loss of its node forever",
    ),
    "nobody is evicted where all is lost": (
        [living("n1"), patient(bare("a").owner("ReplicaSet", "x"), 30)],
        ("shop/a", "stays"),
        "too much of its zone is lost",
    ),
}


@pytest.mark.parametrize(("objects", "expected", "why"), LEFT.values(), ids=LEFT.keys())
def test_what_does_not_come_back(objects: list[Any], expected: tuple[str, str], why: str) -> None:
    story = lost(*objects)
    (row,) = story.blocked
    assert (row.pod, row.class_) == expected
    assert row.why.startswith(why)
    assert story.verdict is not None
    assert not story.verdict.ok


TAINT = "taint n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"


@pytest.mark.parametrize(
    ("cpu", "remedy"), [("4", TAINT), ("0", "recover n1")], ids=["room elsewhere", "no room elsewhere"]
)
def test_the_taint_of_nodes_that_are_down_is_offered_where_it_helps(cpu: str, remedy: str) -> None:
    """Where no other node has room, only the node itself helps: it comes back."""
    made, zero = stateful()
    (container,) = made.spec.template.spec.containers
    asking = replace(container, resources=ResourceRequirements(requests={"cpu": "1"}))
    made = replace(made, spec=replace(made.spec, template=PodTemplateSpec(spec=PodSpec(containers=(asking,)))))
    (row,) = lost(
        living("n1"), living("n2").allocatable(cpu=cpu), living("n3").allocatable(cpu=cpu), made, zero
    ).blocked
    assert row.remedy == remedy
    assert row.why.endswith("that one would find no node") is (remedy != TAINT)


def test_a_node_that_was_deleted_cannot_be_tainted() -> None:
    """Where a story never settles, it can end before PodGC has removed a pod of such a node."""
    ended = OutageSimulation(SettledCluster(Session.of(cluster(*THREE, *stateful())), QUICK), ("n1",), deleted=True)
    row = BlockedRow(pod="shop/db-0", class_="waits-for-node", cause="node-deleted")
    ended.blocked = (row,)
    assert ended.story().blocked == (row,)


def test_pods_of_daemon_sets_and_finished_ones_are_not_missed() -> None:
    verdict = lost(*THREE, bare("a").owner("DaemonSet", "ds"), bare("b").status(phase="Succeeded")).verdict
    assert verdict is not None
    assert (verdict.ok, verdict.moved) == (True, 0)


def test_no_room_is_harm() -> None:
    verdict = lost(living("n1"), living("n2").allocatable(cpu="1"), *WEB).verdict
    assert verdict is not None
    assert verdict.why == f"{verdict.pending[0]} stays pending"
