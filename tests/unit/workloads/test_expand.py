"""What the recordings do not show: names, claims, nodes, numbers, and workloads that make no pods."""

import re
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import AnnotatedMeta, LabelSelector, ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, Toleration
from kwhatif.kube.model.storage import (
    ClaimTemplate,
    EphemeralVolumeSource,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Volume,
)
from kwhatif.kube.model.workload import (
    CronJob,
    CronJobSpec,
    DaemonSet,
    DaemonSetSpec,
    Deployment,
    DeploymentSpec,
    Job,
    JobSpec,
    JobTemplateSpec,
    PodSource,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
    StatefulSet,
    StatefulSetSpec,
)
from kwhatif.workloads.claims import ephemeral_claims
from kwhatif.workloads.daemon_set import node_of
from kwhatif.workloads.expand import expand
from tests.builders import NodeBuilder, cluster, node, pod


def template(**spec: Any) -> PodTemplateSpec:
    containers = (Container(name="main", image="app:1"),)
    return PodTemplateSpec(metadata=PodMeta(labels={"app": "x"}), spec=PodSpec(containers=containers, **spec))


def named(name: str = "x", **fields: Any) -> ObjectMeta:
    return ObjectMeta(name=name, namespace="default", **fields)


def deployment(name: str = "x", **spec: Any) -> Deployment:
    return Deployment(metadata=named(name), spec=DeploymentSpec(**{"template": template(), **spec}))


def job(**spec: Any) -> Job:
    return Job(metadata=named(), spec=JobSpec(template=template(), **spec))


NUMBERS = {
    "a deployment makes one pod, unless its spec says otherwise": (deployment(), 1),
    "a deployment of none": (deployment(replicas=0), 0),
    "a paused deployment makes no ReplicaSet": (deployment(replicas=3, paused=True), 0),
    "a job runs one pod": (job(), 1),
    "a job runs as many pods as it may at once": (job(parallelism=3), 3),
    "a job runs no more pods than it has to complete": (job(parallelism=5, completions=2), 2),
    "a job runs no more pods than it may at once": (job(completions=5), 1),
    "a job of none": (job(parallelism=0), 0),
    "a suspended job": (job(parallelism=3, suspend=True), 0),
    "a cron job runs its job once": (
        CronJob(metadata=named(), spec=CronJobSpec(job_template=JobTemplateSpec(spec=job(parallelism=2).spec))),
        2,
    ),
    "a suspended cron job": (
        CronJob(metadata=named(), spec=CronJobSpec(suspend=True, job_template=JobTemplateSpec(spec=job().spec))),
        0,
    ),
    "a pod is one": (pod("x").build(), 1),
}


@pytest.mark.parametrize(("workload", "number"), NUMBERS.values(), ids=NUMBERS.keys())
def test_how_many(workload: PodSource, number: int) -> None:
    assert len(expand(workload, Cluster()).pods) == number


# --- equal pods --------------------------------------------------------------------------------------


