"""What a plugin of your own gets to see of the cluster: whatever it does to that, the cluster stays as it is."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import overload

from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.snapshot import Snapshot


def shown(snapshot: Snapshot) -> Snapshot:
    """The snapshot with collections that cannot be changed, and with copies of the nodes that are asked for."""
    view = copy.copy(snapshot)
    for name, value in vars(snapshot).items():
        if name == "nodes":
            vars(view)[name] = _Nodes(value)
        elif name == "by_name":
            vars(view)[name] = _NodesByName(value)
        elif not name.startswith("_") and isinstance(value, dict):
            vars(view)[name] = MappingProxyType(value)
        elif not name.startswith("_") and isinstance(value, list):
            vars(view)[name] = tuple(value)
    return view


class _Nodes(Sequence[NodeInfo]):
    def __init__(self, nodes: Sequence[NodeInfo]) -> None:
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, index: int) -> NodeInfo: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[NodeInfo]: ...
    def __getitem__(self, index: int | slice) -> NodeInfo | Sequence[NodeInfo]:
        return _Nodes(self._nodes[index]) if isinstance(index, slice) else self._nodes[index].clone()


class _NodesByName(Mapping[str, NodeInfo]):
    def __init__(self, nodes: Mapping[str, NodeInfo]) -> None:
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __getitem__(self, name: str) -> NodeInfo:
        return self._nodes[name].clone()
