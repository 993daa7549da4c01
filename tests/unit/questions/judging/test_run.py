"""Pods that are made one by one: each when those before it are sure to run, or not at all."""

import io
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod, PodStatus
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.workload import StatefulSet
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.state.change import Delete, Upsert
from tests.builders import NodeBuilder, PodBuilder, cluster, node, pod
from tests.unit.questions.judging.test_judge import ask, small, stored
from tests.unit.questions.judging.test_judge import fates as named_fates
from tests.unit.questions.test_gate import bare, decision, row, run, workload

HIGH = PriorityClass(metadata=ObjectMeta(name="high"), value=100)
QUOTA = "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: default}\nspec: {hard: {pods: 'N'}}\n"


def stateful(replicas: int, cpu: str = "1", spec: str = "", policy: str = "") -> str:
    text = workload("StatefulSet", "db", replicas, cpu, spec)
    return text.replace("spec: {", f"spec: {{podManagementPolicy: {policy}, ", 1) if policy else text


def fates(report: Report) -> str:
    """Every pod's number and the first letter of its outcome, in the report's order."""
    return " ".join(f"{each.pod.rpartition('-')[2]}{each.outcome[0]}" for each in report.decisions)


NEW = {
    "all fit": (stateful(3), "0P 1P 2P", "all 3 pods fit on 2 nodes"),
    "one does not fit": (stateful(5, "2500m"), "0P 1P 2U 3W 4W", "2 of 5 pods fit, db-2 stays pending, 2 wait for it"),
    "none fits": (stateful(3, "9"), "0U 1W 2W", "none of 3 pods fit, db-0 stays pending, 2 wait for it"),
    "in parallel": (stateful(4, "3", policy="Parallel"), "0P 1P 2U 3U", "2 of 4 pods fit, db-2 and db-3 stay pending"),
    "gated": (
        stateful(2, spec="schedulingGates: [{name: example.com/x}],"),
        "0G 1W",
        "none of 2 pods fit, db-0 is not queued, 1 waits for it",
    ),
    "for another scheduler": (stateful(2, spec="schedulerName: other,"), "0I 1I", "all 2 pods are not judged"),
    "refused": (
        QUOTA.replace("N", "1") + stateful(4),
        "0P 1D 2W 3W",
        "1 of 4 pods fits, db-1 is refused, 2 wait for it",
    ),
    "refused, in parallel": (
        QUOTA.replace("N", "1") + stateful(3, policy="Parallel"),
        "0P 1D 2D",
        "1 of 3 pods fits, db-1 and db-2 are refused",
    ),
}


@pytest.mark.parametrize(("text", "expected", "message"), NEW.values(), ids=NEW.keys())
def test_new(text: str, expected: str, message: str) -> None:
    report = run(Session.of(cluster(node("n1"), node("n2"))), text)
    assert fates(report) == expected
    db = row(report, "StatefulSet default/db")
    assert db.message == message
    assert db.placed + db.unschedulable + db.gated + db.denied + db.ignored + db.waiting == db.replicas


def test_what_waits_says_for_whom_and_looks_as_if_it_were_admitted() -> None:
    report = run(Session.of(cluster(node("n1"), HIGH)), stateful(3, "3", "priorityClassName: high,"))
    waiting = decision(report, "default/db-2")
    assert (waiting.outcome, waiting.waits_for) == ("Waits", "default/db-1")
    assert (waiting.priority, waiting.priority_class_name, waiting.owner) == (100, "high", "StatefulSet default/db")
    assert (waiting.node, waiting.rejected, waiting.message) == (None, (), "")
    assert waiting.source == decision(report, "default/db-1").source


def test_a_pod_that_evicts_others_lets_the_next_one_follow() -> None:
    low = [pod(f"low-{index}", "batch").cpu("3").priority(-10).on(f"n{index}") for index in (1, 2)]
    session = Session.of(cluster(node("n1"), node("n2"), *low, HIGH))
    report = run(session, stateful(3, "3", "priorityClassName: high,"))
    db = row(report, "StatefulSet default/db")
    assert db.message == (
        "none of 3 pods fit, db-0 and db-1 would evict 2 pods without an owner (priority -10), db-2 stays pending"
    )


