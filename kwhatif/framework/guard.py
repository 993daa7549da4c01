"""A guard around plugins that are not kwhatif's own: whatever they raise is told with plugin, point, pod and node.

It also sees to it that they return what the cycle expects: a wrong type would fail far from its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from opcode import opmap
from typing import Any, NamedTuple, NoReturn, Self, TypeVar

from kwhatif.errors import KwhatifError, PluginFailed
from kwhatif.framework.cycle import Cycle, CycleError
from kwhatif.framework.plugin import Domains, NodeFilter, NodeScorer, PostFilterResult
from kwhatif.framework.shown import shown
from kwhatif.framework.status import Status
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.snapshot import Snapshot

T = TypeVar("T")

#: Told by somebody else already, or part of the cycle's own ways.
_PASSED_ON = (KwhatifError, CycleError)
_RAISE = opmap["RAISE_VARARGS"]
#: Exceptions of the fence, whose messages are about the plugin.
_SPEAK_FOR_THEMSELVES = ("TookTooLong", "StdoutClosed")


def called(function: Callable[..., Any], *arguments: object, timed: bool = True) -> Any:  # noqa: ARG001
    """Just call it: a plugin that is fenced off from the process has another way of being called."""
    return function(*arguments)


class CallSite(NamedTuple):
    """Which plugin is asked about which pod, and where; and how it is called."""

    plugin: str
    point: str
    pod: str
    node: str = ""
    fence: Callable[..., Any] = called

    def call(self, function: Callable[..., object], *arguments: object, returns: type[T] | tuple[type, ...]) -> T:
        """Call the plugin.

        Raises:
            PluginFailed: it raised, or returned something else than it must.
        """
        try:
            result = self.fence(function, *arguments, timed=self.point != "PostFilter")
            is_right = isinstance(result, returns)
        except _PASSED_ON:
            raise
        except BaseException as failure:
            if is_ctrl_c(failure):
                raise
            self.fail(described(failure), failure)
        if not is_right:
            kinds = returns if isinstance(returns, tuple) else (returns,)
            wanted = " or ".join(kind.__name__ for kind in kinds)
            self.fail(f"it returned {type(result).__name__}, not {wanted}", None)
        return result  # type: ignore[no-any-return] # checked above; several types are only told apart by the caller

    def fail(self, what: str, cause: BaseException | None) -> NoReturn:
        """Tell what happened, and where."""
        node = f" on node {self.node}" if self.node else ""
        raise PluginFailed(f"plugin {self.plugin} failed in {self.point} for pod {self.pod}{node}: {what}") from cause


def described(failure: BaseException) -> str:
    """Type and message of an exception, whatever printing it does."""
    name = type(failure).__name__
    if name in _SPEAK_FOR_THEMSELVES:
        return str(failure)
    try:
        return f"{name}: {failure}"
    except BaseException:  # noqa: BLE001 - whatever it is, it is the plugin's
        return f"{name}, which cannot be printed"


def is_ctrl_c(failure: BaseException) -> bool:
    """Whether a person has pressed Ctrl-C: then no `raise` of the plugin has raised this."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if not isinstance(failure, KeyboardInterrupt) or trace is None:
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] != _RAISE


class GuardedPlugin:
    """A plugin behind its guard; it has the same methods, and so the same extension points."""

    def __init__(self, inner: Any, fence: Callable[..., Any] = called) -> None:
        self.name: str = inner.name
        self.inner = inner
        for method, guard in _GUARDS.items():
            if hasattr(inner, method):
                setattr(self, method, guard(inner, fence))


def unguarded(plugin: object) -> object:
    """The plugin itself, whether or not there is a guard around it."""
    return plugin.inner if isinstance(plugin, GuardedPlugin) else plugin


def _pre_enqueue(plugin: Any, fence: Callable[..., Any]) -> Callable[[PodInfo, Snapshot], Status]:
    def pre_enqueue(pod: PodInfo, snapshot: Snapshot) -> Status:
        site = CallSite(plugin.name, "PreEnqueue", pod.key, fence=fence)
        return site.call(plugin.pre_enqueue, pod, shown(snapshot), returns=Status)

    return pre_enqueue


def _pre_filter(plugin: Any, fence: Callable[..., Any]) -> Callable[[PodInfo, Snapshot], NodeFilter | Status]:
    def pre_filter(pod: PodInfo, snapshot: Snapshot) -> NodeFilter | Status:
        site = CallSite(plugin.name, "PreFilter", pod.key, fence=fence)
        result: NodeFilter | Status = site.call(plugin.pre_filter, pod, shown(snapshot), returns=(NodeFilter, Status))
        return result if isinstance(result, Status) else _guard_filter(result, site)

    return pre_filter


