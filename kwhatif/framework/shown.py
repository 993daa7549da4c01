"""What a plugin of your own gets to see of the cluster: whatever it does to that, the cluster stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import overload

from msgspec.structs import replace

from kwhatif.state.change import Change
from kwhatif.state.history import Touched
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def shown(snapshot: State) -> State:
    """The snapshot with collections that cannot be changed, and with copies of the nodes that are asked for."""
    _ = snapshot.index  # is that of the nodes themselves, not of copies
    view = snapshot.fork()
    view.__class__ = _Shown
    vars(view)["nodes"] = _Nodes(snapshot.nodes)
    vars(view)["_by_name"] = _NodesByName(snapshot.by_name)
    vars(view)["_nominated"] = MappingProxyType(dict(snapshot.nominated))
    return view


def shown_pod(pod: PodInfo) -> PodInfo:
    """A copy of the pod that is asked about; pods on nodes are shown as they are: a plugin may know them again."""
    view = copy(pod)
    meta = replace(pod.pod.metadata, labels=dict(pod.labels))
    view.pod, view.labels = replace(pod.pod, metadata=meta), meta.labels
    view.memos = view._derived = None  # dicts, which the copy would share
    return view


def shown_node(node: NodeInfo) -> NodeInfo:
    """A copy of the node, with labels of its own."""
    view = node.clone()
    meta = replace(node.node.metadata, labels=dict(node.labels))
    view.node, view.labels = replace(node.node, metadata=meta), meta.labels
    return view


class _Shown(State):
    def apply(self, *changes: Change) -> Touched:
        del changes
        raise TypeError("a plugin does not change the cluster: what reserve returns does")


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
        return _Nodes(self._nodes[index]) if isinstance(index, slice) else shown_node(self._nodes[index])


class _NodesByName(Mapping[str, NodeInfo]):
    def __init__(self, nodes: Mapping[str, NodeInfo]) -> None:
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __getitem__(self, name: str) -> NodeInfo:
        return shown_node(self._nodes[name])
