"""Claims, volumes and storage classes (`component-helpers/storage`), and the nodes that can use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from typing import Generic, NamedTuple, TypeVar

from kwhatif.kube.matching.labels import Labels, SelectorError, compile_selector
from kwhatif.kube.matching.nodes import Term, TermError
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import LabelSelector, Requirement, controller_of, created_at
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import NodeSelectorTerm
from kwhatif.kube.model.quantity import QuantityText, ceil_to_milli, parse_quantity
from kwhatif.kube.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
    Volume,
    VolumeNodeAffinity,
)

T = TypeVar("T")


class Reach(NamedTuple):
    """The nodes whose labels satisfy `matches`."""

    matches: Callable[[Labels], bool]
    #: The label keys that the result can depend on.
    keys: frozenset[str] = frozenset()
    #: A label that a node must have, and its possible values: this excludes most nodes without a call of `matches`.
    pin: tuple[str, tuple[str, ...]] | None = None


EVERYWHERE = Reach(lambda _labels: True)
NOWHERE = Reach(lambda _labels: False)


def _pin(requirements: Iterable[Requirement]) -> tuple[str, tuple[str, ...]] | None:
    for requirement in requirements:
        if requirement.operator == "In":
            return requirement.key, requirement.values
    return None


def affinity_reach(affinity: VolumeNodeAffinity | None) -> Reach:
    """The nodes that a volume's node affinity allows (`CheckNodeAffinity` in `component-helpers/storage/volume`)."""
    if affinity is None or affinity.required is None:
        return EVERYWHERE
    return _terms_reach(affinity.required.node_selector_terms)


def _terms_reach(listed: Sequence[NodeSelectorTerm]) -> Reach:
    terms: list[tuple[Term, NodeSelectorTerm]] = []
    for term in listed:
        try:
            terms.append((Term(term.match_expressions, term.match_fields), term))
        except TermError:  # the term matches no node
            continue
    if not terms:
        return NOWHERE
    keys = frozenset[str]().union(*(term.keys for term, _ in terms))
    if len(terms) == 1:
        return Reach(terms[0][0].matches_labels, keys, _pin(terms[0][1].match_expressions))
    return Reach(lambda labels: any(term.matches_labels(labels) for term, _ in terms), keys)


def selector_reach(selector: LabelSelector | None) -> Reach:
    """The nodes with access to a storage pool (`nodeHasAccess` in the volume binder); none without a selector."""
    try:
        compiled = compile_selector(selector)
    except SelectorError:  # upstream logs the error, and then no node has access
        return NOWHERE
    if selector is None:
        return NOWHERE
    labels = tuple(selector.match_labels.items())
    pin = (labels[0][0], (labels[0][1],)) if labels else _pin(selector.match_expressions)
    return Reach(compiled.matches, compiled.keys, pin)


def topologies_reach(terms: Sequence[TopologySelectorTerm]) -> Reach:
    """The nodes that a storage class provisions for (`MatchTopologySelectorTerms` in `pkg/apis/core/v1/helper`).

    Without terms these are all nodes; a term without expressions, or an expression without values, matches nothing.
    """
    if not terms:
        return EVERYWHERE
    compiled = [
        tuple((expression.key, frozenset(expression.values)) for expression in term.match_label_expressions)
        for term in terms
        if term.match_label_expressions
    ]

    def matches(labels: Labels) -> bool:
        return any(all(labels.get(key) in values for key, values in term) for term in compiled)

    return Reach(matches, frozenset(key for term in compiled for key, _ in term))


