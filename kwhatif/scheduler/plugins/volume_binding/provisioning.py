"""Whether a volume can be provisioned for a claim, and why a claim cannot be used on a node or is not bound.

(`checkVolumeProvisions` in `plugins/volumebinding/binder.go`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from kwhatif.kube.matching.labels import Labels, SelectorError, compile_selector, selector_text
from kwhatif.kube.matching.volumes import (
    EVERYWHERE,
    NOWHERE,
    STORAGE,
    Reach,
    Reachable,
    capacity_of,
    claim_class,
    default_class,
    is_bound_to,
    requested_storage,
    selector_reach,
    topologies_reach,
    volume_class,
)
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.quantity import parse_quantity, value
from kwhatif.kube.model.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from kwhatif.scheduler.framework.evidence import Mismatch, UnboundClaim, VolumeConflict
from kwhatif.scheduler.framework.status import Code, Status


class ConflictReason(Enum):
    """Upstream's reasons, in upstream's order."""

    NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
    BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
    NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
    VOLUME_NOT_FOUND = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


_ORDER = list(ConflictReason)


class ClaimConflict:
    """A reason and its claim, without the node, so that nodes can share the object."""

    def __init__(self, reason: ConflictReason, claim: PersistentVolumeClaim, detail: str) -> None:
        self._reason = reason
        self._evidence = VolumeConflict(claim=key_of(claim), detail=detail)
        #: The rejection of a node for this reason only.
        self.alone = Status(Code.UNRESOLVABLE, (reason.value,), (self._evidence,))

    def and_also(self, other: ClaimConflict) -> Status:
        """The rejection for both reasons."""
        both = sorted((self, other), key=lambda objection: _ORDER.index(objection._reason))
        return Status(
            Code.UNRESOLVABLE,
            tuple(objection._reason.value for objection in both),
            tuple(objection._evidence for objection in both),
        )


NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")


class Provisioning:
    """Where a volume can be provisioned for the claim.

    Upstream also checks for claims without a class, and for deleted classes, but such claims do not wait for a node.
    """

    def __init__(self, claim: PersistentVolumeClaim, storage_class: StorageClass, cluster: Cluster) -> None:
        self.claim = claim
        self._class = storage_class
        supported = storage_class.provisioner not in NO_PROVISIONER
        self._topologies = topologies_reach(storage_class.allowed_topologies) if supported else NOWHERE
        self._pools = _pools(claim, storage_class, cluster)
        #: The label keys that the result can depend on.
        self.keys = self._topologies.keys | self._pools.keys

    def check(self, labels: Labels) -> ClaimConflict | None:
        """Why no volume can be provisioned for a node with these labels; None if one can."""
        if not self._topologies.matches(labels):
            return self._no_volume
        if next(self._pools.of(labels), None) is None:
            return self._no_space
        return None

    @property
    def class_name(self) -> str:
        """The name of the storage class."""
        return self._class.metadata.name

    def pool_size(self, labels: Labels) -> int | None:
        """The free bytes in the pool for a node with these labels; None if the driver does not report capacity."""
        return next(self._pools.of(labels), _NO_TRACK).size

    @cached_property
    def _no_volume(self) -> ClaimConflict:
        detail = f"no volume of class {self._class.metadata.name} fits, and none is provisioned"
        if self._topologies is not NOWHERE:
            detail = f"{detail} outside {self._topologies_text()}"
        return ClaimConflict(ConflictReason.BIND_CONFLICT, self.claim, detail)

    @cached_property
    def _no_space(self) -> ClaimConflict:
        size = self.claim.spec.resources.requests[STORAGE]
        detail = f"no storage pool of class {self._class.metadata.name} has {size} left for the node"
        return ClaimConflict(ConflictReason.NOT_ENOUGH_SPACE, self.claim, detail)

    def _topologies_text(self) -> str:
        terms = (
            ", ".join(f"{need.key} in ({','.join(need.values)})" for need in term.match_label_expressions)
            for term in self._class.allowed_topologies
        )
        return " or ".join(terms)


class _Pool(NamedTuple):
    """In bytes: the largest volume that fits, and the free capacity."""

    room: int
    size: int | None


_NO_TRACK = _Pool(0, None)
_UNLIMITED: Reachable[_Pool] = Reachable([(EVERYWHERE, _NO_TRACK)])


def _pools(claim: PersistentVolumeClaim, storage_class: StorageClass, cluster: Cluster) -> Reachable[_Pool]:
    """The storage pools with room for the claim (`hasEnoughCapacity`); only some drivers report capacity."""
    size = claim.spec.resources.requests.get(STORAGE)
    driver = cluster.get(CSIDriver, storage_class.provisioner)
    if size is None or driver is None or not driver.spec.storage_capacity:
        return _UNLIMITED
    wanted = value(parse_quantity(size))
    by_class = cluster.derived(_pools_by_class, CSIStorageCapacity)
    known = by_class.get(storage_class.metadata.name, ())
    return Reachable((reach, pool) for reach, pool in known if pool.room >= wanted)


def _pools_by_class(cluster: Cluster) -> Mapping[str, list[tuple[Reach, _Pool]]]:
    """Pools by storage class: the nodes that can use each pool, and its free capacity."""
    pools: dict[str, list[tuple[Reach, _Pool]]] = {}
    for pool in cluster.all(CSIStorageCapacity).values():
        limit = pool.capacity if pool.maximum_volume_size is None else pool.maximum_volume_size
        if limit is not None:
            found = _Pool(value(parse_quantity(limit)), value(parse_quantity(pool.capacity or 0)))
            pools.setdefault(pool.storage_class_name, []).append((selector_reach(pool.node_topology), found))
    return pools


_FILESYSTEM = "Filesystem"


def mismatches(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Iterator[Mismatch]:
    """Why the claim cannot be bound to a volume that no other claim has.

    A claim with `spec.volumeName` has only these conditions (`checkVolumeSatisfyClaim` in `pv_controller.go`).
    """
    offered, wanted = volume.spec, claim.spec
    if capacity_of(volume) < requested_storage(claim):
        requests = claim.spec.resources.requests
        yield Mismatch("capacity", str(requests.get(STORAGE, 0)), str(offered.capacity.get(STORAGE, 0)))
    if volume_class(volume) != claim_class(claim):
        yield Mismatch("storageClassName", claim_class(claim), volume_class(volume))
    if (offered.volume_mode or _FILESYSTEM) != (wanted.volume_mode or _FILESYSTEM):
        yield Mismatch("volumeMode", wanted.volume_mode or _FILESYSTEM, offered.volume_mode or _FILESYSTEM)
    if (offered.volume_attributes_class_name or "") != (wanted.volume_attributes_class_name or ""):
        yield Mismatch(
            "volumeAttributesClassName",
            wanted.volume_attributes_class_name or "",
            offered.volume_attributes_class_name or "",
        )
    if not set(wanted.access_modes) <= set(offered.access_modes):
        yield Mismatch("accessModes", ", ".join(wanted.access_modes), ", ".join(offered.access_modes))


def _in_the_way(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Iterator[Mismatch]:
    """The further conditions without `spec.volumeName` (`FindMatchingVolume`), and the volume's current claim."""
    ref = volume.spec.claim_ref
    if ref is not None and not is_bound_to(volume, claim):
        yield Mismatch("claimRef", key_of(claim), f"{ref.namespace}/{ref.name}")
    elif ref is None and not claim.spec.volume_name and volume.status.phase != "Available":
        yield Mismatch("phase", "Available", volume.status.phase)
    if volume.metadata.deletion_timestamp is not None:
        yield Mismatch("deletionTimestamp", "", volume.metadata.deletion_timestamp)
    if claim.spec.selector is not None and not claim.spec.volume_name:
        try:
            selects = compile_selector(claim.spec.selector).matches(volume.metadata.labels)
        except SelectorError:
            selects = False
        if not selects:
            yield Mismatch("selector", selector_text(claim.spec.selector), "")


