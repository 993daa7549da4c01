"""`NodeResultCache`: verdicts and raw scores of all nodes, kept from pod to pod, even if their signatures differ.

Different workloads often have equal requests and images: then only nodes that have changed are evaluated again. The
generation of a node says what it is like, in whatever state it is: so all states share the columns of a profile, also
those of a cluster that is watched, from moment to moment.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress
from operator import ne
from typing import Generic, NamedTuple, TypeVar, cast

from kwhatif.scheduler.framework.incremental import Reprieving, SignedScorer
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import Code, Verdict
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import NodeRow, State

T = TypeVar("T")

#: The number of columns that are kept; the least recently used go first. For 5,000 nodes that is a megabyte.
_KEPT = 24


class _Kept(NamedTuple, Generic[T]):
    """What was found, which is never changed, and the nodes of the state that it is about."""

    generations: Sequence[int]
    names: Sequence[str]
    found: T


#: By plugin and signature; the most recently used at the end.
_Store = dict[tuple[str, Hashable], _Kept[T]]


class NodeResultCache:
    """The columns of one profile."""

    def __init__(self) -> None:
        #: Raw scores of the nodes, in the state's order; None for nodes that were never feasible.
        self._scores: _Store[list[int | None]] = {}
        #: Rejections of a filter by node name.
        self._objections: _Store[dict[str, Verdict]] = {}

    def objections(self, name: str, filter_: NodeFilter, state: State) -> Mapping[str, Verdict] | None:
        """The rejections of a filter by node name; None if this filter's verdicts are not kept."""
        if not isinstance(filter_, Reprieving) or filter_.signature is None or is_reference():
            return None
        key = name, filter_.signature
        known = self._objections.pop(key, None)
        verdicts: dict[str, Verdict]
        gone: Sequence[str]
        places: Sequence[int]
        if known is None:
            verdicts, gone, places = {}, (), range(len(state.nodes))
        else:
            gone, places = _between(known, state)
            verdicts = known.found.copy() if gone or places else known.found
        for node_name in gone:
            verdicts.pop(node_name, None)
        nodes = state.nodes
        for place in places:
            node = nodes[place]
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
        scores = _scores_now(self._scores.pop(key, None), state)
        places = nodes.places if isinstance(nodes, NodeRow) else [state.places[node.name] for node in nodes]
        found = list(map(scores.__getitem__, places))
        for at in _gaps(found):
            scores[places[at]] = found[at] = scorer.score(nodes[at])
        self._keep(self._scores, key, state, scores)
        return cast("list[int]", found)

    def _keep(self, store: _Store[T], key: tuple[str, Hashable], state: State, found: T) -> None:
        store[key] = _Kept(state.node_generations, state.names_and_shapes[0], found)
        while len(store) > _KEPT:
            store.pop(next(iter(store)), None)

    def __reduce__(self) -> tuple[type[NodeResultCache], tuple[()]]:
        """Another process finds them again."""
        return NodeResultCache, ()


def _between(known: _Kept[T], state: State) -> tuple[Sequence[str], Sequence[int]]:
    """The nodes that are not any more as they were then, by name; and the places of those that are not as then."""
    then, now = known.generations, state.node_generations
    if then is now:
        return (), ()
    if len(then) == len(now):
        places = list(compress(range(len(now)), map(ne, then, now)))
        return [known.names[place] for place in places], places
    were, are = set(then), set(now)
    gone = [name for name, generation in zip(known.names, then, strict=True) if generation not in are]
    return gone, [place for place, generation in enumerate(now) if generation not in were]


def _scores_now(known: _Kept[list[int | None]] | None, state: State) -> list[int | None]:
    """A list of its own."""
    now = state.node_generations
    if known is None:
        return [None] * len(now)
    then, scores = known.generations, known.found
    if then is now:
        return scores.copy()
    if len(then) != len(now):
        return list(map(dict(zip(then, scores, strict=True)).get, now))
    scores = scores.copy()
    for place in compress(range(len(now)), map(ne, then, now)):
        scores[place] = None
    return scores


def _gaps(found: Sequence[object]) -> Iterator[int]:
    """The indexes of missing entries. Most entries exist, and are skipped fast."""
    at = -1
    with suppress(ValueError):
        while True:
            at = found.index(None, at + 1)
            yield at
