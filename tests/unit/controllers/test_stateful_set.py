"""StatefulSets: pods one by one under their names, revisions, and claims."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers import stateful_set
from kwhatif.controllers.contract import Create, Update
from kwhatif.kube.model.meta import AnnotatedMeta, LabelSelector, ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec, PodStatus, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.storage import ClaimTemplate, PersistentVolumeClaim
from kwhatif.kube.model.workload import (
    ClaimRetentionPolicy,
    RollingUpdate,
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetSpec,
    StatefulSetStatus,
    UpdateStrategy,
)
from tests.fake_cluster import FakeCluster

CONTROLLERS = stateful_set.CONTROLLERS
CLAIMS = (ClaimTemplate(metadata=AnnotatedMeta(name="data")),)


def db(replicas: int = 3, image: str = "db:1", **spec: Any) -> StatefulSet:
    template = PodTemplateSpec(
        metadata=PodMeta(labels={"app": "db"}), spec=PodSpec(containers=(Container(name="main", image=image),))
    )
    return StatefulSet(
        metadata=ObjectMeta(name="db", namespace="shop", uid="s"),
        spec=StatefulSetSpec(
            replicas=replicas,
            selector=LabelSelector(match_labels={"app": "db"}),
            template=template,
            service_name="db",
            **spec,
        ),
    )


def parallel(replicas: int = 3, image: str = "db:1", **spec: Any) -> StatefulSet:
    return db(replicas, image, pod_management_policy="Parallel", **spec)


def partition(number: int | None) -> UpdateStrategy:
    return UpdateStrategy(type="RollingUpdate", rolling_update=RollingUpdate(partition=number))


def images(found: FakeCluster) -> dict[str, str]:
    """Pod -> image, with a mark where it is terminating."""
    return {
        pod.metadata.name: pod.spec.containers[0].image + ("†" if pod.metadata.deletion_timestamp else "")
        for _, pod in sorted(found.pods().items())
    }


def world(first: StatefulSet, **kwargs: Any) -> FakeCluster:
    """One in which all its pods run."""
    found = FakeCluster(CONTROLLERS, **kwargs)
    found.put(first)
    for _ in range(first.spec.replicas or 1):
        found.settle().all_run()
    return found.settle()


def end(found: FakeCluster, name: str) -> None:
    """A pod that is terminating is gone."""
    assert found.pod(f"shop/{name}").metadata.deletion_timestamp
    found.ends(f"shop/{name}")
    found.settle()
    found.gone(f"shop/{name}")
    found.settle()


def test_one_by_one() -> None:
    found = FakeCluster(CONTROLLERS)
    found.put(db())
    assert list(images(found.settle())) == ["db-0"]
    found.runs("shop/db-0", ready=False)
    assert list(images(found.settle())) == ["db-0"]
    found.runs("shop/db-0")
    assert list(images(found.settle())) == ["db-0", "db-1"]
    found.all_run()
    assert list(images(found.settle())) == ["db-0", "db-1", "db-2"]
    pod = found.pod("shop/db-1")
    assert pod.metadata.labels["apps.kubernetes.io/pod-index"] == "1"
    assert pod.metadata.labels["statefulset.kubernetes.io/pod-name"] == "db-1"
    assert (pod.spec.hostname, pod.spec.subdomain) == ("db-1", "db")
    assert pod.metadata.owner_references == (
        OwnerReference(kind="StatefulSet", name="db", uid="s", api_version="apps/v1", controller=True),
    )


def test_all_at_once() -> None:
    found = FakeCluster(CONTROLLERS)
    found.put(parallel())
    assert list(images(found.settle())) == ["db-0", "db-1", "db-2"]


def test_a_pod_comes_back_when_the_one_before_is_gone() -> None:
    found = world(db())
    uid = found.pod("shop/db-1").metadata.uid
    found.evict("shop/db-1")
    assert images(found.settle()) == {"db-0": "db:1", "db-1": "db:1†", "db-2": "db:1"}
    found.ends("shop/db-1")
    found.settle()
    assert found.pod("shop/db-1").metadata.uid == uid
    found.gone("shop/db-1")
    found.settle()
    assert found.pod("shop/db-1").metadata.uid != uid


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_at_its_end_is_deleted_and_made_anew(phase: str) -> None:
    found = world(db())
    found.ends("shop/db-1", phase)
    found.settle()
    assert found.pod("shop/db-1").status.phase == "Pending"
    assert [write.how for write in found.writes if hasattr(write, "how")] == ["Completed"]


def test_a_pod_that_is_not_ready_holds_up_higher_ones() -> None:
    found = world(db())
    found.gone("shop/db-0", "shop/db-2")
    assert list(images(found.settle())) == ["db-0", "db-1"]
    found.all_run()
    assert list(images(found.settle())) == ["db-0", "db-1", "db-2"]


def test_fewer_are_wanted() -> None:
    found = world(db(4))
    found.put(db(2))
    assert images(found.settle())["db-3"] == "db:1†"
    assert images(found)["db-2"] == "db:1"
    end(found, "db-3")
    end(found, "db-2")
    assert list(images(found)) == ["db-0", "db-1"]
    found = world(parallel(4))
    found.put(parallel(2))
    assert list(images(found.settle()).values()) == ["db:1", "db:1", "db:1†", "db:1†"]


def test_a_rollout_goes_from_the_highest_down() -> None:
    found = world(db())
    found.put(db(image="db:2"))
    for name in ("db-2", "db-1", "db-0"):
        assert [pod for pod, image in images(found.settle()).items() if image == "db:1†"] == [name]
        end(found, name)
        assert images(found)[name] == "db:2"
        found.runs(f"shop/{name}")
    assert set(images(found.settle()).values()) == {"db:2"}
    writes = len(found.writes)
    found.put(db(image="db:2"))
    assert len(found.settle().writes) == writes


def test_a_pod_that_does_not_get_ready_holds_up_the_rollout_and_its_repair() -> None:
    found = world(db())
    found.put(db(image="db:2"))
    found.settle()
    end(found, "db-2")
    found.runs("shop/db-2", ready=False)
    found.settle()
    found.put(db(image="db:3"))
    assert images(found.settle()) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
    found.put(parallel(image="db:3"))
    assert images(found.settle()) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2†"}


def test_partition() -> None:
    found = world(db(update_strategy=partition(2)))
    found.put(db(image="db:2", update_strategy=partition(2)))
    found.settle()
    end(found, "db-2")
    found.all_run()
    assert images(found.settle()) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
    found.evict("shop/db-0")
    found.settle()
    end(found, "db-0")
    # Below the partition, of the old template.
    assert images(found)["db-0"] == "db:1"


def test_without_a_partition_an_old_pod_comes_back_as_a_new_one() -> None:
    found = world(db(update_strategy=partition(None)))
    found.put(db(image="db:2", update_strategy=partition(None)))
    found.settle()
    found.evict("shop/db-0")
    found.settle()
    end(found, "db-0")
    assert images(found)["db-0"] == "db:2"


def test_without_a_block_the_number_of_old_pods_decides() -> None:
    strategy = UpdateStrategy(type="RollingUpdate")
    found = world(db(update_strategy=strategy))
    found.put(db(image="db:2", update_strategy=strategy))
    found.settle()
    found.evict("shop/db-0")
    found.settle()
    end(found, "db-0")
    assert images(found)["db-0"] == "db:1"
    end(found, "db-2")
    found.all_run()
    found.settle()
    assert images(found)["db-2"] == "db:2"


def test_on_delete() -> None:
    strategy = UpdateStrategy(type="OnDelete")
    found = world(db(update_strategy=strategy))
    found.put(db(image="db:2", update_strategy=strategy))
    assert set(images(found.settle()).values()) == {"db:1"}
    found.evict("shop/db-1")
    found.settle()
    end(found, "db-1")
    assert images(found)["db-1"] == "db:2"


def test_back_to_the_old_template() -> None:
    found = world(db())
    label = found.pod("shop/db-0").metadata.labels["controller-revision-hash"]
    found.put(db(image="db:2"))
    found.settle()
    found.put(db())
    found.settle()
    end(found, "db-2")
    found.all_run()
    assert set(images(found.settle()).values()) == {"db:1"}
    assert {pod.metadata.labels["controller-revision-hash"] for pod in found.pods().values()} == {label}


def test_what_a_dump_shows_is_of_the_newest_revision() -> None:
    """Names that the API server's hash made are taken as they are."""

    def pod(number: int, revision: str) -> Pod:
        made = world(db()).pod(f"shop/db-{number}")
        return replace(made, metadata=replace(made.metadata, labels={"controller-revision-hash": revision}))

    found = FakeCluster(CONTROLLERS, db(2), pod(0, "db-6f"), pod(1, "db-6f"))
    found.put(db(2))
    assert not found.settle().writes
    rolling = replace(db(2), status=StatefulSetStatus(current_revision="db-6f", update_revision="db-77"))
    found = FakeCluster(CONTROLLERS, rolling, pod(0, "db-6f"), pod(1, "db-77"))
    found.put(rolling)
    assert images(found.settle()) == {"db-0": "db:1†", "db-1": "db:1"}


