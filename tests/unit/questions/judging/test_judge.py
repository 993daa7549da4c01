"""What every command asks: all replicas, one after another, after what is pending already; or each pod alone."""

import io
import textwrap
from typing import Any, TypeVar

import pytest

from kwhatif.admission.new_pod import complete_pod
from kwhatif.kube.matching.pods import ALL_PODS, PodChoice
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import PendingAsleep
from kwhatif.kube.model.caveat.workloads import EvictedByTaint
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta
from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.storage import StorageClass, TopologyExpression, TopologySelectorTerm
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.render.verdict import sentence_about
from kwhatif.render.worded import worded
from kwhatif.report import Report
from kwhatif.report.decision import CandidateRow, WorkloadRow
from kwhatif.report.inputs import SourceRow
from kwhatif.sources.manifests.applied import read_applied
from kwhatif.workloads.applied_object import noted
from tests.builders import NodeBuilder, PodBuilder, cluster, namespace, node, pod
from tests.unit.questions.test_gate import bare, workload

HIGH = PriorityClass(metadata=ObjectMeta(name="high"), value=100)
NEW_NODE = """---
apiVersion: v1
kind: Node
metadata: {{name: new, labels: {{kubernetes.io/hostname: new}}}}
status: {{allocatable: {{cpu: "{cpu}", memory: 8Gi, pods: "10"}}}}
"""
NEW_CLAIM = """---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
"""
NEW_CLASS = """---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: example.com/disk
"""
NEW_BUDGET = """---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all}
spec: {maxUnavailable: 1, selector: {}}
"""

ON_N1 = "nodeSelector: {kubernetes.io/hostname: n1},"

T = TypeVar("T", bound=Caveat)

#: As `schedule` asks, and as `gate` does.
OUTCOMES: dict[str, Any] = {"explain": "outcomes", "counts_pending": True}
FAILURES: dict[str, Any] = {"explain": "failures", "counts_pending": False}


def ask(session: Session, text: str = "", *names: str, **question: Any) -> Report:
    """The report about manifests in YAML, and about objects of the cluster by name."""
    paths = [*(["-"] if text else []), *names]
    stdin = io.BytesIO(textwrap.dedent(text).encode())
    applied = read_applied(paths, session.cluster, stdin=stdin, default_namespace="default") if paths else None
    asked = Question(
        applied=applied.applied if applied else (),
        caveats=applied.caveats if applied else (),
        **OUTCOMES | question,
    )
    return worded(judge(session, asked).report(session, "schedule"))


def fates(report: Report) -> str:
    """Every pod, the first letter of its outcome (E: it evicts), and its node."""
    return " ".join(
        f"{each.pod.partition('/')[2]}:{'E' if each.outcome == 'Preempts' else each.outcome[0]}{f'@{each.node}' if each.node else ''}"
        for each in report.decisions
    )


def stored(text: str) -> list[Any]:
    """The objects of manifests as a cluster has them in which they were applied."""
    read = read_applied(["-"], Cluster(), stdin=io.BytesIO(text.encode()), default_namespace="default").applied
    return [
        complete_pod(each.object, Cluster()) if isinstance(each.object, Pod) else noted(each.object) for each in read
    ]


def caveat(report: Report, kind: type[T]) -> T:
    (found,) = (each for each in report.caveat_details if isinstance(each, kind))
    return found


def row(report: Report) -> WorkloadRow:
    (found,) = report.workloads
    return found


def waiting(name: str, cpu: str = "3", priority: int = 0, created: str = "2026-01-01T00:00:00Z") -> PodBuilder:
    return pod(name).cpu(cpu).priority(priority).meta(creation_timestamp=created)


def small(*names: str) -> list[NodeBuilder]:
    """Nodes with room for one pod of 3 CPU."""
    return [node(name).allocatable(cpu="4", memory="8Gi", pods="10") for name in names]


# --- replicas ----------------------------------------------------------------------------------------------


