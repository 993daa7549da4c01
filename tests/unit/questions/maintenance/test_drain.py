"""`drain`: waves, blocked pods by class, and remedies that work."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.kube.model.caveat.scheduling import BudgetRecounted
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodCondition, PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, ResourceRequirements
from kwhatif.kube.model.policy import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
    ResourceQuota,
    ResourceQuotaSpec,
)
from kwhatif.kube.model.storage import SomeVolume
from kwhatif.kube.model.workload import (
    DaemonSet,
    Deployment,
    DeploymentSpec,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
)
from kwhatif.questions.maintenance.drain import drain
from kwhatif.questions.session.session import Session
from kwhatif.render.worded import worded_story
from kwhatif.report.story import Story
from kwhatif.simulation.parameters import Parameters
from tests.builders import PodBuilder, cluster, node, pod, selector

READY = PodCondition(type="Ready", status="True")
UNREADY = PodCondition(type="Ready", status="False")
#: Pods take 2 s to start, and 3 s to end.
QUICK = Parameters(start=2, termination=3)


def web(*nodes: str, cpu: str = "1", unready: int = 0) -> list[Any]:
    """A Deployment with a pod on each of these nodes; the last ones are not ready."""
    labels = {"app": "web"}
    spec = PodSpec(
        containers=(Container(name="main", image="i", resources=ResourceRequirements(requests={"cpu": cpu})),),
        scheduler_name="default-scheduler",
        restart_policy="Always",
    )
    template = PodTemplateSpec(metadata=PodMeta(labels=labels), spec=spec)
    deployment = Deployment(
        metadata=ObjectMeta(name="web", namespace="shop", uid="uid-web"),
        spec=DeploymentSpec(replicas=len(nodes), selector=LabelSelector(match_labels=labels), template=template),
    )
    hashed = {**labels, "pod-template-hash": "1"}
    above = OwnerReference(kind="Deployment", name="web", uid="uid-web", api_version="apps/v1", controller=True)
    replicas = ReplicaSet(
        metadata=ReplicaSetMeta(
            name="web-1", namespace="shop", uid="uid-web-1", labels=hashed, owner_references=(above,)
        ),
        spec=ReplicaSetSpec(
            replicas=len(nodes),
            selector=LabelSelector(match_labels=hashed),
            template=replace(template, metadata=PodMeta(labels=hashed)),
        ),
    )
    pods = [
        pod(f"web-{index}", "shop")
        .labels(hashed)
        .owner("ReplicaSet", "web-1")
        .cpu(cpu)
        .on(name)
        .status(phase="Running", conditions=(READY if index < len(nodes) - unready else UNREADY,))
        for index, name in enumerate(nodes)
    ]
    return [deployment, replicas, *pods]


def bare(name: str, on: str = "n1") -> PodBuilder:
    return pod(name, "shop").labels(app="web").on(on).status(phase="Running", conditions=(READY,))


def budget(name: str = "web", **spec: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace="shop"),
        spec=PodDisruptionBudgetSpec(selector=selector(app="web"), **spec),
    )


def drained(*objects: Any, nodes: tuple[str, ...] = ("n1",), **options: Any) -> Story:
    session = Session.of(cluster(*objects))
    report = drain(session, nodes, DrainOptions(**options), QUICK)
    assert session.cluster.all(Pod)
    assert report.story is not None
    return worded_story(report.story)


THREE = [node("n1"), node("n2"), node("n3")]
FULL = node("n2").allocatable(cpu="1")


def test_waves_follow_the_budget() -> None:
    story = drained(*THREE, *web("n1", "n1", "n2"), budget(max_unavailable=1))
    assert [(wave.at, wave.pods) for wave in story.waves] == [(0, ("shop/web-0",)), (5, ("shop/web-1",))]
    verdict = story.verdict
    assert verdict is not None
    assert (verdict.ok, verdict.moved, verdict.waves, verdict.seconds, verdict.why) == (True, 2, 2, 8, "")
    assert story.blocked == ()
    (command,) = story.commands
    assert (command.command, command.ok, command.seconds) == ("drain n1", True, 8)
    assert command.output[-1] == "node/n1 drained"


BLOCKED: dict[str, tuple[list[Any], dict[str, Any], list[tuple[str, str, str]]]] = {
    "the budget demands all, as a number": (
        [*THREE, *web("n1", "n2"), budget(min_available=2)],
        {},
        [("shop/web-0", "demands-all", "scale deployment/shop/web=3")],
    ),
    "the budget demands all, as a share": (
        [*THREE, *web("n1", "n2"), budget(min_available="100%")],
        {},
        [("shop/web-0", "demands-all", "budget shop/web maxUnavailable=1")],
    ),
    "the budget lets nobody go": (
        [*THREE, *web("n1", "n2"), budget(max_unavailable=0)],
        {},
        [("shop/web-0", "demands-all", "budget shop/web maxUnavailable=1")],
    ),
    "two budgets": (
        [*THREE, *web("n1"), budget(min_available=0), budget("other", min_available=0)],
        {},
        [("shop/web-0", "many-budgets", "delete poddisruptionbudget/shop/other")],
    ),
    "the budget cannot be counted": (
        [*THREE, bare("a").owner("Job", "job", "batch/v1"), budget(max_unavailable=1)],
        {},
        [("shop/a", "sync-failed", "budget shop/web minAvailable=0")],
    ),
    "it is not ready itself": (
        [*THREE, *web("n2", "n1", unready=1), budget(min_available=2)],
        {},
        [
            (
                "shop/web-1",
                "unhealthy-lock",
                "set poddisruptionbudget/shop/web spec.unhealthyPodEvictionPolicy=AlwaysAllow",
            )
        ],
    ),
    "another one is not ready": (
        [*THREE, *web("n1", "n2", "n3", unready=1), budget(min_available=2)],
        {},
        [("shop/web-0", "unhealthy", "budget shop/web minAvailable=1")],
    ),
    "no room for its successor": (
        [node("n1"), FULL, *web("n1", "n1", "n2"), budget(min_available=2)],
        {},
        [("shop/web-1", "no-room", "add 1 node like n1")],
    ),
    "room on a cordoned node": (
        [node("n1"), FULL, node("n3").cordoned(), *web("n1", "n1", "n2"), budget(min_available=2)],
        {},
        [("shop/web-1", "no-room", "uncordon n3")],
    ),
    "nobody makes them again": (
        [*THREE, bare("a"), bare("b"), bare("c", "n2"), budget(min_available=2)],
        {"force": True},
        [("shop/b", "no-successor", "budget shop/web minAvailable=1")],
    ),
    "a DaemonSet's pod": (
        [*THREE, DaemonSet(metadata=ObjectMeta(name="ds", namespace="shop")), bare("a").owner("DaemonSet", "ds")],
        {},
        [("shop/a", "refused", "--ignore-daemonsets")],
    ),
    "local storage": (
        [*THREE, bare("a").owner("ReplicaSet", "x").volume("v", empty_dir=SomeVolume())],
        {},
        [("shop/a", "refused", "--delete-emptydir-data")],
    ),
    "no controller": ([*THREE, bare("a")], {}, [("shop/a", "refused", "--force")]),
    "a finalizer": (
        [*THREE, bare("a").owner("ReplicaSet", "x").meta(finalizers=("example.com/held",))],
        {},
        [("shop/a", "never-ends", "")],
    ),
    "too little time": (
        [*THREE, *web("n1"), budget(min_available=0)],
        {"timeout": 2.0},
        [("shop/web-0", "late", "--timeout=4s")],
    ),
    "too little time for the second": (
        [*THREE, *web("n1", "n1", "n2"), budget(max_unavailable=1)],
        {"timeout": 4.0},
        [("shop/web-1", "late", "--timeout=9s")],
    ),
}


@pytest.mark.parametrize(("objects", "options", "expected"), BLOCKED.values(), ids=BLOCKED.keys())
def test_blocked(objects: list[Any], options: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    story = drained(*objects, **options)
    assert [(row.pod, row.class_, row.remedy) for row in story.blocked] == expected
    assert story.verdict is not None
    assert not story.verdict.ok
    assert story.verdict.why


def test_refusals_are_in_kubectls_words() -> None:
    story = drained(*THREE, bare("a"))
    assert story.verdict is not None
    assert story.verdict.why == "cannot delete Pods that declare no controller (use --force to override): shop/a"
    assert story.waves == ()


def test_who_is_not_made_again_does_not_move() -> None:
    spec = ResourceQuotaSpec(hard={"pods": "1"})
    quota = ResourceQuota(metadata=ObjectMeta(name="few", namespace="shop"), spec=spec)
    verdict = drained(*THREE, *web("n1", "n2"), quota).verdict
    assert verdict is not None
    assert (verdict.ok, verdict.moved, verdict.gone, verdict.pending) == (False, 1, ("shop/web-0",), ())
    assert verdict.why.startswith("Deployment shop/web has 1 pod fewer, because new ones are rejected: ")
    assert "exceeded quota: few" in verdict.why


def test_who_has_no_controller_goes_for_good() -> None:
    verdict = drained(*THREE, *web("n1"), bare("a"), force=True).verdict
    assert verdict is not None
    assert (verdict.ok, verdict.moved, verdict.gone) == (True, 2, ("shop/a",))


@pytest.mark.parametrize("disable_eviction", [True, False])
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_are_over_are_gone_at_once(phase: str, disable_eviction: bool) -> None:
    over = [bare(name).status(phase=phase) for name in ("a", "b")]
    story = drained(
        *THREE, *over, bare("c", "n2").status(phase=phase), nodes=("n1", "n2"), disable_eviction=disable_eviction
    )
    (command,) = story.commands
    assert (command.ok, command.seconds) == (True, 0.0)
    assert story.verdict is not None
    assert (story.verdict.moved, story.verdict.gone) == (0, ())  # nobody misses them
    verb = "deleted" if disable_eviction else "evicted"
    said = [line for line in command.output if "cordoned" not in line and "evicting" not in line]
    assert said == [f"pod/a {verb}", f"pod/b {verb}", "node/n1 drained", f"pod/c {verb}", "node/n2 drained"]


def test_nodes_behind_one_whose_drain_does_not_end_are_judged_as_if_it_did() -> None:
    other = budget("db", max_unavailable=0)
    other = replace(other, spec=replace(other.spec, selector=selector(app="db")))
    pods = [*web("n1"), bare("db", "n2").labels(app="db"), bare("free", "n2").labels(app="free")]
    story = drained(*THREE, *pods, budget(max_unavailable=0), other, nodes=("n1", "n2"), force=True)
    rows = {row.pod: row for row in story.blocked}
    assert [(pod, row.class_, row.cause) for pod, row in rows.items()] == [
        ("shop/web-0", "demands-all", "demands-all"),
        ("shop/db", "demands-all", "demands-all"),
        ("shop/free", "late", "endless-drain"),
    ]
    assert rows["shop/db"].remedy == "budget shop/db minAvailable=0"
    assert rows["shop/free"].why == "not reached, as the drain of n1 does not end; it would go"
    assert story.verdict is not None
    assert story.verdict.why == "shop/web-0 can never be evicted (budget shop/web demands all 1), and 1 more"


def test_a_pod_that_stays_pending_is_harm() -> None:
    story = drained(node("n1"), FULL, *web("n1", "n2"))
    assert story.verdict is not None
    assert story.commands[0].ok
    assert not story.verdict.ok
    assert story.verdict.why == f"{story.verdict.pending[0]} stays pending"


def test_one_that_was_pending_before_is_not() -> None:
    waiting = pod("waits", "shop").cpu("64")
    story = drained(*THREE, *web("n1"), waiting)
    assert [row.pod for row in story.pending] == ["shop/waits"]
    assert story.verdict is not None
    assert (story.verdict.ok, story.verdict.pending) == (True, ())


def test_evictions_in_turn_are_counted() -> None:
    low = bare("low", "n2").cpu("4").priority(-10)
    story = drained(node("n1"), node("n2"), *web("n1"), low)
    assert story.verdict is not None
    assert story.verdict.preempted == 1


def test_a_budget_whose_status_is_older_than_its_pods_is_counted_from_them() -> None:
    stale = PodDisruptionBudgetStatus(current_healthy=3, desired_healthy=2, expected_pods=3, disruptions_allowed=1)
    objects = web("n1", "n2", "n3", unready=2)
    session = Session.of(
        cluster(*map(node, ("n1", "n2", "n3")), *objects, replace(budget(min_available=2), status=stale))
    )
    report = drain(session, ("n1",), DrainOptions(timeout=10.0), QUICK)
    assert report.story is not None
    assert [command.ok for command in report.story.commands] == [False]
    assert not report.story.gone
    assert [(row.before, row.after, row.overrun) for row in report.story.budgets] == [(0, 0, 0)]
    found = next(each for each in report.caveat_details if isinstance(each, BudgetRecounted))
    assert found == BudgetRecounted(budget="shop/web", stated=1, allowed=0, healthy=1, desired=2)
