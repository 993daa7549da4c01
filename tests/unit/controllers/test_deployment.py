"""Deployments: rollouts, scaling, pausing and history, with the ReplicaSets' own controller."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers import deployment, replica_set
from kwhatif.controllers.contract import NOTHING, Create, Remove, Update, View
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.workload import Deployment, DeploymentSpec, ReplicaSet, RollingUpdate, UpdateStrategy
from kwhatif.workloads.removal import is_active
from tests.fake_cluster import FakeCluster

CONTROLLERS = (*deployment.CONTROLLERS, *replica_set.CONTROLLERS)
RECREATE = UpdateStrategy(type="Recreate")


@pytest.fixture(autouse=True)
def _steady_means_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test plays: a Deployment that is left out would have written nothing, and waited for nothing."""
    is_steady = deployment._is_steady

    def checked(one: Deployment, view: View) -> bool:
        found = is_steady(one, view)
        assert not found or deployment._Sync(one, view).outcome() == NOTHING
        return found

    monkeypatch.setattr(deployment, "_is_steady", checked)


def web(replicas: int = 3, image: str = "web:1", **spec: Any) -> Deployment:
    template = PodTemplateSpec(
        metadata=PodMeta(labels={"app": "web"}), spec=PodSpec(containers=(Container(name="main", image=image),))
    )
    return Deployment(
        metadata=ObjectMeta(name="web", namespace="shop", uid="d"),
        spec=DeploymentSpec(
            replicas=replicas, selector=LabelSelector(match_labels={"app": "web"}), template=template, **spec
        ),
    )


def rolling(surge: int | str | None = None, unavailable: int | str | None = None) -> UpdateStrategy:
    return UpdateStrategy(
        type="RollingUpdate", rolling_update=RollingUpdate(max_surge=surge, max_unavailable=unavailable)
    )


def world(first: Deployment, **kwargs: Any) -> FakeCluster:
    """One in which it is rolled out, for a minute."""
    found = FakeCluster(CONTROLLERS, **kwargs)
    found.put(first)
    found.settle().all_run()
    found.settle().wait(60)
    return found


def sizes(found: FakeCluster) -> dict[str, int]:
    """Image -> replicas, of ReplicaSets that have some."""
    sets = found.state.cluster.all(ReplicaSet).values()
    return {image(each): each.spec.replicas for each in sets if each.spec.replicas}


def image(replica_set: ReplicaSet) -> str:
    assert replica_set.spec.template is not None
    return replica_set.spec.template.spec.containers[0].image


def running(found: FakeCluster) -> dict[str, int]:
    images = [pod.spec.containers[0].image for pod in found.pods().values() if is_active(pod)]
    return {image: images.count(image) for image in images}


def end_terminating(found: FakeCluster) -> None:
    """Whatever is being deleted is gone."""
    for key, pod in found.pods().items():
        if pod.metadata.deletion_timestamp is not None:
            found.ends(key)
            found.gone(key)


def play(found: FakeCluster) -> list[dict[str, int]]:
    """All pods that are made get ready, until nothing changes; the sizes of the ReplicaSets on the way."""
    seen = [sizes(found)]
    for _ in range(100):
        found.all_run()
        end_terminating(found)
        found.settle()
        if sizes(found) == seen[-1]:
            return seen
        seen.append(sizes(found))
        found.wait(1)
    raise AssertionError("never ends")


def test_a_new_one() -> None:
    found = world(web())
    (owned,) = found.state.cluster.all(ReplicaSet).values()
    hash_ = owned.metadata.name.removeprefix("web-")
    assert owned.metadata.labels == {"app": "web", "pod-template-hash": hash_}
    assert owned.spec.selector == LabelSelector(match_labels=owned.metadata.labels)
    assert owned.spec.template is not None
    assert owned.spec.template.metadata.labels == owned.metadata.labels
    notes = owned.metadata.annotations
    assert (notes.desired_replicas, notes.max_replicas, notes.revision) == ("3", "4", "1")
    assert len(found.pods()) == 3
    assert all(pod.metadata.labels == owned.metadata.labels for pod in found.pods().values())