def test_a_workload_has_one_row_and_the_first_of_each_outcome_says_why() -> None:
    low = [pod(f"low-{name}", "batch").cpu("4").priority(-10).on(name) for name in ("n3", "n4")]
    session = Session.of(cluster(*small("n1", "n2", "n3", "n4"), *low, HIGH))
    report = ask(session, workload("Deployment", "web", 6, cpu="3", spec="priorityClassName: high,"))
    assert row(report).message == (
        "2 of 6 pods fit, 2 would evict 2 pods without an owner (priority -10), 2 stay pending"
    )
    assert [each.outcome for each in report.decisions] == ["Placed"] * 2 + ["Preempts"] * 2 + ["Unschedulable"] * 2
    assert [each.detail for each in report.decisions] == ["full", "short"] * 3
    assert [len(each.rejected) for each in report.decisions] == [2, 0, 4, 0, 4, 0]


def test_the_first_of_each_outcome_has_all_nodes_and_all_candidates() -> None:
    nodes = small(*(f"n{number}" for number in range(9)))
    low = [pod(f"low-{number}").cpu("4").priority(-10).on(f"n{number}") for number in range(9)]
    session = Session.of(cluster(*nodes, *low, HIGH))
    report = ask(session, bare("p", cpu="3", spec="priorityClassName: high,"))
    (decision,) = report.decisions
    assert decision.preemption is not None
    assert (len(decision.rejected), len(decision.preemption.candidates)) == (9, 9)


@pytest.mark.parametrize("alone", [False, True])
def test_the_best_candidates_and_the_chosen_one_are_described_the_others_named(alone: bool) -> None:
    low = [pod(f"low-{number}").cpu("4").priority(-number).on(f"n{number}") for number in range(4)]
    session = Session.of(cluster(*small("n0", "n1", "n2", "n3"), *low, HIGH))

    def candidates(described: int | None) -> tuple[CandidateRow, ...]:
        report = ask(session, bare("p", cpu="3", spec="priorityClassName: high,"), alone=alone, described=described)
        (decision,) = report.decisions
        assert decision.preemption is not None
        return decision.preemption.candidates

    whole = candidates(None)
    assert [(row.node, len(row.victims), row.loses_by) for row in whole[:2]] == [
        ("n3", 1, ""),
        ("n2", 1, "highestPriority"),
    ]
    for described, expected in (0, whole[:1]), (1, whole[:1]), (2, whole[:2]):
        found = candidates(described)
        assert found[: len(expected)] == expected
        assert [(row.node, row.victims, row.ladder) for row in found[len(expected) :]] == [
            (row.node, (), {}) for row in whole[len(expected) :]
        ]


def test_what_differs_of_a_running_workload_is_judged() -> None:
    running = [
        pod(f"web-1a-{number}").labels(app="web").owner("ReplicaSet", "web-1a").cpu("3").on(f"n{number}")
        for number in (1, 2)
    ]
    session = Session.of(cluster(*small("n1", "n2", "n3"), *running))
    new = ask(session, workload("Deployment", "web", 2, cpu="4"))
    assert row(new).message == "2 removed; all 2 pods fit on 2 nodes"


def test_a_rollout_whose_new_pods_evict_old_ones_goes_on() -> None:
    """The old ReplicaSet shrinks by the pod that was evicted, and so deletes none: the next new one may come."""
    running = [
        pod(f"web-1a-{number}").labels(app="web").owner("ReplicaSet", "web-1a").cpu("3").priority(-5).on(f"n{number}")
        for number in (1, 2)
    ]
    (known,) = stored(workload("Deployment", "web", 2, cpu="3", spec="priorityClassName: low,"))
    low = PriorityClass(metadata=ObjectMeta(name="low"), value=-5)
    report = ask(
        Session.of(cluster(*small("n1", "n2"), *running, known, low)), workload("Deployment", "web", 2, cpu="4")
    )
    (found,) = report.workloads
    assert found.rollout is not None
    assert (found.rollout.completed, found.rollout.updated, found.rollout.old) == (True, 2, 0)
    assert sorted(each.node or "" for each in report.decisions if each.outcome in ("Placed", "Preempts")) == [
        "n1",
        "n2",
    ]


def test_a_class_that_the_input_lacks_is_as_pods_of_it_show_it() -> None:
    there = pod("there").cpu("1").priority(100).spec(priority_class_name="high", preemption_policy="Never").on("n1")
    low = pod("low").cpu("3").priority(-5).on("n1")
    dump = cluster(*small("n1"), there, low)
    dump.update_facts(is_whole=False)
    session = Session.of(dump)
    text = bare("p", cpu="3", spec="priorityClassName: high,")
    (decision,) = ask(session, text).decisions
    assert (decision.priority, decision.outcome) == (100, "Unschedulable"), "as it may not preempt"
    assert session.cluster.get(PriorityClass, "high") is None, "the session stays as it was"
    (refused,) = ask(session, text.replace("high", "other")).decisions
    assert refused.outcome == "Denied"