def test_min_ready_seconds() -> None:
    found = FakeCluster(CONTROLLERS)
    found.put(db(2, min_ready_seconds=10))
    found.settle().all_run()
    assert list(images(found.settle())) == ["db-0"]
    found.wait(10)
    assert list(images(found)) == ["db-0", "db-1"]


def claims(found: FakeCluster) -> dict[str, list[str]]:
    """Claim -> kinds of its owners."""
    present = found.state.cluster.all(PersistentVolumeClaim)
    return {
        claim.metadata.name: [owner.kind for owner in claim.metadata.owner_references] for claim in present.values()
    }


def test_claims_come_before_pods_and_stay() -> None:
    found = FakeCluster(CONTROLLERS)
    found.put(db(1, volume_claim_templates=CLAIMS))
    found.settle()
    assert [type(write.obj) for write in found.writes if isinstance(write, Create)] == [
        PersistentVolumeClaim,
        Pod,
    ]
    (volume,) = found.pod("shop/db-0").spec.volumes
    assert volume.persistent_volume_claim is not None
    assert volume.persistent_volume_claim.claim_name == "data-db-0"
    found.gone("shop/db-0")
    found.settle()
    assert claims(found) == {"data-db-0": []}
    assert "shop/db-0" in found.pods()


def test_a_claim_that_a_pending_pod_lacks_is_made() -> None:
    found = FakeCluster(CONTROLLERS)
    found.put(db(1, volume_claim_templates=CLAIMS))
    found.settle().remove(PersistentVolumeClaim, "shop/data-db-0")
    assert claims(found.settle()) == {"data-db-0": []}