@pytest.mark.parametrize(
    ("replicas", "strategy", "first", "last"),
    [
        (10, rolling(), {"web:1": 8, "web:2": 5}, {"web:2": 10}),
        (3, rolling(), {"web:1": 3, "web:2": 1}, {"web:2": 3}),
        (4, rolling(0, 1), {"web:1": 3, "web:2": 1}, {"web:2": 4}),
        (4, rolling("100%", 0), {"web:1": 4, "web:2": 4}, {"web:2": 4}),
        (1, UpdateStrategy(), {"web:1": 1, "web:2": 1}, {"web:2": 1}),
    ],
)
def test_rollouts(replicas: int, strategy: UpdateStrategy, first: dict[str, int], last: dict[str, int]) -> None:
    found = world(web(replicas, strategy=strategy))
    found.put(web(replicas, "web:2", strategy=strategy))
    found.settle()
    assert sizes(found) == first
    assert play(found)[-1] == last
    assert running(found) == last


def test_a_rollout_of_pods_that_never_get_ready_stands_still() -> None:
    found = world(web(10))
    found.put(web(10, "web:2"))
    found.settle()
    found.runs(*(key for key, pod in found.pods().items() if pod.status.phase == "Pending"), ready=False)
    found.settle().wait(3600)
    assert sizes(found) == {"web:1": 8, "web:2": 5}
    assert running(found) == {"web:1": 8, "web:2": 5}
    # The fixed template: those that are not available go first.
    found.put(web(10, "web:3"))
    found.settle()
    assert play(found)[-1] == {"web:3": 10}


def test_going_back() -> None:
    found = world(web(4))
    (first,) = found.state.cluster.all(ReplicaSet)
    found.put(web(4, "web:2"))
    found.settle()
    found.put(web(4))
    found.settle()
    assert play(found)[-1] == {"web:1": 4}
    assert found.state.cluster.all(ReplicaSet)[first].metadata.annotations.revision == "3"


def test_a_changed_number_comes_before_a_changed_template() -> None:
    found = world(web(2, strategy=rolling(1, 0)))
    found.put(web(4, "web:2", strategy=rolling(1, 0)))
    found.settle()
    updates = [write.obj.spec.replicas for write in found.writes if isinstance(write, Update)]
    assert updates[0] == 4
    assert sizes(found) == {"web:1": 4, "web:2": 1}
    assert running(found) == {"web:1": 4, "web:2": 1}


def test_scaling_during_a_rollout_is_in_proportion() -> None:
    found = world(web(10))
    found.put(web(10, "web:2"))
    found.settle()
    assert sizes(found) == {"web:1": 8, "web:2": 5}
    found.put(web(20, "web:2"))
    found.settle()
    # 25 pods at most: 8·25/13 is 15.4, 5·25/13 is 9.6.
    assert sizes(found) == {"web:1": 15, "web:2": 10}
    found.put(web(4, "web:2"))
    found.settle()
    assert sum(sizes(found).values()) <= 5


def test_scaling_to_nothing() -> None:
    found = world(web(5))
    found.put(web(0))
    found.settle()
    end_terminating(found)
    assert not found.settle().pods()
    found.put(web(2))
    assert len(found.settle().pods()) == 2


def test_a_paused_one_scales_and_does_not_roll() -> None:
    found = world(web(2))
    found.put(web(3, "web:2", paused=True))
    found.settle()
    assert running(found) == {"web:1": 3}
    found.put(web(3, "web:2"))
    found.settle()
    assert play(found)[-1] == {"web:2": 3}


