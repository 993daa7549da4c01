"""The ReplicaSets of a Deployment: comparing templates, scaling, and creating a new one."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.controllers.contract import View
from kwhatif.controllers.pods import created_at
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import PodTemplateSpec
from kwhatif.kube.model.workload import Deployment, ReplicaSet
from kwhatif.workloads.controllers.deployment import Bounds
from kwhatif.workloads.generated import hash_of, uid_of
from kwhatif.workloads.numbers import natural_number
from kwhatif.workloads.owners import reference
from kwhatif.workloads.replicas import replica_set_of
from kwhatif.workloads.template import content_of, same_template


def is_of_old_template(owner: ReplicaSet, view: View) -> bool:
    """Whether the ReplicaSet's Deployment now has another template."""
    above = controller_of(owner.metadata)
    if above is None or above.kind != "Deployment":
        return False
    deployment = view.state.cluster.get(Deployment, f"{owner.metadata.namespace}/{above.name}")
    return deployment is not None and not has_template_of(owner, deployment, view)


def has_template_of(owned: ReplicaSet, deployment: Deployment, view: View) -> bool:
    """Whether it has the Deployment's template; the result for two objects is cached."""
    memory = view.memory("Deployment", key_of(deployment))
    templates, name = (owned.spec.template, deployment.spec.template), owned.metadata.name
    known: tuple[object, object, bool] | None = memory.get(name)
    if known is not None and known[0] is templates[0] and known[1] is templates[1]:
        return known[2]
    same = same_template(*templates)
    memory[name] = (*templates, same)
    return same


def age_of(owned: ReplicaSet) -> tuple[int, str]:
    """Sort key: the oldest ReplicaSet first (`ReplicaSetsByCreationTimestamp`)."""
    return created_at(owned), owned.metadata.name


def revision_of(owned: ReplicaSet) -> int:
    """The Deployment's revision in its annotation; 0 if it has none."""
    return natural_number(owned.metadata.annotations.revision) or 0


def resized(owned: ReplicaSet, size: int, bounds: Bounds) -> ReplicaSet:
    """The ReplicaSet with another size, and annotations with the Deployment's numbers (`SetReplicasAnnotations`)."""
    meta = owned.metadata
    noted = replace(meta.annotations, desired_replicas=str(bounds.wanted), max_replicas=str(bounds.most))
    return replace(owned, metadata=replace(meta, annotations=noted), spec=replace(owned.spec, replicas=size))


def new_replica_set(deployment: Deployment, view: View) -> ReplicaSet:
    """A ReplicaSet of the Deployment's template, without pods, and with an unused name."""
    template, meta = deployment.spec.template or PodTemplateSpec(), deployment.metadata
    content = content_of(template)
    hash_ = hash_of(content)
    collisions = 0
    while view.state.cluster.get(ReplicaSet, f"{meta.namespace}/{meta.name}-{hash_}") is not None:
        collisions += 1
        hash_ = hash_of((content, collisions))
    made = replica_set_of(deployment, template, reference(deployment), f"{meta.name}-{hash_}", hash_)
    uid = uid_of("ReplicaSet", meta.namespace, made.metadata.name)
    return replace(made, metadata=replace(made.metadata, uid=uid))
