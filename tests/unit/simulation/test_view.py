"""The order in which a controller finds what it owns."""

from msgspec.structs import replace

from kwhatif.kube.model.meta import ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodMeta
from kwhatif.kube.model.workload import ReplicaSet, ReplicaSetMeta
from kwhatif.simulation.view import Owned
from tests.builders import cluster


def owned(name: str, created: str | None) -> Pod:
    owner = OwnerReference(kind="ReplicaSet", name="web", controller=True)
    meta = PodMeta(name=name, namespace="shop", creation_timestamp=created, owner_references=(owner,))
    assert isinstance(meta, ObjectMeta)
    return Pod(metadata=meta)


def test_pods_come_in_the_order_of_their_creation() -> None:
    replica_set = ReplicaSet(metadata=ReplicaSetMeta(name="web", namespace="shop"))
    pods = (
        owned("d", "2026-01-01T00:00:01Z"),
        owned("b", "2026-01-01T00:00:00.5Z"),
        owned("c", "2026-01-01T00:00:00Z"),
        owned("e", "2026-01-01T01:00:00.25+01:00"),
        owned("a", None),
    )
    found = Owned(cluster(replica_set, *pods)).of(replica_set, Pod)
    assert [pod.metadata.name for pod in found] == ["a", "c", "e", "b", "d"]


def test_active_pods_are_counted_as_they_come_and_go() -> None:
    replica_set = ReplicaSet(metadata=ReplicaSetMeta(name="web", namespace="shop", uid="1"))
    pods = [owned(name, None) for name in "abc"]
    known = Owned(cluster(replica_set, *pods))
    assert known.count_active(replica_set) == 3
    fork = known.fork(cluster(replica_set, *pods))
    ending = replace(pods[0], metadata=replace(pods[0].metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
    known.changed(pods[0], ending)
    assert known.count_active(replica_set) == 2
    known.changed(ending, None)
    known.changed(None, owned("d", None))
    known.changed(pods[1], replace(pods[1], status=replace(pods[1].status, phase="Failed")))
    assert known.count_active(replica_set) == 2
    anothers = owned("e", None)
    other = replace(anothers.metadata.owner_references[0], uid="2")
    known.changed(None, replace(anothers, metadata=replace(anothers.metadata, owner_references=(other,))))
    assert known.count_active(replica_set) == 2
    assert known.count_active(replace(replica_set, metadata=replace(replica_set.metadata, uid=""))) == 3
    assert fork.count_active(replica_set) == 3
