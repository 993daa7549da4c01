"""Deployments, ReplicaSets and ReplicationControllers: pods that differ in nothing.

(`pkg/controller/deployment/sync.go`, `pkg/controller/replicaset/replica_set.go`.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from itertools import islice

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import LabelSelector, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.workload import Deployment, ReplicaSet, ReplicaSetMeta, ReplicaSetSpec, ReplicationController
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.generated import all_names, hash_of, uid_of
from kwhatif.workloads.owners import owned_by, pods_of, reference_to
from kwhatif.workloads.template import content_of, pod_of, same_template

HASH_LABEL = "pod-template-hash"


def expand_deployment(deployment: Deployment, count: int, cluster: Cluster) -> Expansion:
    """`count` pods of the ReplicaSet with the Deployment's template: of an existing one, else of a new one."""
    return equal_pods(pod_like(deployment, *replica_set_for(deployment, cluster)), count, cluster)


def pod_like(deployment: Deployment, owner: OwnerReference, hash_: str) -> Pod:
    """A pod of the Deployment's template, that this ReplicaSet controls."""
    template = deployment.spec.template or PodTemplateSpec()
    return pod_of(template, deployment.metadata.namespace, owner, {HASH_LABEL: hash_})


def expand_replicas(controller: ReplicaSet | ReplicationController, count: int, cluster: Cluster) -> Expansion:
    """`count` pods of the controller."""
    template = controller.spec.template or PodTemplateSpec()
    owner = reference_to(controller, cluster)
    return equal_pods(pod_of(template, controller.metadata.namespace, owner), count, cluster)


def replica_set_for(deployment: Deployment, cluster: Cluster) -> tuple[OwnerReference, str]:
    """The ReplicaSet of the Deployment's template (`FindNewReplicaSet`), and the hash in its pods' labels."""
    found = _present_replica_set(deployment, cluster)
    if found is not None:
        return found
    hash_, meta = hash_of(content_of(deployment.spec.template)), deployment.metadata
    name = f"{meta.name}-{hash_}"
    uid = uid_of("ReplicaSet", meta.namespace, name)
    return OwnerReference(kind="ReplicaSet", name=name, uid=uid, api_version="apps/v1", controller=True), hash_


def _present_replica_set(deployment: Deployment, cluster: Cluster) -> tuple[OwnerReference, str] | None:
    """One in the cluster; where the input has none, the one that most pods name, if the template is still the same."""
    template = deployment.spec.template
    for candidate in owned_by("Deployment", deployment.metadata, ReplicaSet, cluster):
        if same_template(candidate.spec.template, template):
            labels = candidate.spec.template.metadata.labels if candidate.spec.template else {}
            return reference_to(candidate, cluster), labels.get(HASH_LABEL) or _end(candidate.metadata.name)
    known = cluster.get(Deployment, key_of(deployment))
    if known is None or not same_template(known.spec.template, template):
        return None
    owners = Counter(owner for pod in pods_of(deployment, cluster) if (owner := controller_of(pod.metadata)))
    if not owners:
        return None
    owner = max(owners, key=lambda owner: (owners[owner], owner.name))
    return owner, _end(owner.name)


def replica_set_of(
    deployment: Deployment, template: PodTemplateSpec, owner: OwnerReference, name: str, hash_: str
) -> ReplicaSet:
    """A ReplicaSet of the Deployment, yet without pods and a UID.

    Args:
        deployment: whose selector and `minReadySeconds` it takes over.
        template: of its pods, without the label of the hash.
        owner: the reference to the Deployment.
        name: of the ReplicaSet.
        hash_: what tells its pods from those of other ReplicaSets; "" if nothing does.
    """
    mark = {HASH_LABEL: hash_} if hash_ else {}
    labels = {**template.metadata.labels, **mark}
    selector = deployment.spec.selector or LabelSelector()
    return ReplicaSet(
        metadata=ReplicaSetMeta(
            name=name, namespace=deployment.metadata.namespace, labels=labels, owner_references=(owner,)
        ),
        spec=ReplicaSetSpec(
            replicas=0,
            selector=replace(selector, match_labels={**selector.match_labels, **mark}),
            template=replace(template, metadata=replace(template.metadata, labels=labels)),
            min_ready_seconds=deployment.spec.min_ready_seconds,
        ),
    )


def _end(name: str) -> str:
    return name.rpartition("-")[2]


def equal_pods(pod: Pod, count: int, cluster: Cluster) -> Expansion:
    """`count` pods that are like this one except for their names."""
    if count <= 0:
        return Expansion()
    return Expansion((ReplicaGroup(pod, free_names(pod, count, cluster)),))


def free_names(pod: Pod, count: int, cluster: Cluster, used: Container[str] = ()) -> tuple[str, ...]:
    """`count` names for pods like this one, none of them in use."""
    return tuple(islice(names_for(pod, cluster, used), count))


def taken_names(pod: Pod, cluster: Cluster, skip: int = 0) -> int:
    """How many of the first names for such a pod are in use without a gap; this many are already known: `skip`."""
    meta, present = pod.metadata, cluster.all(Pod)
    owner = controller_of(meta)
    for name in all_names(meta.generate_name, owner.uid if owner else "", skip):
        if f"{meta.namespace}/{name}" not in present:
            break
        skip += 1
    return skip


def names_for(pod: Pod, cluster: Cluster, used: Container[str] = (), skip: int = 0) -> Iterator[str]:
    """One name after the other for pods like this one, none of them in use; without the first `skip` of all names."""
    meta, present = pod.metadata, cluster.all(Pod)
    owner = controller_of(meta)
    names = all_names(meta.generate_name, owner.uid if owner else "", skip)
    return (name for name in names if name not in used and f"{meta.namespace}/{name}" not in present)
