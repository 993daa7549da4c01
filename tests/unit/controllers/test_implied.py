"""ReplicaSets that a dump lacks."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.controllers.implied import implied_replica_sets
from kwhatif.model.cluster import Cluster
from kwhatif.model.workload import Deployment, ReplicaSet
from tests.fake_world import World
from tests.unit.controllers.test_deployment import CONTROLLERS, running, web, world


def without_replica_sets(found: World, *kept: str) -> Cluster:
    """The world's Deployment, its pods, and ReplicaSets of these images."""
    cluster = found.state.cluster
    sets = [each for each in cluster.all(ReplicaSet).values() if each.spec.template.spec.containers[0].image in kept]
    return Cluster([*cluster.all(Deployment).values(), *sets, *found.pods().values()])


def restarted(cluster: Cluster) -> World:
    """Controllers that see all of it, and what is implied, for the first time."""
    objects = [*cluster.all(Deployment).values(), *cluster.all(ReplicaSet).values(), *implied_replica_sets(cluster)]
    found = World(CONTROLLERS, *found_pods(cluster))
    for obj in objects:
        found.put(obj)
    return found.settle()


def found_pods(cluster: Cluster) -> list[object]:
    from kwhatif.model.pod import Pod

    return list(cluster.all(Pod).values())


def test_nothing_happens_where_nothing_has_to() -> None:
    cluster = without_replica_sets(world(web()))
    (implied,) = implied_replica_sets(cluster)
    assert implied.spec.replicas == 3
    assert implied.metadata.owner_references[0].name == "web"
    assert not restarted(cluster).writes


def test_missing_pods_are_made_by_it() -> None:
    before = world(web())
    before.gone(next(iter(before.pods())))
    found = restarted(without_replica_sets(before))
    assert running(found) == {"web:1": 3}
    assert not any(isinstance(write, ReplicaSet) for _, _, write in found.writes)


def test_a_rollout_under_way() -> None:
    before = world(web(10))
    before.wait(60).put(web(10, "web:2"))
    before.settle()
    cluster = without_replica_sets(before)
    old, new = implied_replica_sets(cluster)
    assert (old.spec.replicas, new.spec.replicas) == (8, 5)
    assert new.spec.template.spec.containers[0].image == "web:2"
    assert old.spec.template.spec.containers[0].image == "web:1"
    assert running(restarted(cluster)) == {"web:1": 8, "web:2": 5}


def test_those_that_are_there_are_not_implied() -> None:
    before = world(web(10))
    before.wait(60).put(web(10, "web:2"))
    before.settle()
    assert [each.spec.replicas for each in implied_replica_sets(without_replica_sets(before, "web:2"))] == [8]
    assert not list(implied_replica_sets(without_replica_sets(before, "web:1", "web:2")))
    plain = replace(web(), metadata=replace(web().metadata, name="other"))
    assert not list(implied_replica_sets(Cluster([plain])))
