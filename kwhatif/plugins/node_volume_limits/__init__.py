"""How many volumes of each CSI driver a node can attach (`plugins/nodevolumelimits/csi.go`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from kwhatif.framework.evidence import VolumeLimit
from kwhatif.framework.hints import ClusterEventWithHint
from kwhatif.framework.plugin import NodeFilter, Reads
from kwhatif.framework.status import SKIP, SUCCESS, Status, unschedulable
from kwhatif.matching.csi_migration import in_tree_disk
from kwhatif.model.cluster import Cluster
from kwhatif.model.pod import Pod
from kwhatif.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from kwhatif.plugins.node_volume_limits import hints
from kwhatif.plugins.node_volume_limits.attached import CLAIM, Attached, attachments_by_node, volumes_of
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.snapshot import Snapshot

TOO_MANY_VOLUMES = "node(s) exceed max volume count"


class NodeVolumeLimits:
    """Refuses nodes where a CSI driver would have more volumes attached than its CSINode allows."""

    name: ClassVar[str] = "NodeVolumeLimits"
    reads_claims: ClassVar[bool] = True

    def pre_filter(self, pod: PodInfo, snapshot: Snapshot) -> NodeFilter | Status:
        """Find out which volumes the pod needs attached."""
        for volume in pod.pod.spec.volumes:
            if volume.persistent_volume_claim or volume.ephemeral or in_tree_disk(volume):
                return _LimitsFilter(pod.pod, snapshot)
        return SKIP

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """See `hints`."""
        return hints.events_to_register()


class _NodeVolumes(NamedTuple):
    """What is attached to a node that runs these pods."""

    pods: list[PodInfo]
    attached: Attached
    #: Volumes by driver, those included that are attached for no pod.
    counts: dict[str, int]
    error: Status | None = None


class _Known(NamedTuple):
    """What was found out about running pods: the same for every pod that asks."""

    pods: dict[PodInfo, Attached | Status]
    nodes: dict[str, _NodeVolumes]


class _LimitsFilter(NodeFilter):
    reads = Reads.PODS

    def __init__(self, pod: Pod, snapshot: Snapshot) -> None:
        cluster = self._cluster = snapshot.cluster
        self._new = volumes_of(pod, cluster, new=True)
        #: The same on a node without a CSINode: in-tree volumes are not translated there, so only errors can differ.
        self._new_without_csi_node = volumes_of(pod, cluster, new=True, migrated=False)
        self._limits = cluster.derived(_limits_by_node, CSINode)
        kinds = PersistentVolumeClaim, PersistentVolume, StorageClass, VolumeAttachment
        self._known = cluster.derived(_nothing_known, *kinds)
        if not any(self._limits.values()):
            self.reads = Reads.NODE
        # A volume that a pod there has as well is one more without that pod, even if the node is beyond its limit.
        self.monotone = isinstance(self._new, Status) or all(
            _is_of_its_own(handle, driver, snapshot) for handle, driver in self._new.items()
        )

    def filter(self, node: NodeInfo) -> Status:
        limits = self._limits.get(node.name)
        new = self._new_without_csi_node if limits is None else self._new
        if isinstance(new, Status):
            return new
        if not new or not limits:
            return SUCCESS
        there = self._known.nodes.get(node.name)
        if there is None or there.pods != node.pods:
            there = self._known.nodes[node.name] = self._find_out(node)
        if there.error is not None:
            return there.error
        return _judge(new, limits, there)

    def turn_to(self, other: NodeFilter) -> bool:
        """As many volumes of each driver, none of which is anywhere yet, are the same to every node."""
        if not (
            isinstance(other, _LimitsFilter)
            and _alike(self._new, other._new)
            and _alike(self._new_without_csi_node, other._new_without_csi_node)
        ):
            return False
        self._new = other._new
        self._new_without_csi_node = other._new_without_csi_node
        self.monotone = other.monotone
        return True

    def _find_out(self, node: NodeInfo) -> _NodeVolumes:
        known = self._known.pods
        attached: Attached = {}
        for pod in node.pods:
            volumes = known.get(pod)
            if volumes is None:
                volumes = known[pod] = volumes_of(pod.pod, self._cluster, new=False)
            if isinstance(volumes, Status):
                return _NodeVolumes(node.pods.copy(), {}, {}, volumes)
            attached.update(volumes)
        by_node = self._cluster.derived(attachments_by_node, VolumeAttachment, PersistentVolume)
        counts = Counter((by_node.get(node.name, {}) | attached).values())
        return _NodeVolumes(node.pods.copy(), attached, counts)


def _is_of_its_own(handle: str, driver: str, snapshot: Snapshot) -> bool:
    """Whether it is a volume still to be made for a claim that no pod on a node uses."""
    claim = handle.removeprefix(f"{driver}/{CLAIM}")
    return claim != handle and not snapshot.used_claims[claim]


def _alike(mine: Attached | Status, others: Attached | Status) -> bool:
    if isinstance(mine, Status) or isinstance(others, Status):
        return False
    to_be_made = all(handle.startswith(f"{driver}/{CLAIM}") for handle, driver in (mine | others).items())
    return mine == others or (to_be_made and Counter(mine.values()) == Counter(others.values()))


def _judge(new: Attached, limits: Mapping[str, int], there: _NodeVolumes) -> Status:
    wanted: dict[str, int] = {}
    for volume, driver in new.items():
        # QUIRK: (Filter) a volume that is attached to the node already, but not for a pod, counts twice.
        if driver in limits and volume not in there.attached:
            wanted[driver] = wanted.get(driver, 0) + 1
    counts = there.counts
    exceeded = [driver for driver, count in wanted.items() if counts.get(driver, 0) + count > limits[driver]]
    if not exceeded:
        return SUCCESS
    evidence = (
        VolumeLimit(driver=driver, attached=counts.get(driver, 0), new=wanted[driver], limit=limits[driver])
        for driver in exceeded
    )
    return unschedulable(TOO_MANY_VOLUMES, *evidence)


def _limits_by_node(cluster: Cluster) -> Mapping[str, Mapping[str, int]]:
    """Limits by driver, for every node that has a CSINode."""
    return {
        name: {
            driver.name: driver.allocatable.count
            for driver in csi_node.spec.drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        }
        for name, csi_node in cluster.all(CSINode).items()
    }


def _nothing_known(cluster: Cluster) -> _Known:
    del cluster
    return _Known({}, {})
