"""VolumeBinding's Filter and Reserve (`FindPodVolumes` and `AssumePodVolumes` in `plugins/volumebinding/binder.go`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Hashable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.kube.matching.csi_migration import UntranslatableError, in_tree_disk, plugin_of, translated_affinity
from kwhatif.kube.matching.labels import EVERYTHING, Labels, Selector, SelectorError, compile_selector, describe
from kwhatif.kube.matching.volumes import (
    SELECTED_NODE,
    Reach,
    Reachable,
    affinity_reach,
    capacity_of,
    claim_class,
    is_bound_to,
    requested_storage,
    volume_reaches,
    volumes_of_class,
)
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.storage import (
    ClaimReference,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeNodeAffinity,
)
from kwhatif.scheduler.framework.incremental import Signed
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Status, error
from kwhatif.scheduler.plugins.volume_binding.provisioning import ClaimConflict, ConflictReason, Provisioning
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State

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
        #: The volume for a claim that does not wait for a node: the volume reserved for the claim, or the smallest.
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
        """The volume for the claim on a node with these labels; `taken`: names of the volumes of other claims."""
        for reach, volume in self._prebound:
            if volume.metadata.name not in taken:
                # A volume that is reserved for this claim is the only choice, even if the node cannot use it.
                return volume if reach.matches(labels) else None
        for volume in self._free.of(labels):
            if volume.metadata.name not in taken:
                return volume
        return None


def _without_gate(claim: PersistentVolumeClaim, cluster: Cluster) -> Status | None:
    if not claim.spec.volume_attributes_class_name or "VolumeAttributesClass" in cluster.facts.gates:
        return None
    return error(
        f"unsupported volumeAttributesClassName is set on claim {key_of(claim)} when the feature-gate"
        " VolumeAttributesClass is disabled"
    )


def _candidates(claim: PersistentVolumeClaim, cluster: Cluster) -> Iterator[PersistentVolume]:
    """Volumes of the claim's class that are large enough and free: reserved for the claim first, then by size.

    Among volumes of the same size, upstream takes the first of an unordered list; here it is the first by name.
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
    """The further conditions for an unclaimed volume; its class is already known to be the claim's class."""
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
        """How each claim gets a volume on the node; or the conflict of a claim that does not get one; or an error."""
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


MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"


class _Migration(NamedTuple):
    """An in-tree volume, translated for nodes where the plugin is migrated to its CSI driver."""

    plugin: str
    #: The nodes that can use the volume; an error if it cannot be translated.
    reach: Reach | Status


class _BoundVolume:
    """A bound claim, and its volume."""

    def __init__(self, claim: PersistentVolumeClaim, volume: PersistentVolume, reach: Reach) -> None:
        self.reach = reach
        self.migration = _migration(volume)
        self._claim = claim
        self._volume = volume

    @cached_property
    def out_of_reach(self) -> ClaimConflict:
        """The conflict with a node that cannot use the volume."""
        needs = _affinity_text(self._volume.spec.node_affinity)
        return ClaimConflict(
            ConflictReason.NODE_CONFLICT, self._claim, f"volume {self._volume.metadata.name} needs {needs}"
        )


class BoundClaims:
    """Bound claims in the pod's order, up to the first claim whose volume is missing (`checkBoundClaims`)."""

    def __init__(self, claims: Sequence[PersistentVolumeClaim], cluster: Cluster) -> None:
        self._cluster = cluster
        self._volumes: list[_BoundVolume] = []
        self._missing: ClaimConflict | None = None
        reaches = volume_reaches(cluster)
        for claim in claims:
            volume = cluster.get(PersistentVolume, claim.spec.volume_name)
            if volume is None:
                detail = f"volume {claim.spec.volume_name} does not exist"
                self._missing = ClaimConflict(ConflictReason.VOLUME_NOT_FOUND, claim, detail)
                break
            self._volumes.append(_BoundVolume(claim, volume, reaches.of(volume)))
        #: The label keys that the result can depend on; the result also depends on the CSINode with the node's name.
        self.keys = frozenset[str]().union(*(volume.reach.keys for volume in self._volumes))
        self.by_name = any(volume.migration for volume in self._volumes)

    def check(self, node: NodeInfo) -> ClaimConflict | Status | None:
        """The conflict of the first volume that the node cannot use, or that is missing; or an error."""
        labels = node.labels
        for bound in self._volumes:
            reach = bound.reach
            if bound.migration is not None and self._is_migrated(bound.migration.plugin, node.name):
                if isinstance(bound.migration.reach, Status):
                    return bound.migration.reach
                reach = bound.migration.reach
            if not reach.matches(labels):
                return bound.out_of_reach
        return self._missing

    def _is_migrated(self, plugin: str, node_name: str) -> bool:
        csi_node = self._cluster.get(CSINode, node_name)
        return csi_node is not None and plugin in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def _migration(volume: PersistentVolume) -> _Migration | None:
    disk = in_tree_disk(volume.spec)
    if disk is None:
        return None
    plugin = plugin_of(disk)
    if not plugin.migrated:
        return None
    try:
        return _Migration(plugin.name, affinity_reach(translated_affinity(volume, disk)))
    except UntranslatableError as failure:
        return _Migration(plugin.name, error(f"could not translate pv: {failure}"))


