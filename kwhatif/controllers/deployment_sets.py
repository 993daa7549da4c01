"""The ReplicaSets of a Deployment: which has its template, how large each is meant to be, and a new one."""

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
    """Whether the ReplicaSet is one of a Deployment that has another template by now."""
    above = controller_of(owner.metadata)
    if above is None or above.kind != "Deployment":
        return False
    deployment = view.state.cluster.get(Deployment, f"{owner.metadata.namespace}/{above.name}")
    return deployment is not None and not has_template_of(owner, deployment, view)


def has_template_of(owned: ReplicaSet, deployment: Deployment, view: View) -> bool:
    """Whether it has the Deployment's template; what was found out of two very objects is remembered."""
    memory = view.memory("Deployment", key_of(deployment))
    templates, name = (owned.spec.template, deployment.spec.template), owned.metadata.name
    known: tuple[object, object, bool] | None = memory.get(name)
    if known is not None and known[0] is templates[0] and known[1] is templates[1]:
        return known[2]
    same = same_template(*templates)
    memory[name] = (*templates, same)
    return same


def age_of(owned: ReplicaSet) -> tuple[int, str]:
    """Sorts ReplicaSets, the oldest first (`ReplicaSetsByCreationTimestamp`)."""
    return created_at(owned), owned.metadata.name


def revision_of(owned: ReplicaSet) -> int:
    """The Deployment's revision that it is; 0 where it notes none."""
    return natural_number(owned.metadata.annotations.revision) or 0


def resized(owned: ReplicaSet, size: int, bounds: Bounds) -> ReplicaSet:
    """It with another size, and a note of the Deployment's numbers (`SetReplicasAnnotations`)."""
    meta = owned.metadata
    noted = replace(meta.annotations, desired_replicas=str(bounds.wanted), max_replicas=str(bounds.most))
    return replace(owned, metadata=replace(meta, annotations=noted), spec=replace(owned.spec, replicas=size))


def new_replica_set(deployment: Deployment, view: View) -> ReplicaSet:
    """One of the Deployment's template, yet without pods; its name is not in use."""
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
