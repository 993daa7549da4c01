"""A guard around third-party plugins: what they raise is reported with plugin, extension point, pod and node.

It also checks the types that they return: a wrong type would fail far from its cause.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import redirect_stdout
from copy import copy
from functools import cache
from typing import Any, NamedTuple, NoReturn, Self, TypeVar, cast

from kwhatif.errors import KwhatifError, PluginFailed
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import ByShape, ByShapeExcept
from kwhatif.scheduler.framework.incremental import (
    Incremental,
    NormalizesByRange,
    Relaxing,
    Selective,
    TopologyDomains,
    tracks_pods,
)
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, PostFilterResult, Reads
from kwhatif.scheduler.framework.shown import shown, shown_cycle, shown_node, shown_pod
from kwhatif.scheduler.framework.status import Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

T = TypeVar("T")


#: Already reported, part of the cycle's control flow, or an interrupt by the user.
PASSED_ON = (KwhatifError, CycleError, KeyboardInterrupt)


def called(function: Callable[..., T], *arguments: object) -> T:
    """Call third-party code: what it prints goes to standard error, not into the answer."""
    with redirect_stdout(sys.stderr):
        return function(*arguments)


class CallSite(NamedTuple):
    """Which plugin is called for which pod, at which extension point and node."""

    plugin: str
    point: str
    pod: str
    node: str = ""

    def call(self, function: Callable[..., Any], *arguments: object, returns: type[T] | tuple[type, ...]) -> T:
        """Call the plugin.

        Raises:
            PluginFailed: it raised, or returned a wrong type.
        """
        try:
            result = called(function, *arguments)
            is_right = isinstance(result, returns)
        except PASSED_ON:
            raise
        except BaseException as failure:  # noqa: BLE001 - SystemExit, too
            self.fail(described(failure), failure)
        if not is_right:
            kinds = returns if isinstance(returns, tuple) else (returns,)
            wanted = " or ".join(kind.__name__ for kind in kinds)
            self.fail(f"it returned {type(result).__name__}, not {wanted}", None)
        return result  # type: ignore[no-any-return] # its type was checked above

    def fields(self, owner: object, **kinds: type | tuple[type, ...]) -> list[Any]:
        """The fields of an object that a plugin returned; they may be properties, which can raise.

        Raises:
            PluginFailed: one raised, or has a wrong type.
        """
        found: list[Any] = self.call(lambda: [getattr(owner, name) for name in kinds], returns=list)
        for (name, kind), value in zip(kinds.items(), found, strict=True):
            if not issubclass(type(value), kind):
                self.fail(f"{name} is of type {type(value).__name__}", None)
        return found

    def fail(self, what: str, cause: BaseException | None) -> NoReturn:
        """Say what happened, and where."""
        node = f" on node {self.node}" if self.node else ""
        raise PluginFailed(f"plugin {self.plugin} failed in {self.point} for pod {self.pod}{node}: {what}") from cause


def described(failure: BaseException) -> str:
    """Type and message of an exception."""
    try:
        return f"{type(failure).__name__}: {failure}"
    except Exception:  # noqa: BLE001 - whatever it is, it is the plugin's
        return f"{type(failure).__name__}, which cannot be printed"


class GuardedPlugin:
    """A guarded plugin; it has the same methods, and so the same extension points."""

    def __init__(self, inner: Any) -> None:
        self.name: str = inner.name
        self.inner = inner
        for method, guard in _GUARDS.items():
            if hasattr(inner, method):
                setattr(self, method, guard(inner))

    def __reduce__(self) -> tuple[object, ...]:
        """In another process the methods are guarded again."""
        return type(self), (self.inner,)


def unguarded(plugin: object) -> object:
    """The plugin itself, whether it is guarded or not."""
    return plugin.inner if isinstance(plugin, GuardedPlugin) else plugin


def _pre_enqueue(plugin: Any) -> Callable[[PodInfo, State], Status]:
    def pre_enqueue(pod: PodInfo, state: State) -> Status:
        site = CallSite(plugin.name, "PreEnqueue", pod.key)
        return site.call(plugin.pre_enqueue, shown_pod(pod), shown(state), returns=Status)

    return pre_enqueue


def _pre_filter(plugin: Any) -> Callable[[PodInfo, State], NodeFilter | Status]:
    def pre_filter(pod: PodInfo, state: State) -> NodeFilter | Status:
        site = CallSite(plugin.name, "PreFilter", pod.key)
        result: NodeFilter | Status = site.call(
            plugin.pre_filter, shown_pod(pod), shown(state), returns=(NodeFilter, Status)
        )
        return result if isinstance(result, Status) else _guard_filter(result, site)

    return pre_filter


def _pre_score(plugin: Any) -> Callable[[PodInfo, State, Sequence[NodeInfo]], NodeScorer | Status]:
    def pre_score(pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        site = CallSite(plugin.name, "PreScore", pod.key)
        cluster, copies = shown(state), tuple(map(shown_node, nodes))
        result: NodeScorer | Status = site.call(
            plugin.pre_score, shown_pod(pod), cluster, copies, returns=(NodeScorer, Status)
        )
        return result if isinstance(result, Status) else _guard_scorer(result, site._replace(point="Score"))

    return pre_score


def _post_filter(plugin: Any) -> Callable[[Cycle], PostFilterResult]:
    # One that is inherited asks a policy of the plugin's, which has a guard of its own.
    is_own = getattr(plugin.post_filter, "__module__", "").partition(".")[0] == __name__.partition(".")[0]

    def post_filter(cycle: Cycle) -> PostFilterResult:
        site = CallSite(plugin.name, "PostFilter", cycle.pod.key)
        return site.call(plugin.post_filter, cycle if is_own else shown_cycle(cycle), returns=PostFilterResult)

    return post_filter


_GUARDS: dict[str, Callable[[Any], Callable[..., object]]] = {
    "pre_enqueue": _pre_enqueue,
    "pre_filter": _pre_filter,
    "pre_score": _pre_score,
    "post_filter": _post_filter,
}


def _guard_filter(inner: NodeFilter, site: CallSite) -> NodeFilter:
    """A guard with the filter's methods, without those that only speed up built-in filters."""
    kinds: list[type] = [guard for kind, guard in _FILTER_GUARDS.items() if isinstance(inner, kind)]
    if tracks_pods(inner):
        kinds.append(_GuardedTracker)
    guard: NodeFilter = _guard_of((*kinds, _GuardedFilter))(inner, site)
    return guard