def test_a_claim_that_is_about_to_go_holds_up_its_pod() -> None:
    found = world(db(2, volume_claim_templates=CLAIMS))
    claim = found.state.cluster.all(PersistentVolumeClaim)["shop/data-db-0"]
    found.put(replace(claim, metadata=replace(claim.metadata, deletion_timestamp="2026-03-01T00:00:00Z")))
    found.gone("shop/db-0")
    assert list(images(found.settle())) == ["db-1"]
    found.remove(PersistentVolumeClaim, "shop/data-db-0")
    assert list(images(found.settle())) == ["db-0", "db-1"]


@pytest.mark.parametrize(
    ("deleted", "scaled", "kept", "surplus"),
    [
        ("", "", [], []),
        ("Retain", "Retain", [], []),
        ("Delete", "Retain", ["StatefulSet"], ["StatefulSet"]),
        ("Retain", "Delete", [], ["Pod"]),
        ("Delete", "Delete", ["StatefulSet"], ["Pod"]),
    ],
)
def test_whose_claims_are(deleted: str, scaled: str, kept: list[str], surplus: list[str]) -> None:
    policy = ClaimRetentionPolicy(when_deleted=deleted, when_scaled=scaled)
    spec: dict[str, Any] = {"volume_claim_templates": CLAIMS, "persistent_volume_claim_retention_policy": policy}
    found = world(db(2, **spec))
    assert claims(found) == {"data-db-0": kept, "data-db-1": kept}
    found.put(db(1, **spec))
    assert claims(found.settle()) == {"data-db-0": kept, "data-db-1": surplus}
    assert images(found)["db-1"] == "db:1†"
    end(found, "db-1")
    found.put(db(2, **spec))
    found.settle()
    # The claim of the pod before has to go first.
    assert ("db-1" in images(found)) is (scaled != "Delete")
    if scaled == "Delete":
        found.remove(PersistentVolumeClaim, "shop/data-db-1")
        assert "db-1" in images(found.settle())
    assert claims(found) == {"data-db-0": kept, "data-db-1": kept}


