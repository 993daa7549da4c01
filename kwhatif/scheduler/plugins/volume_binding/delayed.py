"""Claims that wait for a node: each must find a volume, or one can be provisioned (`FindPodVolumes`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kwhatif.kube.matching.volumes import SELECTED_NODE, requested_storage
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.scheduler.framework.status import Status
from kwhatif.scheduler.plugins.volume_binding.conflict import ClaimConflict, ConflictReason
from kwhatif.scheduler.plugins.volume_binding.provisioning import Provisioning
from kwhatif.scheduler.plugins.volume_binding.static import VolumeSearch
from kwhatif.state.node_info import NodeInfo


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
