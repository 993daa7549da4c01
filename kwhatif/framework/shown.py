"""What a plugin of your own gets to see of the cluster: whatever it does to that, the cluster stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, overload
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from kwhatif.model.pod import Pod
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
    nominated = {name: tuple(map(shown_pod, pods)) for name, pods in snapshot.nominated.items()}
    vars(view)["_nominated"] = MappingProxyType(nominated)
    return view


def shown_pod(pod: PodInfo) -> PodInfo:
    """The pod as it can only be read: always the same object, as a plugin may know it again."""
    if isinstance(pod, _ShownPod):
        return pod
    view = _SHOWN_PODS.get(pod)
    if view is None:
        view = _SHOWN_PODS[pod] = _ShownPod(pod)
    return view


def shown_node(node: NodeInfo) -> NodeInfo:
    """A copy of the node, with labels of its own, and with pods that can only be read."""
    if node._cut_from is not None:
        node.used_ports()  # which are found by comparing pods
    view = node.clone()
    meta = replace(node.node.metadata, labels=dict(node.labels))
    view.node, view.labels = replace(node.node, metadata=meta), meta.labels
    view.pods = list(map(shown_pod, view.pods))
    view.with_affinity = list(map(shown_pod, view.with_affinity))
    view.with_required_anti_affinity = list(map(shown_pod, view.with_required_anti_affinity))
    return view


class _ShownPod(PodInfo):
    """A pod that cannot be changed. What it is made of are copies, made when they are asked for: they hold dicts."""

    _raw: Pod

    def __init__(self, pod: PodInfo) -> None:
        vars(self).update(vars(pod), _raw=pod.pod, labels=dict(pod.labels), memos=None, _derived=None)
        del vars(self)["pod"]
        if pod.affinity is not None:
            del vars(self)["affinity"]
            vars(self)["_affinity_terms"] = None

    def __getattr__(self, name: str) -> Any:
        """`pod` and `affinity`, when they are first asked for."""
        if name == "pod":
            found: Any = deepcopy(self._raw)
        elif name == "affinity":
            found = self.pod.spec.affinity
        else:
            raise AttributeError(name)
        vars(self)[name] = found
        return found

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _FOUND_OUT:
            raise TypeError(f"a plugin does not change pods: {name} of {self.key}")
        super().__setattr__(name, value)

    # These three are asked for so often that they are not worth a copy.

    @property
    def name(self) -> str:
        return self._raw.metadata.name

    @property
    def uid(self) -> str:
        return self._raw.metadata.uid or self.key

    @property
    def terminating(self) -> bool:
        return self._raw.metadata.deletion_timestamp is not None


#: What a pod keeps of what was found out about it.
_FOUND_OUT = frozenset({"_ports", "_affinity_terms", "_derived", "memos", "budgets"})
_SHOWN_PODS: WeakKeyDictionary[PodInfo, _ShownPod] = WeakKeyDictionary()


class _Shown(State):
    @property
    def pods(self) -> Mapping[str, PodInfo]:
        return _Pods(super().pods)

    @property
    def pending(self) -> Mapping[str, PodInfo]:
        return _Pods(super().pending)

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


class _Pods(Mapping[str, PodInfo]):
    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        self._pods = pods

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pods)

    def __getitem__(self, key: str) -> PodInfo:
        return shown_pod(self._pods[key])


class _NodesByName(Mapping[str, NodeInfo]):
    def __init__(self, nodes: Mapping[str, NodeInfo]) -> None:
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __getitem__(self, name: str) -> NodeInfo:
        return shown_node(self._nodes[name])
