"""Where volumes are attached that only one node may have: a pod elsewhere does not start before they are free.

Follows `pkg/controller/volume/attachdetach/reconciler/reconciler.go`: a volume is detached when no pod that has not
ended needs it on its node. A node whose kubelet is silent has not unmounted it: then it is detached by force, after 6
minutes, or at once if the node is marked as out of service, or gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from math import inf

from kwhatif.controllers.pod_gc import OUT_OF_SERVICE
from kwhatif.kube.matching.csi_migration import in_tree_disk
from kwhatif.kube.matching.volumes import claim_names
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec
from kwhatif.simulation.api_server import ApiServer

#: `--attach-detach-reconcile-max-wait-unmount-duration`: seconds after which a volume is detached by force.
_FORCED_AFTER = 360.0
_SHARED = ("ReadWriteMany", "ReadOnlyMany")


class Attachments:
    """The volumes that one node has, and the pods that wait for them."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        #: Volume -> node.
        self._attached: dict[str, str] = {}
        #: Volume -> when it is detached by force.
        self._forced: dict[str, float] = {}
        #: Key of a pod -> its UID, and the volume that it waits for.
        self._waiting: dict[str, tuple[str, str]] = {}
        cluster = api_server.state.cluster
        if any(_is_exclusive(volume.spec, cluster) for volume in cluster.all(PersistentVolume).values()):
            for pod in cluster.all(Pod).values():
                if pod.status.phase == "Running" and pod.spec.node_name:
                    self.attach(pod)

    def fork(self, api_server: ApiServer) -> Attachments:
        """An independent copy that works in a fork of the simulation."""
        other = copy(self)
        other._api_server = api_server
        other._attached, other._forced = self._attached.copy(), self._forced.copy()
        other._waiting = self._waiting.copy()
        return other

    @property
    def waiting(self) -> dict[str, str]:
        """The pods on nodes that wait for a volume: key -> the controller's message."""
        return {key: self.message(volume) for key, (_, volume) in self._waiting.items()}

    def message(self, volume: str) -> str:
        """The message of the pod's event."""
        return f'Multi-Attach error for volume "{volume}": it is attached to node {self._attached.get(volume, "")}'

    def attach(self, pod: Pod) -> str:
        """Attach the pod's volumes to its node; returns a volume that another node has, or ""."""
        node, key = pod.spec.node_name, key_of(pod)
        volumes = list(self._volumes(pod))
        for volume in volumes:
            if self._forced.get(volume, inf) <= self._api_server.now:
                self._detach(volume)
            if self._attached.get(volume, node) != node:
                self._waiting[key] = pod.metadata.uid, volume
                return volume
        self._waiting.pop(key, None)
        for volume in volumes:
            self._attached[volume] = node
            self._forced.pop(volume, None)
        return ""

    def gone(self, before: Pod, after: Pod | None) -> None:
        """The pod has ended, or is removed."""
        self._waiting.pop(key_of(before), None)
        node = before.spec.node_name
        for volume in self._volumes(before):
            if self._attached.get(volume) != node or self._is_needed(volume, node):
                continue
            if after is None and not is_terminal(before) and self._is_mounted_on(node):
                self._forced[volume] = self._api_server.now + _FORCED_AFTER
            else:
                self._detach(volume)

    def node_changed(self, node: str) -> None:
        """The node is gone, out of service, or its kubelet is back: detach the volumes that it no longer needs."""
        if not self._is_mounted_on(node):
            for volume in [each for each in self._forced if self._attached[each] == node]:
                self._detach(volume)

    def free(self) -> Iterator[tuple[Pod, float]]:
        """The waiting pods that can start, and in how many seconds."""
        pods = self._api_server.state.cluster.all(Pod)
        for key, (uid, volume) in list(self._waiting.items()):
            pod = pods.get(key)
            if pod is None or pod.metadata.uid != uid:
                del self._waiting[key]
            elif volume not in self._attached or self._attached[volume] == pod.spec.node_name:
                yield pod, 0.0
            elif volume in self._forced:
                yield pod, self._forced[volume] - self._api_server.now

    def _detach(self, volume: str) -> None:
        self._attached.pop(volume, None)
        self._forced.pop(volume, None)

    def _volumes(self, pod: Pod) -> Iterator[str]:
        """The pod's volumes that only one node may have."""
        if not pod.spec.volumes:
            return
        cluster = self._api_server.state.cluster
        for name in claim_names(pod):
            claim = cluster.get(PersistentVolumeClaim, f"{pod.metadata.namespace}/{name.name}")
            volume = None if claim is None else cluster.get(PersistentVolume, claim.spec.volume_name)
            if volume is not None and _is_exclusive(volume.spec, cluster):
                yield volume.metadata.name

    def _is_needed(self, volume: str, name: str) -> bool:
        """Whether a pod on the node that has not ended needs the volume."""
        node = self._api_server.state.node(name)
        pods = () if node is None else node.pods
        return any(volume in self._volumes(info.pod) for info in pods if not is_terminal(info.pod))

    def _is_mounted_on(self, name: str) -> bool:
        """Whether volumes of ended pods are still mounted, because the node's kubelet is silent."""
        node = self._api_server.state.cluster.get(Node, name)
        if node is None or name not in self._api_server.silent:
            return False
        return not any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def _is_exclusive(spec: PersistentVolumeSpec, cluster: Cluster) -> bool:
    """Whether it is attached to nodes, and to one only (`IsMultiAttachAllowed` in `pkg/volume/util/util.go`)."""
    if not spec.access_modes or any(mode in _SHARED for mode in spec.access_modes):
        return False
    if spec.csi is not None:
        driver = cluster.get(CSIDriver, spec.csi.driver)
        return driver is None or driver.spec.attach_required
    return spec.iscsi is not None or (spec.azure_file is None and in_tree_disk(spec) is not None)
