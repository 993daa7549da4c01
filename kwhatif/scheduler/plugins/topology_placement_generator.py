"""TopologyPlacementGenerator: all pods of a group go to nodes with the same value of a label.

(`pkg/scheduler/framework/plugins/topologyaware/topology_placement.go`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.framework.plugin import Placement
from kwhatif.scheduler.framework.status import Status, error
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State


class TopologyPlacementGenerator:
    """One placement for each value of the label; if pods of the group have nodes already, only their value."""

    name: ClassVar[str] = "TopologyPlacementGenerator"

    def generate_placements(self, group: PodGroup, state: State) -> Sequence[Placement] | Status:
        """The placements, sorted by value; upstream's order is random, because it iterates over a map."""
        key = group.topology_key
        if not key:
            return (Placement("", state.nodes),)
        required = _domain_of_members(group, key, state)
        if isinstance(required, Status):
            return required
        domains: dict[str, list[NodeInfo]] = {}
        for node in state.nodes:
            domain = node.labels.get(key)
            if domain is not None and required in (None, domain):
                domains.setdefault(domain, []).append(node)
        return [Placement(name, domains[name]) for name in sorted(domains)]


def _domain_of_members(group: PodGroup, key: str, state: State) -> str | Status | None:
    """The label value of the nodes with pods of the group; None if no pod has a node; or an error."""
    found = ""
    members = [pod for pod in state.members_of(key_of(group)).values() if pod.pod.spec.node_name]
    for pod in members:
        node = state.node(pod.pod.spec.node_name)
        if node is None:
            name = pod.pod.spec.node_name
            return _failure(f'getting node for pod {pod.key}: nodeinfo not found for node name "{name}"')
        domain = node.labels.get(key)
        if domain is None:
            return _failure(f"no topology domain found for pod {pod.key}")
        if found not in ("", domain):
            return _failure(f"more than 1 domain found for pod group: {found}, {domain}")
        found = domain
    return found if members else None


def _failure(why: str) -> Status:
    return error(f"cannot determine domain for already scheduled pods: {why}")
