"""Claims that are made for pods, bound, and released."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers import claims, garbage
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodMeta, PodResourceClaim, PodSpec, PodStatus
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.resource import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    ResourceClaimTemplate,
)
from kwhatif.kube.model.storage import (
    ClaimTemplate,
    EphemeralVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    StorageRequirements,
    Volume,
)
from tests.builders import node
from tests.fake_cluster import FakeCluster

CONTROLLERS = (*garbage.CONTROLLERS, *claims.FOR_CLAIMS)
SCRATCH = Volume(name="scratch", ephemeral=EphemeralVolumeSource(volume_claim_template=ClaimTemplate()))
GPU = PodResourceClaim(name="gpu", resource_claim_template_name="gpu")
TEMPLATE = ResourceClaimTemplate(metadata=ObjectMeta(name="gpu", namespace="shop"))


def pod(uid: str = "p", node: str = "", **spec: Any) -> Pod:
    return Pod(
        metadata=PodMeta(name="web", namespace="shop", uid=uid),
        spec=PodSpec(containers=(Container(name="main"),), node_name=node, **spec),
        status=PodStatus(phase="Pending"),
    )


def all_of(found: FakeCluster, kind: type) -> list[str]:
    return list(found.state.cluster.all(kind))


def test_ephemeral_volumes() -> None:
    found = FakeCluster(CONTROLLERS, node("n1").build())
    found.put(pod(volumes=(SCRATCH,)))
    (claim,) = found.settle().state.cluster.all(PersistentVolumeClaim).values()
    assert claim.metadata.name == "web-scratch"
    assert claim.metadata.owner_references[0].uid == "p"
    found.gone("shop/web")
    found.put(pod("again", volumes=(SCRATCH,)))
    # The one before has to go; then the new pod gets its own.
    (claim,) = found.settle().state.cluster.all(PersistentVolumeClaim).values()
    assert claim.metadata.owner_references[0].uid == "again"


def test_what_is_refused_is_tried_again() -> None:
    full = [True]
    found = FakeCluster(CONTROLLERS, TEMPLATE, deny=lambda obj: full[0])
    found.put(pod(volumes=(SCRATCH,), resource_claims=(GPU,)))
    found.settle()
    full[0] = False
    found.wait(1)
    assert all_of(found, PersistentVolumeClaim) == ["shop/web-scratch"]
    assert len(all_of(found, ResourceClaim)) == 1


@pytest.mark.parametrize("late", [False, True])
def test_resource_claims_of_templates(*, late: bool) -> None:
    found = FakeCluster(CONTROLLERS, *([] if late else [TEMPLATE]))
    found.put(pod(resource_claims=(GPU,)))
    found.settle()
    if late:
        assert not all_of(found, ResourceClaim)
        found.put(TEMPLATE)
    (key,) = all_of(found.settle(), ResourceClaim)
    (status,) = found.pod("shop/web").status.resource_claim_statuses
    assert (status.name, f"shop/{status.resource_claim_name}") == ("gpu", key)
    found.gone("shop/web")
    assert not all_of(found.settle(), ResourceClaim)


def shared(*users: str) -> ResourceClaim:
    return ResourceClaim(
        metadata=AnnotatedMeta(name="gpu", namespace="shop"),
        status=ResourceClaimStatus(
            allocation=AllocationResult(),
            reserved_for=tuple(ResourceClaimConsumerReference(resource="pods", name=user, uid=user) for user in users),
        ),
    )


def named(name: str) -> Pod:
    made = pod(name, "n1", resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="gpu"),))
    return replace(made, metadata=replace(made.metadata, name=name))


def test_devices_are_released_when_the_last_pod_has_ended() -> None:
    found = FakeCluster(CONTROLLERS, node("n1").build(), shared("a", "b"), named("a"), named("b"))
    found.evict("shop/a")
    assert found.settle().state.cluster.all(ResourceClaim)["shop/gpu"] == shared("a", "b")
    found.ends("shop/a")
    assert found.settle().state.cluster.all(ResourceClaim)["shop/gpu"] == shared("b")
    found.gone("shop/b")
    assert found.settle().state.cluster.all(ResourceClaim)["shop/gpu"].status == ResourceClaimStatus()


def test_a_claim_that_was_made_for_a_pod_goes_when_it_has_ended() -> None:
    owner = OwnerReference(kind="Pod", name="a", uid="a", controller=True)
    made = replace(shared("a"), metadata=replace(shared().metadata, owner_references=(owner,)))
    found = FakeCluster(CONTROLLERS, node("n1").build(), made, named("a"))
    found.ends("shop/a", "Succeeded")
    assert not all_of(found.settle(), ResourceClaim)


def storage_class(**fields: Any) -> StorageClass:
    return StorageClass(metadata=AnnotatedMeta(name="fast"), provisioner="disks.example.com", **fields)


def claim(name: str = "data", created: str | None = "2026-03-01T00:00:00Z") -> PersistentVolumeClaim:
    return PersistentVolumeClaim(
        metadata=AnnotatedMeta(name=name, namespace="shop", uid=name, creation_timestamp=created),
        spec=PersistentVolumeClaimSpec(
            storage_class_name="fast",
            volume_mode="Filesystem",
            access_modes=("ReadWriteOnce",),
            resources=StorageRequirements(requests={"storage": "1Gi"}),
        ),
    )


VOLUME = PersistentVolume(
    metadata=AnnotatedMeta(name="disk"),
    status=PersistentVolumeStatus(phase="Available"),
    spec=PersistentVolumeSpec(
        storage_class_name="fast",
        access_modes=("ReadWriteOnce",),
        capacity={"storage": "2Gi"},
        volume_mode="Filesystem",
    ),
)


def test_a_claim_is_bound_at_once() -> None:
    found = FakeCluster(CONTROLLERS, storage_class(), VOLUME)
    found.put(claim())
    bound = found.settle().state.cluster.all(PersistentVolumeClaim)["shop/data"]
    assert (bound.spec.volume_name, bound.status.phase) == ("disk", "Bound")
    taken = found.state.cluster.all(PersistentVolume)["disk"].spec.claim_ref
    assert taken is not None
    assert taken.name == "data"
    found.put(claim("more"))
    assert found.settle().state.cluster.all(PersistentVolumeClaim)["shop/more"].spec.volume_name == "pvc-more"


def test_a_claim_that_waits_for_a_pod_or_was_looked_at_before() -> None:
    found = FakeCluster(CONTROLLERS, storage_class(volume_binding_mode="WaitForFirstConsumer"), VOLUME)
    found.put(claim())
    found.put(claim("old", None))
    assert not found.settle().writes


def test_a_claim_that_was_looked_at_in_vain_gets_a_volume_that_comes() -> None:
    manual = replace(storage_class(), provisioner="kubernetes.io/no-provisioner")
    found = FakeCluster(CONTROLLERS, manual, claim(created="2026-02-01T00:00:00Z"))
    meta = replace(VOLUME.metadata, creation_timestamp=found.stamp(5))
    found.wait(5).put(replace(VOLUME, metadata=meta, status=PersistentVolumeStatus()))
    assert found.settle().state.cluster.all(PersistentVolumeClaim)["shop/data"].spec.volume_name == "disk"
