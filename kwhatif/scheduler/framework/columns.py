"""`Columns`: verdicts and raw scores of all nodes, kept from pod to pod, even if their signatures differ.

Different workloads often have equal requests and images: then only nodes that have changed are evaluated again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar, cast

from kwhatif.scheduler.framework.incremental import Reprieving, SignedScorer
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import Code, Verdict
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.node_row import NodeRow
from kwhatif.state.state import State

T = TypeVar("T")

#: So many columns are kept; those asked for longest ago go first. For 5,000 nodes that is a megabyte.
_KEPT = 24


class _Kept(NamedTuple, Generic[T]):
    #: The owner; others copy the column before they change it.
    owner: object
    #: The generation of the state that it is valid for.
    generation: int
    found: T


#: By plugin and signature; the most recently used at the end.
_Store = dict[tuple[str, Hashable], _Kept[T]]


class Columns:
    """The columns of one profile on one state, and on later versions of it."""

    def __init__(self) -> None:
        self._mark = object()
        #: Raw scores of the nodes, in the state's order; None for nodes that were never feasible.
        self._scores: _Store[list[int | None]] = {}
        #: Rejections of a filter by node name.
        self._objections: _Store[dict[str, Verdict]] = {}

    def fork(self) -> Columns:
        """An independent copy, for a fork of the state."""
        other = Columns()
        self._mark = object()
        other._scores, other._objections = self._scores.copy(), self._objections.copy()
        return other

    def objections(self, name: str, filter_: NodeFilter, state: State) -> Mapping[str, Verdict] | None:
        """The rejections of a filter by node name; None if this filter's verdicts are not kept."""
        if not isinstance(filter_, Reprieving) or filter_.signature is None or is_reference():
            return None
        key = name, filter_.signature
        known = self._objections.pop(key, None)
        touched = None if known is None else state.since(known.generation)
        if known is None or touched is None:
            verdicts, nodes = {}, state.nodes
        else:
            verdicts = known.found if known.owner is self._mark else known.found.copy()
            for node_name in touched.nodes:
                verdicts.pop(node_name, None)
            nodes = [node for node_name in touched.nodes if (node := state.node(node_name)) is not None]
        for node in nodes:
            status = filter_.filter(node)
            if status.code is not Code.SUCCESS:
                verdicts[node.name] = Verdict(status, name)
        self._keep(self._objections, key, state, verdicts)
        return verdicts

    def raw(self, name: str, scorer: NodeScorer, nodes: Sequence[NodeInfo], state: State) -> list[int] | None:
        """The raw scores of the nodes; None if this scorer's are not kept."""
        if not isinstance(scorer, SignedScorer) or scorer.signature is None or is_reference():
            return None
        key = name, scorer.signature
        known = self._scores.pop(key, None)
        touched = None if known is None else state.since(known.generation)
        if known is None or touched is None or touched.reordered:
            scores: list[int | None] = [None] * len(state.nodes)
        else:
            scores = known.found if known.owner is self._mark else known.found.copy()
            for node_name in touched.nodes & state.places.keys():
                scores[state.places[node_name]] = None
        self._keep(self._scores, key, state, scores)
        places = nodes.places if isinstance(nodes, NodeRow) else [state.places[node.name] for node in nodes]
        found = list(map(scores.__getitem__, places))
        for at in _gaps(found):
            scores[places[at]] = found[at] = scorer.score(nodes[at])
        return cast("list[int]", found)

    def _keep(self, store: _Store[T], key: tuple[str, Hashable], state: State, found: T) -> None:
        store[key] = _Kept(self._mark, state.generation, found)
        while len(store) > _KEPT:
            del store[next(iter(store))]


def _gaps(found: Sequence[object]) -> Iterator[int]:
    """The indexes of missing entries. Most entries exist, and are skipped fast."""
    at = -1
    with suppress(ValueError):
        while True:
            at = found.index(None, at + 1)
            yield at