@cache
def _guard_of(kinds: tuple[type, ...]) -> Any:
    return kinds[0] if len(kinds) == 1 else type("_Guarded", kinds, {})


class _GuardedFilter(NodeFilter):
    def __init__(self, inner: NodeFilter, site: CallSite) -> None:
        self._inner = inner
        self._site = site._replace(point="Filter")
        self.only_nodes, self.reads, self.reserves = self._site.fields(
            inner, only_nodes=(frozenset, type(None)), reads=Reads, reserves=bool
        )

    def filter(self, node: NodeInfo) -> Status:
        return self._site._replace(node=node.name).call(self._inner.filter, shown_node(node), returns=Status)

    def fork(self) -> Self:
        site = self._site._replace(point="Filter (fork)")
        return cast("Self", _guard_filter(site.call(self._inner.fork, returns=NodeFilter), self._site))

    def reserve(self, node: NodeInfo, state: State) -> Iterable[KubernetesObject]:
        site = self._site._replace(point="Reserve", node=node.name)
        return site.call(lambda: tuple(self._inner.reserve(shown_node(node), shown(state))), returns=tuple)


class _GuardedTracker(_GuardedFilter):
    """A filter that tracks pods; only these are forked for every candidate node."""

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        site = self._site._replace(point=f"AddPod of {pod.key}", node=node.name)
        site.call(self._inner.add_pod, shown_pod(pod), shown_node(node), returns=object)

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        site = self._site._replace(point=f"RemovePod of {pod.key}", node=node.name)
        site.call(self._inner.remove_pod, shown_pod(pod), shown_node(node), returns=object)