class Reachable(Generic[T]):
    """Volumes or pools in order of preference, found by a node's labels without a test of each entry.

    A cluster with local disks has one volume per disk, and each volume is for one node: `Reach.pin` finds it quickly.
    """

    def __init__(self, things: Iterable[tuple[Reach, T]]) -> None:
        self._pinned: dict[str, dict[str | None, list[tuple[int, Callable[[Labels], bool], T]]]] = {}
        self._others: list[tuple[int, Callable[[Labels], bool], T]] = []
        keys: set[str] = set()
        for rank, (reach, thing) in enumerate(things):
            keys |= reach.keys
            entry = (rank, reach.matches, thing)
            if reach.pin is None:
                self._others.append(entry)
                continue
            key, values = reach.pin
            by_value = self._pinned.setdefault(key, {})
            for value in dict.fromkeys(values):
                by_value.setdefault(value, []).append(entry)
        #: The label keys that a result can depend on.
        self.keys = frozenset(keys)

    def of(self, labels: Labels) -> Iterator[T]:
        """The entries that a node with these labels can use, in order of preference."""
        found = [entries for key, by_value in self._pinned.items() if (entries := by_value.get(labels.get(key)))]
        if self._others:
            found.append(self._others)
        # Ranks are unique, so `merge` never compares anything but ranks.
        for _, matches, thing in found[0] if len(found) == 1 else merge(*found):
            if matches(labels):
                yield thing


READ_WRITE_ONCE_POD = "ReadWriteOncePod"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
STORAGE = "storage"

_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


class ClaimName(NamedTuple):
    """The claim of a pod's volume; an ephemeral claim is created by a controller, and the pod must own it."""

    name: str
    ephemeral: bool = False


def claim_name(pod: Pod, volume: Volume) -> ClaimName | None:
    """The claim of the volume, if it has one (`ephemeral.VolumeClaimName`)."""
    if volume.persistent_volume_claim is not None:
        return ClaimName(volume.persistent_volume_claim.claim_name)
    if volume.ephemeral is not None:
        return ClaimName(f"{pod.metadata.name}-{volume.name}", ephemeral=True)
    return None


def claim_names(pod: Pod) -> Iterator[ClaimName]:
    """The claims of the pod, including ephemeral ones, in the order of its volumes."""
    for volume in pod.spec.volumes:
        claim = claim_name(pod, volume)
        if claim is not None:
            yield claim


def claim_not_found(name: str) -> str:
    """The API server's message for a claim that does not exist."""
    return f'persistentvolumeclaim "{name}" not found'


