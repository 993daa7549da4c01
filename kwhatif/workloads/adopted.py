"""The pods of custom resources, as those of the objects that stand for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Deployment, Job, ReplicaSet, StatefulSet
from kwhatif.workloads.applied_template import with_template
from kwhatif.workloads.custom_kinds import StandIn
from kwhatif.workloads.generated import uid_of
from kwhatif.workloads.inferred.templates import template_from
from kwhatif.workloads.owners import pods_controlled_by
from kwhatif.workloads.stateful_set import REVISION_LABEL


class Standing(NamedTuple):
    """An object that stands for a custom resource, and what shows which pods are its own."""

    object: StandIn
    group: str
    #: Kind and name of what controls its pods.
    controller: tuple[str, str]
    #: Labels that its pods have.
    pods: Mapping[str, str]
    #: The label that names the template of a pod.
    revision: str
    #: Whether its pods have more than its own template says.
    operated: bool

    def controls(self, owner: OwnerReference, labels: Mapping[str, str]) -> bool:
        """Whether what has this owner and these labels is its own."""
        group = owner.api_version.rpartition("/")[0]
        return group in ("", self.group) and self.pods.items() <= labels.items()


def adopt(cluster: Cluster, standing: Sequence[Standing]) -> None:
    """Let the pods, and the sets and Jobs, that custom resources control belong to what stands for these.

    Between a Deployment and the pods that its custom resource controls itself there are ReplicaSets, which the cluster
    does not have: one for each template (`inferred.sets_of_deployments`).
    """
    by_controller: dict[tuple[str, str, str], list[Standing]] = {}
    for each in standing:
        by_controller.setdefault((each.object.metadata.namespace, *each.controller), []).append(each)
    for kind in (ReplicaSet, StatefulSet, Job, Pod) if by_controller else ():
        changed = []
        for obj in cluster.all(kind).values():
            owner = controller_of(obj.metadata)
            if owner is None or (place := (obj.metadata.namespace, owner.kind, owner.name)) not in by_controller:
                continue
            found = (each for each in by_controller[place] if each.controls(owner, obj.metadata.labels))
            if (ours := next(found, None)) is not None:
                changed.append(_owned_by(obj, owner, ours))
        for obj in changed:
            cluster.add(obj)
    for each in standing:
        if each.operated and (pods := pods_controlled_by(type(each.object).__name__, each.object.metadata, cluster)):
            template = template_from(max(pods, key=lambda pod: pod.metadata.creation_timestamp or ""), pods)
            cluster.add(with_template(each.object, template))


#: A pod that no controller of Kubernetes' own made has no revision: it is of the only template that is known.
_ONLY = "0"


def _owned_by(obj: Any, owner: OwnerReference, standing: Standing) -> Any:
    """The object with what stands for its controller, or a ReplicaSet of that, in the place of this."""
    target, meta = standing.object, obj.metadata
    kind, name = type(target).__name__, target.metadata.name
    uid, labels = target.metadata.uid, meta.labels
    if isinstance(target, StatefulSet) and isinstance(obj, Pod) and REVISION_LABEL not in labels:
        labels = {**labels, REVISION_LABEL: f"{name}-{_ONLY}"}
    if isinstance(target, Deployment) and isinstance(obj, Pod):
        revision = labels.get(standing.revision, "").rpartition("-")[2] or _ONLY
        kind, name = ReplicaSet.__name__, f"{name}-{revision}"
        uid = uid_of(kind, meta.namespace, name)
    now = OwnerReference(
        kind=kind, name=name, uid=uid, api_version=RESOURCES[type(target)].api_version, controller=True
    )
    owners = tuple(now if each is owner else each for each in meta.owner_references)
    return replace(obj, metadata=replace(meta, owner_references=owners, labels=labels))


def free_name(obj: StandIn) -> StandIn:
    """The object under a name of its own, where another one of the kind has that of the custom resource."""
    meta = obj.metadata
    assert meta.stands_for is not None, "it stands for one"
    return replace(obj, metadata=replace(meta, name=f"{meta.name}-{meta.stands_for.kind.lower()}"))
