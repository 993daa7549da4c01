"""Reserved nodes: for pods that need their devices, for one team, for the control plane.

Advice does not send other pods there as the cheapest solution, or remove the taint that reserves a node.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from kwhatif.kube.matching.requests import is_extended_resource
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.evidence import UntoleratedTaint
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State

#: The extra cost of a reserved node: more than a new node.
RESERVED = 70
_CONTROL_PLANE = "node-role.kubernetes.io/"
_WORD = re.compile(r"[a-z0-9]+")
#: Words in keys and values that name a kind of hardware, or the intended user of a node.
_HARDWARE = frozenset(
    {
        *("accelerator", "accelerators", "amd", "fpga", "gaudi", "gpu", "gpus", "habana", "infiniband", "inferentia"),
        *("neuron", "nvidia", "rdma", "sgx", "tpu", "trainium", "arm", "arm64", "windows"),
    }
)
_TENANTS = frozenset(
    {"customer", "dedicated", "department", "exclusive", "organization", "owner", "reserved", "team", "tenant"}
)


def is_reserved(taint: UntoleratedTaint, node: NodeInfo | None) -> bool:
    """Whether the taint reserves the node."""
    if taint.key.startswith(_CONTROL_PLANE) or (node is not None and taint.key in devices_of(node)):
        return True
    key, value = _WORD.findall(taint.key.lower()), _WORD.findall(taint.value.lower())
    return not _TENANTS.isdisjoint(key) or not _HARDWARE.isdisjoint((*key, *value))


def is_for(pod: Pod, node: NodeInfo | None) -> bool:
    """Whether the pod requests devices that the node has."""
    return node is not None and not devices_of(node).isdisjoint(_asked(pod))


def devices_of(node: NodeInfo) -> frozenset[str]:
    """The extended resources that the node has, such as `nvidia.com/gpu`."""
    return frozenset(name for name, amount in node.allocatable.scalars if amount > 0 and is_extended_resource(name))


def unused_devices(pod: Pod, node: NodeInfo, scarce: Collection[str]) -> bool:
    """Whether the node has devices that few nodes have, and that the pod does not request."""
    found = devices_of(node).intersection(scarce)
    return bool(found) and found.isdisjoint(_asked(pod))


def scarce_devices(state: State) -> frozenset[str]:
    """The extended resources that fewer than half of the nodes have."""
    counts: dict[str, int] = {}
    for node in state.nodes:
        for name in devices_of(node) if node.allocatable.scalars else ():
            counts[name] = counts.get(name, 0) + 1
    return frozenset(name for name, count in counts.items() if 2 * count < len(state.nodes))


def _asked(pod: Pod) -> Iterator[str]:
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        yield from container.resources.requests
        yield from container.resources.limits
