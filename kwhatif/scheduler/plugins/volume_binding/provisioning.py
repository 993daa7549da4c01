"""Volumes that can be provisioned for a claim (`checkVolumeProvisions` in `plugins/volumebinding/binder.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from kwhatif.kube.matching.labels import Labels
from kwhatif.kube.matching.volumes import (
    EVERYWHERE,
    NOWHERE,
    STORAGE,
    Reach,
    Reachable,
    selector_reach,
    topologies_reach,
)
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.quantity import parse_quantity, value
from kwhatif.kube.model.storage import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from kwhatif.scheduler.plugins.volume_binding.conflict import ClaimConflict, ConflictReason

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
