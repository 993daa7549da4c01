"""`Columns`: verdicts and raw scores of all nodes that one pod after another asks for, whatever their signatures.

Different workloads often request the same, and use the same images: then only nodes where something has changed are
asked anew.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, cast

from kwhatif.framework.incremental import Reprieving, SignedScorer
from kwhatif.framework.plugin import NodeFilter, NodeScorer
from kwhatif.framework.reference import is_reference
from kwhatif.framework.status import Code, Verdict
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.node_row import NodeRow
from kwhatif.state.state import State

#: So many columns are kept; those asked for longest ago go first. For 5,000 nodes that is a megabyte.
_KEPT = 24


class _Column(NamedTuple):
    #: Whose it is: others copy it before they change it.
    owner: object
    #: The state's generation for which the scores hold.
    generation: int
    #: Raw scores of the nodes, in the state's order; None of those that were never feasible.
    scores: list[int | None]


class _Objections(NamedTuple):
    owner: object
    generation: int
    #: By node name, what a filter says that objects.
    verdicts: dict[str, Verdict]


class Columns:
    """For one profile on one state, or on what becomes of it."""

    def __init__(self) -> None:
        self._mark = object()
        #: By plugin and signature.
        self._columns: dict[tuple[str, Hashable], _Column] = {}
        self._objections: dict[tuple[str, Hashable], _Objections] = {}

    def fork(self) -> Columns:
        """An independent copy, for a fork of the state."""
        other = Columns()
        self._mark = object()
        other._columns, other._objections = self._columns.copy(), self._objections.copy()
        return other

    def objections(self, name: str, filter_: NodeFilter, state: State) -> Mapping[str, Verdict] | None:
        """By node name, what a filter says that objects; None where this filter's verdicts are not kept."""
        if not isinstance(filter_, Reprieving) or filter_.signature is None or is_reference():
            return None
        key = name, filter_.signature
        known = self._objections.pop(key, None)
        touched = None if known is None else state.since(known.generation)
        if known is None or touched is None:
            verdicts, nodes = {}, state.nodes
        else:
            verdicts = known.verdicts if known.owner is self._mark else known.verdicts.copy()
            for node_name in touched.nodes:
                verdicts.pop(node_name, None)
            nodes = [node for node_name in touched.nodes if (node := state.node(node_name)) is not None]
        for node in nodes:
            status = filter_.filter(node)
            if status.code is not Code.SUCCESS:
                verdicts[node.name] = Verdict(status, name)
        self._objections[key] = _Objections(self._mark, state.generation, verdicts)
        while len(self._objections) > _KEPT:
            del self._objections[next(iter(self._objections))]
        return verdicts

    def raw(self, name: str, scorer: NodeScorer, nodes: Sequence[NodeInfo], state: State) -> list[int] | None:
        """The raw scores of the nodes; None where this scorer's are not kept."""
        if not isinstance(scorer, SignedScorer) or scorer.signature is None or is_reference():
            return None
        key = name, scorer.signature
        known = self._columns.pop(key, None)
        touched = None if known is None else state.since(known.generation)
        if known is None or touched is None or touched.reordered:
            scores: list[int | None] = [None] * len(state.nodes)
        else:
            scores = known.scores if known.owner is self._mark else known.scores.copy()
            for node_name in touched.nodes & state.places.keys():
                scores[state.places[node_name]] = None
        self._columns[key] = _Column(self._mark, state.generation, scores)
        while len(self._columns) > _KEPT:
            del self._columns[next(iter(self._columns))]
        places = nodes.places if isinstance(nodes, NodeRow) else [state.places[node.name] for node in nodes]
        found = list(map(scores.__getitem__, places))
        for at in _gaps(found):
            scores[places[at]] = found[at] = scorer.score(nodes[at])
        return cast("list[int]", found)


def _gaps(found: Sequence[object]) -> Iterator[int]:
    """Where there is nothing yet; mostly there is something, which is passed over at once."""
    at = -1
    with suppress(ValueError):
        while True:
            at = found.index(None, at + 1)
            yield at
