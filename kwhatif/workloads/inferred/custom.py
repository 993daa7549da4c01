"""What stands for custom resources that the input lacks: made up of the pods and sets that they control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import CustomResourceRef, ObjectMeta, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Deployment, Job, ReplicaSet, StatefulSet
from kwhatif.workloads.adopted import Standing, adopt
from kwhatif.workloads.custom_kinds import LIKE, WorkloadKind, part_of_pods
from kwhatif.workloads.generated import uid_of
from kwhatif.workloads.inferred.deployments import missing_deployments
from kwhatif.workloads.inferred.owners import missing_jobs
from kwhatif.workloads.inferred.replica_sets import missing_replica_sets
from kwhatif.workloads.inferred.stateful_sets import missing_stateful_sets
from kwhatif.workloads.owners import reference

#: The entries of a kind, by `apiVersion` and name.
EntriesOf = Callable[[str, str], Sequence[WorkloadKind]]


class _Place(NamedTuple):
    """Which part of which custom resource: the kind it is played as, where, and its name."""

    like: str
    namespace: str
    name: str


class _Owner(NamedTuple):
    """A custom resource, the entry of its part, and the labels that tell the pods of this part."""

    entry: WorkloadKind
    reference: OwnerReference
    labels: dict[str, str]


def stand_in_for_missing(cluster: Cluster, entries_of: EntriesOf) -> None:
    """Let objects stand for the custom resources that own pods, or sets of pods, and are not in the input."""
    owners: dict[_Place, _Owner] = {}
    kinds: dict[tuple[str, str], Sequence[WorkloadKind]] = {}
    for kind in (ReplicaSet, StatefulSet, Job, Pod):
        for obj in cluster.all(kind).values():
            named = controller_of(obj.metadata)
            if named is None:
                continue
            version = named.api_version, named.kind
            if version not in kinds:
                kinds[version] = [entry for entry in entries_of(*version) if not (entry.makes or entry.controlled_by)]
            found = _owner(obj.metadata, named, kinds[version], cluster) if kinds[version] else None
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
    """With an object that has no more than a name: it is made up once its pods are its own."""
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