def test_no_replicas() -> None:
    assert row(ask(Session.of(cluster(node("n1"))), workload("Deployment", "web", 0))).message == "makes no pods"


def test_the_replacement_of_a_pod_that_was_evicted_is_not_tried_at_that_moment() -> None:
    """The set's first pod gives way to a pod of higher priority; the set makes it again once its new pod was tried."""
    low = PriorityClass(metadata=ObjectMeta(name="low"), value=-10)
    spec = {"cpu": "1", "spec": "priorityClassName: low,"}
    running = [
        pod(f"db-{number}").labels(app="db").owner("StatefulSet", "db").priority(-10).cpu("1").on("n1").started(start)
        for number, start in enumerate(("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"))
    ]
    there = cluster(*small("n1", "n2"), *stored(workload("StatefulSet", "db", 2, **spec)), *running, HIGH, low)
    text = workload("StatefulSet", "db", 4, **spec) + bare("vip", cpu="3", spec=f"priorityClassName: high, {ON_N1}")
    report = ask(Session.of(there), text)
    assert fates(report) == "db-2:P@n2 vip:E@n1"
    assert report.workloads[1].victims == ("default/db-0",)


# --- what is pending already -------------------------------------------------------------------------------


def test_pods_that_are_pending_already_come_first() -> None:
    session = Session.of(cluster(*small("n1"), waiting("old")))
    report = ask(session, bare("new", cpu="3"))
    assert fates(report) == "new:U"
    assert [(each.pod, each.outcome, each.node) for each in report.queued_before] == [("default/old", "Placed", "n1")]


def test_but_not_before_pods_of_a_higher_priority() -> None:
    session = Session.of(cluster(*small("n1"), waiting("old"), HIGH))
    report = ask(session, bare("new", cpu="3", spec="priorityClassName: high,"))
    assert fates(report) == "new:P@n1"
    assert report.queued_before == ()


def test_pending_pods_go_by_priority_and_then_by_age_and_stand_between_new_ones() -> None:
    session = Session.of(
        cluster(
            *small("n1", "n2", "n3"),
            waiting("young", created="2026-01-02T00:00:00Z"),
            waiting("old"),
            waiting("important", priority=50),
            HIGH,
        )
    )
    text = bare("low", cpu="3") + bare("first", cpu="3", spec="priorityClassName: high,")
    report = ask(session, text)
    assert fates(report) == "low:U first:P@n1"
    assert [(each.pod, each.node) for each in report.queued_before] == [
        ("default/important", "n2"),
        ("default/old", "n3"),
        ("default/young", None),
    ]


def test_what_was_tried_in_vain_sleeps_and_a_caveat_says_so() -> None:
    session = Session.of(cluster(*small("n1"), waiting("asleep").tried(), waiting("big", cpu="9").tried()))
    for asked in (OUTCOMES, FAILURES):
        report = ask(session, bare("new", cpu="3"), **asked)
        assert fates(report) == "new:P@n1"
        assert report.queued_before == ()
        assert caveat(report, PendingAsleep).pods == ("default/asleep", "default/big")


def test_a_nominated_pod_sleeps_until_its_victims_are_gone_but_keeps_its_room() -> None:
    session = Session.of(cluster(*small("n1", "n2"), waiting("nominated").nominated("n1"), HIGH))
    report = ask(session, bare("equal", cpu="3") + bare("above", cpu="3", spec="priorityClassName: high,"))
    assert fates(report) == "equal:P@n2 above:P@n1"
    assert report.queued_before == ()
    assert fates(ask(session, bare("equal", cpu="3"))) == "equal:P@n2"


def test_gated_pods_are_no_sleepers() -> None:
    gated = (
        waiting("gated")
        .gates("g")
        .status(conditions=(PodCondition(type="PodScheduled", status="False", reason="SchedulingGated"),))
    )
    report = ask(Session.of(cluster(*small("n1"), gated)), bare("new", cpu="3"))
    assert [(each.pod, each.outcome) for each in report.queued_before] == [("default/gated", "Gated")]


