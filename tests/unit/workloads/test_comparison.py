"""An update is not an addition: what goes and what comes when a workload is applied again."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.admission.plugins import add_default_tolerations
from kwhatif.kube.model.caveat.workloads import FieldsNotCompared, OrderedPodPending, ReplicasKept, WorkloadNotInDump
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import AnnotatedMeta, LabelSelector, ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodCondition, PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, ResourceRequirements
from kwhatif.kube.model.policy import LimitRange, LimitRangeItem, LimitRangeSpec
from kwhatif.kube.model.storage import ClaimTemplate, PersistentVolumeClaim
from kwhatif.kube.model.workload import (
    CronJob,
    CronJobSpec,
    DaemonSet,
    DaemonSetSpec,
    Deployment,
    DeploymentSpec,
    Job,
    JobCondition,
    JobSpec,
    JobStatus,
    JobTemplateSpec,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
    RollingUpdate,
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetSpec,
    UpdateStrategy,
)
from kwhatif.sources.saving.redact import redact
from kwhatif.workloads.names import resolved
from kwhatif.workloads.removal import removed_first
from kwhatif.workloads.template import without_images
from tests.builders import PodBuilder, node, pod
from tests.unit.workloads.applying import Update, plan_update

APP = LabelSelector(match_labels={"app": "web"})


def template(cpu: Any = "1", **labels: str) -> PodTemplateSpec:
    container = Container(name="main", image="app:1", resources=ResourceRequirements(requests={"cpu": cpu}))
    return PodTemplateSpec(metadata=PodMeta(labels={"app": "web", **labels}), spec=PodSpec(containers=(container,)))


def named(name: str = "web", uid: str = "") -> ReplicaSetMeta:
    return ReplicaSetMeta(name=name, namespace="default", uid=uid)


def deployment(replicas: int | None = 4, cpu: Any = "1", **spec: Any) -> Deployment:
    return Deployment(
        metadata=named(), spec=DeploymentSpec(replicas=replicas, selector=APP, template=template(cpu), **spec)
    )


def rolling(surge: int | str | None = None, unavailable: int | str | None = None) -> UpdateStrategy:
    return UpdateStrategy(
        type="RollingUpdate", rolling_update=RollingUpdate(max_surge=surge, max_unavailable=unavailable)
    )


def running(count: int, owner: str = "web-66", kind: str = "ReplicaSet") -> list[PodBuilder]:
    return [
        pod(f"{owner}-{index}").labels(app="web").owner(kind, owner).on(f"n{index}").status(phase="Running")
        for index in range(count)
    ]


def replica_set(name: str = "web-66", cpu: Any = "1") -> ReplicaSet:
    owner = OwnerReference(kind="Deployment", name="web", controller=True)
    meta = ReplicaSetMeta(name=name, namespace="default", uid=f"uid-{name}", owner_references=(owner,))
    made = template(cpu, **{"pod-template-hash": name.removeprefix("web-")})
    return ReplicaSet(metadata=meta, spec=ReplicaSetSpec(replicas=4, template=made))


def around(*objects: Any) -> Cluster:
    return Cluster(each.build() if isinstance(each, PodBuilder) else each for each in objects)


def counts(update: Update) -> tuple[str, int, int]:
    return update.kind, len(update.removed), len(update.added)


# --- Deployments -------------------------------------------------------------------------------------

FOUR = [deployment(), replica_set(), *running(4)]

DEPLOYMENTS = {
    "is not there": (deployment(), [], "final", ("new", 0, 4)),
    "is the same": (deployment(), FOUR, "final", ("unchanged", 0, 0)),
    "is the same in other words": (deployment(cpu=1.0), FOUR, "final", ("unchanged", 0, 0)),
    "wants more": (deployment(6), FOUR, "final", ("scaled", 0, 2)),
    "wants fewer": (deployment(1), FOUR, "final", ("scaled", 3, 0)),
    "says no number": (deployment(None), FOUR, "final", ("unchanged", 0, 0)),
    "changes": (deployment(cpu="2"), FOUR, "final", ("changed", 4, 4)),
    "changes, and wants more": (deployment(6, cpu="2"), FOUR, "final", ("changed", 4, 6)),
    "changes, and says no number": (deployment(None, cpu="2"), FOUR, "final", ("changed", 4, 4)),
    "changes, at its peak": (deployment(cpu="2"), FOUR, "surge", ("changed", 1, 2)),
    "changes, one more at a time": (deployment(cpu="2", strategy=rolling(1, 0)), FOUR, "surge", ("changed", 0, 1)),
    "changes, one fewer at a time": (deployment(cpu="2", strategy=rolling(0, 1)), FOUR, "surge", ("changed", 1, 1)),
    "changes, and nothing may move": (
        deployment(cpu="2", strategy=rolling(0, "10%")),
        FOUR,
        "surge",
        ("changed", 1, 1),
    ),
    "changes, and wants more, at its peak": (deployment(6, cpu="2"), FOUR, "surge", ("changed", 0, 4)),
    "changes, and wants fewer, at its peak": (deployment(2, cpu="2"), FOUR, "surge", ("changed", 2, 1)),
    "changes, and wants none, at its peak": (deployment(0, cpu="2"), FOUR, "surge", ("changed", 4, 0)),
    "changes, all at once": (deployment(cpu="2", strategy=rolling("100%", 0)), FOUR, "surge", ("changed", 0, 4)),
    "is recreated": (deployment(cpu="2", strategy=UpdateStrategy(type="Recreate")), FOUR, "surge", ("changed", 4, 4)),
    "changes, but is paused": (deployment(cpu="2", paused=True), FOUR, "final", ("unchanged", 0, 0)),
    "wants more, and is paused": (deployment(5, cpu="2", paused=True), FOUR, "final", ("scaled", 0, 1)),
    "is new and paused": (deployment(paused=True), [], "final", ("new", 0, 0)),
    "ends": (deployment(0), FOUR, "final", ("scaled", 4, 0)),
    "lacks its ReplicaSet": (deployment(cpu="2"), [deployment(), *running(4)], "final", ("changed", 4, 4)),
    "lacks itself": (deployment(), running(4), "final", ("changed", 4, 4)),
}


@pytest.mark.parametrize(("new", "objects", "rollout", "expected"), DEPLOYMENTS.values(), ids=DEPLOYMENTS.keys())
def test_deployment(new: Deployment, objects: list[Any], rollout: Any, expected: tuple[str, int, int]) -> None:
    assert counts(plan_update(new, around(*objects), rollout)) == expected


def test_more_replicas_come_from_the_replica_set_that_is_there() -> None:
    added = plan_update(deployment(5), around(*FOUR)).added
    (owner,) = added[0].metadata.owner_references
    assert (owner.name, owner.uid) == ("web-66", "uid-web-66")
    assert added[0].metadata.labels["pod-template-hash"] == "66"


def test_more_replicas_of_a_replica_set_that_is_not_in_the_input() -> None:
    pods = [each.labels(**{"app": "web", "pod-template-hash": "66"}) for each in running(4)]
    added = plan_update(deployment(5), around(deployment(), *pods)).added
    assert added[0].metadata.owner_references[0].name == "web-66"
    assert added[0].metadata.labels["pod-template-hash"] == "66"


def test_a_changed_template_makes_another_replica_set() -> None:
    added = plan_update(deployment(cpu="2"), around(*FOUR)).added
    name = added[0].metadata.owner_references[0].name
    assert name.startswith("web-")
    assert name != "web-66"
    assert name == f"web-{added[0].metadata.labels['pod-template-hash']}"


def test_a_rollout_that_is_under_way_goes_on() -> None:
    objects = [deployment(), replica_set(), *running(3), replica_set("web-77", "2"), *running(2, "web-77")]
    update = plan_update(deployment(cpu="2"), around(*objects))
    assert [gone.metadata.name for gone in update.removed] == ["web-66-0", "web-66-1", "web-66-2"]
    assert len(update.added) == 2
    assert update.added[0].metadata.owner_references[0].name == "web-77"


def test_pods_of_others_stay() -> None:
    others = [
        *running(2, "web-api-66"),
        *running(1, "web"),
        pod("web-66-x", "other").labels(app="web").owner("ReplicaSet", "web-66"),
        pod("done").labels(app="web").owner("ReplicaSet", "web-66").status(phase="Succeeded"),
    ]
    update = plan_update(deployment(cpu="2"), around(*FOUR, *others))
    assert sorted(gone.metadata.name for gone in update.removed) == [f"web-66-{index}" for index in range(4)]


def test_the_old_template_grows_first_when_more_are_wanted() -> None:
    update = plan_update(deployment(6, cpu="2"), around(*FOUR), "surge")
    made = [
        (each.metadata.owner_references[0].name, each.spec.containers[0].resources.requests["cpu"])
        for each in update.added
    ]
    assert made[0] == ("web-66", "1")
    assert [cpu for _, cpu in made[1:]] == ["2", "2", "2"]


def test_of_a_rollout_that_is_under_way_the_next_step_is_taken() -> None:
    newer = replica_set("web-77", cpu="2")
    objects = [deployment(), replica_set(), newer, *running(3), *running(2, "web-77")]
    update = plan_update(deployment(cpu="2"), around(*objects), "surge")
    assert counts(update) == ("changed", 2, 2)
    assert {each.metadata.owner_references[0].name for each in update.added} == {"web-77"}
    assert {gone.metadata.owner_references[0].name for gone in update.removed} == {"web-66"}


def test_what_is_not_in_the_input_is_said() -> None:
    update = plan_update(deployment(), around(*running(4)))
    assert update.caveat == WorkloadNotInDump(workload="Deployment default/web", count=4)
    # Of what scheduling does not read nobody knows whether it has changed.
    assert plan_update(deployment(), around(*FOUR)).caveat == FieldsNotCompared()
    assert plan_update(deployment(5), around(*FOUR)).caveat == FieldsNotCompared()
    assert plan_update(deployment(cpu=2), around(*FOUR)).caveat is None


@pytest.mark.parametrize(("there", "said"), [(4, True), (1, False), (None, False)])
def test_a_number_of_replicas_that_is_left_out_is_reported(there: int | None, said: bool) -> None:
    update = plan_update(deployment(None), around(deployment(there), replica_set(), *running(there or 1)))
    assert counts(update) == ("unchanged", 0, 0)
    kept = ReplicasKept(workload="Deployment default/web", replicas=4)
    assert (update.caveat == kept) is said


def test_who_goes_first() -> None:
    def ready(builder: PodBuilder) -> PodBuilder:
        return builder.status(phase="Running", conditions=(PodCondition(type="Ready", status="True"),))

    pods = [
        ready(running(1)[0].meta(name="old", creation_timestamp="2026-01-01T00:00:00Z").on("a")),
        ready(running(1)[0].meta(name="young", creation_timestamp="2026-02-01T00:00:00Z").on("b")),
        ready(running(1)[0].meta(name="twin", creation_timestamp="2026-01-01T00:00:00Z").on("c")),
        ready(running(1)[0].meta(name="other-twin", creation_timestamp="2026-01-01T00:00:00Z").on("c")),
        running(1)[0].meta(name="unready").on("d"),
        running(1)[0].meta(name="pending").on("d").status(phase="Pending"),
        running(1)[0].meta(name="nowhere").on("").status(phase="Pending"),
        running(1)[0].meta(name="terminating").on("e").terminating(),
    ]
    known = deployment(8)
    update = plan_update(deployment(1), around(known, replica_set(), *pods))
    names = [gone.metadata.name for gone in update.removed]
    assert names == ["nowhere", "pending", "unready", "other-twin", "twin", "young"]  # and one stays


def ready_on(place: str, name: str, owner: str = "web-66") -> PodBuilder:
    conditions = (PodCondition(type="Ready", status="True"),)
    return running(1, owner)[0].meta(name=name).on(place).status(phase="Running", conditions=conditions)


def test_pods_beside_others_of_the_same_deployment_go_first_whosever_they_are() -> None:
    """`getPodsRankedByRelatedPodsOnSameNode`: active ones of all its ReplicaSets count, ready or not."""
    mine = [ready_on("a", "crowded"), ready_on("b", "alone"), ready_on("c", "beside-one-that-goes")]
    related = [*mine, running(1, "web-55")[0].meta(name="other").on("a"), ready_on("c", "going").terminating()]
    in_order = removed_first([each.build() for each in mine], [each.build() for each in related])
    assert [each.metadata.name for each in in_order] == ["crowded", "alone", "beside-one-that-goes"]
    without = removed_first([each.build() for each in mine])
    assert [each.metadata.name for each in without] == ["alone", "beside-one-that-goes", "crowded"]


@pytest.mark.parametrize(
    ("new", "expected"),
    [(deployment(), "unchanged"), (deployment(6), "scaled"), (deployment(cpu="2"), "changed")],
    ids=["the same", "more", "another template"],
)
def test_a_snapshot_without_images_cannot_tell_whether_they_change(new: Deployment, expected: str) -> None:
    objects = [redact(each, images=False) for each in around(*FOUR).all(Deployment).values()]
    sets = [redact(each, images=False) for each in around(*FOUR).all(ReplicaSet).values()]
    update = plan_update(new, around(*objects, *sets, *running(4)))
    assert update.kind == expected
    assert bool(update.caveat) is (expected != "changed")
    if expected == "scaled":
        assert update.added[0].metadata.owner_references[0].name == "web-66"


# --- ReplicaSets -------------------------------------------------------------------------------------


def bare(replicas: int | None, cpu: str = "1") -> ReplicaSet:
    return ReplicaSet(metadata=named("web-66"), spec=ReplicaSetSpec(replicas=replicas, template=template(cpu)))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (bare(3), ("unchanged", 0, 0)),
        (bare(None), ("unchanged", 0, 0)),
        (bare(3, "2"), ("unchanged", 0, 0)),
        (bare(5, "2"), ("scaled", 0, 2)),
        (bare(1), ("scaled", 2, 0)),
    ],
    ids=["same", "no number", "another template", "more", "fewer"],
)
def test_a_replica_set_only_scales(new: ReplicaSet, expected: tuple[str, int, int]) -> None:
    assert counts(plan_update(new, around(bare(3), *running(3)))) == expected


# --- StatefulSets ------------------------------------------------------------------------------------


def stateful(replicas: int | None = 3, cpu: str = "1", start: int = 0, **strategy: Any) -> StatefulSet:
    return StatefulSet(
        metadata=named("db"),
        spec=StatefulSetSpec(
            replicas=replicas,
            selector=APP,
            template=template(cpu),
            ordinals=StatefulSetOrdinals(start=start),
            update_strategy=UpdateStrategy(**strategy),
        ),
    )


THREE = [stateful(), *running(3, "db", "StatefulSet")]

STATEFUL_SETS = {
    "is the same": (stateful(), "final", [], []),
    "wants more": (stateful(5), "final", [], ["db-3", "db-4"]),
    "wants fewer": (stateful(1), "final", ["db-2", "db-1"], []),
    "begins later": (stateful(3, start=1), "final", ["db-0"], ["db-3"]),
    "changes": (stateful(cpu="2"), "final", ["db-2", "db-1", "db-0"], ["db-2", "db-1", "db-0"]),
    "changes, one at a time": (stateful(cpu="2"), "surge", ["db-2"], ["db-2"]),
    "changes down to a partition": (
        stateful(cpu="2", rolling_update=RollingUpdate(partition=2)),
        "final",
        ["db-2"],
        ["db-2"],
    ),
    "changes on delete": (stateful(cpu="2", type="OnDelete"), "final", [], []),
    "changes, and wants fewer": (stateful(2, cpu="2"), "final", ["db-2", "db-1", "db-0"], ["db-1", "db-0"]),
    "changes, and wants more": (
        stateful(4, cpu="2"),
        "final",
        ["db-2", "db-1", "db-0"],
        ["db-3", "db-2", "db-1", "db-0"],
    ),
    "changes, and wants more, one at a time": (stateful(4, cpu="2"), "surge", ["db-2"], ["db-3", "db-2"]),
    "says no number": (stateful(None), "final", [], []),
}


@pytest.mark.parametrize(("new", "rollout", "gone", "come"), STATEFUL_SETS.values(), ids=STATEFUL_SETS.keys())
def test_stateful_set(new: StatefulSet, rollout: Any, gone: list[str], come: list[str]) -> None:
    update = plan_update(new, around(*THREE), rollout)
    assert [each.metadata.name for each in update.removed] == gone
    assert [each.metadata.name for each in update.added] == come


@pytest.mark.parametrize(("policy", "said"), [("", True), ("OrderedReady", True), ("Parallel", False)])
def test_a_pod_that_is_pending_in_the_cluster_holds_up_the_others(policy: str, said: bool) -> None:
    waiting = running(3, "db", "StatefulSet")[1].on("").status(phase="Pending")
    new = replace(stateful(4), spec=replace(stateful(4).spec, pod_management_policy=policy))
    update = plan_update(new, around(*THREE, waiting))
    pending = OrderedPodPending(workload="StatefulSet default/db", pod="db-1")
    assert update.caveat == (pending if said else FieldsNotCompared())


def test_below_the_partition_new_pods_are_of_the_old_template() -> None:
    new = stateful(5, cpu="2", rolling_update=RollingUpdate(partition=4))
    requests = [each.spec.containers[0].resources.requests["cpu"] for each in plan_update(new, around(*THREE)).added]
    assert requests == ["1", "2"]


def test_only_claims_that_are_missing_are_made() -> None:
    present = PersistentVolumeClaim(metadata=AnnotatedMeta(name="data-db-3", namespace="default"))
    new = stateful(5, type="OnDelete")
    template = ClaimTemplate(metadata=AnnotatedMeta(name="data"))
    spec = replace(new.spec, volume_claim_templates=(template,), pod_management_policy="Parallel")
    claims = plan_update(replace(new, spec=spec), around(*THREE, present)).cluster.all(PersistentVolumeClaim)
    assert list(claims) == ["default/data-db-3", "default/data-db-4"]
    assert claims["default/data-db-3"].spec == present.spec


# --- DaemonSets --------------------------------------------------------------------------------------


def daemon(cpu: str = "1", selector: dict[str, str] | None = None, **strategy: Any) -> DaemonSet:
    made = template(cpu)
    made = replace(made, spec=replace(made.spec, node_selector=selector))
    return DaemonSet(
        metadata=named("agent"),
        spec=DaemonSetSpec(selector=APP, template=made, update_strategy=UpdateStrategy(**strategy)),
    )


NODES = [node(f"n{index}").labels(half=str(index % 2)) for index in range(4)]
ON_ALL = [each.build() for each in NODES] + [daemon(), *running(4, "agent", "DaemonSet")]

DAEMON_SETS = {
    "is the same": (daemon(), "final", [], []),
    "changes": (daemon("2"), "final", ["n0", "n1", "n2", "n3"], ["n0", "n1", "n2", "n3"]),
    "changes, one at a time": (daemon("2"), "surge", ["n0"], ["n0"]),
    "changes, some at a time": (
        daemon("2", rolling_update=RollingUpdate(max_unavailable="30%")),
        "surge",
        ["n0", "n1"],
        ["n0", "n1"],
    ),
    "changes, two beside": (daemon("2", rolling_update=RollingUpdate(max_surge=2)), "surge", [], ["n0", "n1"]),
    "changes, and nothing may move": (
        daemon("2", rolling_update=RollingUpdate(max_unavailable=0)),
        "surge",
        ["n0"],
        ["n0"],
    ),
    "changes on delete": (daemon("2", type="OnDelete"), "final", [], []),
    "leaves nodes": (daemon(selector={"half": "1"}), "final", ["n0", "n1", "n2", "n3"], ["n1", "n3"]),
    "leaves nodes, one at a time": (daemon(selector={"half": "1"}), "surge", ["n0", "n1", "n2"], ["n1"]),
    "leaves nodes on delete": (daemon(selector={"half": "1"}, type="OnDelete"), "final", ["n0", "n2"], []),
}


@pytest.mark.parametrize(("new", "rollout", "gone", "come"), DAEMON_SETS.values(), ids=DAEMON_SETS.keys())
def test_daemon_set(new: DaemonSet, rollout: Any, gone: list[str], come: list[str]) -> None:
    update = plan_update(new, around(*ON_ALL), rollout)
    assert sorted(each.spec.node_name for each in update.removed) == gone
    assert sorted(map(_pinned_to, update.added)) == come


DAEMON_ROLLS = {
    "one at a time: it is the one that does not work": (None, None, [2], [], ["n2"], ["n2"]),
    "more of them than may be missed": (1, None, [1, 2], [], ["n1", "n2"], ["n1", "n2"]),
    "fewer of them than may be missed": (3, None, [2], [], ["n0", "n1", "n2"], ["n0", "n1", "n2"]),
    "a node without a pod is missed, too": (None, None, [], [3], [], ["n3"]),
    "two may be missed, one is": (2, None, [], [3], ["n0"], ["n0", "n3"]),
    "beside the old ones, but what does not work goes": (0, 2, [1], [3], ["n1"], ["n0", "n1", "n2", "n3"]),
    "a third beside": (0, "30%", [], [], [], ["n0", "n1"]),
}


@pytest.mark.parametrize(
    ("unavailable", "surge", "idle", "empty", "gone", "come"), DAEMON_ROLLS.values(), ids=DAEMON_ROLLS.keys()
)
def test_daemon_set_in_the_middle(
    unavailable: Any, surge: Any, idle: list[int], empty: list[int], gone: list[str], come: list[str]
) -> None:
    pods = running(4, "agent", "DaemonSet")
    for number in idle:
        pods[number].status(conditions=(PodCondition(type="Ready", status="False"),))
    there = [each for number, each in enumerate(pods) if number not in empty]
    new = daemon("2", rolling_update=RollingUpdate(max_unavailable=unavailable, max_surge=surge))
    update = plan_update(new, around(*(each.build() for each in NODES), daemon(), *there), "surge")
    assert sorted(each.spec.node_name for each in update.removed) == gone
    assert sorted(map(_pinned_to, update.added)) == come


def _pinned_to(made: Pod) -> str:
    assert made.spec.affinity is not None
    assert made.spec.affinity.node_affinity is not None
    assert made.spec.affinity.node_affinity.required is not None
    return made.spec.affinity.node_affinity.required.node_selector_terms[0].match_fields[0].values[0]


def test_a_daemon_pod_that_waits_is_on_the_node_it_is_pinned_to() -> None:
    (made,) = plan_update(daemon(), around(node("n9").build())).added
    waiting = replace(made, metadata=replace(made.metadata, name="agent-x"))
    update = plan_update(daemon("2"), around(node("n9").build(), daemon(), waiting))
    assert counts(update) == ("changed", 1, 1)


# --- Jobs and CronJobs -------------------------------------------------------------------------------


def job(cpu: str = "1", **spec: Any) -> Job:
    return Job(metadata=named("etl"), spec=JobSpec(template=template(cpu), **spec))


def so_far(known: Job, succeeded: int = 0, condition: str = "") -> Job:
    conditions = (JobCondition(type=condition, status="True"),) if condition else ()
    return replace(known, status=JobStatus(succeeded=succeeded, conditions=conditions))


JOBS = {
    "is the same": (job(parallelism=2), job(parallelism=2), ("unchanged", 0, 0)),
    "runs more at once": (job(parallelism=2), job(parallelism=3), ("scaled", 0, 1)),
    "runs fewer at once": (job(parallelism=2), job(parallelism=1), ("scaled", 1, 0)),
    "has fewer to do than it could": (
        job(parallelism=2, completions=2),
        job(parallelism=5, completions=2),
        ("unchanged", 0, 0),
    ),
    "is suspended": (job(parallelism=2), job(parallelism=2, suspend=True), ("scaled", 2, 0)),
    "is resumed": (job(parallelism=2, suspend=True), job(parallelism=2), ("scaled", 0, 2)),
    "has little left to do": (
        so_far(job(parallelism=2, completions=5), succeeded=2),
        job(parallelism=9, completions=5),
        ("scaled", 0, 1),
    ),
    "has nothing left to do": (
        so_far(job(parallelism=2, completions=2), succeeded=2),
        job(parallelism=9, completions=2),
        ("unchanged", 0, 0),
    ),
    "has finished": (so_far(job(parallelism=2), condition="Complete"), job(parallelism=9), ("unchanged", 0, 0)),
    "has failed": (so_far(job(parallelism=2), condition="Failed"), job(parallelism=9), ("unchanged", 0, 0)),
    "works on a queue that is empty": (
        so_far(job(parallelism=2), succeeded=1),
        job(parallelism=9),
        ("unchanged", 0, 0),
    ),
}


@pytest.mark.parametrize(("known", "new", "expected"), JOBS.values(), ids=JOBS.keys())
def test_job(known: Job, new: Job, expected: tuple[str, int, int]) -> None:
    pods = [] if known.spec.suspend else running(2, "etl", "Job")
    assert counts(plan_update(new, around(known, *pods))) == expected


def test_a_jobs_template_cannot_change() -> None:
    update = plan_update(job("2"), around(job(), *running(1, "etl", "Job")))
    assert update.denied is not None
    assert update.denied.message == (
        'Job.batch "etl" is invalid: spec.template: Invalid value: {…}: field is immutable'
    )
    assert counts(update) == ("changed", 0, 0)


def test_the_labels_that_the_api_server_adds_to_a_job_are_no_change() -> None:
    stored = job()
    labels = {**template().metadata.labels, "job-name": "etl", "batch.kubernetes.io/controller-uid": "1"}
    made = replace(template(), metadata=PodMeta(labels=labels))
    stored = replace(stored, spec=replace(stored.spec, template=made))
    assert counts(plan_update(job(), around(stored, *running(1, "etl", "Job")))) == ("unchanged", 0, 0)


def cron(cpu: str = "1", *, suspend: bool = False, **spec: Any) -> CronJob:
    made = JobTemplateSpec(spec=JobSpec(template=template(cpu), **spec))
    return CronJob(metadata=named("night"), spec=CronJobSpec(suspend=suspend, job_template=made))


CRON_JOBS = {
    "is the same": (cron(), "final", ("unchanged", 0, 0)),
    "changes": (cron("2"), "final", ("changed", 1, 1)),
    "changes while a run is under way": (cron("2"), "surge", ("changed", 0, 1)),
    "runs more at once": (cron(parallelism=3), "final", ("changed", 1, 3)),
    "is suspended": (cron("2", suspend=True), "final", ("unchanged", 0, 0)),
}


@pytest.mark.parametrize(("new", "rollout", "expected"), CRON_JOBS.values(), ids=CRON_JOBS.keys())
def test_cron_job(new: CronJob, rollout: Any, expected: tuple[str, int, int]) -> None:
    objects = around(cron(), *running(1, "night-29920792", "Job"))
    assert counts(plan_update(new, objects, rollout)) == expected


# --- Pods --------------------------------------------------------------------------------------------


def applied(cpu: str = "1") -> PodBuilder:
    return pod("p").cpu(cpu).image("x:1").spec(scheduler_name="", priority=None, preemption_policy="")


def stored(cpu: str = "1") -> Pod:
    return add_default_tolerations(
        pod("p")
        .cpu(cpu)
        .image("x:1")
        .on("n1")
        .spec(restart_policy="Always")
        .volume("kube-api-access-x7k2p")
        .status(phase="Running")
        .build()
    )


def stored_without_image() -> Pod:
    return replace(stored(), spec=without_images(stored().spec))


#: What else a container gets by default.
MEMORY: dict[str, str | int | float] = {"memory": "1Gi"}
LIMITS = LimitRange(
    metadata=ObjectMeta(name="defaults", namespace="default"),
    spec=LimitRangeSpec(limits=(LimitRangeItem(type="Container", default=MEMORY, default_request=MEMORY),)),
)


def limited(found: Pod) -> Pod:
    """As it was stored while there was such a LimitRange."""
    (only,) = found.spec.containers
    resources = replace(only.resources, requests={**only.resources.requests, **MEMORY}, limits=MEMORY)
    return replace(found, spec=replace(found.spec, containers=(replace(only, resources=resources),)))


PODS = {
    "is the same": (applied(), [stored()], ("unchanged", 0, 0)),
    "is the same in other words": (applied("1000m"), [stored()], ("unchanged", 0, 0)),
    "is the same from a snapshot without images": (applied(), [stored_without_image()], ("unchanged", 0, 0)),
    "has another label": (applied().labels(a="b"), [stored()], ("changed", 0, 0)),
    "has another image": (applied().image("x:2"), [stored()], ("changed", 0, 0)),
    "has another toleration": (applied().toleration("a", "Exists"), [stored()], ("changed", 0, 0)),
    "had more from a LimitRange that is gone": (applied(), [limited(stored())], ("unchanged", 0, 0)),
    "would have more from a LimitRange that is new": (applied(), [stored(), LIMITS], ("unchanged", 0, 0)),
    "is not there": (applied(), [], ("new", 0, 1)),
    "gets its name later": (applied().meta(name="", generate_name="p-"), [stored()], ("new", 0, 1)),
}


@pytest.mark.parametrize(("new", "objects", "expected"), PODS.values(), ids=PODS.keys())
def test_pod(new: PodBuilder, objects: list[Any], expected: tuple[str, int, int]) -> None:
    assert counts(plan_update(new.build(), around(*objects))) == expected


MAY_NOT = "spec: Forbidden: pod updates may not change fields other than "
REFUSED_PODS = {
    "asks for more": (applied("2"), stored(), MAY_NOT),
    "asks for more beside a LimitRange": (applied("2"), limited(stored()), MAY_NOT),
    "asks for another node": (applied().node_selector(disk="ssd"), stored(), MAY_NOT),
    "waits for a gate that was lifted": (
        applied().gates("example.com/x"),
        stored(),
        "spec.schedulingGates[0].name: Forbidden: only deletion is allowed",
    ),
}


@pytest.mark.parametrize(("new", "known", "message"), REFUSED_PODS.values(), ids=REFUSED_PODS.keys())
def test_a_pod_that_cannot_become_another(new: PodBuilder, known: Pod, message: str) -> None:
    update = plan_update(new.build(), around(known))
    assert update.denied is not None
    assert update.denied.message.startswith(f'Pod "p" is invalid: {message}')
    assert not update.removed
    assert not update.added


def test_a_pod_that_has_finished_does_not_run_again() -> None:
    done = replace(stored(), status=replace(stored().status, phase="Succeeded"))
    assert counts(plan_update(applied().build(), around(done))) == ("unchanged", 0, 0)
    update = plan_update(applied().labels(a="b").build(), around(done))
    assert counts(update) == ("changed", 0, 0)
    assert update.cluster.all(Pod)["default/p"].metadata.labels == {"a": "b"}
    assert update.cluster.all(Pod)["default/p"].status.phase == "Succeeded"


@pytest.mark.parametrize(
    ("bound", "up", "expected"),
    [(3, True, 3), ("25%", True, 3), ("25%", False, 2), (None, True, 3), ("none", True, 0), (0, True, 0)],
    ids=["number", "up", "down", "default", "neither", "zero"],
)
def test_bounds(bound: int | str | None, up: bool, expected: int) -> None:
    assert resolved(bound, 10, default="25%", round_up=up) == expected