def not_owner(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Why the claim of an ephemeral volume does not belong to the pod; "" if it does (`ephemeral.VolumeIsForPod`).

    The owner is compared by UID. A manifest that was never applied does not have a UID: then the owner's name decides.
    """
    meta = pod.metadata
    owner = controller_of(claim.metadata)
    if owner is not None:
        if meta.uid and owner.uid == meta.uid:
            return ""
        if not meta.uid and (owner.kind, owner.name) == ("Pod", meta.name):
            return ""
    return (
        f"PVC {claim.metadata.namespace}/{claim.metadata.name} was not created for pod"
        f" {meta.namespace}/{meta.name} (pod is not owner)"
    )


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The storage class that a claim requests; "" for none (`GetPersistentVolumeClaimClass`)."""
    annotated = claim.metadata.annotations.get(_BETA_CLASS)
    return (claim.spec.storage_class_name or "") if annotated is None else annotated


def has_class(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim sets its class; this includes "", which means no class (`PersistentVolumeClaimHasClass`)."""
    return _BETA_CLASS in claim.metadata.annotations or claim.spec.storage_class_name is not None


def default_class(cluster: Cluster) -> str | None:
    """The class of a new claim that does not set a class (`GetDefaultClass` in `pkg/volume/util`).

    This is the newest default class; if several are equally new, the first by name.
    """
    return cluster.derived(_default_class, StorageClass)


def _default_class(cluster: Cluster) -> str | None:
    defaults = [
        storage_class.metadata
        for storage_class in cluster.all(StorageClass).values()
        if any(storage_class.metadata.annotations.get(annotation) == "true" for annotation in _IS_DEFAULT)
    ]
    created = {meta.name: created_at(meta) for meta in defaults}
    return min(created, key=lambda name: (-created[name], name), default=None)


def volume_class(volume: PersistentVolume) -> str:
    """The storage class of a volume; "" for none (`GetPersistentVolumeClass`)."""
    annotated = volume.metadata.annotations.get(_BETA_CLASS)
    return volume.spec.storage_class_name if annotated is None else annotated


def requested_storage(claim: PersistentVolumeClaim) -> int:
    """The requested size of a claim, in nano-units."""
    return _storage(claim.spec.resources.requests)


def capacity_of(volume: PersistentVolume) -> int:
    """The size of a volume, in nano-units."""
    return _storage(volume.spec.capacity)


def _storage(amounts: Mapping[str, QuantityText]) -> int:
    return ceil_to_milli(parse_quantity(amounts.get(STORAGE, 0)))  # rounded as the API server stores amounts


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether binding is complete; a `volumeName` that a user sets is not enough (`isPVCFullyBound`)."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is reserved for this claim (`IsVolumeBoundToClaim`)."""
    ref, meta = volume.spec.claim_ref, claim.metadata
    return (
        ref is not None
        and ref.name == meta.name
        and ref.namespace == meta.namespace
        and (not ref.uid or ref.uid == meta.uid)
    )


class ClassVolumes(NamedTuple):
    """The volumes of one storage class."""

    #: Names of volumes by the claim in `spec.claimRef`, (namespace, name).
    claimed: dict[tuple[str, str], list[str]]
    #: (size in nano-units, name) of other volumes, the smallest first; they may have been claimed since.
    unclaimed: list[tuple[int, str]]


def volumes_of_class(cluster: Cluster, storage_class: str) -> ClassVolumes:
    """The volumes of the class, ordered by name; upstream's list has no order."""
    return cluster.derived(_VolumesByClass, PersistentVolume).classes.get(storage_class) or ClassVolumes({}, [])


class _VolumesByClass:
    """The volumes of all classes."""

    def __init__(self, cluster: Cluster) -> None:
        self.classes: dict[str, ClassVolumes] = {}
        for name, volume in sorted(cluster.all(PersistentVolume).items()):
            volumes = self.classes.setdefault(volume_class(volume), ClassVolumes({}, []))
            ref = volume.spec.claim_ref
            if ref is None:
                volumes.unclaimed.append((capacity_of(volume), name))
            else:
                volumes.claimed.setdefault((ref.namespace, ref.name), []).append(name)
        for volumes in self.classes.values():
            volumes.unclaimed.sort()

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _VolumesByClass | None:
        """This object, if a volume is claimed: callers read the current volume anyway. Otherwise None."""
        if not isinstance(before, PersistentVolume) or not isinstance(after, PersistentVolume):
            return None
        is_found = (
            before.spec.claim_ref in (None, after.spec.claim_ref)
            and volume_class(before) == volume_class(after)
            and capacity_of(before) == capacity_of(after)
        )
        return self if is_found else None


class VolumeReaches:
    """The nodes that can use each volume; compiled on demand, and kept while no volume's node affinity changes."""

    def __init__(self, cluster: Cluster) -> None:
        del cluster
        self._by_name: dict[str, Reach] = {}

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> VolumeReaches | None:
        """This object, if the change does not affect which nodes can use volumes; otherwise None."""
        if not isinstance(before, PersistentVolume) or not isinstance(after, PersistentVolume):
            return None
        return self if before.spec.node_affinity == after.spec.node_affinity else None

    def of(self, volume: PersistentVolume) -> Reach:
        """The nodes that can use the volume."""
        name = volume.metadata.name
        reach = self._by_name.get(name)
        if reach is None:
            reach = self._by_name[name] = affinity_reach(volume.spec.node_affinity)
        return reach


def volume_reaches(cluster: Cluster) -> VolumeReaches:
    """The nodes that can use each volume of the cluster."""
    return cluster.derived(VolumeReaches, PersistentVolume)
