"""ReplicaSets that a dump lacks, though their pods and their Deployment are in it."""

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodMeta, PodTemplateSpec
from kwhatif.kube.model.workload import Deployment, DeploymentSpec
from kwhatif.workloads.inferred_replica_sets import sets_of_deployments


def test_a_missing_set_is_as_its_deployment_would_make_it() -> None:
    labels = {"app": "web"}
    deployment = Deployment(
        metadata=ObjectMeta(name="web", namespace="shop", uid="d"),
        spec=DeploymentSpec(
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=PodMeta(labels=labels)),
            min_ready_seconds=10,
        ),
    )
    pod = Pod(
        metadata=PodMeta(
            name="web-6d4-1",
            namespace="shop",
            labels={**labels, "pod-template-hash": "6d4"},
            owner_references=(OwnerReference(kind="ReplicaSet", name="web-6d4", uid="r", controller=True),),
        )
    )
    (made,) = sets_of_deployments(Cluster([deployment, pod]))
    assert (made.metadata.name, made.metadata.uid, made.spec.replicas) == ("web-6d4", "r", 1)
    assert made.metadata.labels == {**labels, "pod-template-hash": "6d4"}
    # Otherwise its pods would count as available at once, and the Deployment's controller would change it.
    assert made.spec.min_ready_seconds == 10