def test_the_finding_counts_those_that_wait_but_they_have_none_of_their_own() -> None:
    report = run(Session.of(cluster(node("n1"))), stateful(5, "3"))
    assert report.policy is not None
    ((finding),) = report.policy.findings
    assert (finding.rule, finding.pods, report.policy.verdict) == ("unschedulable", ("default/db-1",), "fail")
    assert finding.message.startswith("1 of 5 pods stays pending, 3 wait for it: 0/1 nodes are available")


def test_what_is_not_made_takes_nothing_from_others() -> None:
    """Neither room, nor pods, nor the quota."""
    low = pod("low", "batch").cpu("1").priority(-10).on("n1")
    session = Session.of(cluster(node("n1"), low, HIGH))
    text = stateful(3, "3", "priorityClassName: high, nodeSelector: {disk: ssd},") + bare("p", cpu="3")
    report = run(session, QUOTA.replace("N", "2") + text)
    assert fates(report) == "0U 1W 2W default/pP"
    assert not row(report, "StatefulSet default/db").victims


def test_the_next_one_keeps_its_place_in_the_order_of_the_manifests() -> None:
    report = run(Session.of(cluster(node("n1"))), stateful(2, "2") + bare("p", cpu="1"))
    assert fates(report) == "0P 1P default/pU"


def test_but_what_others_make_at_once_is_admitted_before_it() -> None:
    text = QUOTA.replace("N", "2") + stateful(2) + bare("p")
    assert fates(run(Session.of(cluster(node("n1"))), text)) == "0P 1D default/pP"


# --- updates ---------------------------------------------------------------------------------------------


def running(replicas: int, nodes: int = 4, **fields: Any) -> Session:
    """A cluster in which the StatefulSet has one pod of one CPU on each of its first nodes."""
    text = io.BytesIO(stateful(replicas).encode())
    made = read_manifest_set(["-"], stdin=text, default_namespace="default").manifests[0].object
    assert isinstance(made, StatefulSet)
    made = replace(made, spec=replace(made.spec, **fields))
    hosts: list[NodeBuilder] = [node(f"n{index}") for index in range(nodes)]
    pods: list[PodBuilder] = [
        pod(f"db-{index}").labels(app="db").owner("StatefulSet", "db").cpu("1").image("x:1").on(f"n{index}")
        for index in range(replicas)
    ]
    return Session.of(cluster(*hosts, made, *pods))


UPDATES = {
    "all are replaced": (stateful(3, "2"), "final", "2P 1P 0P", "3 removed; all 3 pods fit on 3 nodes"),
    "the first one that is replaced fits nowhere": (
        stateful(3, "9"),
        "final",
        "2U 1W 0W",
        "1 removed; none of 3 pods fit, db-2 stays pending, 2 wait for it",
    ),
    "in parallel, they are replaced one by one all the same": (
        stateful(3, "9", policy="Parallel"),
        "final",
        "2U 1W 0W",
        "1 removed; none of 3 pods fit, db-2 stays pending, 2 wait for it",
    ),
    "those that are missing come first": (
        stateful(4, "9"),
        "final",
        "3U 2W 1W 0W",
        "none of 4 pods fit, db-3 stays pending, 3 wait for it",
    ),
    "in parallel, all that are missing come first": (
        stateful(5, "9", policy="Parallel"),
        "final",
        "3U 4U 2W 1W 0W",
        "none of 5 pods fit, db-3 and db-4 stay pending, 3 wait for db-3",
    ),
    "one at a time": (stateful(3, "9"), "surge", "2U", "1 removed; stays pending"),
    "down to a partition": (
        stateful(3, "9").replace("spec: {", "spec: {updateStrategy: {rollingUpdate: {partition: 1}}, ", 1),
        "final",
        "2U 1W",
        "1 removed; none of 2 pods fit, db-2 stays pending, 1 waits for it",
    ),
}


@pytest.mark.parametrize(("text", "rollout", "expected", "message"), UPDATES.values(), ids=UPDATES.keys())
def test_updates(text: str, rollout: str, expected: str, message: str) -> None:
    policy = "Parallel" if "Parallel" in text else ""
    report = run(running(3, pod_management_policy=policy), text, rollout=rollout)
    assert fates(report) == expected
    assert row(report, "StatefulSet default/db").message == message


