"""The order in which pods of a manifest list come: who is tried again, who comes last, and where it is a race."""

from typing import Any

import pytest

from kwhatif.kube.model.caveat.scheduling import OrderOfEquals
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import PodMeta, PodTemplateSpec
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.workload import StatefulSet, StatefulSetSpec, StatefulSetStatus
from kwhatif.questions.judging.rivals import largest
from kwhatif.questions.session.session import Session
from tests.builders import cluster, namespace, node, pod, selector
from tests.unit.questions.test_gate import bare, row, run, workload

NEAR_CACHE = (
    "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname,"
    " labelSelector: {matchLabels: {app: cache}}}]}},"
)


def session(cpu: str = "4") -> Session:
    return Session.of(cluster(node("a").allocatable(cpu=cpu), namespace("default")))


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


def test_a_race_among_more_is_said_once() -> None:
    """Two of them that have no place would each name itself and the others."""
    made = [workload("Deployment", name, 1) for name in ("api", "cache", "db", "web")]
    report = run(session("2"), "".join(made))
    found = [set(each.workloads) for each in report.caveat_details if isinstance(each, OrderOfEquals)]
    assert found
    assert not [each for each in found if any(each < other for other in found)]


@pytest.mark.parametrize(
    ("named", "left"),
    [
        (["ab", "abc"], ["abc"]),
        (["abc", "ab", "bd"], ["abc", "bd"]),
        (["ab", "cd"], ["ab", "cd"]),
    ],
)
def test_a_race_within_another_is_left_out(named: list[str], left: list[str]) -> None:
    assert list(largest([OrderOfEquals(workloads=tuple(each)) for each in named])) == [
        OrderOfEquals(workloads=tuple(each)) for each in left
    ]


def test_a_run_of_a_cron_job_takes_no_place_before_others() -> None:
    report = run(session("2"), nightly("2") + bare("p"))
    assert row(report, "Pod default/p").placed == 1
    found = row(report, "CronJob default/nightly")
    assert (found.unschedulable, "judged last and alone" in found.message) == (1, True)


def test_runs_of_two_cron_jobs_do_not_take_room_from_each_other() -> None:
    other = nightly("2").replace("name: nightly", "name: hourly")
    report = run(session("2"), nightly("2") + other)
    assert [each.placed for each in report.workloads] == [1, 1]


@pytest.mark.parametrize("rollout", ["final", "surge"])
def test_a_pod_that_is_made_again_under_its_name_does_not_keep_the_place_of_the_one_that_is_gone(rollout: str) -> None:
    """The StatefulSet controller replaces a pending pod of an old revision, which had more priority."""
    classes = [
        PriorityClass(metadata=ObjectMeta(name=name), value=value) for name, value in (("top", 1000), ("low", 1))
    ]
    labels = {"app": "db"}
    template = pod().image("x:1").cpu("1").spec(priority_class_name="low", priority=None, preemption_policy=None)
    stateful_set = StatefulSet(
        metadata=ObjectMeta(name="db", namespace="default"),
        spec=StatefulSetSpec(
            replicas=2,
            selector=selector(**labels),
            template=PodTemplateSpec(metadata=PodMeta(labels=labels), spec=template.build().spec),
            pod_management_policy="Parallel",
        ),
        status=StatefulSetStatus(current_revision="db-1", update_revision="db-2", current_replicas=1),
    )
    pods = [
        pod(f"db-{number}").labels(labels, **{"controller-revision-hash": revision}).image("x:1").cpu("1")
        .owner("StatefulSet", "db").priority(priority).spec(priority_class_name=name).meta(uid=f"db-{number}")
        for number, revision, name, priority in ((0, "db-1", "top", 1000), (1, "db-2", "low", 1))
    ]  # fmt: skip
    other = pod("other").cpu("1").priority(500).meta(uid="other")
    text = workload("StatefulSet", "db", 1, spec="priorityClassName: low,")
    report = run(
        Session.of(cluster(node("a").allocatable(cpu="1"), stateful_set, *pods, other, *classes)),
        text.replace("spec: {", "spec: {podManagementPolicy: Parallel, ", 1),
        rollout=rollout,
    )
    (db,) = report.workloads
    assert (db.removed, db.placed) == (2, 0)
    assert db.message == "2 removed; stays pending after default/other, which was pending"
