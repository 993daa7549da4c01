"""ReplicaSets and ReplicationControllers: who is replaced when, and who goes first."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers.contract import Create, DeletePod
from kwhatif.controllers.replica_set import CONTROLLERS
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.workload import (
    Deployment,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
    ReplicationController,
    ReplicationControllerSpec,
)
from tests.fake_cluster import FakeCluster

TEMPLATE = PodTemplateSpec(
    metadata=PodMeta(labels={"app": "web"}), spec=PodSpec(containers=(Container(name="main", image="web:1"),))
)


def replica_set(replicas: int, name: str = "web", **meta: Any) -> ReplicaSet:
    return ReplicaSet(
        metadata=ReplicaSetMeta(name=name, namespace="shop", uid=f"rs-{name}", **meta),
        spec=ReplicaSetSpec(replicas=replicas, selector=LabelSelector(match_labels={"app": "web"}), template=TEMPLATE),
    )


def world(replicas: int, **deny: Any) -> FakeCluster:
    """One in which that many pods run."""
    found = FakeCluster(CONTROLLERS, **deny)
    found.put(replica_set(replicas))
    found.settle().all_run()
    return found


def test_missing_pods_are_made() -> None:
    found = world(3)
    pods = list(found.pods().values())
    assert len(pods) == 3
    assert len({pod.metadata.name for pod in pods}) == 3
    assert all(pod.metadata.name.startswith("web-") and len(pod.metadata.name) == len("web-xxxxx") for pod in pods)
    assert {pod.metadata.owner_references for pod in pods} == {
        (OwnerReference(kind="ReplicaSet", name="web", uid="rs-web", api_version="apps/v1", controller=True),)
    }
    assert all(pod.spec.containers == TEMPLATE.spec.containers for pod in pods)


def test_no_more_than_500_in_one_sync() -> None:
    found = FakeCluster(CONTROLLERS, replica_set(1200))
    controller = CONTROLLERS[0]
    assert len(controller.sync("shop/web", found).writes) == 500
    found.put(replica_set(1200))
    assert len(found.settle().pods()) == 1200
    found.put(replica_set(0))
    assert len(controller.sync("shop/web", found).writes) == 500
    assert not found.settle().pods()


def test_a_pod_is_replaced_when_it_is_terminating() -> None:
    found = world(2)
    victim, other = found.pods()
    found.evict(victim)
    found.settle()
    assert len(found.pods()) == 3
    (fresh,) = found.pods().keys() - {victim, other}
    found.ends(victim)
    found.gone(victim)
    assert found.settle().pods().keys() == {other, fresh}


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_at_its_end_is_replaced_and_stays(phase: str) -> None:
    found = world(1)
    (ended,) = found.pods()
    found.ends(ended, phase)
    assert len(found.settle().pods()) == 2
    assert not any(isinstance(write, DeletePod) for write in found.writes)


def test_names_are_never_given_twice() -> None:
    found = world(1)
    names = set()
    for _ in range(5):
        (key,) = found.pods()
        assert key not in names
        names.add(key)
        found.gone(key)
        found.settle()


def test_nothing_is_made_for_one_that_is_being_deleted() -> None:
    found = FakeCluster(CONTROLLERS)
    found.put(replica_set(3, deletion_timestamp="2026-03-01T00:00:00Z"))
    assert not found.settle().writes


def test_no_number_means_one() -> None:
    found = FakeCluster(CONTROLLERS)
    plain = replica_set(1)
    found.put(replace(plain, spec=replace(plain.spec, replicas=None)))
    assert len(found.settle().pods()) == 1


def test_replication_controllers() -> None:
    found = FakeCluster(CONTROLLERS)
    found.put(
        ReplicationController(
            metadata=ObjectMeta(name="old", namespace="shop", uid="rc"),
            spec=ReplicationControllerSpec(replicas=2, selector={"app": "web"}, template=TEMPLATE),
        )
    )
    pods = found.settle().pods().values()
    assert [pod.metadata.owner_references[0].api_version for pod in pods] == ["v1", "v1"]


def test_what_is_refused_is_tried_again() -> None:
    full = [True]
    found = world(2, deny=lambda pod: full[0] and isinstance(pod, Pod))
    assert not found.pods()
    assert found.timers == {("ReplicaSet", "shop/web"): pytest.approx(0.005)}
    found.wait(0.005)
    assert found.timers == {("ReplicaSet", "shop/web"): pytest.approx(0.015)}
    found.wait(2000)
    (due,) = found.timers.values()
    assert due - found.now <= 1000
    full[0] = False
    found.wait(1000)
    assert len(found.pods()) == 2
    full[0] = True
    found.gone(next(iter(found.pods())))
    found.settle()
    # It begins anew.
    assert found.timers == {("ReplicaSet", "shop/web"): pytest.approx(found.now + 0.005)}


def test_as_many_as_the_quota_has_room_for() -> None:
    found: FakeCluster
    found = FakeCluster(CONTROLLERS, deny=lambda pod: len(found.pods()) >= 3)
    found.put(replica_set(5))
    assert len(found.settle().pods()) == 3
    first = next(iter(found.pods()))
    found.gone(first)
    # A pod's end is an event of its ReplicaSet: it does not wait for the timer.
    assert len(found.settle().pods()) == 3


def test_the_pods_of_all_replica_sets_of_a_deployment_count_as_neighbours() -> None:
    owner = OwnerReference(kind="Deployment", name="web", uid="d", api_version="apps/v1", controller=True)
    found = FakeCluster(CONTROLLERS, Deployment(metadata=ObjectMeta(name="web", namespace="shop", uid="d")))
    found.put(replica_set(2, owner_references=(owner,)))
    found.settle()
    first, second = found.pods()
    found.runs(first, node="n1")
    found.runs(second, node="n2")
    found.put(replica_set(1, "web-new", owner_references=(owner,)))
    found.settle().all_run(node="n1")
    found.put(replica_set(1, owner_references=(owner,)))
    found.settle()
    assert [write.key for write in found.writes if isinstance(write, DeletePod)] == [first]


def test_events_that_change_nothing_are_not_synced() -> None:
    found = world(1)
    (key,) = found.pods()
    before = found.pod(key)
    bound = replace(before, spec=replace(before.spec, node_name="n2"))
    assert not list(CONTROLLERS[0].concerns(before, bound, found))
    ended = replace(before, status=replace(before.status, phase="Failed"))
    assert list(CONTROLLERS[0].concerns(before, ended, found)) == ["shop/web"]
    assert list(CONTROLLERS[0].concerns(before, None, found)) == ["shop/web"]
    assert not list(CONTROLLERS[1].concerns(before, None, found))


def test_writes_are_creates_in_order() -> None:
    found = FakeCluster(CONTROLLERS, replica_set(3))
    writes = CONTROLLERS[0].sync("shop/web", found).writes
    assert all(isinstance(write, Create) for write in writes)
    assert not CONTROLLERS[0].sync("shop/gone", found).writes
