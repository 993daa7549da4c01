"""A guard around third-party plugins: what they raise is reported with plugin, extension point, pod and node.

It also checks the types that they return: a wrong type would fail far from its cause. Plugins get read-only views of
what they are passed (`shown`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from contextlib import redirect_stdout
from functools import cache, partial
from typing import Any, NamedTuple, NoReturn, TypeVar

from kwhatif.errors import KwhatifError, PluginFailed
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import ByShape, ByShapeExcept
from kwhatif.scheduler.framework.hints import QueueingHint, QueueingHintFn
from kwhatif.scheduler.framework.incremental import Incremental, NormalizesByRange, Relaxing, Selective, tracks_pods
from kwhatif.scheduler.framework.plugin import (
    NodeFilter,
    NodeScorer,
    PostFilterResult,
    PreemptsBesideTheLoop,
    Reads,
    post_filter_kind,
)
from kwhatif.scheduler.framework.shown import view
from kwhatif.scheduler.framework.status import Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

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
    point: str = ""
    pod: str = ""
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
        pods = (each.pod if isinstance(each, Cycle) else each for each in arguments)
        pod = next((each.key for each in pods if isinstance(each, PodInfo)), "")
        node = next((each.name for each in arguments if isinstance(each, NodeInfo)), "")
        return self._replace(point=point.format(point=self.point, pod=pod), pod=self.pod or pod, node=node)

    def fields(self, owner: object, kinds: dict[str, _Returns]) -> dict[str, Any]:
        """The fields of an object that a plugin returned; they may be properties, which can raise.

        Raises:
            PluginFailed: one raised, or has a wrong type.
        """
        found: list[Any] = self.call(lambda: [getattr(owner, name) for name in kinds], returns=list)
        for (name, kind), value in zip(kinds.items(), found, strict=True):
            if not issubclass(type(value), kind):
                self.fail(f"{name} is of type {type(value).__name__}", None)
        return dict(zip(kinds, found, strict=True))

    def fail(self, what: str, cause: BaseException | None) -> NoReturn:
        """Raise the error with what happened, and where."""
        asked = f" for pod {self.pod}" if self.pod else ""
        node = f" on node {self.node}" if self.node else ""
        raise PluginFailed(f"plugin {self.plugin} failed in {self.point}{asked}{node}: {what}") from cause


def described(failure: BaseException) -> str:
    """Type and message of an exception."""
    try:
        return f"{type(failure).__name__}: {failure}"
    except Exception:  # noqa: BLE001 - whatever it is, it is the plugin's
        return f"{type(failure).__name__}, which cannot be printed"


#: What a method may return, or a field may be.
_Returns = type | tuple[type, ...]
#: The methods of a plugin, of filters and of scorers, by the class that has them: the point, and what may be returned.
_METHODS: dict[type, dict[str, tuple[str, _Returns]]] = {
    object: {
        "pre_enqueue": ("PreEnqueue", Status),
        "pre_filter": ("PreFilter", (NodeFilter, Status)),
        "pre_score": ("PreScore", (NodeScorer, Status)),
        "post_filter": ("PostFilter", PostFilterResult),
        "events_to_register": ("EventsToRegister", (list, tuple)),
    },
    NodeFilter: {
        "filter": ("Filter", Status),
        "fork": ("Filter (fork)", NodeFilter),
        "add_pod": ("AddPod of {pod}", object),
        "remove_pod": ("RemovePod of {pod}", object),
        "reserve": ("Reserve", tuple),
    },
    Selective: {
        "affected_by": ("Filter (affected_by {pod})", bool),
        "affected_on": ("Filter (affected_on)", bool),
    },
    Incremental: {
        "fork_with": ("{point} (fork_with)", (NodeFilter, NodeScorer)),
        "apply_pod_change": ("{point} (apply_pod_change {pod})", (frozenset, type(None))),
        "node_class": ("{point} (node_class)", Hashable),
        "class_state": ("{point} (class_state)", Hashable),
        "update_feasible_count": ("{point} (update_feasible_count)", object),
    },
    NodeScorer: {"score": ("Score", int), "normalize": ("NormalizeScore", list)},
}
_FIELDS: dict[type, dict[str, _Returns]] = {
    NodeFilter: {"only_nodes": (frozenset, type(None)), "reads": Reads, "reserves": bool},
    NodeScorer: {"reads": Reads, "normalizes": bool},
    Relaxing: {"relaxing": bool},
    ByShape: {"by_shape": bool},
}
#: The classes that a guard may have, without those that only speed up built-in plugins.
_KINDS = (Selective, Relaxing, Incremental, ByShape, NormalizesByRange, NodeFilter, NodeScorer)


class GuardedPlugin:
    """A guarded plugin; it has the same methods, and so the same extension points."""

    is_custom = True

    def __init__(self, inner: Any) -> None:
        self.name: str = inner.name
        self.post_filter_kind = post_filter_kind(inner)
        self._inner, self._site = inner, CallSite(inner.name)
        for name, call in _METHODS[object].items():
            if hasattr(inner, name):
                setattr(self, name, partial(_forwarded(name, *call), self))
        if isinstance(inner, PreemptsBesideTheLoop):
            self.preempts_beside_the_loop = inner.preempts_beside_the_loop

    def __reduce__(self) -> tuple[object, ...]:
        """In another process the methods are guarded again."""
        return type(self), (self._inner,)


def _guarded(inner: Any, site: CallSite) -> Any:
    """The guard of a filter or scorer."""
    kinds = [kind for kind in _KINDS if isinstance(inner, kind)]
    if isinstance(inner, ByShapeExcept):  # a node at a time is exact, too, and has no exceptions
        kinds.remove(ByShape)
    is_filter = isinstance(inner, NodeFilter)
    guard = _guard_class(tuple(kinds), tracks=is_filter and tracks_pods(inner))()
    guard._inner, guard._site = inner, site._replace(point="Filter" if is_filter else "Score", node="")
    for kind in kinds:
        vars(guard).update(guard._site.fields(inner, _FIELDS.get(kind, {})))
    return guard


@cache
def _guard_class(kinds: tuple[type, ...], *, tracks: bool) -> Any:
    """A class with the methods of these kinds; only filters that track pods are forked for every candidate node."""
    calls = {name: call for kind in kinds for name, call in _METHODS.get(kind, {}).items()}
    if not tracks:
        calls = {name: call for name, call in calls.items() if name not in ("add_pod", "remove_pod")}
    return type("_Guarded", kinds, {name: _forwarded(name, *call) for name, call in calls.items()})


def _forwarded(name: str, point: str, returns: _Returns) -> Callable[..., object]:
    """A guard's method: it calls the method of the plugin's object; what that compiles is guarded, too."""

    def method(guard: Any, *arguments: Any) -> object:
        site: CallSite = guard._site.at(point, arguments)
        inner = getattr(guard._inner, name)
        # A PostFilter that is inherited asks a policy of the plugin's, which has a guard of its own.
        is_inherited = name == "post_filter" and getattr(inner, "__module__", "").startswith("kwhatif.")
        views = arguments if is_inherited else tuple(map(view, arguments))
        if returns is tuple:
            found = site.call(lambda: tuple(inner(*views)), returns=tuple)
        else:
            found = site.call(inner, *views, returns=returns)
        if name == "normalize" and not (len(found) == len(views[1]) and all(isinstance(each, int) for each in found)):
            site.fail(f"it returned {found!r}, not {len(views[1])} whole numbers", None)
        if name == "events_to_register":
            return [entry._replace(queueing_hint=_guarded_hint(entry.queueing_hint, guard._site)) for entry in found]
        return _guarded(found, site) if isinstance(found, NodeFilter | NodeScorer) else found

    return method


def _guarded_hint(hint: QueueingHintFn | None, site: CallSite) -> QueueingHintFn | None:
    if hint is None:
        return None

    def guarded(*arguments: Any) -> QueueingHint:
        return site.at("QueueingHint", arguments).call(hint, *map(view, arguments), returns=QueueingHint)

    return guarded
