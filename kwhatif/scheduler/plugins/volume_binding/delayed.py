"""Claims that wait for a node: each must find a volume, or one can be provisioned (`FindPodVolumes`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from kwhatif.kube.matching.labels import EVERYTHING, Labels, Selector, SelectorError, compile_selector
from kwhatif.kube.matching.volumes import (
    SELECTED_NODE,
    Reach,
    Reachable,
    capacity_of,
    claim_class,
    is_bound_to,
    requested_storage,
    volume_reaches,
    volumes_of_class,
)
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.scheduler.framework.status import Status, error
from kwhatif.scheduler.plugins.volume_binding.provisioning import ClaimConflict, ConflictReason, Provisioning
from kwhatif.state.node_info import NodeInfo

_FILESYSTEM = "Filesystem"


class VolumeSearch:
    """The volumes that match a claim, if the node can use them (`FindMatchingVolume`)."""

    def __init__(self, claim: PersistentVolumeClaim, cluster: Cluster) -> None:
        #: Set if the claim's selector is not valid, or a feature gate is off: then the scheduler fails.
        self.error: Status | None = _without_gate(claim, cluster)
        self._prebound: list[tuple[Reach, PersistentVolume]] = []
        free: list[tuple[Reach, PersistentVolume]] = []
        selector = self._selector(claim)
        reaches = volume_reaches(cluster)
        for volume in _candidates(claim, cluster):
            if not _could_hold(volume, claim):
                continue
            if volume.spec.claim_ref is not None:
                self._prebound.append((reaches.of(volume), volume))
            elif _is_offered(volume, claim, selector):
                free.append((reaches.of(volume), volume))
        self._free = Reachable(free)
        #: The volume of a claim that does not wait for a node: the one reserved for it, or the smallest.
        self.anywhere = next((volume for _, volume in (*self._prebound, *free)), None)
        self._is_empty = not free and not self._prebound
        #: The label keys that the result can depend on.
        self.keys = self._free.keys.union(*(reach.keys for reach, _ in self._prebound))

    def _selector(self, claim: PersistentVolumeClaim) -> Selector:
        if claim.spec.selector is None:
            return EVERYTHING
        try:
            return compile_selector(claim.spec.selector)
        except SelectorError as failure:
            self.error = self.error or error(
                f"error creating internal label selector for claim: {key_of(claim)}: {failure}"
            )
            return EVERYTHING

    @property
    def finds_none(self) -> bool:
        """Whether no volume matches on any node."""
        return self._is_empty and self.error is None

    def find(self, labels: Labels, taken: Container[str]) -> PersistentVolume | None:
        """The volume that the claim gets on a node with these labels; `taken` are names of other claims' volumes."""
        for reach, volume in self._prebound:
            if volume.metadata.name not in taken:
                # A volume that is reserved for this claim is the only choice, even if the node cannot use it.
                return volume if reach.matches(labels) else None
        for volume in self._free.of(labels):
            if volume.metadata.name not in taken:
                return volume
        return None


def _without_gate(claim: PersistentVolumeClaim, cluster: Cluster) -> Status | None:
    if not claim.spec.volume_attributes_class_name or "VolumeAttributesClass" in cluster.gates:
        return None
    return error(
        f"unsupported volumeAttributesClassName is set on claim {key_of(claim)} when the feature-gate"
        " VolumeAttributesClass is disabled"
    )


def _candidates(claim: PersistentVolumeClaim, cluster: Cluster) -> Iterator[PersistentVolume]:
    """Volumes of the claim's class that are large enough and not claimed by others: its own, then by size.

    If several have the same size, upstream takes the first of an unordered list; here it is the first by name.
    """
    volumes = volumes_of_class(cluster, claim_class(claim))
    by_name = cluster.all(PersistentVolume)
    wanted = requested_storage(claim)
    for name in volumes.claimed.get((claim.metadata.namespace, claim.metadata.name), ()):
        if capacity_of(by_name[name]) >= wanted:
            yield by_name[name]
    for _, name in volumes.unclaimed[bisect_left(volumes.unclaimed, (wanted, "")) :]:
        yield by_name[name]


def _could_hold(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """The conditions that even a volume reserved for the claim must meet."""
    offered, wanted = volume.spec, claim.spec
    return (
        (offered.claim_ref is None or is_bound_to(volume, claim))
        and (offered.volume_mode or _FILESYSTEM) == (wanted.volume_mode or _FILESYSTEM)
        and (offered.volume_attributes_class_name or "") == (wanted.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
    )


def _is_offered(volume: PersistentVolume, claim: PersistentVolumeClaim, selector: Selector) -> bool:
    """The further conditions for an unclaimed volume; it already has the claim's class."""
    return (
        volume.status.phase == "Available"
        and selector.matches(volume.metadata.labels)
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )


class Plan(NamedTuple):
    """What would happen to the claims if the pod were placed on the node."""

    bindings: list[tuple[PersistentVolume, PersistentVolumeClaim]]
    provisions: list[Provisioning]


class DelayedClaims:
    """The pod's claims of classes that wait for the first consumer."""

    def __init__(self, delayed: Sequence[tuple[PersistentVolumeClaim, StorageClass]], cluster: Cluster) -> None:
        #: Claims for which an earlier attempt chose a node: they get a new volume.
        self._selected: list[tuple[str, Provisioning, ClaimConflict]] = []
        self._searching: list[tuple[VolumeSearch, Provisioning]] = []
        for claim, storage_class in delayed:
            provisioning = Provisioning(claim, storage_class, cluster)
            node_name = claim.metadata.annotations.get(SELECTED_NODE)
            if node_name is None:
                self._searching.append((VolumeSearch(claim, cluster), provisioning))
            else:
                detail = f"a volume is being provisioned for node {node_name}"
                self._selected.append(
                    (node_name, provisioning, ClaimConflict(ConflictReason.BIND_CONFLICT, claim, detail))
                )
        # The smallest request comes first, so that it takes the smallest volume.
        self._searching.sort(key=lambda entry: requested_storage(entry[1].claim))
        #: The result can depend on labels of the node, and on its name if a node was chosen.
        self.by_name = bool(self._selected)
        self.keys = frozenset[str]().union(
            *(search.keys | provisioning.keys for search, provisioning in self._searching),
        )

    @property
    def makes_all(self) -> bool:
        """Whether every claim gets a new volume on any node, because no existing volume matches."""
        return not self._selected and all(search.finds_none for search, _ in self._searching)

    def plan(self, node: NodeInfo) -> Plan | ClaimConflict | Status:
        """How all claims get a volume on the node, or why one does not, or an error."""
        for node_name, _, elsewhere in self._selected:
            if node_name != node.name:
                return elsewhere
        labels = node.labels
        plan = Plan([], [])
        left = [provisioning for _, provisioning, _ in self._selected]
        # QUIRK: (findMatchingVolumes) a claim that the pod mounts twice is listed twice, and then needs two volumes.
        chosen: set[str] = set()
        for search, provisioning in self._searching:
            if search.error is not None:
                return search.error
            volume = search.find(labels, chosen)
            if volume is None:
                left.append(provisioning)
            else:
                chosen.add(volume.metadata.name)
                plan.bindings.append((volume, provisioning.claim))
        for provisioning in left:
            refusal = provisioning.check(labels)
            if refusal is not None:
                return refusal
            plan.provisions.append(provisioning)
        return plan
