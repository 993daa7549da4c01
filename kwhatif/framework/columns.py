"""`Columns`: verdicts and raw scores of all nodes that one pod after another asks for, whatever their signatures.

Different workloads often request the same, and use the same images: then only nodes where something has changed are
asked anew.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from kwhatif.framework.incremental import Reprieving, SignedScorer
from kwhatif.framework.plugin import NodeFilter, NodeScorer
from kwhatif.framework.reference import is_reference
from kwhatif.framework.status import Code, Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State

#: So many columns are kept; those asked for longest ago go first.
_KEPT = 24


class _Column(NamedTuple):
    #: Whose it is: others copy it before they change it.
    owner: object
    #: The state's generation for which the scores hold.
    generation: int
    #: Raw scores by node name: of those that were feasible at any time.
    scores: dict[str, int]


class _Refusals(NamedTuple):
    owner: object
    generation: int
    #: By node name, what a filter says that objects.
    statuses: dict[str, Status]


class Columns:
    """For one profile on one state, or on what becomes of it."""

    def __init__(self) -> None:
        self._mark = object()
        #: By plugin and signature.
        self._columns: dict[tuple[str, Hashable], _Column] = {}
        self._refusals: dict[tuple[str, Hashable], _Refusals] = {}

    def fork(self) -> Columns:
        """An independent copy, for a fork of the state."""
        other = Columns()
        self._mark = object()
        other._columns, other._refusals = self._columns.copy(), self._refusals.copy()
        return other

    def refusals(self, name: str, filter_: NodeFilter, state: State) -> Mapping[str, Status] | None:
        """By node name, what a filter says that objects; None where this filter's verdicts are not kept."""
        if not isinstance(filter_, Reprieving) or filter_.signature is None or is_reference():
            return None
        key = name, filter_.signature
        known = self._refusals.pop(key, None)
        touched = None if known is None else state.since(known.generation)
        if known is None or touched is None:
            statuses, nodes = {}, state.nodes
        else:
            statuses = known.statuses if known.owner is self._mark else known.statuses.copy()
            for node_name in touched.nodes:
                statuses.pop(node_name, None)
            nodes = [node for node_name in touched.nodes if (node := state.node(node_name)) is not None]
        for node in nodes:
            status = filter_.filter(node)
            if status.code is not Code.SUCCESS:
                statuses[node.name] = status
        self._refusals[key] = _Refusals(self._mark, state.generation, statuses)
        while len(self._refusals) > _KEPT:
            del self._refusals[next(iter(self._refusals))]
        return statuses

    def raw(self, name: str, scorer: NodeScorer, nodes: Sequence[NodeInfo], state: State) -> list[int] | None:
        """The raw scores of the nodes; None where this scorer's are not kept."""
        if not isinstance(scorer, SignedScorer) or scorer.signature is None or is_reference():
            return None
        key = name, scorer.signature
        known = self._columns.pop(key, None)
        touched = None if known is None else state.since(known.generation)
        scores: dict[str, int] = {}
        if known is not None and touched is not None:
            scores = known.scores if known.owner is self._mark else known.scores.copy()
            for node_name in touched.nodes:
                scores.pop(node_name, None)
        self._columns[key] = _Column(self._mark, state.generation, scores)
        while len(self._columns) > _KEPT:
            del self._columns[next(iter(self._columns))]
        for node in nodes:
            if node.name not in scores:
                scores[node.name] = scorer.score(node)
        return [scores[node.name] for node in nodes]