#: What comes with a new pod, and whether it wakes a pod of 3 CPU without volumes, and one that waits for claim `data`.
WAKING = {
    "nothing": ("", False, False),
    "a node": (NEW_NODE.format(cpu=4), True, True),
    "a node that is too small": (NEW_NODE.format(cpu=1), True, True),
    "a claim": (NEW_CLAIM.format(name="data"), False, True),
    "another claim": (NEW_CLAIM.format(name="other"), False, False),
    "a storage class": (NEW_CLASS, False, True),
    "what the scheduler does not watch": (NEW_BUDGET, False, False),
}


@pytest.mark.parametrize(("text", "plain", "with_claim"), WAKING.values(), ids=WAKING.keys())
def test_what_comes_with_the_pods_may_wake_sleepers(text: str, *, plain: bool, with_claim: bool) -> None:
    """In order of age: who is awake is tried before the new pod."""
    sleepers = [waiting("plain").tried(), waiting("claiming").claim("data").tried()]
    report = ask(Session.of(cluster(*small("n1"), *sleepers)), text + bare("new", cpu="3"))
    woken = {each.pod for each in report.queued_before}
    assert woken == {f"default/{name}" for name, wakes in (("plain", plain), ("claiming", with_claim)) if wakes}


def test_a_change_of_a_node_wakes_whom_it_may_help() -> None:
    tainted = node("n1").allocatable(cpu="4", memory="8Gi", pods="10").taint("a", "b")
    session = Session.of(cluster(tainted, waiting("asleep").tried()))
    untainted = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\nspec: {taints: []}\n"
    report = ask(session, untainted + bare("new", cpu="3"))
    assert (fates(report), [each.node for each in report.queued_before]) == ("new:U", ["n1"])


def test_pods_of_a_workload_in_the_manifests_do_not_sleep() -> None:
    text = workload("StatefulSet", "db", 2, cpu="3")
    (known,) = stored(text)
    pods = [pod(f"db-{number}").owner("StatefulSet", "db").cpu("3").tried() for number in (0, 1)]
    session = Session.of(cluster(*small("n1"), known, *pods))
    assert fates(ask(session, text)) == "db-0:P@n1 db-1:U"
    new = bare("new", cpu="3")
    assert fates(ask(session, text + new, **FAILURES)) == "new:U"


def test_whoever_asks_about_pending_pods_has_them_tried_again() -> None:
    session = Session.of(cluster(*small("n1"), waiting("a").tried(), waiting("b").tried()))
    assert fates(ask(session, pending=ALL_PODS)) == "a:P@n1 b:U"
    report = ask(session, "", "pod/default/b")
    assert (fates(report), [each.pod for each in report.queued_before]) == ("b:U", ["default/a"])
    assert "pending-asleep" not in {each.code for each in report.caveat_details}


AFTER = {
    "took its room": ([waiting("old")], "3", "U", "old"),
    "as one of many": (
        [waiting("old", "1"), waiting("older", "1", created="2025-01-01T00:00:00Z")],
        "3",
        "U",
        "older old",
    ),
    "does not matter": ([waiting("old")], "9", "U", ""),
    "fits nowhere itself": ([waiting("old", "9")], "5", "U", ""),
    "took the room of others": (
        [waiting("old", priority=5), pod("low").cpu("3").priority(-5).on("n1")],
        "3",
        "U",
        "old",
    ),
    "makes it evict": ([waiting("old"), pod("low").cpu("3").priority(-5).on("n2")], "3", "E@n2", "old"),
}


@pytest.mark.parametrize(("others", "cpu", "fate", "names"), AFTER.values(), ids=AFTER.keys())
def test_who_came_first_and_took_the_room(others: list[PodBuilder], cpu: str, fate: str, names: str) -> None:
    nodes = small(*sorted({each.build().spec.node_name for each in others} - {""} | {"n1"}))
    report = ask(Session.of(cluster(*nodes, *others)), bare("new", cpu=cpu))
    assert fates(report) == f"new:{fate}"
    assert [name.removeprefix("default/") for name in report.decisions[0].after] == names.split()