def test_equal_pods_are_one_group() -> None:
    (group,) = expand(deployment(replicas=10_000), Cluster()).groups
    assert group.pod.metadata.name == ""
    assert len(set(group.names)) == 10_000
    assert all(re.fullmatch(r"x-[bcdf456789]+-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in group.names)
    first, *_, last = group.pods()
    assert first.spec is last.spec
    assert (first.metadata.name, last.metadata.name) == (group.names[0], group.names[-1])


def test_the_answer_never_changes() -> None:
    assert expand(deployment(replicas=3), Cluster()) == expand(deployment(replicas=3), Cluster())


def test_names_that_are_in_use_are_not_given_again() -> None:
    (group,) = expand(deployment(replicas=2), Cluster()).groups
    present = next(group.pods())
    (again,) = expand(deployment(replicas=2), Cluster([present])).groups
    assert present.metadata.name not in again.names
    assert group.names[1] == again.names[0]


def test_workloads_of_one_name_have_pods_of_different_names() -> None:
    nodes = cluster(node("n"))
    daemon_set = DaemonSet(metadata=named(), spec=DaemonSetSpec(template=template()))
    replica_set = ReplicaSet(
        metadata=ReplicaSetMeta(namespace="default", name="x"), spec=ReplicaSetSpec(template=template())
    )
    (one,), (other,) = expand(daemon_set, nodes).pods, expand(replica_set, nodes).pods
    assert one.metadata.generate_name == other.metadata.generate_name == "x-"
    assert one.metadata.name != other.metadata.name


def test_a_long_name_is_cut_before_its_end_is_added() -> None:
    (made,) = expand(
        ReplicaSet(
            metadata=ReplicaSetMeta(namespace="default", name="x" * 80), spec=ReplicaSetSpec(template=template())
        ),
        Cluster(),
    ).pods
    assert len(made.metadata.name) == 63
    assert made.metadata.generate_name == "x" * 80 + "-"


def test_a_name_that_leaves_no_room_for_a_dash() -> None:
    (made,) = expand(
        ReplicaSet(
            metadata=ReplicaSetMeta(namespace="default", name="x" * 253), spec=ReplicaSetSpec(template=template())
        ),
        Cluster(),
    ).pods
    assert made.metadata.generate_name == "x" * 253


def test_a_pod_whose_name_is_yet_to_be_made() -> None:
    (group,) = expand(pod("").meta(generate_name="run-").build(), Cluster()).groups
    assert group.pod.metadata.name == ""
    assert re.fullmatch(r"run-[a-z2-9]{5}", group.names[0])


def test_the_owner_has_the_uid_that_it_has_in_the_cluster() -> None:
    known = ReplicaSet(
        metadata=ReplicaSetMeta(namespace="default", name="x", uid="42"), spec=ReplicaSetSpec(template=template())
    )
    (made,) = expand(replace(known, metadata=named()), Cluster([known])).pods
    expected = OwnerReference(kind="ReplicaSet", name="x", uid="42", api_version="apps/v1", controller=True)
    assert made.metadata.owner_references == (expected,)


# --- StatefulSets ------------------------------------------------------------------------------------


def stateful(**spec: Any) -> StatefulSet:
    claims = (
        ClaimTemplate(metadata=AnnotatedMeta(name="data", labels={"a": "b", "app": "?"}, annotations={"k": "v"})),
    )
    fields = {"template": template(), "selector": LabelSelector(match_labels={"app": "x"}), "replicas": 2}
    return StatefulSet(
        metadata=named("db"), spec=StatefulSetSpec(**{**fields, "volume_claim_templates": claims, **spec})
    )


def test_claims_of_a_stateful_set() -> None:
    claims = [claim for group in expand(stateful(), Cluster()).groups for claim in group.claims]
    assert [claim.metadata.name for claim in claims] == ["data-db-0", "data-db-1"]
    assert claims[0].metadata.namespace == "default"
    assert claims[0].metadata.labels == {"a": "b", "app": "x"}
    assert claims[0].metadata.annotations == {"k": "v"}
    assert claims[0].spec.volume_mode == "Filesystem"
    assert claims[0].status.phase == "Pending"


def test_a_claim_that_is_there_is_not_made_again() -> None:
    present = PersistentVolumeClaim(metadata=AnnotatedMeta(name="data-db-0", namespace="default"))
    claims = [claim for group in expand(stateful(), Cluster([present])).groups for claim in group.claims]
    assert [claim.metadata.name for claim in claims] == ["data-db-1"]


def test_a_claim_takes_the_place_of_a_volume_of_its_name() -> None:
    volumes = (Volume(name="data", ephemeral=EphemeralVolumeSource()), Volume(name="tmp"))
    made = expand(stateful(template=template(volumes=volumes)), Cluster()).pods[1]
    assert [volume.name for volume in made.spec.volumes] == ["data", "tmp"]
    assert made.spec.volumes[0].persistent_volume_claim is not None
    assert made.spec.volumes[0].persistent_volume_claim.claim_name == "data-db-1"
    assert made.spec.volumes[0].ephemeral is None


# --- DaemonSets --------------------------------------------------------------------------------------


def daemon_nodes(*nodes: NodeBuilder, **spec: Any) -> list[str]:
    daemon_set = DaemonSet(metadata=named(), spec=DaemonSetSpec(template=template(**spec)))
    pods = expand(daemon_set, cluster(*nodes)).pods
    names = []
    for made in pods:
        assert made.spec.affinity is not None
        assert made.spec.affinity.node_affinity is not None
        assert made.spec.affinity.node_affinity.required is not None
        (term,) = made.spec.affinity.node_affinity.required.node_selector_terms
        names.append(term.match_fields[0].values[0])
    return names


NOT_READY = "node.kubernetes.io/not-ready"
ELIGIBLE = {
    "every node": ((node("a"), node("b")), {}, ["a", "b"]),
    "a cordoned node": ((node("a").cordoned(),), {}, ["a"]),
    "a node that is not ready": ((node("a").taint(NOT_READY, effect="NoExecute"),), {}, ["a"]),
    "but no other effect of that": ((node("a").taint(NOT_READY),), {}, []),
    "no node without a network": ((node("a").taint("node.kubernetes.io/network-unavailable"),), {}, []),
    "unless it is the node's": (
        (node("a").taint("node.kubernetes.io/network-unavailable"),),
        {"host_network": True},
        ["a"],
    ),
    "a taint that only repels": ((node("a").taint("x", effect="PreferNoSchedule"),), {}, ["a"]),
    "no tainted node": ((node("a").taint("x"),), {}, []),
    "a taint that is tolerated": ((node("a").taint("x"),), {"tolerations": (Toleration(operator="Exists"),)}, ["a"]),
    "the node that is named": ((node("a"), node("b")), {"node_name": "b"}, ["b"]),
    "what the selector selects": ((node("a").labels(d="1"), node("b")), {"node_selector": {"d": "1"}}, ["a"]),
}


@pytest.mark.parametrize(("nodes", "spec", "expected"), ELIGIBLE.values(), ids=ELIGIBLE.keys())
def test_eligible(nodes: tuple[NodeBuilder, ...], spec: dict[str, Any], expected: list[str]) -> None:
    assert daemon_nodes(*nodes, **spec) == expected


def test_an_own_toleration_takes_the_place_of_one_that_ends() -> None:
    ending = Toleration(key=NOT_READY, operator="Exists", effect="NoExecute", toleration_seconds=60)
    daemon_set = DaemonSet(metadata=named(), spec=DaemonSetSpec(template=template(tolerations=(ending,))))
    (made,) = expand(daemon_set, cluster(node("n"))).pods
    assert made.spec.tolerations[0] == replace(ending, toleration_seconds=None)
    assert len(made.spec.tolerations) == 6


# --- Jobs --------------------------------------------------------------------------------------------


def test_a_long_name_of_an_indexed_job_keeps_the_index() -> None:
    indexed = Job(
        metadata=named("x" * 60),
        spec=JobSpec(template=template(), completion_mode="Indexed", completions=12, parallelism=12),
    )
    last = expand(indexed, Cluster()).pods[-1]
    assert last.metadata.generate_name == "x" * 54 + "-11-"
    assert last.spec.hostname == "x" * 60 + "-11"


# --- ephemeral volumes -------------------------------------------------------------------------------


def test_claims_of_ephemeral_volumes() -> None:
    spec = PersistentVolumeClaimSpec(storage_class_name="fast")
    made = ClaimTemplate(metadata=AnnotatedMeta(labels={"a": "b"}), spec=spec)
    source = EphemeralVolumeSource(volume_claim_template=made)
    with_volumes = pod("p").claim("data").volume("one", ephemeral=source).volume("two", ephemeral=source).build()
    present = PersistentVolumeClaim(metadata=AnnotatedMeta(name="p-two", namespace="default"))
    (claim,) = ephemeral_claims(with_volumes, Cluster([present]))
    assert (claim.metadata.namespace, claim.metadata.name) == ("default", "p-one")
    assert claim.metadata.labels == {"a": "b"}
    assert claim.spec is spec
    (owner,) = claim.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("Pod", "p", True)


def test_a_waiting_pod_whose_affinity_names_no_node_is_for_none() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": []}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    assert node_of(msgspec.convert({"metadata": {"name": "x"}, "spec": {"affinity": affinity}}, Pod)) == ""