def test_recreate_waits_until_the_old_pods_are_at_their_end() -> None:
    found = world(web(2, strategy=RECREATE))
    found.put(web(2, "web:2", strategy=RECREATE))
    found.settle()
    first, second = (key for key, pod in found.pods().items() if pod.metadata.deletion_timestamp)
    assert running(found) == {}
    found.ends(first)
    found.gone(first)
    assert running(found.settle()) == {}
    found.ends(second)
    # It need not be gone.
    assert running(found.settle()) == {"web:2": 2}


def test_recreate_of_a_new_one_and_scaling() -> None:
    found = world(web(2, strategy=RECREATE))
    assert running(found) == {"web:1": 2}
    found.put(web(4, strategy=RECREATE))
    assert running(found.settle()) == {"web:1": 4}


def test_available_only_after_min_ready_seconds() -> None:
    strategy = rolling(1, 0)
    found = world(web(1, strategy=strategy, min_ready_seconds=10))
    found.put(web(1, "web:2", strategy=strategy, min_ready_seconds=10))
    found.settle().all_run()
    found.settle()
    assert found.timers["Deployment", "shop/web"] == found.now + 10
    found.wait(9.5)
    assert running(found) == {"web:1": 1, "web:2": 1}
    found.wait(1)
    assert running(found) == {"web:2": 1}


def test_old_replica_sets_beyond_the_limit_go() -> None:
    found = world(web(1, revision_history_limit=2))
    for number in range(2, 7):
        found.put(web(1, f"web:{number}", revision_history_limit=2))
        found.settle()
        play(found)
    left = {image(each) for each in found.state.cluster.all(ReplicaSet).values()}
    assert left == {"web:4", "web:5", "web:6"}
    assert sum(isinstance(write, Remove) for write in found.writes) == 3


def test_an_evicted_pod_comes_back_at_its_own_revision() -> None:
    found = world(web(10))
    found.put(web(10, "web:2"))
    found.settle()
    old = next(key for key, pod in found.pods().items() if pod.spec.containers[0].image == "web:1" and is_active(pod))
    found.evict(old)
    found.settle()
    assert running(found) == {"web:1": 8, "web:2": 5}


def test_nothing_changes_where_nothing_has_to() -> None:
    found = world(web(3))
    before = len(found.writes)
    found.put(replace(web(3), metadata=replace(web(3).metadata, labels={"team": "shop"})))
    found.settle()
    assert len(found.writes) == before


def test_one_that_selects_all_has_no_template_or_is_being_deleted_is_left_alone() -> None:
    found = FakeCluster(CONTROLLERS)
    everything = web()
    found.put(replace(everything, spec=replace(everything.spec, selector=LabelSelector())))
    found.put(
        replace(everything, metadata=replace(everything.metadata, name="b", deletion_timestamp="2026-03-01T00:00:00Z"))
    )
    found.put(
        replace(
            everything, metadata=replace(everything.metadata, name="c"), spec=replace(everything.spec, template=None)
        )
    )
    assert not found.settle().writes


def test_a_quota_for_replica_sets() -> None:
    full = [True]
    found = FakeCluster(CONTROLLERS, deny=lambda obj: full[0] and isinstance(obj, ReplicaSet))
    found.put(web())
    found.settle()
    assert not found.pods()
    full[0] = False
    found.wait(1)
    assert len(found.pods()) == 3


def test_replica_sets_without_annotations_are_no_scaling_event() -> None:
    found = world(web(2))
    (owned,) = found.state.cluster.all(ReplicaSet).values()
    plain = replace(owned.metadata, annotations=type(owned.metadata.annotations)())
    found.put(replace(owned, metadata=plain))
    found.put(web(4, "web:2"))
    found.settle()
    created = [write.obj for write in found.writes if isinstance(write, Create)]
    assert [obj.spec.replicas for obj in created if isinstance(obj, ReplicaSet)] == [2, 3]
    assert all(isinstance(obj, Pod | ReplicaSet) for obj in created)
