"""The order in which a controller finds what it owns."""

from __future__ import annotations

from kwhatif.model.meta import ObjectMeta, OwnerReference
from kwhatif.model.pod import Pod, PodMeta
from kwhatif.model.workload import ReplicaSet, ReplicaSetMeta
from kwhatif.simulation.owned import Owned
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