def test_the_sentences_name_who_came_first() -> None:
    report = ask(Session.of(cluster(*small("n1"), waiting("old"))), workload("Deployment", "web", 2, cpu="3"))
    assert row(report).message == "all 2 pods stay pending after default/old, which was pending"


def test_pods_that_nobody_schedules_here_and_gated_ones_take_nothing() -> None:
    others = [waiting("other").spec(scheduler_name="other"), waiting("gated").gates("g"), waiting("gone").terminating()]
    report = ask(Session.of(cluster(*small("n1"), *others)), bare("new", cpu="3"))
    assert fates(report) == "new:P@n1"
    assert [(each.pod, each.outcome) for each in report.queued_before] == [("default/gated", "Gated")]


def test_all_pending_pods_in_queue_order_each_seen_by_the_next() -> None:
    pods = [waiting(f"p{number}") for number in range(3)]
    session = Session.of(cluster(*small("n1"), *pods))
    report = ask(session, pending=ALL_PODS)
    assert fates(report) == "p0:P@n1 p1:U p2:U"
    assert [each.detail for each in report.decisions] == ["full"] * 3
    assert report.workloads == ()


def test_of_one_owner_the_first_of_each_outcome_says_why() -> None:
    pods = [waiting(f"p{number}").owner("ReplicaSet", "web-1a") for number in range(4)]
    report = ask(Session.of(cluster(*small("n1", "n2"), *pods)), pending=ALL_PODS)
    assert [(each.outcome, each.detail) for each in report.decisions] == [
        ("Placed", "full"),
        ("Placed", "short"),
        ("Unschedulable", "full"),
        ("Unschedulable", "short"),
    ]


def test_the_pending_pods_of_one_namespace() -> None:
    session = Session.of(cluster(*small("n1"), waiting("a", priority=5), pod("b", "ml").cpu("3")))
    report = ask(session, pending=PodChoice("ml"))
    assert fates(report) == "b:U"
    assert [each.pod for each in report.queued_before] == ["default/a"]


def test_a_pending_pod_that_the_manifest_has_too_is_judged_as_it_stands() -> None:
    text = bare("p", cpu="3")
    (known,) = stored(text)
    session = Session.of(cluster(*small("n1"), waiting("first", priority=5), known))
    assert fates(ask(session, text)) == "p:U"
    assert row(ask(session, text)).update == "unchanged"
    assert ask(session, text, **FAILURES).decisions == ()


# --- by name -----------------------------------------------------------------------------------------------


def test_why_is_it_pending() -> None:
    session = Session.of(cluster(*small("n1"), waiting("first"), waiting("p")))
    report = ask(session, "", "pod/default/p")
    assert fates(report) == "p:U"
    assert report.decisions[0].detail == "full"
    assert [each.pod for each in report.queued_before] == ["default/first"]


def test_where_would_a_running_pod_go_if_it_started_anew() -> None:
    """Its own room is free then; its number of priority is taken as it stands."""
    session = Session.of(cluster(*small("n1"), pod("p").cpu("3").priority(7).on("n1").started("2026-01-01T00:00:00Z")))
    report = ask(session, "", "po/p")
    assert fates(report) == "p:P@n1"
    assert (report.decisions[0].priority, row(report).update, row(report).message) == (7, "restarted", "fits on n1")
    assert fates(ask(session, "", "po/p", alone=True)) == "p:P@n1"
    assert fates(ask(session, "", "po/p", admission=False)) == "p:P@n1"


def test_where_would_a_workload_go_if_it_started_anew() -> None:
    low = pod("low").cpu("1").priority(-10).on("n2")
    text = workload("StatefulSet", "db", 2, cpu="4")
    (made,) = stored(text)
    pods = [pod(f"db-{number}").owner("StatefulSet", "db").cpu("4").on(f"n{number + 1}") for number in (0, 1)]
    session = Session.of(cluster(*small("n1", "n2"), low, made, *pods))
    report = ask(session, "", "sts/db")
    assert fates(report) == "db-0:P@n1 db-1:E@n2"
    assert row(report).message == "1 of 2 pods fits, db-1 would evict pod default/low (priority -10)"


# --- alone -------------------------------------------------------------------------------------------------


