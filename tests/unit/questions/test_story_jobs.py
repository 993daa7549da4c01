"""Jobs in a story: those that fail because of what was done, and deadlines, which nobody waits for."""

from __future__ import annotations

from typing import Any

import pytest

import kwhatif
from kwhatif.policy.fail_on import CONDITIONS
from kwhatif.report.story import Story
from tests.property.test_simulation import CLASSES, node

NODES = [*CLASSES, node("a", 8), node("b", 8)]
LABELS = {"batch.kubernetes.io/controller-uid": "j", "batch.kubernetes.io/job-name": "etl"}
IGNORE = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}


def job(**spec: Any) -> dict[str, Any]:
    template = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never", "priorityClassName": "low"}
    annotations = {"kwhatif.dev/run-seconds": str(seconds)} if (seconds := spec.pop("run", None)) else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "etl", "namespace": "default", "uid": "j"},
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "template": {"metadata": {"labels": LABELS, "annotations": annotations}, "spec": template},
            **spec,
        },
    }


def running(**spec: Any) -> list[dict[str, Any]]:
    """The cluster with the Job and its pod on node a, since a minute."""
    made = job(selector={"matchLabels": {"batch.kubernetes.io/controller-uid": "j"}}, **spec)
    made["status"] = {"active": 1, "startTime": "2026-01-01T00:00:00Z"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "etl", "uid": "j", "controller": True}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "etl-x",
            "namespace": "default",
            "uid": "p",
            "labels": LABELS,
            "finalizers": ["batch.kubernetes.io/job-tracking"],
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": "a",
            "priority": 1,
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i"}],
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{condition}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for condition in ("not-ready", "unreachable")
            ],
        },
        "status": {
            "phase": "Running",
            "startTime": "2026-01-01T00:01:00Z",
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    return [*NODES, made, pod]


def story(report: kwhatif.Report) -> Story:
    assert report.story is not None
    return report.story


def ends(said: Story) -> list[tuple[str, float]]:
    return [
        (event.verb, event.at) for event in said.events if event.object == "Job default/etl" and event.verb != "created"
    ]


def test_a_drain_that_fails_a_job_does_harm() -> None:
    report = kwhatif.drain(kwhatif.load(running(backoffLimit=0)), "a")
    said = story(report)
    assert said.verdict is not None
    assert (said.verdict.ok, said.verdict.gone) == (False, ("default/etl-x",))
    assert said.verdict.why == "Job default/etl fails (Job has reached the specified backoff limit)"
    assert [row.workload for row in said.failed] == ["Job default/etl"]
    assert CONDITIONS["harm"](report)


@pytest.mark.parametrize("spec", [{"backoffLimit": 1}, {"backoffLimit": 0, "podFailurePolicy": IGNORE}])
def test_a_job_that_goes_on_does_not(spec: dict[str, Any]) -> None:
    said = story(kwhatif.drain(kwhatif.load(running(**spec)), "a"))
    assert said.verdict is not None
    assert (said.verdict.ok, said.verdict.gone, said.failed) == (True, (), ())


def test_an_outage_that_fails_a_job_does_harm() -> None:
    said = story(kwhatif.outage(kwhatif.load(running(backoffLimit=0)), "a", deleted=True))
    assert said.verdict is not None
    assert said.verdict.why.startswith("Job default/etl fails (")


def test_a_story_with_a_failed_job_does_not_end_well() -> None:
    report = kwhatif.simulate(kwhatif.load(running(backoffLimit=0)), then=["drain a"])
    assert story(report).settled == "settled"
    assert CONDITIONS["failed"](report)


@pytest.mark.parametrize("deadline", [600, 7200])
def test_nobody_waits_for_a_deadline(deadline: int) -> None:
    said = story(kwhatif.drain(kwhatif.load(running(activeDeadlineSeconds=deadline)), "a"))
    assert said.verdict is not None
    assert said.verdict.ok
    assert [row.after for row in said.workloads] == [{"b": 1}]


def test_a_deadline_that_comes_while_others_act_counts() -> None:
    session = kwhatif.load(running(activeDeadlineSeconds=600))
    said = story(kwhatif.simulate(session, then=["wait 20m"]))
    ((verb, at),) = ends(said)
    assert (verb, 500 <= at <= 600) == ("failed", True)
    assert said.failed == ()  # it would have failed anyway


def test_a_job_that_takes_longer_than_it_may_fails_at_its_deadline() -> None:
    said = story(kwhatif.simulate(kwhatif.load(NODES), job(activeDeadlineSeconds=60, run=100)))
    ((verb, at),) = ends(said)
    assert (verb, 60 <= at < 100) == ("failed", True)
    assert (
        ends(story(kwhatif.simulate(kwhatif.load(NODES), job(activeDeadlineSeconds=200, run=100))))[0][0] == "completed"
    )


def test_a_job_whose_pods_are_refused_fails_at_its_deadline_too() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": "default"}}
    few = {"hard": {"pods": "0"}}
    *cluster, _ = running(activeDeadlineSeconds=600)
    cluster.append(quota | {"spec": few, "status": few | {"used": {"pods": "0"}}})
    ((verb, at),) = ends(story(kwhatif.simulate(kwhatif.load(cluster), then=["wait 15m"])))
    assert (verb, 500 <= at <= 602) == ("failed", True)  # not at 655 s, when its pod is tried again
