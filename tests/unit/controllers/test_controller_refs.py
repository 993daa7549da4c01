"""Who lets go of what it does not select any more, and who adopts what nobody owns."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers.catalog import reacting_controllers
from kwhatif.controllers.controller_refs import Claiming
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, OwnerReference, controller_of
from kwhatif.kube.model.pod import JOB_TRACKING, Pod, PodAnnotations, PodMeta, PodSpec, PodStatus, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.workload import (
    DaemonSet,
    DaemonSetSpec,
    Deployment,
    DeploymentSpec,
    Job,
    JobSpec,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
    ReplicationController,
    ReplicationControllerSpec,
    StatefulSet,
    StatefulSetSpec,
    UpdateStrategy,
)
from tests.builders import node
from tests.fake_cluster import FakeCluster

LABELS = {"app": "web"}
SELECTOR = LabelSelector(match_labels=LABELS)
TEMPLATE = PodTemplateSpec(metadata=PodMeta(labels=LABELS), spec=PodSpec(containers=(Container(name="main"),)))
META = ObjectMeta(name="web", namespace="shop", uid="owner")
OWNERS: tuple[Claiming, ...] = (
    ReplicaSet(
        metadata=ReplicaSetMeta(name="web", namespace="shop", uid="owner"),
        spec=ReplicaSetSpec(replicas=1, selector=SELECTOR, template=TEMPLATE),
    ),
    ReplicationController(
        metadata=META, spec=ReplicationControllerSpec(replicas=1, selector=LABELS, template=TEMPLATE)
    ),
    StatefulSet(metadata=META, spec=StatefulSetSpec(replicas=1, selector=SELECTOR, template=TEMPLATE)),
    DaemonSet(
        metadata=META,
        spec=DaemonSetSpec(selector=SELECTOR, template=TEMPLATE, update_strategy=UpdateStrategy(type="OnDelete")),
    ),
    Job(metadata=META, spec=JobSpec(selector=SELECTOR, template=TEMPLATE)),
)


def bare(name: str = "web-0", labels: dict[str, str] = LABELS, phase: str = "Running", **meta: Any) -> Pod:
    return Pod(
        metadata=PodMeta(name=name, namespace="shop", uid=name, labels=labels, **meta),
        spec=PodSpec(node_name="n1", containers=(Container(name="main"),)),
        status=PodStatus(phase=phase),
    )


def world(*objects: Any) -> FakeCluster:
    found = FakeCluster(reacting_controllers(), node("n1").build())
    return found.put(*objects).settle()


def owners(found: FakeCluster) -> dict[str, str]:
    """By pod, the kind and name of its controller."""
    references = {pod.metadata.name: controller_of(pod.metadata) for pod in found.pods().values()}
    return {name: f"{each.kind} {each.name}" if each else "" for name, each in references.items()}


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: type(owner).__name__)
def test_an_orphan_that_is_selected_is_adopted(owner: Claiming) -> None:
    found = world(bare(), owner)
    assert owners(found) == {"web-0": f"{type(owner).__name__} web"}
    assert found.pod("shop/web-0").metadata.deletion_timestamp is None
    assert (JOB_TRACKING in found.pod("shop/web-0").metadata.finalizers) is isinstance(owner, Job)


def test_an_orphan_that_comes_later_is_adopted_and_one_pod_too_many_goes() -> None:
    found = world(OWNERS[0])
    found.all_run()
    found.put(bare("lone", annotations=PodAnnotations(deletion_cost="5"))).runs("shop/lone")
    found.settle()
    assert owners(found)["lone"] == "ReplicaSet web"
    assert [key for key, pod in found.pods().items() if pod.metadata.deletion_timestamp is None] == ["shop/lone"]


#: A StatefulSet's pod has its name: no other one can be made beside it.
@pytest.mark.parametrize(
    "owner", [each for each in OWNERS if not isinstance(each, StatefulSet)], ids=lambda owner: type(owner).__name__
)
def test_a_pod_that_is_not_selected_any_more_is_let_go_and_replaced(owner: Claiming) -> None:
    found = world(owner)
    (key,) = found.pods()
    found.runs(key)
    found.settle()
    pod = found.pod(key)
    found.put(replace(pod, metadata=replace(pod.metadata, labels={"app": "quarantine"})))
    found.settle().wait(2)
    assert owners(found)[pod.metadata.name] == ""
    assert JOB_TRACKING not in found.pod(key).metadata.finalizers
    assert len(found.pods()) == 2


@pytest.mark.parametrize(
    "pod",
    [
        bare(labels={"app": "other"}),
        bare(deletion_timestamp="2026-03-01T00:00:00Z"),
        bare(phase="Failed"),
        bare(owner_references=(OwnerReference(kind="ReplicaSet", name="other", uid="o", controller=True),)),
    ],
    ids=["other labels", "terminating", "ended", "owned"],
)
def test_what_a_replica_set_does_not_adopt(pod: Pod) -> None:
    before = controller_of(pod.metadata)
    found = world(pod, OWNERS[0])
    assert controller_of(found.pod("shop/web-0").metadata) == before
    assert len(found.pods()) == 2


def test_a_stateful_set_adopts_only_pods_that_are_named_as_its_own() -> None:
    found = world(bare("lone"), OWNERS[2])
    assert owners(found) == {"lone": "", "web-0": "StatefulSet web"}


def test_an_owner_that_only_owns_stays_one() -> None:
    reference = OwnerReference(kind="Rollout", name="r", uid="r")
    found = world(bare(owner_references=(reference,)), OWNERS[0])
    assert found.pod("shop/web-0").metadata.owner_references[0] == reference
    assert owners(found) == {"web-0": "ReplicaSet web"}


def test_a_deployment_adopts_a_replica_set_with_its_pods() -> None:
    old = ReplicaSet(
        metadata=ReplicaSetMeta(name="old", namespace="shop", uid="old", labels=LABELS),
        spec=ReplicaSetSpec(replicas=1, selector=SELECTOR, template=TEMPLATE),
    )
    found = world(old)
    found.all_run()
    found.put(Deployment(metadata=META, spec=DeploymentSpec(replicas=1, selector=SELECTOR, template=TEMPLATE)))
    found.settle()
    (owned,) = found.state.cluster.all(ReplicaSet).values()
    assert controller_of(owned.metadata) == OwnerReference(
        kind="Deployment", name="web", uid="owner", api_version="apps/v1", controller=True
    )
    assert len(found.pods()) == 1
    found.put(replace(owned, metadata=replace(owned.metadata, labels={"app": "other"})))
    found.settle()
    assert controller_of(found.state.cluster.all(ReplicaSet)["shop/old"].metadata) is None
    assert len(found.state.cluster.all(ReplicaSet)) == 2