def _pre_score(
    plugin: Any, fence: Callable[..., Any]
) -> Callable[[PodInfo, Snapshot, Sequence[NodeInfo]], NodeScorer | Status]:
    def pre_score(pod: PodInfo, snapshot: Snapshot, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        site = CallSite(plugin.name, "PreScore", pod.key, fence=fence)
        cluster, copies = shown(snapshot), tuple(node.clone() for node in nodes)
        result: NodeScorer | Status = site.call(plugin.pre_score, pod, cluster, copies, returns=(NodeScorer, Status))
        return result if isinstance(result, Status) else _GuardedScorer(result, site._replace(point="Score"))

    return pre_score


def _post_filter(plugin: Any, fence: Callable[..., Any]) -> Callable[[Cycle], PostFilterResult]:
    def post_filter(cycle: Cycle) -> PostFilterResult:
        site = CallSite(plugin.name, "PostFilter", cycle.pod.key, fence=fence)
        return site.call(plugin.post_filter, cycle, returns=PostFilterResult)

    return post_filter


_GUARDS: dict[str, Callable[[Any, Callable[..., Any]], Callable[..., object]]] = {
    "pre_enqueue": _pre_enqueue,
    "pre_filter": _pre_filter,
    "pre_score": _pre_score,
    "post_filter": _post_filter,
}


def _guard_filter(inner: NodeFilter, site: CallSite) -> NodeFilter:
    kind = type(inner)
    follows = kind.add_pod is not NodeFilter.add_pod or kind.remove_pod is not NodeFilter.remove_pod
    return _GuardedFollower(inner, site) if follows else _GuardedFilter(inner, site)


class _GuardedFilter(NodeFilter):
    def __init__(self, inner: NodeFilter, site: CallSite) -> None:
        self._inner = inner
        self._site = site._replace(point="Filter")
        self.only_nodes = inner.only_nodes
        self.reads = inner.reads
        self.reserves = inner.reserves
        self.monotone = inner.monotone

    def filter(self, node: NodeInfo) -> Status:
        return self._site._replace(node=node.name).call(self._inner.filter, node.clone(), returns=Status)

    def fork(self) -> Self:
        site = self._site._replace(point="Filter (fork)")
        return type(self)(site.call(self._inner.fork, returns=NodeFilter), self._site)

    def reserve(self, node: NodeInfo, snapshot: Snapshot) -> None:
        site = self._site._replace(point="Reserve", node=node.name)
        site.call(self._inner.reserve, node, snapshot, returns=object)

    def follow(self, pod: PodInfo, node: NodeInfo, amount: int) -> Domains | None:
        return _follow(self._inner, self._site, pod, node, amount)

    def cell(self, node: NodeInfo) -> Hashable:
        site = self._site._replace(point="Filter (cell)", node=node.name)
        cell: Hashable = site.call(self._inner.cell, node, returns=Hashable)
        return cell

    def stance(self, node: NodeInfo) -> Hashable:
        site = self._site._replace(point="Filter (stance)", node=node.name)
        stance: Hashable = site.call(self._inner.stance, node, returns=Hashable)
        return stance


class _GuardedFollower(_GuardedFilter):
    """A filter that keeps up with pods; only these are forked for every candidate node."""

    def heeds(self, pod: PodInfo) -> bool:
        return self._site._replace(point=f"Filter (heeds {pod.key})").call(self._inner.heeds, pod, returns=bool)

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        site = self._site._replace(point=f"AddPod of {pod.key}", node=node.name)
        site.call(self._inner.add_pod, pod, node, returns=object)

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        site = self._site._replace(point=f"RemovePod of {pod.key}", node=node.name)
        site.call(self._inner.remove_pod, pod, node, returns=object)


class _GuardedScorer(NodeScorer):
    def __init__(self, inner: NodeScorer, site: CallSite) -> None:
        self._inner = inner
        self._site = site
        self.by_shape = inner.by_shape
        self.reads = inner.reads
        self.normalizes = inner.normalizes
        self.normalizes_by_range = inner.normalizes_by_range

    def score(self, node: NodeInfo) -> int:
        return self._site._replace(node=node.name).call(self._inner.score, node.clone(), returns=int)

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        site = self._site._replace(point="NormalizeScore")
        normalized: list[int] = site.call(self._inner.normalize, scores, nodes, returns=list)
        if len(normalized) != len(nodes) or not all(isinstance(score, int) for score in normalized):
            site.fail(f"it returned {normalized!r}, not {len(nodes)} whole numbers", None)
        return normalized

    def follow(self, pod: PodInfo, node: NodeInfo, amount: int) -> Domains | None:
        return _follow(self._inner, self._site, pod, node, amount)

    def admit(self, node: NodeInfo, number: int) -> None:
        site = self._site._replace(point="Score (admit)", node=node.name)
        site.call(self._inner.admit, node, number, returns=object)

    def cell(self, node: NodeInfo) -> Hashable:
        site = self._site._replace(point="Score (cell)", node=node.name)
        cell: Hashable = site.call(self._inner.cell, node, returns=Hashable)
        return cell


def _follow(
    inner: NodeFilter | NodeScorer, site: CallSite, pod: PodInfo, node: NodeInfo, amount: int
) -> Domains | None:
    site = site._replace(point=f"{site.point} (follow {pod.key})", node=node.name)
    domains: Domains | None = site.call(inner.follow, pod, node, amount, returns=(frozenset, type(None)))
    return domains
