"""The order in which pods of a manifest list come: who is tried again, who comes last, and where it is a race."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.kube.model.caveat.scheduling import OrderOfEquals
from kwhatif.questions.session.session import Session
from tests.builders import cluster, namespace, node
from tests.unit.questions.test_gate import bare, row, run, workload

NEAR_CACHE = (
    "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname,"
    " labelSelector: {matchLabels: {app: cache}}}]}},"
)


def session(cpu: str = "4") -> Session:
    return Session(cluster(node("a").allocatable(cpu=cpu), namespace("default")))


def nightly(cpu: str) -> str:
    return (
        "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly, namespace: default}\nspec:\n"
        "  schedule: '0 3 * * *'\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers:"
        f" [{{name: main, image: 'x:1', resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}}}}}}}\n"
    )


@pytest.mark.parametrize("first", ["api", "cache"])
def test_a_pod_is_tried_again_once_the_one_that_it_wants_is_there(first: str) -> None:
    made = {"api": workload("Deployment", "api", 1, spec=NEAR_CACHE), "cache": workload("Deployment", "cache", 1)}
    report = run(session(), made.pop(first) + "".join(made.values()))
    assert [each.placed for each in report.workloads] == [1, 1]
    assert not [each for each in report.caveat_details if isinstance(each, OrderOfEquals)]


@pytest.mark.parametrize(("cpu", "race"), [("1", True), ("2", False)])
def test_who_comes_first_gets_the_place(cpu: str, race: bool) -> None:
    report = run(session(cpu), workload("Deployment", "api", 1) + workload("Deployment", "cache", 1))
    found: list[Any] = [each.workloads for each in report.caveat_details if isinstance(each, OrderOfEquals)]
    assert found == ([("Deployment default/api", "Deployment default/cache")] if race else [])


def test_a_run_of_a_cron_job_takes_no_place_before_others() -> None:
    report = run(session("2"), nightly("2") + bare("p"))
    assert row(report, "Pod default/p").placed == 1
    found = row(report, "CronJob default/nightly")
    assert (found.unschedulable, "judged last and alone" in found.message) == (1, True)


def test_runs_of_two_cron_jobs_do_not_take_room_from_each_other() -> None:
    other = nightly("2").replace("name: nightly", "name: hourly")
    report = run(session("2"), nightly("2") + other)
    assert [each.placed for each in report.workloads] == [1, 1]
