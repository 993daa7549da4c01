"""Rollouts, gone through to their end: what is made and goes at each step, and where they hang."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

import kwhatif
from kwhatif.kube.model.caveat.scheduling import EvictionsAtOnce, PendingAsleep
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta
from kwhatif.kube.model.pod import PodCondition, PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, ResourceRequirements
from kwhatif.kube.model.policy import PriorityClass, ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus
from kwhatif.kube.model.workload import DaemonSet, Deployment, RollingUpdate, StatefulSet, UpdateStrategy
from kwhatif.policy.build import default_rulebook
from kwhatif.policy.fail_on import fails
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Answer, Question
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.render.workloads import workload_message
from kwhatif.report.decision import RolloutRow, WorkloadRow
from kwhatif.report.inputs import SourceRow
from tests import FIXTURES
from tests.builders import NodeBuilder, PodBuilder, cluster, node, pod
from tests.worded_policy import judge as judge_by

READY = PodCondition(type="Ready", status="True")
NOT_READY = PodCondition(type="Ready", status="False")
RECREATE = UpdateStrategy(type="Recreate")
Object = KubernetesObject | PodBuilder | NodeBuilder


def nodes(count: int, cpu: str = "2") -> list[NodeBuilder]:
    return [node(f"n{number}").allocatable(cpu=cpu, pods="20") for number in range(count)]


def template(cpu: str, name: str = "web", priority_class: str = "") -> PodTemplateSpec:
    requests = ResourceRequirements(requests={"cpu": cpu})
    return PodTemplateSpec(
        metadata=PodMeta(labels={"app": name}),
        spec=PodSpec(
            containers=(Container(name="app", image="i", resources=requests),), priority_class_name=priority_class
        ),
    )


def rolling(surge: int | str | None, unavailable: int | str | None) -> UpdateStrategy:
    return UpdateStrategy(
        type="RollingUpdate", rolling_update=RollingUpdate(max_surge=surge, max_unavailable=unavailable)
    )


def deployment(replicas: int, cpu: str = "1", name: str = "web", **fields: Any) -> Deployment:
    made = template(cpu, name, fields.pop("priority_class", ""))
    selector = LabelSelector(match_labels={"app": name})
    spec = replace(Deployment().spec, replicas=replicas, selector=selector, template=made, **fields)
    return Deployment(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


def running(owner: str, kind: str, *places: str, name: str = "") -> list[PodBuilder]:
    """Ready pods with 1 cpu, one on each of these nodes."""
    app = name or owner.partition("-")[0]
    return [
        pod(f"{owner}-{number}")
        .labels(app=app)
        .owner(kind, owner)
        .cpu("1")
        .on(place)
        .status(phase="Running", conditions=(READY,))
        for number, place in enumerate(places)
    ]


def web(*places: str) -> list[PodBuilder]:
    return running("web-1", "ReplicaSet", *places)


def answer(objects: Sequence[Object], *applied: KubernetesObject, rollout: Any = "end", reacts: bool = False) -> Answer:
    there = cluster(*objects)
    question = Question(
        applied=[
            Applied(each, SourceRow(file="a.yaml", object=f"{type(each).__name__} {each.metadata.name}"))
            for each in applied
        ],
        rollout=rollout,
        reacts=reacts,
    )
    return judge(Session.of(there), question)


def row_of(objects: Sequence[Object], *applied: KubernetesObject) -> WorkloadRow:
    judged = answer(objects, *applied).judged[0]
    return replace(judged.row, message=workload_message(judged.row, judged.decisions))


def rollout_of(objects: Sequence[Object], *applied: KubernetesObject) -> RolloutRow:
    row = row_of(objects, *applied).rollout
    assert row is not None
    return row


FULL = ("n0", "n0", "n1", "n1")


@pytest.mark.parametrize(
    ("surge", "unavailable", "steps", "completed", "updated", "old", "limit"),
    [
        pytest.param(1, 0, 1, False, 0, 4, "maxUnavailable 0", id="a deadlock"),
        pytest.param("25%", "25%", 4, True, 4, 0, "", id="it frees room as it goes"),
        pytest.param(0, 1, 4, True, 4, 0, "", id="none beside"),
        pytest.param(0, "100%", 1, True, 4, 0, "", id="all at once"),
        pytest.param("100%", 0, 1, False, 0, 4, "maxUnavailable 0", id="all beside"),
    ],
)
def test_a_deployment_where_nothing_is_free(
    *, surge: int | str, unavailable: int | str, steps: int, completed: bool, updated: int, old: int, limit: str
) -> None:
    strategy = rolling(surge, unavailable)
    there: list[Object] = [*nodes(2), deployment(4, strategy=strategy), *web(*FULL)]
    found = rollout_of(there, deployment(4, "900m", strategy=strategy))
    assert (found.completed, found.updated, found.old, found.limit) == (completed, updated, old, limit)
    assert (found.steps, found.wanted) == (steps, 4)
    assert (found.waits_for is None) is completed


def test_a_rollout_that_hangs_is_a_finding_and_says_where() -> None:
    strategy = rolling(1, 0)
    there: list[Object] = [*nodes(2), deployment(3, strategy=strategy), *web("n0", "n0", "n1")]
    found = answer(there, deployment(3, "2", strategy=strategy))
    (judged,) = found.judged
    assert workload_message(judged.row, judged.decisions) == (
        "hangs after 0 of 3 new pods: the 1st fits nowhere while 3 old pods stay (maxUnavailable 0)"
    )
    policy = judge_by(default_rulebook(), found.judged, {}, today=date(2026, 1, 1))
    (finding,) = policy.findings
    assert (finding.rule, finding.level, finding.pods) == ("rollout", "fail", (judged.decisions[0].pod,))
    assert finding.message == (
        "hangs after 0 of 3 new pods: the 1st fits nowhere while 3 old pods stay (maxUnavailable 0):"
        " 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are"
        " available: 2 No preemption victims found for incoming pod."
    )
    assert fails(found.report(Session.of(Cluster()), "gate"), ("unschedulable",))
    assert judged.decisions[0].rejected, "the first pod that fits nowhere says why, on its last try as well"


def test_pods_that_are_bigger_than_before_hang_half_way() -> None:
    """Two old pods make room for one new one; then as many are missing as may be."""
    strategy = rolling(0, 2)
    there: list[Object] = [*nodes(3), deployment(5, strategy=strategy), *web("n0", "n0", "n1", "n1", "n2")]
    found = rollout_of(there, deployment(5, "1500m", strategy=strategy))
    assert (found.completed, found.updated, found.old) == (False, 1, 2)


def test_a_deployment_that_is_recreated() -> None:
    there: list[Object] = [*nodes(2), deployment(4, strategy=RECREATE), *web(*FULL)]
    row = row_of(there, deployment(4, "900m", strategy=RECREATE))
    assert row.rollout == RolloutRow(steps=2, completed=True, wanted=4, updated=4, old=0)
    assert (row.removed, row.replicas, row.placed) == (4, 4, 4)


def test_evicted_on_the_way() -> None:
    """New pods come while old ones are there, or stop, and evict; in the end state there would have been room."""
    classes = [PriorityClass(metadata=ObjectMeta(name="high"), value=100)]
    strategy = rolling(1, 0)
    low = [pod("low-0").on("n1").cpu("1"), pod("low-1").on("n1").cpu("1")]
    there: list[Object] = [*nodes(2), *classes, deployment(2, strategy=strategy, priority_class="high")]
    old = [each.priority(100) for each in web("n0", "n0")]
    row = row_of([*there, *old, *low], deployment(2, "900m", strategy=strategy, priority_class="high"))
    assert row.rollout is not None
    assert row.rollout.completed
    assert (row.preempting, row.placed) == (2, 0)
    assert len(row.victims) == 2


def test_workloads_roll_out_together() -> None:
    """Each frees the room that the other one needs: alone, both would hang."""
    one, other = rolling(1, 0), rolling(0, 1)
    there: list[Object] = [
        *nodes(1, "3"),
        deployment(1, strategy=one),
        *web("n0"),
        deployment(2, name="api", strategy=other),
        *running("api-1", "ReplicaSet", "n0", "n0"),
    ]
    small = deployment(2, "500m", "api", strategy=other)
    assert not rollout_of(there, deployment(1, "900m", strategy=one)).completed
    found = answer(there, deployment(1, "900m", strategy=one), small)
    assert [each.row.rollout and each.row.rollout.completed for each in found.judged] == [True, True]


def test_an_old_pod_that_is_evicted_comes_again() -> None:
    """Its ReplicaSet makes another one, of the old template, which goes first: what may be missing is missing."""
    strategy = rolling(0, 1)
    waiting = pod("first").cpu("1").priority(10)
    there: list[Object] = [*nodes(2), deployment(4, strategy=strategy), *web(*FULL), waiting]
    found = answer(there, deployment(4, "900m", strategy=strategy))
    assert [each.pod for each in found.earlier] == ["default/first"]
    row = found.judged[0].row.rollout
    assert row is not None
    assert (row.completed, row.updated, row.old) == (False, 0, 3)


STATEFUL = LabelSelector(match_labels={"app": "db"})


def stateful(cpu: str = "1", replicas: int = 3, **fields: Any) -> StatefulSet:
    spec = replace(StatefulSet().spec, replicas=replicas, selector=STATEFUL, template=template(cpu, "db"), **fields)
    return StatefulSet(metadata=ObjectMeta(name="db", namespace="default"), spec=spec)


def db(*places: str) -> list[PodBuilder]:
    return [each.spec(hostname="") for each in running("db", "StatefulSet", *places)]


@pytest.mark.parametrize(
    ("cpu", "fields", "expected"),
    [
        pytest.param("900m", {}, RolloutRow(steps=6, completed=True, wanted=3, updated=3, old=0), id="all"),
        pytest.param(
            "900m",
            {"update_strategy": UpdateStrategy(type="RollingUpdate", rolling_update=RollingUpdate(partition=1))},
            RolloutRow(steps=4, completed=True, wanted=2, updated=2, old=0),
            id="down to a partition",
        ),
        pytest.param(
            "900m",
            {"pod_management_policy": "Parallel"},
            RolloutRow(steps=6, completed=True, wanted=3, updated=3, old=0),
            id="in parallel, one by one all the same",
        ),
        pytest.param(
            "1500m",
            {},
            RolloutRow(
                steps=2,
                completed=False,
                wanted=3,
                updated=0,
                old=2,
                waits_for="default/db-2",
                limit="one pod at a time",
            ),
            id="the highest does not fit",
        ),
    ],
)
def test_stateful_set(cpu: str, fields: dict[str, Any], expected: RolloutRow) -> None:
    there: list[Object] = [*nodes(2), stateful(**fields), *db("n0", "n0", "n1"), pod("other").on("n1").cpu("1")]
    assert rollout_of(there, stateful(cpu, **fields)) == expected


def test_a_pod_of_a_stateful_set_that_is_not_ready_holds_up_its_rollout() -> None:
    """Though the new template might repair it."""
    broken = db("n0", "n0", "n1")
    broken[0].status(conditions=(NOT_READY,))
    row = row_of([*nodes(2), stateful(), *broken], stateful("900m"))
    assert row.rollout is not None
    assert (row.rollout.completed, row.rollout.waits_for, row.rollout.steps) == (False, "default/db-0", 0)
    assert row.message.startswith("hangs after 0 of 3 new pods: db-0 is not ready while 3 old pods stay")


def test_a_pod_that_has_failed_is_made_anew_and_makes_way_for_nobody() -> None:
    there = db("n0", "n0", "n1")
    there[0].status(phase="Failed")
    row = row_of([*nodes(2), stateful(), *there], stateful("900m"))
    assert row.rollout is not None
    assert (row.rollout.completed, row.rollout.updated, row.removed) == (True, 3, 2)


def daemon(cpu: str = "1", **fields: Any) -> DaemonSet:
    spec = replace(
        DaemonSet().spec, selector=LabelSelector(match_labels={"app": "log"}), template=template(cpu, "log"), **fields
    )
    return DaemonSet(metadata=ObjectMeta(name="log", namespace="default"), spec=spec)


@pytest.mark.parametrize(
    ("cpu", "strategy", "completed", "updated", "old"),
    [
        pytest.param("1500m", rolling(None, None), True, 4, 0, id="every node counts"),
        pytest.param("1500m", rolling(2, 0), False, 0, 4, id="no room beside the old ones"),
        pytest.param("900m", rolling("50%", 0), True, 4, 0, id="room beside the old ones"),
        pytest.param("3", rolling(0, 2), False, 0, 2, id="bigger than the nodes"),
    ],
)
def test_daemon_set(*, cpu: str, strategy: UpdateStrategy, completed: bool, updated: int, old: int) -> None:
    pods = running("log", "DaemonSet", "n0", "n1", "n2", "n3")
    found = rollout_of([*nodes(4), daemon(), *pods], daemon(cpu, update_strategy=strategy))
    assert (found.completed, found.updated, found.old, found.wanted) == (completed, updated, old, 4)


def test_one_full_node_is_enough_to_hang_a_daemon_set() -> None:
    pods = running("log", "DaemonSet", "n0", "n1", "n2", "n3")
    there: list[Object] = [*nodes(4), daemon(), *pods, pod("big").on("n1").cpu("1")]
    row = row_of(there, daemon("1500m"))
    assert row.rollout is not None
    assert (row.rollout.completed, row.rollout.updated, row.rollout.limit) == (False, 1, "maxUnavailable 1")
    assert row.message.startswith("hangs after 1 of 4 new pods: the 2nd fits nowhere while 2 old pods stay")


@pytest.mark.parametrize("rollout", ["final", "surge"])
def test_a_moment_of_a_rollout_can_be_asked_for(rollout: str) -> None:
    strategy = rolling(1, 0)
    there: list[Object] = [*nodes(2), deployment(4, strategy=strategy), *web(*FULL)]
    row = answer(there, deployment(4, "900m", strategy=strategy), rollout=rollout).judged[0].row
    assert row.rollout is None
    assert row.placed == (4 if rollout == "final" else 0)


def test_what_is_new_or_only_scaled_does_not_roll() -> None:
    there: list[Object] = [*nodes(4), deployment(2), *web("n0", "n1")]
    assert row_of(there, deployment(4)).rollout is None
    assert row_of(there, deployment(1, name="api")).rollout is None
    assert row_of(there, deployment(2)).update == "unchanged"


def test_what_a_quota_refuses_is_tried_again_once_old_pods_are_gone() -> None:
    """Until then the new pods are refused; in the end nothing is said of that."""
    quota = ResourceQuota(
        metadata=ObjectMeta(name="all", namespace="default"),
        spec=ResourceQuotaSpec(hard={"pods": "4"}),
        status=ResourceQuotaStatus(hard={"pods": "4"}, used={"pods": "4"}),
    )
    strategy = rolling(1, 1)
    there: list[Object] = [*nodes(4), quota, deployment(4, strategy=strategy), *web(*FULL)]
    row = row_of(there, deployment(4, "900m", strategy=strategy))
    assert row.rollout is not None
    assert row.rollout.completed
    assert (row.replicas, row.placed, row.denied) == (4, 4, 0)
    strategy = rolling(1, 0)
    there = [*nodes(4), quota, deployment(4, strategy=strategy), *web(*FULL)]
    row = row_of(there, deployment(4, "900m", strategy=strategy))
    assert row.rollout is not None
    assert (row.rollout.completed, row.denied) == (False, 1)
    assert row.message.startswith("hangs after 0 of 4 new pods: the 1st is refused while 4 old pods stay")


def test_a_pod_that_was_pending_is_tried_again_when_pods_leave() -> None:
    there: list[Object] = [
        *nodes(1, "4"),
        deployment(4, strategy=RECREATE),
        *web("n0", "n0", "n0", "n0"),
        pod("first").cpu("2"),
    ]
    found = answer(there, deployment(4, "900m", strategy=RECREATE))
    assert [(each.pod, each.outcome) for each in found.earlier] == [("default/first", "Placed")]
    row = found.judged[0].row.rollout
    assert row is not None
    assert (row.completed, row.updated) == (False, 2)


def test_a_pod_that_was_tried_in_vain_stays_asleep_while_pods_leave() -> None:
    """Else the room that a rollout frees on its way would be its, and not the new pods'."""
    there: list[Object] = [
        *nodes(1, "4"),
        deployment(4, strategy=RECREATE),
        *web("n0", "n0", "n0", "n0"),
        pod("first").cpu("2").tried(),
    ]
    found = answer(there, deployment(4, "900m", strategy=RECREATE))
    assert found.earlier == []
    assert [each.pods for each in found.caveats if isinstance(each, PendingAsleep)] == [("default/first",)]
    row = found.judged[0].row.rollout
    assert row is not None
    assert row.completed


