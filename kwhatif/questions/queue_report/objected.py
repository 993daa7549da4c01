"""What plugins have to say against nodes, node by node, and the changes that would help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from kwhatif.report.queue import Cause
from kwhatif.scheduler.framework.evidence import Evidence
from kwhatif.state.node_info import NodeInfo

#: The most nodes, pods, and kinds of shortage to name.
FEW = 3
#: The most nodes to name where each would do: more than a sentence shows, for programs.
_MOST_NODES = 10
E = TypeVar("E")


class WakingChange(NamedTuple):
    """A change that would help, as far as the plugin is concerned."""

    plugin: str
    cause: Cause
    #: Whether nothing else keeps the pod from these nodes.
    enough: bool


class OnNode(NamedTuple):
    """What one plugin has to say against a node; `alone` if it is the only one that objects."""

    node: NodeInfo
    plugin: str
    evidence: Sequence[Evidence]
    alone: bool


def of(found: Iterable[OnNode], kind: type[E]) -> list[tuple[OnNode, list[E]]]:
    """The objections with evidence of that kind: those that stand alone, or all if none does."""
    pairs: list[tuple[OnNode, list[E]]] = []
    for each in found:
        items: list[E] = [item for item in each.evidence if isinstance(item, kind)]
        if items:
            pairs.append((each, items))
    return [pair for pair in pairs if pair[0].alone] or pairs


Named = tuple[tuple[str, ...], int]


def names(nodes: Sequence[str]) -> Named:
    """The first of the names, and how many there are besides."""
    return tuple(nodes[:_MOST_NODES]), max(len(nodes) - _MOST_NODES, 0)


K = TypeVar("K")


def by(
    found: Sequence[OnNode],
    kind: type[E],
    key: Callable[[E], K],
    make: Callable[[tuple[str, ...], int, K], Cause],
) -> Iterator[WakingChange]:
    """One change for each value of the key."""
    groups: dict[tuple[str, K], list[OnNode]] = {}
    for each, items in of(found, kind):
        groups.setdefault((each.plugin, key(items[0])), []).append(each)
    for (plugin, value), group in groups.items():
        nodes, more = names([each.node.name for each in group])
        yield WakingChange(plugin, make(nodes, more, value), group[0].alone)
