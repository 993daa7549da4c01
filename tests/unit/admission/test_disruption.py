"""The status that the disruption controller would write for a budget."""

from collections.abc import Sequence
from typing import Any

import pytest

from kwhatif.admission.disruption import SyncFailed, budget_status
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, OwnerReference, Requirement
from kwhatif.kube.model.pod import PodCondition
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from kwhatif.kube.model.workload import (
    DaemonSet,
    Deployment,
    DeploymentSpec,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
    ReplicationController,
    ReplicationControllerSpec,
    StatefulSet,
    StatefulSetSpec,
)
from tests.builders import PodBuilder, cluster, pod, selector

WEB = selector(app="web")


def web(name: str, ready: bool | None = True) -> PodBuilder:
    made = pod(name, "shop").labels(app="web")
    if ready is None:
        return made
    return made.status(conditions=(PodCondition(type="Ready", status="True" if ready else "False"),))


def owned(count: int, kind: str, name: str, api_version: str = "apps/v1") -> list[PodBuilder]:
    return [web(f"{name}-{index}").owner(kind, name, api_version) for index in range(count)]


def meta(name: str, owner: OwnerReference | None = None) -> ObjectMeta:
    return ObjectMeta(name=name, namespace="shop", uid=f"uid-{name}", owner_references=(owner,) if owner else ())


def deployment(name: str, replicas: int | None) -> Deployment:
    return Deployment(metadata=meta(name), spec=DeploymentSpec(replicas=replicas))


def replica_set(name: str, replicas: int, of: str = "", uid: str | None = None) -> ReplicaSet:
    owner = OwnerReference(kind="Deployment", name=of, uid=uid or f"uid-{of}", api_version="apps/v1", controller=True)
    owners = (owner,) if of else ()
    metadata = ReplicaSetMeta(name=name, namespace="shop", uid=f"uid-{name}", owner_references=owners)
    return ReplicaSet(metadata=metadata, spec=ReplicaSetSpec(replicas=replicas))


def budget(label_selector: LabelSelector | None = WEB, **spec: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="web", namespace="shop"), spec=PodDisruptionBudgetSpec(selector=label_selector, **spec)
    )


def status(allowed: int, healthy: int, desired: int, expected: int) -> PodDisruptionBudgetStatus:
    return PodDisruptionBudgetStatus(
        disruptions_allowed=allowed, current_healthy=healthy, desired_healthy=desired, expected_pods=expected
    )


Objects = Sequence[KubernetesObject | PodBuilder]

THREE: Objects = [web("a"), web("b"), web("c")]
SET: Objects = [replica_set("rs", 3, of="d"), deployment("d", 4), *owned(3, "ReplicaSet", "rs")]

CASES: dict[str, tuple[PodDisruptionBudget, Objects, PodDisruptionBudgetStatus]] = {
    "a number of pods must stay": (budget(min_available=2), THREE, status(1, 3, 2, 3)),
    "fewer than that are there": (budget(min_available=5), THREE, status(0, 3, 5, 3)),
    "no pods": (budget(min_available=0), [], status(0, 0, 0, 0)),
    "pods that are not ready are not healthy": (
        budget(min_available=1),
        [web("a"), web("b", ready=False), web("c", ready=None)],
        status(0, 1, 1, 3),
    ),
    "nor are those being deleted": (budget(min_available=1), [web("a"), web("b").terminating()], status(0, 1, 1, 2)),
    "finished pods are expected, too": (
        budget(min_available=1),
        [web("a"), web("b", ready=False).status(phase="Succeeded")],
        status(0, 1, 1, 2),
    ),
    "other pods and namespaces do not count": (
        budget(min_available=1),
        [*THREE, pod("x", "shop"), pod("y").labels(app="web")],
        status(2, 3, 1, 3),
    ),
    "a missing selector selects nothing": (budget(None, min_available=1), THREE, status(0, 0, 1, 0)),
    "an empty one everything": (
        budget(LabelSelector(), min_available=1),
        [*THREE, pod("x", "shop")],
        status(2, 3, 1, 4),
    ),
    "unavailable, of a Deployment's scale": (budget(max_unavailable=1), SET, status(0, 3, 3, 4)),
    "unavailable, more than there should be": (budget(max_unavailable=9), SET, status(3, 3, 0, 4)),
    "a percentage unavailable is rounded up": (budget(max_unavailable="30%"), SET, status(1, 3, 2, 4)),
    "a percentage available is rounded up": (budget(min_available="30%"), SET, status(1, 3, 2, 4)),
    "both are given: unavailable counts": (budget(max_unavailable=1, min_available=1), SET, status(0, 3, 3, 4)),
    "neither is given": (budget(), SET, status(0, 3, 0, 0)),
    "a ReplicaSet on its own": (
        budget(max_unavailable=1),
        [replica_set("rs", 3), *owned(3, "ReplicaSet", "rs")],
        status(1, 3, 2, 3),
    ),
    "a ReplicaSet whose Deployment is gone": (
        budget(max_unavailable=1),
        [replica_set("rs", 3, of="d"), *owned(3, "ReplicaSet", "rs")],
        status(1, 3, 2, 3),
    ),
    "a ReplicaSet whose Deployment is another one by now": (
        budget(max_unavailable=1),
        [replica_set("rs", 3, of="d", uid="old"), deployment("d", 9), *owned(3, "ReplicaSet", "rs")],
        status(1, 3, 2, 3),
    ),
    "two ReplicaSets of one Deployment count once": (
        budget(max_unavailable=1),
        [replica_set("old", 1, of="d"), *owned(1, "ReplicaSet", "old"), *SET],
        status(1, 4, 3, 4),
    ),
    "several controllers add up": (
        budget(max_unavailable=1),
        [
            StatefulSet(metadata=meta("db"), spec=StatefulSetSpec(replicas=2)),
            ReplicationController(metadata=meta("rc"), spec=ReplicationControllerSpec(replicas=1)),
            *owned(2, "StatefulSet", "db"),
            *owned(1, "ReplicationController", "rc", "v1"),
        ],
        status(1, 3, 2, 3),
    ),
    "replicas that are not given are 1": (
        budget(max_unavailable=0),
        [deployment("d", None), *owned(1, "Deployment", "d")],
        status(0, 1, 1, 1),
    ),
    "pods without a controller are not expected": (budget(max_unavailable=1), [*THREE, *SET], status(3, 6, 3, 4)),
    "only such pods": (budget(max_unavailable=1), THREE, status(0, 3, 0, 0)),
}


