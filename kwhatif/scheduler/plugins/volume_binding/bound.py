"""Bound claims: the node must be able to use their volumes (`checkBoundClaims`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from kwhatif.kube.matching.csi_migration import UntranslatableError, in_tree_disk, plugin_of, translated_affinity
from kwhatif.kube.matching.labels import describe
from kwhatif.kube.matching.volumes import Reach, affinity_reach, volume_reaches
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, VolumeNodeAffinity
from kwhatif.scheduler.framework.status import Status, error
from kwhatif.scheduler.plugins.volume_binding.conflict import ClaimConflict, ConflictReason
from kwhatif.state.node_info import NodeInfo

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"


class _Migration(NamedTuple):
    """An in-tree volume as seen by nodes where the plugin is migrated to its CSI driver."""

    plugin: str
    #: The nodes that can use it; an error if it cannot be translated.
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
    """Bound claims in the pod's order, up to the first whose volume is missing."""

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
        #: The label keys that the result can depend on; it also depends on the CSINode, which is found by name.
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
    """The affinity in selector notation; without one, only the translated zone label can exclude nodes."""
    if affinity is None or affinity.required is None:
        return "the zone it is labelled with"
    terms = (
        ", ".join(describe(requirement) for requirement in (*term.match_expressions, *term.match_fields))
        for term in affinity.required.node_selector_terms
    )
    return " or ".join(terms)
