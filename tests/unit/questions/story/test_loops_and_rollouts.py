"""How a simulation ends: pods that the API server refuses or that never get ready, Jobs that fail, deadlines."""

from copy import deepcopy
from typing import Any

import pytest

import kwhatif
from kwhatif.policy.fail_on import CONDITIONS
from kwhatif.report.story import Story
from kwhatif.state.change import SetFacts
from tests.objects import manifest
from tests.property.test_simulation import CLASSES, deployment, node

NODES = [*CLASSES, node("a", 8)]
NEVER_READY = {"kwhatif.dev/ready": "false"}


def quota(pods: int) -> dict[str, Any]:
    return manifest(
        "ResourceQuota",
        {"name": "few", "namespace": "default"},
        spec={"hard": {"pods": str(pods)}},
        status={"hard": {"pods": str(pods)}, "used": {"pods": "0"}},
    )


def workload(kind: str, *, priority: str = "low", annotations: dict[str, str] | None = None) -> dict[str, Any]:
    made = deployment("web", 3, 1, priority, 0)
    made["kind"] = kind
    made["spec"]["template"]["metadata"]["annotations"] = annotations or {}
    made["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    if kind == "StatefulSet":
        made["spec"]["serviceName"] = "web"
    if kind == "DaemonSet":
        del made["spec"]["replicas"]
    return made


def played(cluster: list[dict[str, Any]], *manifests: dict[str, Any], **options: Any) -> tuple[Story, kwhatif.Report]:
    report = kwhatif.simulate(kwhatif.load(cluster), *manifests, **options)
    assert report.story is not None
    return report.story, report


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"])
def test_pods_that_are_refused_are_no_good_end(kind: str) -> None:
    said, report = played(NODES, workload(kind, priority="nobody-made-it"))
    assert said.settled == "rollout-stuck"
    assert [row.workload for row in said.refused] == [f"{kind} default/web"]
    assert said.refused[0].message.endswith("no PriorityClass with name nobody-made-it was found")
    assert CONDITIONS["stalled"](report)


def test_some_pods_may_be_refused_and_others_not() -> None:
    said, _ = played([*NODES, quota(2)], workload("Deployment"))
    assert said.settled == "rollout-stuck"
    assert [(row.workload, row.initial) for row in said.refused] == [("Deployment default/web", False)]
    assert said.workloads[0].ready_after == 2


def test_who_was_refused_before_is_said_to_be() -> None:
    said, _ = played([*NODES, quota(2), workload("Deployment")], then=["cordon a"])
    assert [(row.workload, row.initial) for row in said.refused] == [("Deployment default/web", True)]


@pytest.mark.parametrize("step", ["delete resourcequota/few", "scale deploy/web=2"])
def test_it_is_over_once_they_are_taken_or_nobody_wants_them_any_more(step: str) -> None:
    said, _ = played([*NODES, quota(2)], workload("Deployment"), then=[step])
    assert any(event.verb == "was refused" for event in said.events)
    assert (said.settled, said.refused) == ("settled", ())


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_pods_that_never_get_ready_are_no_good_end(kind: str) -> None:
    said, report = played(NODES, workload(kind, annotations=NEVER_READY))
    assert (said.settled, said.pending, said.refused) == ("rollout-stuck", (), ())
    assert CONDITIONS["stalled"](report)


def test_a_namespace_goes_with_all_that_is_in_it() -> None:
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("default", "shop")]
    other = workload("Deployment")
    other["metadata"] = {"name": "web", "namespace": "shop"}
    said, _ = played([*NODES, *namespaces, workload("StatefulSet"), quota(9), other], then=["delete ns/default"])
    assert said.settled == "settled"
    assert [(row.workload, sum(row.after.values())) for row in said.workloads] == [
        ("Deployment shop/web", 3),
        ("StatefulSet default/web", 0),
    ]
    gone = {event.object for event in said.events if event.verb == "deleted"}
    assert {"Namespace default", "StatefulSet default/web", "ResourceQuota default/few", "Pod default/web-0"} <= gone