def why_unbound(claim: PersistentVolumeClaim, cluster: Cluster) -> UnboundClaim:
    """Why an immediate claim is not bound: problems of its class, and of its own volume or the closest one."""
    name = claim_class(claim)
    storage_class = cluster.get(StorageClass, name)
    volumes = cluster.all(PersistentVolume)
    named = claim.spec.volume_name
    volume = volumes.get(named) if named else _nearest(claim, cluster)
    provisioner = "" if storage_class is None or named else storage_class.provisioner
    return UnboundClaim(
        claim=key_of(claim),
        storage_class=name,
        is_default=bool(name) and name == default_class(cluster),
        is_known=not name or storage_class is not None,
        provisioner="" if provisioner in NO_PROVISIONER else provisioner,
        volume=named or (volume.metadata.name if volume is not None else ""),
        is_named=bool(named),
        is_there=volume is not None,
        mismatches=() if volume is None else _all(volume, claim),
    )


def _all(volume: PersistentVolume, claim: PersistentVolumeClaim) -> tuple[Mismatch, ...]:
    return (*_in_the_way(volume, claim), *mismatches(volume, claim))


def _nearest(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolume | None:
    """The volume with the fewest mismatches; then one of the claim's class, then the smallest that is large enough."""
    wanted = requested_storage(claim)

    def distance(volume: PersistentVolume) -> tuple[int, bool, bool, int, str]:
        size = capacity_of(volume)
        lacks = len(_all(volume, claim))
        return (
            lacks,
            volume_class(volume) != claim_class(claim),
            size < wanted,
            abs(size - wanted),
            volume.metadata.name,
        )

    free = (each for each in cluster.all(PersistentVolume).values() if each.spec.claim_ref is None)
    return min(free, key=distance, default=None)
