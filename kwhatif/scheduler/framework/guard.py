"""A guard around third-party plugins: what they raise is reported with plugin, extension point, pod and node.

It also checks the types that they return: a wrong type would fail far from its cause. Plugins get read-only views of
what they are passed (`shown`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import redirect_stdout
from copy import copy
from functools import cache, partial
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

    def at(self, point: str, arguments: Sequence[object]) -> CallSite:
        """The place of a call with these arguments; `{pod}` in the point stands for the pod among them."""
        pod = next((each.key for each in arguments if isinstance(each, PodInfo)), "")
        node = next((each.name for each in arguments if isinstance(each, NodeInfo)), "")
        return self._replace(point=point.format(point=self.point, pod=pod), node=node)

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
        """Raise the error with what happened, and where."""
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
        for method in _POINTS:
            if hasattr(inner, method):
                setattr(self, method, partial(_call_plugin, inner, method))

    def __reduce__(self) -> tuple[object, ...]:
        """In another process the methods are guarded again."""
        return type(self), (self.inner,)


def unguarded(plugin: object) -> object:
    """The plugin itself, whether it is guarded or not."""
    return plugin.inner if isinstance(plugin, GuardedPlugin) else plugin


#: What a method may return.
_Returns = type | tuple[type, ...]

_POINTS: dict[str, tuple[str, _Returns]] = {
    "pre_enqueue": ("PreEnqueue", Status),
    "pre_filter": ("PreFilter", (NodeFilter, Status)),
    "pre_score": ("PreScore", (NodeScorer, Status)),
    "post_filter": ("PostFilter", PostFilterResult),
}


def _call_plugin(plugin: Any, name: str, *arguments: Any) -> object:
    """Call the plugin's method of an extension point; what it compiles is guarded, too."""
    point, returns = _POINTS[name]
    method = getattr(plugin, name)
    # A PostFilter that is inherited asks a policy of the plugin's, which has a guard of its own.
    is_inherited = name == "post_filter" and getattr(method, "__module__", "").startswith("kwhatif.")
    first = arguments[0]
    site = CallSite(plugin.name, point, (first.pod if isinstance(first, Cycle) else first).key)
    found: object = site.call(method, *(arguments if is_inherited else map(_view, arguments)), returns=returns)
    if isinstance(found, NodeFilter):
        return _guard_filter(found, site)
    return _guard_scorer(found, site._replace(point="Score")) if isinstance(found, NodeScorer) else found


def _view(argument: Any) -> Any:
    """The view of an argument that a plugin gets."""
    for kind, view in _VIEWS.items():
        if isinstance(argument, kind):
            return view(argument)
    if isinstance(argument, list | tuple) and argument and isinstance(argument[0], NodeInfo):
        return tuple(map(shown_node, argument))
    return argument


_VIEWS: dict[type, Callable[[Any], object]] = {
    PodInfo: shown_pod,
    NodeInfo: shown_node,
    State: shown,
    Cycle: shown_cycle,
}

#: The methods of a filter or scorer by the class that has them: the words for the point, and what it may return.
_METHODS: dict[type, dict[str, tuple[str, _Returns]]] = {
    NodeFilter: {"filter": ("Filter", Status)},
    Selective: {
        "affected_by": ("Filter (affected_by {pod})", bool),
        "affected_on": ("Filter (affected_on)", bool),
    },
    Incremental: {
        "apply_pod_change": ("{point} (apply_pod_change {pod})", (frozenset, type(None))),
        "node_class": ("{point} (node_class)", Hashable),
        "class_state": ("{point} (class_state)", Hashable),
        "update_feasible_count": ("{point} (update_feasible_count)", object),
    },
    NodeScorer: {"score": ("Score", int)},
}
#: Only filters that have them are forked for every candidate node.
_OF_TRACKERS: dict[str, tuple[str, _Returns]] = {
    "add_pod": ("AddPod of {pod}", object),
    "remove_pod": ("RemovePod of {pod}", object),
}


@cache
def _guard_class(base: type, kinds: tuple[type, ...], *, tracks: bool = False) -> Any:
    """A class with the methods of these kinds, without those that only speed up built-in plugins."""
    methods = dict(_OF_TRACKERS) if tracks else {}
    for kind in (*base.__mro__, *kinds):
        methods |= _METHODS.get(kind, {})
    return type("_Guarded", (base, *kinds), {name: _forwarded(name, *call) for name, call in methods.items()})


def _forwarded(name: str, point: str, returns: _Returns) -> Callable[..., object]:
    def method(self: _Guarded, *arguments: object) -> object:
        site = self._site.at(point, arguments)
        found: object = site.call(getattr(self._inner, name), *map(_view, arguments), returns=returns)
        return found

    return method


class _Guarded:
    _inner: Any
    _site: CallSite

    def fork_with(self, state: State) -> Self:
        other = copy(self)
        site = self._site.at("{point} (fork_with)", ())
        other._inner = site.call(self._inner.fork_with, shown(state), returns=Incremental)
        return other


def _guard_filter(inner: NodeFilter, site: CallSite) -> NodeFilter:
    kinds = tuple(kind for kind in (Selective, Relaxing, Incremental) if isinstance(inner, kind))
    guard: NodeFilter = _guard_class(_GuardedFilter, kinds, tracks=tracks_pods(inner))(inner, site)
    if isinstance(guard, Relaxing):
        (guard.relaxing,) = site._replace(point="Filter").fields(inner, relaxing=bool)
    return guard


class _GuardedFilter(_Guarded, NodeFilter):
    def __init__(self, inner: NodeFilter, site: CallSite) -> None:
        self._inner = inner
        self._site = site._replace(point="Filter")
        self.only_nodes, self.reads, self.reserves = self._site.fields(
            inner, only_nodes=(frozenset, type(None)), reads=Reads, reserves=bool
        )

    def fork(self) -> Self:
        site = self._site._replace(point="Filter (fork)")
        return cast("Self", _guard_filter(site.call(self._inner.fork, returns=NodeFilter), self._site))

    def reserve(self, node: NodeInfo, state: State) -> Iterable[KubernetesObject]:
        site = self._site._replace(point="Reserve", node=node.name)
        return site.call(lambda: tuple(self._inner.reserve(shown_node(node), shown(state))), returns=tuple)


def _guard_scorer(inner: NodeScorer, site: CallSite) -> NodeScorer:
    kinds: list[type] = [kind for kind in (Incremental, ByShape, NormalizesByRange) if isinstance(inner, kind)]
    if isinstance(inner, ByShapeExcept):  # a node at a time is exact, too, and has no exceptions
        kinds.remove(ByShape)
    guard: NodeScorer = _guard_class(_GuardedScorer, tuple(kinds))(inner, site)
    if isinstance(guard, ByShape):
        (guard.by_shape,) = site.fields(inner, by_shape=bool)
    return guard


class _GuardedScorer(_Guarded, NodeScorer):
    def __init__(self, inner: NodeScorer, site: CallSite) -> None:
        self._inner = inner
        self._site = site
        self.reads, self.normalizes = site.fields(inner, reads=Reads, normalizes=bool)

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        site = self._site._replace(point="NormalizeScore")
        normalized: list[int] = site.call(self._inner.normalize, scores, tuple(map(shown_node, nodes)), returns=list)
        if len(normalized) != len(nodes) or not all(isinstance(score, int) for score in normalized):
            site.fail(f"it returned {normalized!r}, not {len(nodes)} whole numbers", None)
        return normalized