def _affinity_text(affinity: VolumeNodeAffinity | None) -> str:
    """The affinity in selector notation. Without an affinity, only the translated zone label can exclude nodes."""
    if affinity is None or affinity.required is None:
        return "the zone it is labelled with"
    terms = (
        ", ".join(describe(requirement) for requirement in (*term.match_expressions, *term.match_fields))
        for term in affinity.required.node_selector_terms
    )
    return " or ".join(terms)


class BindingFilter(Signed, NodeFilter):
    """Checks the pod's claims against nodes."""

    def __init__(
        self,
        bound: Sequence[PersistentVolumeClaim],
        delayed: Sequence[tuple[PersistentVolumeClaim, StorageClass]],
        state: State,
    ) -> None:
        self._bound = BoundClaims(bound, state.cluster)
        self._delayed = DelayedClaims(delayed, state.cluster) if delayed else None
        keys, by_name = self._bound.keys, self._bound.by_name
        if self._delayed is not None:
            keys |= self._delayed.keys
            by_name |= self._delayed.by_name
        by_shape = not by_name and keys.isdisjoint(state.shapes.unfixed)
        self.reads = Reads.SHAPE if by_shape else Reads.NODE
        self.reserves = self._delayed is not None
        self.signature = tuple([(key_of(claim), claim.spec.volume_name) for claim in bound]), self._signed(delayed)

    def _signed(self, delayed: Sequence[tuple[PersistentVolumeClaim, StorageClass]]) -> Hashable:
        """Claims of one class with equal requests are interchangeable, if each of them needs a new volume."""
        asked = [(storage_class.metadata.name, msgspec.json.encode(claim.spec)) for claim, storage_class in delayed]
        if self._delayed is None or self._delayed.makes_all:
            return tuple(asked)
        return tuple([(key_of(claim), claim.metadata.annotations.get(SELECTED_NODE)) for claim, _ in delayed]), *asked

    def filter(self, node: NodeInfo) -> Status:
        """The node must be able to use bound volumes, and every other claim needs an existing or new volume there."""
        objection = self._bound.check(node)
        if isinstance(objection, Status):
            return objection
        if self._delayed is not None:
            plan = self._delayed.plan(node)
            if isinstance(plan, Status):
                return plan
            if isinstance(plan, ClaimConflict):
                return plan.alone if objection is None else objection.and_also(plan)
        return SUCCESS if objection is None else objection.alone

    def plan(self, node: NodeInfo) -> Plan | None:
        """The plan for the claims that wait for a node; None if no claim waits, or the node is rejected."""
        plan = self._delayed.plan(node) if self._delayed is not None else None
        return plan if isinstance(plan, Plan) else None

    def reserve(self, node: NodeInfo, state: State) -> Iterator[KubernetesObject]:
        """Bind volumes to claims and claims to the node, so that the next pods see them as used.

        Upstream also annotates the volume as bound by the controller, but no scheduling rule reads that.
        """
        if self._delayed is None:
            return
        plan = self._delayed.plan(node)
        assert isinstance(plan, Plan), "only a node that passed the filter is reserved"
        for volume, claim in plan.bindings:
            yield _bind(volume, claim)
        for provisioning in plan.provisions:
            yield _select_node(provisioning.claim, node.name)


def _bind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    meta = claim.metadata
    ref = ClaimReference(namespace=meta.namespace, name=meta.name, uid=meta.uid)
    return replace(volume, spec=replace(volume.spec, claim_ref=ref))


def _select_node(claim: PersistentVolumeClaim, node_name: str) -> PersistentVolumeClaim:
    annotations = {**claim.metadata.annotations, SELECTED_NODE: node_name}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))
