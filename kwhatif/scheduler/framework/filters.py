"""How filters and scorers are called for many nodes: in order, once per shape, or not at all if the answer is known.

`NodeResultCache` keeps verdicts and raw scores of all nodes from pod to pod, even if their signatures differ: different
workloads often have equal requests and images, and then only nodes that have changed are evaluated again. The
generation of a node stands for its content, in all states: so all states share the columns of a profile, also those of
a cluster that is watched, from moment to moment.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import compress, islice
from operator import ne
from typing import Generic, NamedTuple, TypeVar, cast

from kwhatif.scheduler.framework.incremental import Reprieving, SignedScorer
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status, Verdict
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import NodeRow, State

T = TypeVar("T")
_NONE: AbstractSet[str] = frozenset()


class ByShape:
    """A scorer whose score, or a filter whose node class, depends on the node's shape only: asked once per shape."""

    #: False if that does not hold for this pod.
    by_shape: bool = True


class ByShapeExcept(ByShape):
    """A scorer or filter that is asked once per shape, except on some nodes, which are asked one by one."""

    def exceptions(self, nodes: Sequence[NodeInfo]) -> AbstractSet[str]:
        """The names of nodes that may differ from others of their shape."""
        raise NotImplementedError


def is_by_shape(plugin: NodeFilter | NodeScorer) -> bool:
    """Whether it is enough to ask the plugin once per shape."""
    return isinstance(plugin, ByShape) and plugin.by_shape and not is_reference()


def ask_each(nodes: Sequence[NodeInfo], plugin: NodeFilter | NodeScorer, ask: Callable[[NodeInfo], T]) -> list[T]:
    """The result of `ask`, a call of the plugin, for each node; nodes share an answer that depends on their shape."""
    if not isinstance(nodes, NodeRow) or not is_by_shape(plugin):
        return [ask(node) for node in nodes]
    alone = plugin.exceptions(nodes) if isinstance(plugin, ByShapeExcept) else _NONE
    exceptions = [index for index in map(nodes.index_of, alone) if index is not None]
    answers = {shape: ask(node) for shape, node in _samples(nodes, exceptions).items()}
    if not exceptions:
        return list(map(answers.__getitem__, nodes.shapes))
    found = list(map(answers.get, nodes.shapes))
    for index in exceptions:
        found[index] = ask(nodes[index])
    return cast("list[T]", found)


def _samples(nodes: NodeRow, exceptions: Sequence[int]) -> Mapping[int, NodeInfo]:
    """One node of each shape that has nodes besides exceptions."""
    wrong = {id(nodes[index]) for index in exceptions}
    samples = dict(nodes.samples)
    for shape in [shape for shape, node in samples.items() if id(node) in wrong]:
        del samples[shape]
        pairs = zip(nodes.shapes, nodes, strict=True)
        samples.update(islice((each for each in pairs if each[0] == shape and id(each[1]) not in wrong), 1))
    return samples


#: A filter with its plugin's name.
NamedFilter = tuple[str, NodeFilter]


class OncePerShape(NodeFilter):
    """Asks another filter once per node shape."""

    reads = Reads.SHAPE

    def __init__(self, inner: NodeFilter) -> None:
        self._inner = inner
        self._answers: dict[int, Status] = {}

    def filter(self, node: NodeInfo) -> Status:
        """The other filter's answer for the node's shape."""
        status = self._answers.get(node.shape)
        if status is None:
            status = self._answers[node.shape] = self._inner.filter(node)
        return status


class KnownAnswers(NodeFilter):
    """The answers of another filter."""

    def __init__(self, objections: Mapping[str, Verdict]) -> None:
        """`objections`: its rejections by node name."""
        self.objections = objections

    def filter(self, node: NodeInfo) -> Status:
        """The other filter's answer."""
        objection = self.objections.get(node.name)
        return SUCCESS if objection is None else objection.status


class ConstantFilter(NodeFilter):
    """The same answer for every node: from a plugin whose PreFilter is disabled, so it can only reject or fail."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def filter(self, node: NodeInfo) -> Status:
        """The answer."""
        return self._status


def run_filters(filters: Iterable[NamedFilter], node: NodeInfo) -> Verdict | None:
    """The first rejection, or None if the node passes."""
    for name, plugin in filters:
        status = plugin.filter(node)
        if status is not SUCCESS and status.code is not Code.SUCCESS:
            return Verdict(status, name)
    return None


def split_by_shape(filters: Sequence[NamedFilter]) -> tuple[Sequence[NamedFilter], Sequence[NamedFilter]]:
    """The leading filters that read only the node's shape, and the rest."""
    number = leading(filters, OncePerShape)
    return filters[:number], filters[number:]


def leading(filters: Sequence[NamedFilter], kind: type[NodeFilter]) -> int:
    """How many of the filters at the start are of that type."""
    return next((index for index, (_, each) in enumerate(filters) if not isinstance(each, kind)), len(filters))


def once_per_shape(compiled: NodeFilter) -> NodeFilter:
    """The filter, asked once per shape if it reads nothing else."""
    return OncePerShape(compiled) if compiled.reads is Reads.SHAPE and not is_reference() else compiled


#: The number of columns that are kept; the least recently used go first. For 5,000 nodes that is a megabyte.
_KEPT = 24


class _Kept(NamedTuple, Generic[T]):
    """Results, which are never changed, and the nodes of the state that they are about."""

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
        indexes: Sequence[int]
        if known is None:
            verdicts, gone, indexes = {}, (), range(len(state.nodes))
        else:
            gone, indexes = _between(known, state)
            verdicts = known.found.copy() if gone or indexes else known.found
        for node_name in gone:
            verdicts.pop(node_name, None)
        nodes = state.nodes
        for index in indexes:
            node = nodes[index]
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
        indexes = nodes.indexes if isinstance(nodes, NodeRow) else [state.index_by_name[node.name] for node in nodes]
        found = list(map(scores.__getitem__, indexes))
        for at in _gaps(found):
            scores[indexes[at]] = found[at] = scorer.score(nodes[at])
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
    """The nodes that are not any more as they were then, by name; and the indexes of those that are not as then."""
    then, now = known.generations, state.node_generations
    if then is now:
        return (), ()
    if len(then) == len(now):
        indexes = list(compress(range(len(now)), map(ne, then, now)))
        return [known.names[index] for index in indexes], indexes
    were, are = set(then), set(now)
    gone = [name for name, generation in zip(known.names, then, strict=True) if generation not in are]
    return gone, [index for index, generation in enumerate(now) if generation not in were]


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
    for index in compress(range(len(now)), map(ne, then, now)):
        scores[index] = None
    return scores


def _gaps(found: Sequence[object]) -> Iterator[int]:
    """The indexes of missing entries. Most entries exist, and are skipped fast."""
    at = -1
    with suppress(ValueError):
        while True:
            at = found.index(None, at + 1)
            yield at
