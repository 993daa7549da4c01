"""Compiled filters as a cycle runs them: in order, until one rejects the node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status, Verdict
from kwhatif.state.node_info import NodeInfo

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
    return next((place for place, (_, each) in enumerate(filters) if not isinstance(each, kind)), len(filters))


def once_per_shape(compiled: NodeFilter) -> NodeFilter:
    """The filter, asked once per shape if it reads nothing else."""
    return OncePerShape(compiled) if compiled.reads is Reads.SHAPE and not is_reference() else compiled
