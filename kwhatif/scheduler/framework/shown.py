"""The read-only view of the cluster that third-party plugins get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, overload
from weakref import WeakKeyDictionary

from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.read_only import read_only
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.shown_objects import NOT_CHANGED, Copies, show, shown_object
from kwhatif.state.change import Change
from kwhatif.state.history import Touched
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def shown(state: State) -> State:
    """The state with read-only collections, and with copies of nodes on access."""
    view = state.fork()
    view.__class__ = _Shown
    show(view.cluster, state.cluster)
    return view


def shown_cycle(cycle: Cycle) -> Cycle:
    """The cycle as PostFilter gets it, with read-only pods, nodes and objects."""
    view = copy(cycle)
    view.pod, view.state = shown_pod(cycle.pod), shown(cycle.state)
    view.feasible = tuple(map(shown_node, cycle.feasible))
    vars(view)["compiled"] = MappingProxyType(cycle.compiled)
    vars(view)["verdicts"] = MappingProxyType(cycle.verdicts)
    view.filters, view.skipped_until = cycle.filters.copy(), cycle.skipped_until.copy()
    view.asked, view.unschedulable_plugins = cycle.asked.copy(), cycle.unschedulable_plugins.copy()
    return view


def shown_pod(pod: PodInfo) -> PodInfo:
    """A read-only view of the pod: always the same object, as a plugin may compare identities."""
    if isinstance(pod, _ShownPod):
        return pod
    view = _SHOWN_PODS.get(pod)
    if view is None:
        view = _SHOWN_PODS[pod] = _ShownPod(pod)
    return view


def shown_node(node: NodeInfo) -> NodeInfo:
    """A copy of the node, with its own labels, and with read-only pods."""
    if node._cut_from is not None:
        node.used_ports()  # computed by comparing pods
    view = node.clone()
    view.node, view.labels = shown_object(node.node), dict(node.labels)
    view.pods = list(map(shown_pod, view.pods))
    return view


class _ShownPod(PodInfo):
    """A read-only pod. Its parts are copied on access."""

    _raw: Pod

    def __init__(self, pod: PodInfo) -> None:
        vars(self).update(vars(pod), _raw=pod.pod, labels=dict(pod.labels), memos=None, _derived=None)
        del vars(self)["pod"]
        if pod.affinity is not None:
            del vars(self)["affinity"]
            vars(self)["_affinity_terms"] = None

    def __getattr__(self, name: str) -> Any:
        """`pod` and `affinity`, on first access."""
        if name == "pod":
            found: Any = read_only(self._raw)
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

    # These two are read too often for a copy.

    @property
    def name(self) -> str:
        return self._raw.metadata.name

    @property
    def terminating(self) -> bool:
        return self._raw.metadata.deletion_timestamp is not None


#: Attributes with cached results about the pod.
_FOUND_OUT = frozenset({"_ports", "_affinity_terms", "_derived", "memos", "budgets"})
_SHOWN_PODS: WeakKeyDictionary[PodInfo, _ShownPod] = WeakKeyDictionary()


class _Shown(State):
    """The properties are those of `State`."""

    @property
    def nodes(self) -> Sequence[NodeInfo]:
        return _Nodes(super().nodes)

    @property
    def by_name(self) -> Mapping[str, NodeInfo]:
        return Copies(super().by_name, shown_node)

    @property
    def of_shape(self) -> Mapping[int, NodeInfo]:
        return Copies(super().of_shape, shown_node)

    @property
    def names_and_shapes(self) -> tuple[Sequence[str], Sequence[int]]:
        names, shapes = super().names_and_shapes
        return tuple(names), tuple(shapes)

    @property
    def places(self) -> Mapping[str, int]:
        return MappingProxyType(super().places)

    def node(self, name: str) -> NodeInfo | None:
        found = super().node(name)
        return None if found is None else shown_node(found)

    @property
    def pods(self) -> Mapping[str, PodInfo]:
        return Copies(super().pods, shown_pod)

    @property
    def pending(self) -> Mapping[str, PodInfo]:
        return Copies(super().pending, shown_pod)

    @property
    def nominated(self) -> Mapping[str, Sequence[PodInfo]]:
        return Copies(super().nominated, _shown_pods)

    @property
    def strays(self) -> Mapping[str, Sequence[PodInfo]]:
        return Copies(super().strays, _shown_pods)

    def fork(self) -> State:
        return shown(super().fork())

    def apply(self, *changes: Change) -> Touched:
        raise TypeError(NOT_CHANGED)


def _shown_pods(pods: Sequence[PodInfo]) -> Sequence[PodInfo]:
    return tuple(map(shown_pod, pods))


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
