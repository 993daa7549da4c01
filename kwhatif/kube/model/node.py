"""Nodes: the part of `v1.Node` that scheduling reads."""

from __future__ import annotations

from msgspec import field

from kwhatif.kube.model.meta import AnnotatedMeta, ApiObject, Int64, Model
from kwhatif.kube.model.pod_spec import ResourceList

#: Labels with the host, zone and region of a node.
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


class Taint(Model):
    """`spec.taints[]`."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Model):
    """`spec` of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    #: The cloud's ID of the machine; a NodeClaim and its node have the same ID.
    provider_id: str = field(name="providerID", default="")


class ContainerImage(Model):
    """`status.images[]`."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeCondition(Model):
    """`status.conditions[]`."""

    type: str = ""
    status: str = ""
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None


class NodeSystemInfo(Model):
    """`status.nodeInfo`."""

    kubelet_version: str = ""


class NodeStatus(Model):
    """`status` of a node; `allocatable` None means the same as `capacity`."""

    capacity: ResourceList = {}
    allocatable: ResourceList | None = None
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()

    @property
    def allocatable_or_capacity(self) -> ResourceList:
        """The resources of the node that pods can use."""
        return self.capacity if self.allocatable is None else self.allocatable


class Node(ApiObject):
    """`v1.Node`."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