@pytest.mark.parametrize(("given", "objects", "expected"), CASES.values(), ids=CASES.keys())
def test_status(given: PodDisruptionBudget, objects: Objects, expected: PodDisruptionBudgetStatus) -> None:
    assert budget_status(given, cluster(*objects)) == expected


FAILURES: dict[str, tuple[PodDisruptionBudget, Objects, SyncFailed]] = {
    "the controller is not there": (
        budget(max_unavailable=1),
        [*owned(1, "ReplicaSet", "rs")],
        SyncFailed('found no controllers for pod "rs-0"', "ReplicaSet shop/rs"),
    ),
    "the controller of that name is another one": (
        budget(min_available="50%"),
        [
            StatefulSet(metadata=ObjectMeta(name="db", namespace="shop", uid="new")),
            *owned(1, "StatefulSet", "db"),
        ],
        SyncFailed('found no controllers for pod "db-0"', "StatefulSet shop/db"),
    ),
    "a DaemonSet has no scale": (
        budget(max_unavailable=1),
        [DaemonSet(metadata=meta("ds")), *owned(1, "DaemonSet", "ds")],
        SyncFailed("daemonsets.apps does not implement the scale subresource"),
    ),
    "a Job has no scale, whether or not it is there": (
        budget(max_unavailable=1),
        [*owned(1, "Job", "job", "batch/v1")],
        SyncFailed("jobs.batch does not implement the scale subresource"),
    ),
    "nor has the node that a static pod belongs to": (
        budget(max_unavailable=1),
        [*owned(1, "Node", "n1", "v1")],
        SyncFailed("nodes does not implement the scale subresource"),
    ),
    "a custom controller that shares a name": (
        budget(max_unavailable=1),
        [replica_set("rs", 3), *owned(1, "ReplicaSet", "rs", "apps.example.com/v1")],
        SyncFailed('found no controllers for pod "rs-0"', "ReplicaSet shop/rs"),
    ),
    "a bound that is no number": (
        budget(max_unavailable="some"),
        SET,
        SyncFailed("cannot read 'some': neither a number nor a percentage"),
    ),
    "a selector that is not valid": (
        budget(LabelSelector(match_expressions=(Requirement(key="a", operator="Is"),)), min_available=1),
        THREE,
        SyncFailed('cannot read the selector: "Is" is not a valid label selector operator'),
    ),
}


@pytest.mark.parametrize(("given", "objects", "expected"), FAILURES.values(), ids=FAILURES.keys())
def test_no_status(given: PodDisruptionBudget, objects: Objects, expected: SyncFailed) -> None:
    assert budget_status(given, cluster(*objects)) == expected


def test_a_daemon_set_does_not_matter_where_a_number_is_given() -> None:
    assert budget_status(budget(min_available=1), cluster(*owned(2, "DaemonSet", "ds"))) == status(1, 2, 1, 2)


def test_without_uids_names_decide() -> None:
    sets = ReplicaSet(metadata=ReplicaSetMeta(name="rs", namespace="shop"), spec=ReplicaSetSpec(replicas=2))
    assert budget_status(budget(max_unavailable=1), cluster(sets, *owned(2, "ReplicaSet", "rs"))) == status(1, 2, 1, 2)
