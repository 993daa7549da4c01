"""The domains of the feasible nodes, and the matching pods in them (`podtopologyspread/scoring.go`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import NamedTuple

from kwhatif.scheduler.plugins.pod_topology_spread.constraints import HOSTNAME, ConstraintMatches, Eligibility, has_all
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.node_row import NodeRow
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class Census:
    """The domains of one constraint with feasible nodes, without nodes that are not scored.

    QUIRK: (scoring.go, initPreScoreState) nodes without the label form a domain too, "", which adds to the weight.
    """

    def __init__(self, key: str, scored: Sequence[NodeInfo], unfixed: frozenset[str]) -> None:
        self._key = key
        self.by_host = key == HOSTNAME
        #: Number of nodes by domain; each host is a domain, regardless of its label.
        self._nodes = None if self.by_host else _domains(key, scored, unfixed)
        self.domains = len(scored) if self._nodes is None else len(self._nodes)

    def fork(self) -> Census:
        """An independent copy."""
        other = copy(self)
        other._nodes = None if self._nodes is None else self._nodes.copy()
        return other

    def update_feasible_count(self, node: NodeInfo, number: int) -> int:
        """Add `number` nodes like this one, and return the number of domains."""
        if self._nodes is None:
            self.domains += number
        else:
            value = node.labels.get(self._key, "")
            self._nodes[value] += number
            if not self._nodes[value]:
                del self._nodes[value]
            self.domains = len(self._nodes)
        return self.domains


class Upkeep(NamedTuple):
    """What is needed to keep a scorer up to date."""

    matches: ConstraintMatches
    eligibility: Eligibility
    censuses: Sequence[Census]
    #: The topology keys that a node must have to be counted.
    required: Sequence[str]

    def fork(self) -> Upkeep:
        """An independent copy for a fork of the state."""
        return self._replace(matches=self.matches.fork(), censuses=[census.fork() for census in self.censuses])

    def counted_in(self, pod: PodInfo, node: NodeInfo) -> list[int]:
        """The constraints that count the pod on that node; hosts count, eligible or not."""
        counting = self.matches.counting(pod)
        if not counting:
            return []
        eligible = self.eligibility.of(node) if has_all(node.labels, self.required) else ()
        return [index for index in counting if self.censuses[index].by_host or (eligible and eligible[index])]

    def update_feasible_count(self, node: NodeInfo, number: int) -> list[int]:
        """The number of domains of each constraint, with `number` more nodes like this one."""
        return [census.update_feasible_count(node, number) for census in self.censuses]


def nodes_lacking(required: Sequence[str], state: State, nodes: Sequence[NodeInfo]) -> frozenset[str]:
    """The nodes without one of the labels; if two have the same name, the last one counts."""
    if not required:
        return frozenset()
    if state.shapes.unfixed.isdisjoint(required):
        shapes = {**state.of_shape, **{node.shape: node for node in nodes}}.values()
        if all(has_all(node.labels, required) for node in shapes):
            return frozenset()
    lacks = {node.name: not has_all(node.labels, required) for node in (*state.nodes, *nodes)}
    return frozenset(name for name, lacking in lacks.items() if lacking)


def _domains(key: str, nodes: Sequence[NodeInfo], unfixed: frozenset[str]) -> Counter[str]:
    """The number of nodes in each domain; nodes without the label form a domain, too."""
    if key in unfixed:
        return Counter([node.labels.get(key, "") for node in nodes])
    found = Counter[str]()
    if isinstance(nodes, NodeRow):
        sizes, samples = nodes.sizes, nodes.samples
    else:
        sizes, samples = Counter([node.shape for node in nodes]), {node.shape: node for node in nodes}
    for shape, node in samples.items():
        found[node.labels.get(key, "")] += sizes[shape]
    return found


def pods_by_domain(
    index: int,
    key: str,
    on_node: Mapping[str, int],
    nodes: Sequence[NodeInfo],
    eligibility: Eligibility,
    state: State,
) -> dict[str, int]:
    """Matching pods per domain of eligible nodes; nodes without the label form a domain, too."""
    # Nodes of one shape are in one domain, and few nodes have pods that count.
    by_shape = not eligibility.per_node and key not in state.shapes.unfixed
    is_all = nodes is state.nodes
    shapes = state.of_shape if is_all else {node.shape: node for node in nodes}
    counts = {
        node.labels.get(key, ""): 0 for node in (shapes.values() if by_shape else nodes) if eligibility.of(node)[index]
    }
    names = on_node if is_all else on_node.keys() & {node.name for node in nodes}
    for node in filter(None, map(state.node, names)):
        if eligibility.of(node)[index]:
            counts[node.labels.get(key, "")] += on_node[node.name]
    return counts


def pods_by_host(
    index: int, on_node: dict[str, int], matches: ConstraintMatches, state: State, scored: Sequence[NodeInfo]
) -> dict[str, int]:
    """Matching pods per node, eligible or not. NodeInfos of an extender may have other pods than those of the state."""
    if scored is state.nodes or isinstance(scored, NodeRow):
        return on_node
    by_name = state.by_name
    for node in scored:
        if by_name.get(node.name) is not node:
            on_node[node.name] = matches.on(node)[index]
    return on_node
