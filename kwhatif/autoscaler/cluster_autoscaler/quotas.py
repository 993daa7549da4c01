"""Limits of the whole cluster: cores, memory, GPUs (`resourcequotas/`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroups
from kwhatif.autoscaler.cluster_autoscaler.nodes import amount_of, gpu_of, gpu_type
from kwhatif.autoscaler.cluster_autoscaler.templates import Template
from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.node import Node

#: The name of the limits that a cloud, or the flags, give for all nodes together.
_ID = "cluster-wide"
_VIRTUAL = ("type", "virtual-kubelet")


class Quotas:
    """What is left of the limits. Nodes of a virtual kubelet do not count."""

    def __init__(self, settings: NodeGroups, nodes: Iterable[Node]) -> None:
        most = _limits(settings.flags)
        known: dict[str, Mapping[str, int]] = {}
        groups = settings.of_nodes()
        used = dict.fromkeys(most, 0)
        for node in nodes:
            if node.metadata.labels.get(_VIRTUAL[0]) == _VIRTUAL[1]:
                continue
            group = groups.get(node.metadata.name)
            # Nodes of one group count as the first of them does.
            amounts = _amounts(node) if group is None else known.setdefault(group.name, _amounts(node))
            for name in most:
                used[name] += amounts.get(name, 0)
        self._left = {name: max(0, limit - used[name]) for name, limit in most.items()}
        self._known = known

    def _of(self, template: Template) -> Mapping[str, int]:
        return self._known.setdefault(template.group, _amounts(template.node))

    def allowed(self, template: Template, nodes: int) -> int:
        """How many of these nodes are within the limits (`CheckDelta`)."""
        return min([nodes, *(self._left[name] // amount for name, amount in self._short(template, nodes))])

    def exceeded(self, template: Template, nodes: int) -> str:
        """Why that number of nodes exceeds the limits, with upstream's message; "" if it does not."""
        names = [name for name, _ in self._short(template, nodes)]
        return f'exceeded quota: "{_ID}", resources: {", ".join(names)}' if names else ""

    def _short(self, template: Template, nodes: int) -> list[tuple[str, int]]:
        return [
            (name, amount)
            for name, amount in self._of(template).items()
            if amount > 0 and name in self._left and self._left[name] < amount * nodes
        ]

    def consume(self, template: Template, nodes: int) -> None:
        """Count the nodes, if they are within the limits (`ConsumeQuota`)."""
        if not self._short(template, nodes):
            for name, amount in self._of(template).items():
                if name in self._left:
                    self._left[name] = max(self._left[name] - amount * nodes, 0)


def _limits(flags: Flags) -> dict[str, int]:
    most = {CPU: flags.cores_total[1], MEMORY: flags.memory_total[1]}
    return most | {name: most_of_it for name, _, most_of_it in flags.gpu_total}


def _amounts(node: Node) -> Mapping[str, int]:
    """Whole cores, bytes, and GPUs by type, of what the node has in all."""
    found = {CPU: max(amount_of(CPU, node), 0), MEMORY: max(amount_of(MEMORY, node), 0)}
    resource = gpu_of(node)
    if resource is not None and gpu_type(node):
        found[gpu_type(node)] = amount_of(resource, node)
    return found