STORIES = FIXTURES / "stories"


def test_budgets_are_counted_after_the_burst() -> None:
    """Story 051, from a real cluster: two pods of one burst take both pods of a budget that allows one, and break it."""
    story = STORIES / "051-budget-runs-out"
    (step,) = yaml.safe_load((story / "action.yaml").read_text())["steps"]
    report = kwhatif.gate(kwhatif.load(story / "cluster.yaml"), *step["apply"])
    (row,) = report.workloads
    assert (row.name, row.preempting, row.violations) == ("Deployment default/vip", 2, ("default/web",))
    assert all(victim.startswith("default/web-") for victim in row.victims)
    (row,) = kwhatif.gate(kwhatif.load(story / "cluster.yaml"), *step["apply"], rollout="final").workloads
    assert sorted(victim.partition("-")[0] for victim in row.victims) == ["default/cache", "default/web"]


def test_more_evictions_than_are_simulated_are_judged_at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.questions.judging.judge._MOST_EVICTING", 1)
    classes = [PriorityClass(metadata=ObjectMeta(name="high"), value=100)]
    low = [pod("low-0").on("n0").cpu("2"), pod("low-1").on("n1").cpu("2")]
    found = answer([*nodes(2), *classes, *low], deployment(2, "2", priority_class="high"), reacts=True)
    assert found.reacted == []
    assert [each.count for each in found.caveats if isinstance(each, EvictionsAtOnce)] == [2]
    assert found.judged[0].row.preempting == 2