def test_pods_that_are_not_replaced_keep_their_room() -> None:
    text = stateful(3, "9")
    session = running(3, nodes=3)
    assert [each.outcome for each in run(session, bare("p", cpu="4")).decisions] == ["Unschedulable"]
    report = run(session, text + "".join(bare(name, cpu="4") for name in "pq"), rollout="final")
    assert fates(report) == "2U 1W 0W default/pP default/qU"


def test_pods_that_are_not_replaced_count_for_the_quota() -> None:
    text = QUOTA.replace("N", "4") + stateful(3, "9")
    report = run(running(3), text + stateful(2).replace("name: db", "name: other"), rollout="final")
    assert [each.outcome for each in report.decisions] == ["Unschedulable", "Waits", "Waits", "Placed", "Denied"]


# --- what holds up, and what is tried again ----------------------------------------------------------------


def with_pending(policy: str = "") -> Session:
    """A StatefulSet of two pods, the second of which finds no node."""
    session = running(2, nodes=2, pod_management_policy=policy)
    state = session.state.fork()
    late = pod("db-1").labels(app="db").owner("StatefulSet", "db").cpu("9").image("x:1").build()
    state.apply(Delete(Pod, "default/db-1"), Upsert(late))
    return session.at(state)


def test_a_pod_of_its_own_that_waits_holds_up_the_next_ones() -> None:
    report = run(with_pending(), stateful(4))
    assert fates(report) == "1U 2W 3W"
    assert decision(report, "default/db-3").waits_for == "default/db-1"
    assert row(report, "StatefulSet default/db").message == "none of 3 pods fit, db-1 stays pending, 2 wait for it"
    assert report.policy is not None
    assert report.policy.verdict == "fail"


def test_but_not_in_parallel() -> None:
    assert fates(run(with_pending("Parallel"), stateful(4, policy="Parallel"))) == "2P 3P"


def test_what_a_quota_refuses_is_tried_again_when_others_have_made_room() -> None:
    """A controller goes on trying; who comes first in the manifests makes no difference."""
    session = running(3, nodes=4)
    quota = QUOTA.replace("N", "3")
    new = workload("Deployment", "web", 2)
    assert fates(run(session, quota + new + stateful(1))).count("P") == 2
    assert fates(run(session, quota + stateful(1) + new)).count("P") == 2
    assert fates(run(session, quota + new + stateful(2))).count("D") == 1


def test_a_bare_pod_is_refused_once_and_for_all() -> None:
    session = running(3, nodes=4)
    assert fates(run(session, QUOTA.replace("N", "3") + bare("p") + stateful(1))) == "default/pD"


# --- A workload that starts anew: its old pods are gone, also those whose successors have to wait -----


def session(selector: str) -> Session:
    """A StatefulSet with a pod on either node, whose next pods go where that selector says."""
    (made,) = stored(workload("StatefulSet", "db", 2, cpu="4", spec=selector))
    pods = [pod(f"db-{number}").owner("StatefulSet", "db").cpu("4").on(f"n{number + 1}") for number in (0, 1)]
    return Session.of(cluster(*small("n1", "n2"), made, *pods))


NOWHERE = "nodeSelector: {disk: ssd},"


def test_room_of_pods_whose_successors_wait_is_free() -> None:
    report = ask(session(NOWHERE), bare("x", cpu="4"), "sts/db")
    assert {decision.pod.partition("/")[2]: decision.outcome for decision in report.decisions} == {
        "x": "Placed",
        "db-0": "Unschedulable",
        "db-1": "Waits",
    }


def test_all_of_them_count_as_gone() -> None:
    report = ask(session(NOWHERE), "", "sts/db")
    assert named_fates(report) == "db-0:U db-1:W"
    assert report.workloads[0].removed == 2


def test_a_pending_pod_that_is_asked_for_comes_after_those_before_it_in_the_queue() -> None:
    """It is tried again, and so are the others that found no node."""
    tried = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
    waiting = [replace(pod(name).cpu("4").build(), status=convert(tried, PodStatus)) for name in ("first", "second")]
    first, second = (
        replace(each, spec=replace(each.spec, priority=at)) for each, at in zip(waiting, (5, 0), strict=True)
    )
    report = ask(Session.of(cluster(*small("n1"), first, second)), "", "pod/second")
    assert named_fates(report) == "second:U"
