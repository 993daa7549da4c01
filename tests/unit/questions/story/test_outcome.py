"""What happens without what was asked, too, is told apart, and decides nothing."""

from __future__ import annotations

from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.policy import ResourceQuota, ResourceQuotaSpec
from kwhatif.policy.fail_on import fails
from kwhatif.render.story import first_line
from kwhatif.report import Report
from tests import FIXTURES
from tests.objects import manifest
from tests.unit.questions.maintenance.test_drain import bare, web
from tests.unit.questions.maintenance.test_outage import THREE, lost, patient

ANYWAY = FIXTURES / "simulate" / "anyway.yaml"
CONDITIONS = ("harm", "pending", "stalled", "cycling", "failed")
SMALL: dict[str, Any] = manifest(
    "Pod",
    {"name": "small", "namespace": "ml"},
    spec={"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "100m"}}}]},
)
BIG: dict[str, Any] = SMALL | {
    "metadata": {"name": "big", "namespace": "ml"},
    "spec": {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "64"}}}]},
}


def session(*edits: str) -> Any:
    loaded = kwhatif.load(str(ANYWAY))
    return kwhatif.edited(loaded, *edits) if edits else loaded


HARMLESS = {
    "an outage": lambda: kwhatif.outage(session(), "empty"),
    "a drain": lambda: kwhatif.drain(session(), "empty"),
    "a manifest": lambda: kwhatif.simulate(session(), SMALL),
    "a step": lambda: kwhatif.simulate(session(), then=["cordon empty"]),
    "a step of an edited cluster": lambda: kwhatif.simulate(session("label node/empty a=b"), then=["cordon empty"]),
    "only edits": lambda: kwhatif.simulate(session("label node/empty a=b")),
}


@pytest.mark.parametrize("question", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_happens_anyway_decides_no_exit_code(question: Any) -> None:
    report: Report = question()
    story = report.story
    assert story is not None
    assert not fails(report, CONDITIONS)
    assert (story.settled, story.caused) == ("pending", "settled")
    assert [(row.owner, row.anyway) for row in story.pending] == [("ReplicaSet ml/train", True)]
    assert [(row.pod, row.how, row.anyway) for row in story.gone] == [("ml/train-a", "Preempted", True)]


@pytest.mark.parametrize("edits", [(), ("label node/empty a=b",)], ids=["of the cluster", "of the edited cluster"])
def test_what_was_asked_is_harm_beside_it(edits: tuple[str, ...]) -> None:
    report = kwhatif.simulate(session(*edits), BIG)
    assert report.story is not None
    assert fails(report, CONDITIONS)
    assert report.story.caused == "pending"
    assert {row.pod: row.anyway for row in report.story.pending if not row.owner} == {"ml/big": False}


def test_where_nothing_is_asked_what_happens_is_the_answer() -> None:
    for steps in ([], ["wait 30s"]):
        report = kwhatif.simulate(session(), then=steps)
        assert report.story is not None
        assert fails(report, CONDITIONS)
        assert (report.story.settled, report.story.caused, report.story.asked) == ("pending", None, None)
        assert not any(row.anyway for row in report.story.pending)


def test_the_effect_of_edits_is_their_harm_where_they_are_all_that_was_asked() -> None:
    edits = session("set node/n1 status.allocatable.cpu=1")
    report = kwhatif.simulate(edits)
    assert report.story is not None
    assert {row.pod for row in report.story.pending if not row.anyway} == {"ml/notebook"}
    assert fails(report, CONDITIONS)
    assert not fails(kwhatif.simulate(edits, then=["label node/empty a=b"]), CONDITIONS)  # they hold in both worlds


def test_a_sweep_asks_of_each_what_it_adds() -> None:
    report = kwhatif.outage(session(), each="kubernetes.io/hostname")
    assert {row.scenario: row.verdict.ok for row in report.scenarios} == {"empty": True, "n1": False}


def test_times_count_from_the_question() -> None:
    report = kwhatif.simulate(session(), SMALL)
    assert report.story is not None
    assert (report.story.asked, report.story.seconds, report.story.took) == (35.0, 40.0, 5.0)
    assert report.story.events[report.story.first_event].object == "Pod ml/small"


# --- why an outage does harm -----------------------------------------------------------------------------------------


def refusing() -> list[Any]:
    """A Deployment of which no pod may be made any more."""
    quota = ResourceQuota(
        metadata=ObjectMeta(name="none", namespace="shop"), spec=ResourceQuotaSpec(hard={"pods": "0"})
    )
    return [*THREE, *(patient(each, 30) if hasattr(each, "on") else each for each in web("n1", "n2")), quota]


def test_new_pods_that_are_refused_are_the_reason() -> None:
    verdict = lost(*refusing()).verdict
    assert verdict is not None
    assert verdict.worst is not None
    assert (verdict.ok, verdict.worst.what, verdict.worst.subject) == (False, "refused", "Deployment shop/web")
    assert "has 1 pod fewer, because new ones are rejected: " in verdict.why
    assert "exceeded quota: none" in verdict.why


def test_nobody_waits_for_what_a_silent_kubelet_would_do() -> None:
    """A grace period on a lost node that is longer than the horizon: nothing there ends, so it is not waited for."""
    slow = patient(bare("slow").owner("ReplicaSet", "x"), 30).spec(termination_grace_period_seconds=7200)
    story = lost(*THREE, slow)
    assert story.settled == "terminating"


def test_what_is_not_done_by_the_horizon() -> None:
    cluster = [
        manifest(
            "Node",
            {"name": name},
            status={
                "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        )
        for name in ("n1", "n2")
    ]
    slow = SMALL | {
        "metadata": {"name": "slow", "namespace": "default"},
        "spec": SMALL["spec"] | {"nodeName": "n1", "terminationGracePeriodSeconds": 7200},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    report = kwhatif.simulate(kwhatif.load([*cluster, slow]), then=["delete pod/slow"])
    assert report.story is not None
    assert (report.story.settled, report.story.caused) == ("horizon", "horizon")
    _, said = first_line(report.story)
    assert said.startswith("it has not settled within 3600 s: Pod default/slow is not done; ")