def test_alone_every_pod_has_the_same_room_and_of_equal_ones_the_first_is_judged() -> None:
    session = Session.of(cluster(*small("n1"), waiting("old")))
    text = bare("a", cpu="3") + bare("b", cpu="3") + workload("Deployment", "web", 3, cpu="3")
    report = ask(session, text, alone=True)
    assert [each.outcome for each in report.decisions] == ["Placed"] * 3
    assert report.caveats == ("Deployment default/web makes 3 equal pods, of which one is judged alone",)
    assert (report.alone, report.workloads, report.queued_before) == (True, (), ())


def test_alone_a_quota_counts_no_other_pod() -> None:
    quota = (
        "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: default}\nspec: {hard: {pods: '1'}}\n"
    )
    text = quota + bare("a") + bare("b")
    session = Session.of(cluster(node("n1")))
    assert fates(ask(session, text)) == "a:P@n1 b:D"
    assert fates(ask(session, text, alone=True)) == "a:P@n1 b:P@n1"


def test_without_admission_pods_are_taken_as_they_are_stored() -> None:
    session = Session.of(cluster(node("n1"), namespace("other"), HIGH))
    text = bare("p", spec="priority: 7,")
    assert fates(ask(session, text)) == "p:D"
    report = ask(session, text, admission=False)
    assert (fates(report), report.decisions[0].priority) == ("p:P@n1", 7)
    unknown = ask(session, bare("p", spec="priorityClassName: none,"), admission=False)
    assert unknown.decisions[0].message == 'pods "p" is forbidden: no PriorityClass with name none was found'


@pytest.mark.parametrize("alone", [False, True])
def test_a_pod_whose_class_is_gone_cannot_be_started_again(*, alone: bool) -> None:
    running = pod("p").spec(priority_class_name="none", priority=None).on("n1").build()
    there = Session.of(cluster(node("n1"), running))
    applied = Applied(running, SourceRow(file="pod/p", object="Pod default/p"), restarted=True)
    report = judge(there, Question(applied=(applied,), alone=alone)).report(there, "schedule")
    assert [decision.outcome for decision in report.decisions] == ["Denied"]
    assert report.decisions[0].message == 'pods "p" is forbidden: no PriorityClass with name none was found'


def test_what_comes_with_the_pods_is_there_in_every_way_of_asking() -> None:
    new = (
        "---\napiVersion: v1\nkind: Node\nmetadata: {name: n2}\nstatus: {allocatable: {cpu: 9, memory: 8Gi, pods: 9}}\n"
    )
    text = bare("p", cpu="8", spec="priorityClassName: top,") + new
    text += "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: top}\nvalue: 7\n"
    session = Session.of(cluster(*small("n1")))
    for question in ({}, {"alone": True}, {"admission": False}, FAILURES):
        assert fates(ask(session, text, **question)) == "p:P@n2"


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bare("p").replace("namespace: default", "namespace: gone"), 'namespaces "gone" not found'),
        (
            bare("p", spec="runtimeClassName: none,"),
            'pods "p" is forbidden: pod rejected: RuntimeClass "none" not found',
        ),
        (
            workload("Deployment", "web", 2).replace("matchLabels: {app: web}", "matchLabels: {app: other}"),
            'Deployment.apps "web" is invalid',
        ),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_what_the_api_server_refuses_is_refused_in_its_words(text: str, message: str, *, alone: bool) -> None:
    report = ask(Session.of(cluster(node("n1"), namespace("default"))), text, alone=alone)
    (decision,) = report.decisions
    assert decision.outcome == "Denied"
    assert decision.message.startswith(message)


# --- a dump that is taken for manifests --------------------------------------------------------------------


def test_pods_that_a_workload_beside_them_makes_are_not_judged_by_themselves() -> None:
    text = workload("StatefulSet", "db", 1) + (
        "---\napiVersion: v1\nkind: Pod\n"
        "metadata: {name: db-0, namespace: default, labels: {app: db},"
        " ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]}\n"
        "spec: {nodeName: n1, priority: 0, containers: [{name: main, image: 'x:1', resources: {requests: {cpu: '1'}}}]}\n"
    )
    session = Session.of(cluster(node("n1"), *stored(text)))
    report = ask(session, text)
    assert [(each.name, each.message) for each in report.workloads] == [("StatefulSet default/db", "unchanged")]


# --- claims that are bound at once -------------------------------------------------------------------------

