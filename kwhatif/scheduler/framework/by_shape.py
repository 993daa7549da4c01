"""Plugins whose answers depend on a node's shape only: asked once per shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TypeVar, cast

from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import NodeRow

T = TypeVar("T")
_NOBODY: AbstractSet[str] = frozenset()


class ByShape:
    """A scorer whose score, or a filter whose node class, depends on the node's shape only: asked once per shape."""

    #: False if that does not hold for this pod.
    by_shape: bool = True


class ByShapeBut(ByShape):
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
    """One node of each shape that has nodes besides exceptions."""
    wrong = {id(nodes[place]) for place in exceptions}
    samples = dict(nodes.samples)
    for shape in [shape for shape, node in samples.items() if id(node) in wrong]:
        del samples[shape]
        pairs = zip(nodes.shapes, nodes, strict=True)
        samples.update(islice((each for each in pairs if each[0] == shape and id(each[1]) not in wrong), 1))
    return samples