def test_claims_of_others_are_left_alone() -> None:
    policy = ClaimRetentionPolicy(when_deleted="Delete")
    owner = OwnerReference(kind="Backup", name="b", uid="b", controller=True)
    theirs = PersistentVolumeClaim(
        metadata=AnnotatedMeta(name="data-db-0", namespace="shop", owner_references=(owner,))
    )
    found = FakeCluster(CONTROLLERS, theirs)
    found.put(db(1, volume_claim_templates=CLAIMS, persistent_volume_claim_retention_policy=policy))
    found.settle().all_run()
    assert claims(found.settle()) == {"data-db-0": ["Backup"]}
    assert not any(isinstance(write, Update) for write in found.writes)


def test_what_is_refused_is_tried_again() -> None:
    full = [True]
    found = FakeCluster(CONTROLLERS, deny=lambda _: full[0])
    found.put(db())
    assert not found.settle().pods()
    full[0] = False
    assert list(images(found.wait(1))) == ["db-0"]


def test_start_ordinal_and_deletion() -> None:
    found = world(db(2, ordinals=StatefulSetOrdinals(start=5)))
    assert list(images(found)) == ["db-5", "db-6"]
    found.put(replace(db(2), metadata=replace(db().metadata, deletion_timestamp="2026-03-01T00:00:00Z")))
    found.gone("shop/db-5")
    assert list(images(found.settle())) == ["db-6"]
    assert found.pod("shop/db-6").status != PodStatus()


# --- what a sync keeps of the pods that it has found available ---------------------------------------


def test_pods_that_are_to_be_ready_for_longer_are_waited_for() -> None:
    found = world(db())
    found.put(db(image="db:2", min_ready_seconds=20))
    assert images(found.wait(19)) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:1"}
    assert images(found.wait(1)) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:1†"}


def test_another_start_ordinal_is_counted_from_there() -> None:
    found = world(db(2))
    found.put(db(3, ordinals=StatefulSetOrdinals(start=1)))
    assert list(images(found.settle())) == ["db-0", "db-1", "db-2"]


def test_a_rollout_is_complete_also_when_pods_become_ready_one_after_another() -> None:
    found = world(parallel())
    found.put(parallel(image="db:2", update_strategy=UpdateStrategy(type="OnDelete"))).settle()
    found.gone("shop/db-0", "shop/db-1", "shop/db-2").settle()
    found.put(parallel(image="db:2")).settle()
    for name in ("db-0", "db-1", "db-2"):
        found.runs(f"shop/{name}")
        found.settle()
    found.put(parallel(image="db:3", update_strategy=partition(3))).settle()
    assert images(found.gone("shop/db-0").settle())["db-0"] == "db:2"