@pytest.mark.parametrize(("start", "partition", "rolled"), [(0, 2, 1), (5, 2, 1), (0, 0, 3), (0, 9, 0)])
def test_a_partition_is_not_a_rollout_that_stands_still(start: int, partition: int, rolled: int) -> None:
    made = workload("StatefulSet")
    made["spec"] |= {
        "ordinals": {"start": start},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}},
    }
    said, _ = played([*NODES, made], then=["set statefulset/web spec.template.spec.terminationGracePeriodSeconds=1"])
    assert said.settled == "settled"
    assert sum(event.verb == "deleted" for event in said.events) == rolled


def test_what_was_not_ready_before_says_nothing_of_the_change() -> None:
    ready = workload("Deployment")
    cluster = [*NODES, *stored(ready, ready="False")]
    said, _ = played(cluster, then=["cordon a"])
    assert said.settled == "settled"


def stored(made: dict[str, Any], ready: str) -> list[dict[str, Any]]:
    """A Deployment with one pod, as the API server has them."""
    made["spec"]["replicas"] = 1
    labels = {"app": "web", "pod-template-hash": "1"}
    meta = {"name": "web-1", "namespace": "default", "uid": "rs", "labels": labels}
    owner = {"apiVersion": "apps/v1", "controller": True}
    template = {"metadata": {"labels": labels}, "spec": made["spec"]["template"]["spec"]}
    replica_set = manifest(
        "ReplicaSet",
        {**meta, "ownerReferences": [{**owner, "kind": "Deployment", "name": "web", "uid": "d"}]},
        spec={"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    )
    pod = manifest(
        "Pod",
        {
            **meta,
            "name": "web-1-x",
            "uid": "p",
            "ownerReferences": [{**owner, "kind": "ReplicaSet", "name": "web-1", "uid": "rs"}],
        },
        spec={**template["spec"], "nodeName": "a", "priority": 1},
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
    )
    made["metadata"]["uid"] = "d"
    return [made, replica_set, pod]


@pytest.mark.parametrize(
    ("reason", "how"), [("EvictionByEvictionAPI", "Evicted"), ("PreemptionByScheduler", "Preempted"), ("", "Deleted")]
)
def test_who_was_going_before_is_gone_for_the_reason_of_then(reason: str, how: str) -> None:
    going = manifest(
        "Pod",
        {
            "name": "old",
            "namespace": "default",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": 30,
        },
        spec={"nodeName": "a", "containers": [{"name": "c", "image": "i"}]},
        status={"phase": "Running", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": reason}]},
    )
    said, _ = played([*NODES, going])
    assert [(row.pod, row.how) for row in said.gone] == [("default/old", how)]


@pytest.mark.parametrize(("version", "at_once"), [("1.36", 1), ("1.37", 2)])
def test_since_1_37_several_pods_of_a_stateful_set_may_be_replaced_at_a_time(version: str, at_once: int) -> None:
    """The gate `MaxUnavailableStatefulSet`."""
    stateful = workload("StatefulSet")
    stateful["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "70%"}}
    session = kwhatif.load([*NODES, stateful], kubernetes_version=version)
    changed = deepcopy(stateful)
    changed["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
    report = kwhatif.simulate(session, then=[{"apply": changed}])
    assert report.story is not None
    gone = [event.at for event in report.story.events if event.verb == "deleted"]
    assert (len(gone), gone.count(gone[0])) == (3, at_once)
    assert report.story.settled == "settled"


def test_who_is_refused_tries_again_when_it_would_and_not_before_others() -> None:
    """The pod that goes is its own workload's to replace: the other one waits longer and longer between its attempts."""
    there, early = workload("ReplicaSet"), workload("ReplicaSet")
    there["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 10
    early["metadata"]["name"] = "early"
    early["spec"]["selector"]["matchLabels"] = early["spec"]["template"]["metadata"]["labels"] = {"app": "early"}
    first, _ = played([*NODES, quota(3), there], then=[])
    pod = next(event.object for event in first.events if event.verb == "created")
    said, _ = played([*NODES, quota(3), there], early, then=[f"delete {pod.lower().replace(' ', '/')}"])
    assert [(row.workload, row.ready_after) for row in said.workloads] == [("ReplicaSet default/web", 3)]


@pytest.mark.parametrize("taken_at", [None, "2026-01-01T00:00:00Z"])
def test_pods_that_were_ready_are_so_though_the_clock_of_the_snapshot_is_slow(taken_at: str | None) -> None:
    """Or nothing says when it was read, and a pod was ready long after it started."""
    daemon = workload("DaemonSet")
    daemon["spec"] |= {"minReadySeconds": 3, "updateStrategy": {"type": "OnDelete"}}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-03T00:00:00Z"}
    pod = manifest(
        "Pod",
        {
            "name": "web-0",
            "namespace": "default",
            "labels": daemon["spec"]["template"]["metadata"]["labels"],
            "creationTimestamp": "2026-01-02T00:00:00Z",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web", "controller": True}],
        },
        spec=daemon["spec"]["template"]["spec"] | {"nodeName": "a"},
        status={"phase": "Running", "startTime": "2026-01-02T00:00:00Z", "conditions": [ready]},
    )
    session = kwhatif.load([*NODES, daemon, pod])
    session.state.apply(SetFacts.of(session.cluster, taken_at=taken_at or ""))
    said = kwhatif.simulate(session, then=["cordon a"]).story
    assert said is not None
    assert (said.settled, said.seconds) == ("settled", 0)


# --- Jobs in a story: those that fail because of what was done, and deadlines, which nobody waits for ---


TWO_NODES = [*CLASSES, node("a", 8), node("b", 8)]
LABELS = {"batch.kubernetes.io/controller-uid": "j", "batch.kubernetes.io/job-name": "etl"}
IGNORE = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}


def job(**spec: Any) -> dict[str, Any]:
    template = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never", "priorityClassName": "low"}
    annotations = {"kwhatif.dev/run-seconds": str(seconds)} if (seconds := spec.pop("run", None)) else {}
    return manifest(
        "Job",
        {"name": "etl", "namespace": "default", "uid": "j"},
        spec={
            "parallelism": 1,
            "completions": 1,
            "template": {"metadata": {"labels": LABELS, "annotations": annotations}, "spec": template},
            **spec,
        },
    )


def running(**spec: Any) -> list[dict[str, Any]]:
    """The cluster with the Job and its pod on node a, since a minute."""
    made = job(selector={"matchLabels": {"batch.kubernetes.io/controller-uid": "j"}}, **spec)
    made["status"] = {"active": 1, "startTime": "2026-01-01T00:00:00Z"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "etl", "uid": "j", "controller": True}
    pod = manifest(
        "Pod",
        {
            "name": "etl-x",
            "namespace": "default",
            "uid": "p",
            "labels": LABELS,
            "finalizers": ["batch.kubernetes.io/job-tracking"],
            "ownerReferences": [owner],
        },
        spec={
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
        status={
            "phase": "Running",
            "startTime": "2026-01-01T00:01:00Z",
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )
    return [*TWO_NODES, made, pod]


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
    said = story(kwhatif.simulate(kwhatif.load(TWO_NODES), job(activeDeadlineSeconds=60, run=100)))
    ((verb, at),) = ends(said)
    assert (verb, 60 <= at < 100) == ("failed", True)
    assert (
        ends(story(kwhatif.simulate(kwhatif.load(TWO_NODES), job(activeDeadlineSeconds=200, run=100))))[0][0]
        == "completed"
    )


def test_a_job_whose_pods_are_refused_fails_at_its_deadline_too() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": "default"}}
    few = {"hard": {"pods": "0"}}
    *cluster, _ = running(activeDeadlineSeconds=600)
    cluster.append(quota | {"spec": few, "status": few | {"used": {"pods": "0"}}})
    ((verb, at),) = ends(story(kwhatif.simulate(kwhatif.load(cluster), then=["wait 15m"])))
    assert (verb, 500 <= at <= 602) == ("failed", True)  # not at 655 s, when its pod is tried again
