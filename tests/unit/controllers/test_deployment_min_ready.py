"""`minReadySeconds` of a Deployment: it reaches the ReplicaSet that is there, and pods are waited for that long."""

import pytest

from kwhatif.kube.model.workload import ReplicaSet
from tests.fake_cluster import FakeCluster
from tests.unit.controllers.test_deployment import rolling, web, world


def ready_seconds(at: FakeCluster) -> list[int]:
    return [each.spec.min_ready_seconds for each in at.state.cluster.all(ReplicaSet).values()]


def changed(seconds: int, before: int = 0) -> FakeCluster:
    """A Deployment that has long been rolled out, and now says something else."""
    at = world(web(min_ready_seconds=before))
    at.put(web(min_ready_seconds=seconds))
    return at


@pytest.mark.parametrize(("before", "after"), [(0, 10), (10, 0), (10, 5)])
def test_it_reaches_the_replica_set_that_is_there(before: int, after: int) -> None:
    at = changed(after, before)
    at.settle()
    assert ready_seconds(at) == [after]


SURGE = rolling(surge=1, unavailable=0)


def started(min_ready_seconds: int) -> FakeCluster:
    """A rollout of two pods, of which the first new one is ready since now."""
    at = world(web(2, strategy=SURGE))
    at.put(web(2, "web:2", strategy=SURGE, min_ready_seconds=min_ready_seconds))
    at.settle()
    at.all_run()
    at.settle()
    return at


def test_the_next_pod_comes_once_the_one_before_it_is_available() -> None:
    at = started(20)
    at.wait(19)
    assert sizes(at) == {"web:1": 2, "web:2": 1}
    at.wait(1)
    assert sizes(at) == {"web:1": 1, "web:2": 2}


def test_less_time_makes_pods_available_at_once() -> None:
    at = started(500)
    at.wait(10)
    assert sizes(at) == {"web:1": 2, "web:2": 1}
    at.put(web(2, "web:2", strategy=SURGE, min_ready_seconds=5))
    at.settle()
    assert sizes(at) == {"web:1": 1, "web:2": 2}


def sizes(at: FakeCluster) -> dict[str, int]:
    """How many pods each ReplicaSet is to have, by its image."""
    return {
        each.spec.template.spec.containers[0].image: each.spec.replicas or 0
        for each in at.state.cluster.all(ReplicaSet).values()
        if each.spec.template is not None
    }
