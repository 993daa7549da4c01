"""The pods of custom resources, as those of the objects that stand for them.

Where the input lacks a custom resource, what stands for it is made up of the pods and sets that it controls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of, list_order
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import CustomResourceRef, ObjectMeta, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Deployment, Job, ReplicaSet, StatefulSet
from kwhatif.workloads.applied_template import with_template
from kwhatif.workloads.custom_kinds import LIKE, StandIn, WorkloadKind, part_of_pods
from kwhatif.workloads.inferred_groups import template_from
from kwhatif.workloads.inferred_owners import missing_jobs, missing_stateful_sets
from kwhatif.workloads.inferred_replica_sets import missing_deployments, missing_replica_sets
from kwhatif.workloads.names import uid_of
from kwhatif.workloads.owners import pods_controlled_by, reference
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


#: A pod without a revision label belongs to the only template that is known.
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


#: The entries of a kind, by `apiVersion` and name.
EntriesOf = Callable[[str, str], Sequence[WorkloadKind]]


class _Place(NamedTuple):
    """A part of a custom resource: the kind that it is played as, the namespace, and the name."""

    like: str
    namespace: str
    name: str


class _Owner(NamedTuple):
    """A custom resource, the entry of its part, and the labels that only the pods of this part have."""

    entry: WorkloadKind
    reference: OwnerReference
    labels: dict[str, str]


#: What custom resources may control.
_CONTROLLED = (ReplicaSet, StatefulSet, Job, Pod)
#: The groups of Kubernetes' own controllers; mirror pods are of nodes.
_OWN = frozenset({"", "apps", "batch"})


def is_custom_controlled(obj: KubernetesObject) -> bool:
    """Whether something that is not Kubernetes' own controls it."""
    owner = controller_of(obj.metadata)
    return owner is not None and owner.api_version.rpartition("/")[0] not in _OWN


class _Controlled:
    """The objects that something else than Kubernetes' own controls, of each kind; of most clusters there are few."""

    def __init__(self, cluster: Cluster) -> None:
        self.keys: dict[type, dict[str, None]] = {
            kind: {key: None for key, obj in cluster.all(kind).items() if is_custom_controlled(obj)}
            for kind in _CONTROLLED
        }

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Controlled | None:
        """The same index if its objects stay the same; else it is built again, because many leave at once."""
        was, now = (each is not None and is_custom_controlled(each) for each in (before, after))
        return self if was == now and (not was or (before is not None and after is not None)) else None


def custom_controlled(cluster: Cluster) -> list[KubernetesObject]:
    """What something else than Kubernetes' own controls, in the API server's order of lists."""
    found = cluster.derived(_Controlled, *_CONTROLLED)
    in_order = ((kind, sorted(keys, key=list_order)) for kind, keys in found.keys.items())
    objects: Iterable[KubernetesObject] = chain.from_iterable(cluster.select(kind, keys) for kind, keys in in_order)
    return list(objects)


def has_any(cluster: Cluster, entries_of: EntriesOf) -> bool:
    """Whether objects stand for custom resources that the input lacks, or would."""
    return any(_entries(owner, entries_of) for _, owner in _owned(cluster))


def _owned(cluster: Cluster) -> Iterator[tuple[ObjectMeta, OwnerReference]]:
    for obj in custom_controlled(cluster):
        owner = controller_of(obj.metadata)
        assert owner is not None, "it is controlled"
        yield obj.metadata, owner


def _entries(owner: OwnerReference, entries_of: EntriesOf) -> list[WorkloadKind]:
    found = entries_of(owner.api_version, owner.kind)
    return [entry for entry in found if not (entry.makes or entry.controlled_by)]


def stand_in_for_missing(cluster: Cluster, entries_of: EntriesOf) -> None:
    """Let objects stand for the custom resources that own pods, or sets of pods, and are not in the input."""
    owners: dict[_Place, _Owner] = {}
    for meta, owner in _owned(cluster):
        found = _owner(meta, owner, _entries(owner, entries_of), cluster)
        if found is not None:
            owners.setdefault(*found)
    if owners:
        adopt(cluster, [_standing(place, owner) for place, owner in owners.items()])
        for made in list(_made_up(cluster, owners)):
            cluster.add(made)


def _owner(
    meta: ObjectMeta, owner: OwnerReference, entries: Iterable[WorkloadKind], cluster: Cluster
) -> tuple[_Place, _Owner] | None:
    for entry in entries:
        name = part_of_pods(entry, owner.name, meta.labels)
        if name is None:
            continue
        if f"{meta.namespace}/{name}" in cluster.all(LIKE[entry.like]):
            name = f"{name}-{entry.kind.lower()}"
        labels = {label: meta.labels[label] for label in entry.pods}
        return _Place(entry.like, meta.namespace, name), _Owner(entry, owner, labels)
    return None


def _standing(place: _Place, owner: _Owner) -> Standing:
    """With an object that has only a name: the rest is inferred once it owns its pods."""
    meta = ObjectMeta(namespace=place.namespace, name=place.name, uid=uid_of(*place))
    group = owner.reference.api_version.rpartition("/")[0]
    kind: type[Any] = LIKE[place.like]
    controller = owner.reference.kind, owner.reference.name
    return Standing(kind(metadata=meta), group, controller, owner.labels, owner.entry.revision, operated=False)


def _made_up(cluster: Cluster, owners: dict[_Place, _Owner]) -> Iterator[Any]:
    sets = dict(cluster.all(ReplicaSet))
    names = {f"{place.namespace}/{place.name}": place for place in owners if place.like == "Deployment"}
    made: list[ReplicaSet] = []
    for each in missing_replica_sets(cluster, frozenset(sets)):
        above = names.get(f"{each.metadata.namespace}/{each.metadata.name.rpartition('-')[0]}")
        if above is not None:
            meta = ObjectMeta(namespace=above.namespace, name=above.name, uid=uid_of(*above))
            owner = reference(Deployment(metadata=meta))
            made.append(replace(each, metadata=replace(each.metadata, owner_references=(owner,))))
        elif _Place("ReplicaSet", each.metadata.namespace, each.metadata.name) in owners:
            yield _marked(each, owners)
    yield from made
    for deployment in missing_deployments([*sets.values(), *made], cluster):
        if key_of(deployment) in names and cluster.get(Deployment, key_of(deployment)) is None:
            yield _marked(deployment, owners)
    others: tuple[Any, ...] = (*missing_stateful_sets(cluster), *missing_jobs(cluster))
    for each in others:
        if _place_of(each) in owners:
            yield _marked(each, owners)


def _place_of(obj: Any) -> _Place:
    return _Place(type(obj).__name__, obj.metadata.namespace, obj.metadata.name)


def _marked(obj: Any, owners: dict[_Place, _Owner]) -> Any:
    owner = owners[_place_of(obj)]
    entry = owner.entry
    mark = CustomResourceRef(kind=entry.kind, group=entry.group, name=owner.reference.name, inferred=True)
    return replace(obj, metadata=replace(obj.metadata, stands_for=mark))
