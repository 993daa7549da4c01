"""Plugins that say what a test has them say."""

from collections.abc import Mapping, Sequence
from typing import Any

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State


def plugin(name: str, **methods: Any) -> Any:
    """A plugin with these methods: each answers with that value, whatever it is asked."""

    def answering(value: Any) -> Any:
        return lambda *_: value

    return type(name, (), {"name": name, **{method: answering(value) for method, value in methods.items()}})()


class Filter(NodeFilter):
    """Objects to the nodes in `objections`, and counts how often it is asked."""

    def __init__(
        self,
        objections: Mapping[str, Status] | None = None,
        *,
        only: frozenset[str] | None = None,
        reads: Reads = Reads.NODE,
        reserved: tuple[KubernetesObject, ...] = (),
    ) -> None:
        self._objections = objections or {}
        self._reserved = reserved
        self.only_nodes = only
        self.reads = reads
        self.asked: list[str] = []

    def filter(self, node: NodeInfo) -> Status:
        self.asked.append(node.name)
        return self._objections.get(node.name, SUCCESS)

    def reserve(self, node: NodeInfo, snapshot: State) -> tuple[KubernetesObject, ...]:
        del node, snapshot
        return self._reserved


class Scorer(NodeScorer):
    """Raw scores by node."""

    def __init__(self, scores: Mapping[str, int]) -> None:
        self._scores = scores

    def score(self, node: NodeInfo) -> int:
        return self._scores[node.name]


class Doubling(Scorer):
    """The same, twice as high once they are normalised."""

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        del nodes
        return [2 * score for score in scores]
