"""VolumeZone: the node must be in the zones of the pod's bound volumes (`plugins/volumezone`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kwhatif.kube.matching.volumes import WAIT_FOR_FIRST_CONSUMER, claim_class, claim_not_found
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import REGION, ZONE
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.evidence import VolumeConflict
from kwhatif.scheduler.framework.hints import (
    BY_CLAIM,
    ClusterEventWithHint,
    QueueingHint,
    after_named_claim,
    builtin,
    queue_if,
)
from kwhatif.scheduler.framework.incremental import Signed
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, unresolvable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

NO_VOLUME_ZONE = "node(s) had no available volume zone"

#: Topology label of a volume -> the equivalent label that a node may have instead.
_TOPOLOGY_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    ZONE: ZONE,
    REGION: REGION,
}


class _Topology(NamedTuple):
    """One topology label of a volume."""

    claim: str
    volume: str
    key: str
    #: The GA key for the same topology: used on nodes without the beta label.
    stable_key: str
    values: frozenset[str]


class VolumeZone:
    """Rejects nodes that are not in the zones and regions of the volumes' labels."""

    name: ClassVar[str] = "VolumeZone"
    reads_claims: ClassVar[bool] = True

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """Collect the topology labels of the volumes of the pod's claims; ephemeral volumes do not count."""
        if not pod.pod.spec.volumes:
            return SKIP
        topologies: list[_Topology] = []
        for name in pod.claim_names:
            volume = _volume_of(name, pod.namespace, state.cluster)
            if isinstance(volume, Status):
                return volume
            if volume is not None:
                topologies.extend(_topologies(f"{pod.namespace}/{name}", volume))
        return _ZoneFilter(topologies, state) if topologies else SKIP

    sign = staticmethod(signers.volumes)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A claim or its volume is added or changes; a class is added; a node is added, or its labels change."""
        add, update = ActionType.ADD, ActionType.UPDATE
        return (
            builtin(EventResource.STORAGE_CLASS, add, _after_class_added),
            builtin(EventResource.NODE, add | ActionType.UPDATE_NODE_LABEL),
            builtin(EventResource.PERSISTENT_VOLUME_CLAIM, add | update, after_named_claim, BY_CLAIM),
            builtin(EventResource.PERSISTENT_VOLUME, add | update, _after_volume_change),
        )


def _after_class_added(_pod: PodInfo, _old: None, new: StorageClass, _cluster: Cluster) -> QueueingHint:
    return queue_if(new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER)


def _after_volume_change(
    _pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume, _cluster: Cluster
) -> QueueingHint:
    """The zone labels of any volume have changed, also of a volume that the pod does not use."""
    return queue_if(old is None or _zone_labels(old) != _zone_labels(new))


def _zone_labels(volume: PersistentVolume) -> list[tuple[str, frozenset[str]]]:
    return [(topology.key, topology.values) for topology in _topologies("", volume)]


def _volume_of(name: str, namespace: str, cluster: Cluster) -> PersistentVolume | Status | None:
    """The volume in the claim's `spec.volumeName`; None for a claim that waits for its first consumer."""
    if not name:
        return unresolvable("PersistentVolumeClaim had no name")
    claim = cluster.get(PersistentVolumeClaim, f"{namespace}/{name}")
    if claim is None:
        return unresolvable(claim_not_found(name))
    if not claim.spec.volume_name:
        return _unless_it_waits(claim, cluster)
    volume = cluster.get(PersistentVolume, claim.spec.volume_name)
    return unresolvable(f'persistentvolume "{claim.spec.volume_name}" not found') if volume is None else volume


def _unless_it_waits(claim: PersistentVolumeClaim, cluster: Cluster) -> Status | None:
    class_name = claim_class(claim)
    if not class_name:
        return unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = cluster.get(StorageClass, class_name)
    if storage_class is None:
        return unresolvable(f'storageclass.storage.k8s.io "{class_name}" not found')
    if storage_class.volume_binding_mode is None:
        return unresolvable(f'VolumeBindingMode not set for StorageClass "{class_name}"')
    if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    return unresolvable("PersistentVolume had no name")


def _topologies(claim: str, volume: PersistentVolume) -> list[_Topology]:
    labels = volume.metadata.labels
    found = []
    for key, stable_key in _TOPOLOGY_LABELS.items():
        if key in labels:
            values = frozenset(value.strip() for value in labels[key].split("__"))
            if "" not in values:  # upstream ignores a label with an empty value
                found.append(_Topology(claim, volume.metadata.name, key, stable_key, values))
    return found


class _ZoneFilter(Signed):
    def __init__(self, topologies: list[_Topology], state: State) -> None:
        self._topologies = topologies
        #: Only the topology labels of the volumes matter, not their names.
        self.signature = tuple([topology[2:] for topology in topologies])
        self.reads = Reads.SHAPE if state.shapes.unfixed.isdisjoint(_TOPOLOGY_LABELS) else Reads.NODE

    def filter(self, node: NodeInfo) -> Status:
        labels = node.labels
        if labels.keys().isdisjoint(_TOPOLOGY_LABELS):
            return SUCCESS  # a node without zone labels counts as a member of all zones
        for topology in self._topologies:
            here = labels[topology.key] if topology.key in labels else labels.get(topology.stable_key)
            if here not in topology.values:
                return unresolvable(NO_VOLUME_ZONE, _evidence(topology))
        return SUCCESS


def _evidence(topology: _Topology) -> VolumeConflict:
    values = ", ".join(sorted(topology.values))
    return VolumeConflict(claim=topology.claim, detail=f"volume {topology.volume} is in {topology.key} {values}")
