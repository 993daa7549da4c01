"""Answers that hang on a node's shape alone: asked once per shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TypeVar, cast

from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.node_row import NodeRow

T = TypeVar("T")
_NOBODY: AbstractSet[str] = frozenset()


class ByShape:
    """A scorer whose score, or a filter whose class of nodes, hangs on the node's shape alone: asked once per shape."""

    #: False where that does not hold for the pod in question.
    by_shape: bool = True


class ByShapeBut(ByShape):
    """A scorer or filter that is asked once per shape, except on some nodes, which are asked one by one."""

    def exceptions(self, nodes: Sequence[NodeInfo]) -> AbstractSet[str]:
        """The names of those that may be otherwise than others of their shape."""
        raise NotImplementedError


def is_by_shape(plugin: NodeFilter | NodeScorer) -> bool:
    """Whether it is enough to ask the plugin once per shape."""
    return isinstance(plugin, ByShape) and plugin.by_shape and not is_reference()


def ask_each(nodes: Sequence[NodeInfo], plugin: NodeFilter | NodeScorer, ask: Callable[[NodeInfo], T]) -> list[T]:
    """What `ask`, a question to the plugin, says of each node: nodes of one shape share an answer that hangs on it."""
    if not isinstance(nodes, NodeRow) or not is_by_shape(plugin):
        return [ask(node) for node in nodes]
    alone = plugin.exceptions(nodes) if isinstance(plugin, ByShapeBut) else _NOBODY
    exceptions = [place for place in map(nodes.place_of, alone) if place is not None]
    answers = {shape: ask(node) for shape, node in _samples(nodes, exceptions).items()}
    if not exceptions:
        return list(map(answers.__getitem__, nodes.shapes))
    found = list(map(answers.get, nodes.shapes))
    for place in exceptions:
        found[place] = ask(nodes[place])
    return cast("list[T]", found)


def _samples(nodes: NodeRow, exceptions: Sequence[int]) -> Mapping[int, NodeInfo]:
    """A node of each shape that has others than exceptions."""
    wrong = {id(nodes[place]) for place in exceptions}
    samples = dict(nodes.samples)
    for shape in [shape for shape, node in samples.items() if id(node) in wrong]:
        del samples[shape]
        pairs = zip(nodes.shapes, nodes, strict=True)
        samples.update(islice((each for each in pairs if each[0] == shape and id(each[1]) not in wrong), 1))
    return samples