CLAIM = (
    "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c, namespace: default}\n"
    "spec: {storageClassName: CLASS, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
)
USER = bare("p", spec="volumes: [{name: v, persistentVolumeClaim: {claimName: c}}],")
VOLUME = (
    "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\n"
    "spec: {storageClassName: CLASS, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}, nodeAffinity: {required:"
    " {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n2]}]}]}}}\n"
    "status: {phase: Available}\n"
)


def storage_class(
    name: str, provisioner: str = "nfs.example.com", mode: str = "Immediate", zone: str = ""
) -> StorageClass:
    expression = TopologyExpression(key="topology.kubernetes.io/zone", values=(zone,))
    return StorageClass(
        metadata=AnnotatedMeta(name=name),
        provisioner=provisioner,
        volume_binding_mode=mode,
        allowed_topologies=(TopologySelectorTerm(match_label_expressions=(expression,)),) if zone else (),
    )


BOUND_AT_ONCE = "PersistentVolumeClaim default/c is bound at once, as StorageClass nfs says: it is assumed that"


@pytest.mark.parametrize(
    ("given", "text", "expected", "caveat"),
    [
        (
            storage_class("nfs"),
            "",
            "p:P@n1",
            f"{BOUND_AT_ONCE} nfs.example.com provisions its volume, within reach of every node",
        ),
        (
            storage_class("nfs", zone="b"),
            "",
            "p:P@n2",
            f"{BOUND_AT_ONCE} nfs.example.com provisions its volume, where its allowedTopologies let it be",
        ),
        (storage_class("nfs"), VOLUME, "p:P@n2", ""),
        (storage_class("nfs", "kubernetes.io/no-provisioner"), VOLUME, "p:P@n2", ""),
        (
            storage_class("nfs", "kubernetes.io/no-provisioner"),
            "",
            "p:U",
            "PersistentVolumeClaim default/c stays unbound: no volume of StorageClass nfs fits it",
        ),
        (
            storage_class("nfs-4"),
            "",
            "p:U",
            "PersistentVolumeClaim default/c stays unbound: there is no StorageClass nfs (did you mean nfs-4?)",
        ),
        (storage_class("nfs", mode="WaitForFirstConsumer"), "", "p:P@n1", ""),
    ],
    ids=["provisioned", "within a zone", "a volume is there", "only volumes", "no volume", "no class", "waits"],
)
def test_a_claim_of_a_class_that_does_not_wait(given: StorageClass, text: str, expected: str, caveat: str) -> None:
    session = Session.of(cluster(node("n1").zone("a"), node("n2").zone("b"), given))
    report = ask(session, (CLAIM + text).replace("CLASS", "nfs") + USER)
    assert fates(report) == expected
    assert [each for each in report.caveats if "PersistentVolumeClaim" in each] == ([caveat] if caveat else [])


@pytest.mark.parametrize(("seconds", "expected"), [(0, (0,)), (30, (30,)), (None, ())])
def test_a_pod_that_a_taint_evicts_again_is_a_caveat(seconds: int | None, expected: tuple[int, ...]) -> None:
    tainted = node("n1").taint("maintenance", "soon", "NoExecute")
    until = "" if seconds is None else f", tolerationSeconds: {seconds}"
    tolerations = f"tolerations: [{{key: maintenance, operator: Exists, effect: NoExecute{until}}}],"
    report = ask(Session.of(cluster(tainted)), bare("new", spec=tolerations))
    assert fates(report) == "new:P@n1"
    found = [(each.seconds, each.pods) for each in report.caveat_details if isinstance(each, EvictedByTaint)]
    assert found == [(each, ("default/new",)) for each in expected]


@pytest.mark.parametrize("alone", [False, True])
def test_of_a_pod_that_runs_it_is_said_where(*, alone: bool) -> None:
    running = pod("web").cpu("1").on("n1").build()
    there = Session.of(cluster(node("n1"), node("n2"), pod("other").cpu("1").on("n1"), running))
    applied = Applied(running, SourceRow(file="pod/web", object="Pod default/web"), restarted=True)
    report = judge(there, Question(applied=(applied,), alone=alone)).report(there, "schedule")
    (decision,) = report.decisions
    assert (decision.runs_on, decision.node) == ("n1", "n2")
    assert sentence_about(decision, report).startswith("runs on n1; started again, it lands on n2")
