"""A workload that starts anew: its old pods are gone, also those whose successors have to wait."""

from __future__ import annotations

from msgspec import convert
from msgspec.structs import replace

from kwhatif.kube.model.pod import PodStatus
from kwhatif.questions.session.session import Session
from tests.builders import cluster, pod
from tests.unit.questions.test_gate import bare, workload
from tests.unit.questions.test_judge import ask, fates, row, small, stored


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
    assert fates(report) == "db-0:U db-1:W"
    assert row(report).removed == 2


def test_a_pending_pod_that_is_asked_for_comes_after_those_before_it_in_the_queue() -> None:
    """It is tried again, and so are the others that found no node."""
    tried = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
    waiting = [replace(pod(name).cpu("4").build(), status=convert(tried, PodStatus)) for name in ("first", "second")]
    first, second = (
        replace(each, spec=replace(each.spec, priority=at)) for each, at in zip(waiting, (5, 0), strict=True)
    )
    report = ask(Session.of(cluster(*small("n1"), first, second)), "", "pod/second")
    assert fates(report) == "second:U"
