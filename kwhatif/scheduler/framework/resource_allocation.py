"""The usage of a node's resources, without and with the pod: the input of the resource scores.

(`pkg/scheduler/framework/plugins/noderesources/resource_allocation.go`.) A resource is compiled once per pod into
a `ScoredResource`; scoring a node is then a few integer operations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple

from kwhatif.dra.allocated import DeviceUsage
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.device_classes import classes_under
from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar_resource, units
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Model
from kwhatif.state.node_info import NodeInfo

#: (allocatable, used) of one resource on a node, in scheduler units.
NodeUsage = Callable[[NodeInfo], tuple[int, int]]


class ResourceSpec(Model):
    """One resource that a score uses, with its weight; a weight of 0 means 1, as in upstream's defaulting."""

    name: str = ""
    weight: int = 1


#: The resources of both resource plugins if the configuration names none.
DEFAULT_RESOURCES = (ResourceSpec(name=CPU), ResourceSpec(name=MEMORY))


class ScoredResource(NamedTuple):
    """One resource, compiled for one pod: its request, its weight, and how to read a node's usage."""

    requested: int
    weight: int
    usage: NodeUsage
    #: The resource; "" if its usage depends on more than the node.
    local_name: str


def _usage_of(name: str, cluster: Cluster, gates: Gates, *, nonzero: bool) -> NodeUsage:
    if name == CPU:
        if nonzero:
            return lambda node: (node.allocatable.cpu, node.nonzero_cpu)
        return lambda node: (node.allocatable.cpu, node.cpu)
    if name == MEMORY:
        if nonzero:
            return lambda node: (node.allocatable.memory, node.nonzero_memory)
        return lambda node: (node.allocatable.memory, node.memory)
    if name == EPHEMERAL_STORAGE:
        return lambda node: (node.allocatable.ephemeral, node.ephemeral)
    return _scalar_usage(name, cluster, gates)


def _scalar_usage(name: str, cluster: Cluster, gates: Gates) -> NodeUsage:
    device_class = classes_under(gates)(cluster).get(name)
    if device_class is None:
        return lambda node: (node.allocatable.scalar(name), node.scalars.get(name, 0))
    devices = DeviceUsage(cluster, device_class, gates)

    def usage(node: NodeInfo) -> tuple[int, int]:
        """What a device plugin provides on the node; if there is none, the node's devices of the class."""
        allocatable = node.allocatable.scalar(name)
        return (allocatable, node.scalars.get(name, 0)) if allocatable else devices.on(node)

    return usage


def compile_resources(
    resources: Iterable[ResourceSpec],
    requests: Mapping[str, int],
    cluster: Cluster,
    *,
    nonzero: bool,
    gates: Gates = BASE_GATES,
) -> list[ScoredResource]:
    """The resources that are scored for a pod with these requests (nano-units), in order.

    `nonzero`: pods on the node count with default cpu and memory for containers that request none.
    A scalar that the pod does not request is left out, and for each node what the node does not have.
    """
    entries = []
    for resource in resources:
        requested = units(resource.name, requests.get(resource.name, 0))
        if requested or not is_scalar_resource(resource.name):
            usage = _usage_of(resource.name, cluster, gates, nonzero=nonzero)
            name = "" if resource.name in classes_under(gates)(cluster) else resource.name
            entries.append(ScoredResource(requested, resource.weight or 1, usage, name))
    return entries


def resources_signature(entries: Iterable[ScoredResource]) -> Hashable:
    """All that a node's scores by these entries depend on besides the node; None if that is not known."""
    entries = tuple(entries)
    if not all(entry.local_name for entry in entries):
        return None
    return tuple([(entry.local_name, entry.requested, entry.weight) for entry in entries])