class _GuardedRelaxing(_GuardedFilter, Relaxing):
    def __init__(self, inner: Any, site: CallSite) -> None:
        super().__init__(inner, site)
        (self.relaxing,) = self._site.fields(inner, relaxing=bool)


class _GuardedSelective(_GuardedFilter, Selective):
    _inner: Selective

    def affected_by(self, pod: PodInfo) -> bool:
        site = self._site._replace(point=f"Filter (affected_by {pod.key})")
        return site.call(self._inner.affected_by, shown_pod(pod), returns=bool)

    def affected_on(self, node: NodeInfo) -> bool:
        site = self._site._replace(point="Filter (affected_on)", node=node.name)
        return site.call(self._inner.affected_on, shown_node(node), returns=bool)


class _GuardedIncremental(Incremental):
    _inner: Incremental
    _site: CallSite

    def apply_pod_change(self, pod: PodInfo, node: NodeInfo, amount: int) -> TopologyDomains | None:
        site = self._site._replace(point=f"{self._site.point} (apply_pod_change {pod.key})", node=node.name)
        domains: TopologyDomains | None = site.call(
            self._inner.apply_pod_change, shown_pod(pod), shown_node(node), amount, returns=(frozenset, type(None))
        )
        return domains

    def fork_with(self, state: State) -> Self:
        site = self._site._replace(point=f"{self._site.point} (fork_with)")
        inner = site.call(self._inner.fork_with, shown(state), returns=Incremental)
        other = copy(self)
        other._inner = inner
        return other

    def node_class(self, node: NodeInfo) -> Hashable:
        site = self._site._replace(point=f"{self._site.point} (node_class)", node=node.name)
        found: Hashable = site.call(self._inner.node_class, shown_node(node), returns=Hashable)
        return found

    def class_state(self, node: NodeInfo) -> Hashable:
        site = self._site._replace(point=f"{self._site.point} (class_state)", node=node.name)
        found: Hashable = site.call(self._inner.class_state, shown_node(node), returns=Hashable)
        return found

    def update_feasible_count(self, node: NodeInfo, number: int) -> None:
        site = self._site._replace(point=f"{self._site.point} (update_feasible_count)", node=node.name)
        site.call(self._inner.update_feasible_count, shown_node(node), number, returns=object)


_FILTER_GUARDS: dict[type, type] = {
    Selective: _GuardedSelective,
    Relaxing: _GuardedRelaxing,
    Incremental: _GuardedIncremental,
}


def _guard_scorer(inner: NodeScorer, site: CallSite) -> NodeScorer:
    kinds: list[type] = [kind for kind in (ByShape, NormalizesByRange) if isinstance(inner, kind)]
    if isinstance(inner, ByShapeExcept):  # a node at a time is exact, too, and has no exceptions
        kinds.remove(ByShape)
    if isinstance(inner, Incremental):
        kinds.insert(0, _GuardedIncremental)
    guard: NodeScorer = _guard_of((_GuardedScorer, *kinds))(inner, site)
    if isinstance(inner, ByShape) and isinstance(guard, ByShape):
        (guard.by_shape,) = site.fields(inner, by_shape=bool)
    return guard


class _GuardedScorer(NodeScorer):
    def __init__(self, inner: NodeScorer, site: CallSite) -> None:
        self._inner = inner
        self._site = site
        self.reads, self.normalizes = site.fields(inner, reads=Reads, normalizes=bool)

    def score(self, node: NodeInfo) -> int:
        return self._site._replace(node=node.name).call(self._inner.score, shown_node(node), returns=int)

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        site = self._site._replace(point="NormalizeScore")
        normalized: list[int] = site.call(self._inner.normalize, scores, tuple(map(shown_node, nodes)), returns=list)
        if len(normalized) != len(nodes) or not all(isinstance(score, int) for score in normalized):
            site.fail(f"it returned {normalized!r}, not {len(nodes)} whole numbers", None)
        return normalized
