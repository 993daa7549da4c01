"""What goes with its owner, and what stays."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers import garbage
from kwhatif.controllers.catalog import reacting_controllers
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec, PodStatus
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.storage import ClaimVolumeSource, PersistentVolumeClaim, Volume
from kwhatif.kube.model.workload import (
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicationController,
    StatefulSet,
)
from tests.builders import node
from tests.fake_cluster import FakeCluster


def reference(kind: str, uid: str = "u", *, controller: bool = True) -> OwnerReference:
    return OwnerReference(kind=kind, name="web", uid=uid, controller=controller)


def pod(*owners: OwnerReference, name: str = "p", node: str = "n1") -> Pod:
    return Pod(
        metadata=PodMeta(name=name, namespace="shop", uid=name, owner_references=owners),
        spec=PodSpec(
            node_name=node,
            containers=(Container(name="main"),),
            volumes=(Volume(name="data", persistent_volume_claim=ClaimVolumeSource(claim_name="data")),),
        ),
        status=PodStatus(phase="Running"),
    )


def claim(*owners: OwnerReference) -> PersistentVolumeClaim:
    return PersistentVolumeClaim(metadata=AnnotatedMeta(name="data", namespace="shop", owner_references=owners))


def without(owner: Any, *objects: Any) -> FakeCluster:
    """A world that the owner has gone from."""
    found = FakeCluster(garbage.CONTROLLERS, node("n1").build(), owner, *objects)
    found.remove(type(owner), "shop/web")
    return found.settle()


META = ObjectMeta(name="web", namespace="shop", uid="u")


@pytest.mark.parametrize("kind", [ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Job])
def test_pods_go_with_their_owner(kind: Any) -> None:
    found = without(kind(metadata=META), pod(reference(kind.__name__)), pod(name="q"))
    assert found.pod("shop/p").metadata.deletion_timestamp
    assert not found.pod("shop/q").metadata.deletion_timestamp
    assert [getattr(write, "how", None) for write in found.writes] == ["Garbage"]


@pytest.mark.parametrize(
    "owners",
    [
        (reference("ReplicaSet", "another"),),
        (reference("ReplicaSet"), reference("Backup", "b", controller=False)),
        (reference("StatefulSet"),),
    ],
)
def test_what_belongs_to_others_stays(owners: tuple[OwnerReference, ...]) -> None:
    assert not without(ReplicaSet(metadata=ReplicaSetMeta(name="web", namespace="shop", uid="u")), pod(*owners)).writes


def test_owners_that_were_never_there_are_not_gone() -> None:
    found = FakeCluster(garbage.CONTROLLERS, node("n1").build())
    found.put(pod(reference("ReplicaSet")))
    assert not found.settle().writes


def test_a_deployment_with_all_it_has() -> None:
    from tests.unit.controllers.test_deployment import web

    found = FakeCluster(reacting_controllers())
    found.put(web())
    found.settle().all_run()
    found.settle().remove(Deployment, "shop/web")
    found.settle()
    assert not found.state.cluster.all(ReplicaSet)
    assert all(pod.metadata.deletion_timestamp for pod in found.pods().values())
    assert len(found.pods()) == 3


def test_claims_wait_for_the_pods_that_use_them() -> None:
    found = without(StatefulSet(metadata=META), pod(reference("StatefulSet")), claim(reference("StatefulSet")))
    kept = found.state.cluster.all(PersistentVolumeClaim)["shop/data"]
    assert kept.metadata.deletion_timestamp
    found.ends("shop/p")
    assert not found.settle().state.cluster.all(PersistentVolumeClaim)


def test_a_claim_that_nobody_uses_goes_at_once() -> None:
    owner = replace(pod(), metadata=PodMeta(name="web", namespace="shop", uid="u"))
    found = without(owner, claim(reference("Pod")))
    assert not found.state.cluster.all(PersistentVolumeClaim)
