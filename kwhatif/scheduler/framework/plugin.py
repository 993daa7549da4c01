"""Plugin protocols: the scheduler's extension points, compiled per pod and asked per node.

Upstream keeps a plugin's per-pod state in a `CycleState` by string key and casts it back. Here the state *is* the
object that answers: `pre_filter` compiles the pod into a `NodeFilter`, `pre_score` into a `NodeScorer`. Both are made
for each cycle, so they may hold any state.

A plugin is any object with `name` and one or more of `pre_enqueue`, `pre_filter`, `pre_score`, `post_filter`, for pod
groups also those of `PlacementGeneratePlugin` and `PlacementScorePlugin`
(`staging/src/k8s.io/kube-scheduler/framework/interface.go`). It is made once per profile by its factory in `catalog`,
with its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum, IntEnum
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import msgspec

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.framework.status import Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

MAX_NODE_SCORE = 100


class Reads(IntEnum):
    """What a filter's verdict on a node can depend on, from the least to the most.

    The cycle asks a SHAPE filter once per distinct shape (`state.shapes`); preemption does not ask SHAPE and NODE
    filters again while it removes and restores pods, since their answer cannot change.
    """

    #: Only what a node shape fixes: taints, `unschedulable`, features, and labels not in `Shapes.unfixed`.
    SHAPE = 0
    #: Anything about the node object, and cluster objects; no pods.
    NODE = 1
    #: Also the pods on this node.
    PODS = 2
    #: Also pods elsewhere: `add_pod` and `remove_pod` must then keep up with changes.
    CLUSTER = 3


class NodeFilter:
    """A plugin's Filter for one pod: base class with upstream's defaults.

    Replicas may share one: pods that differ only in name, UID and creation time must be treated the same. A filter that
    can be called less often implements a class of `framework.incremental`.
    """

    #: Nodes that PreFilter narrows the search to (upstream's PreFilterResult); None: all.
    only_nodes: frozenset[str] | None = None
    reads: Reads = Reads.NODE
    #: Whether `reserve` is overridden; set automatically.
    reserves: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.reserves = cls.reserve is not NodeFilter.reserve

    def filter(self, node: NodeInfo) -> Status:
        """Whether the pod may run on the node."""
        raise NotImplementedError

    def fork(self) -> Self:
        """A copy whose `add_pod`/`remove_pod` leave this one untouched; cheap, called once per candidate node."""
        return self

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        """The pod was added to the node (upstream's PreFilterExtensions.AddPod)."""

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        """The pod was removed from the node (upstream's PreFilterExtensions.RemovePod)."""

    def reserve(self, node: NodeInfo, state: State) -> Iterable[KubernetesObject]:
        """Reserve the node for the pod; returns the objects as later cycles must see them (such as bound claims)."""
        return ()


class NodeScorer:
    """A plugin's Score for one pod. Replicas may share one, like a `NodeFilter`."""

    #: What a score can depend on; a CLUSTER one also on which nodes are feasible.
    reads: Reads = Reads.CLUSTER
    #: Whether `normalize` is overridden; set automatically.
    normalizes: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.normalizes = cls.normalize is not NodeScorer.normalize

    def score(self, node: NodeInfo) -> int:
        """The raw score of a feasible node."""
        raise NotImplementedError

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        """Scores 0 to 100 from the raw scores of all feasible nodes, in the same order."""
        return scores


class Plugin(Protocol):
    """Anything with upstream's plugin name."""

    name: ClassVar[str]


@runtime_checkable
class PreEnqueuePlugin(Plugin, Protocol):
    """Decides whether a pod may enter the queue at all."""

    def pre_enqueue(self, pod: PodInfo, state: State) -> Status:
        """SUCCESS, or why the pod may not enter."""


@runtime_checkable
class PreemptsBesideTheLoop(PreEnqueuePlugin, Protocol):
    """A plugin whose preemption runs while the scheduler tries other pods (`SchedulerAsyncPreemption`).

    The queue, which knows the running preemptions, answers PreEnqueue in its place.
    """

    preempts_beside_the_loop: ClassVar[bool]


@runtime_checkable
class FilterPlugin(Plugin, Protocol):
    """PreFilter and Filter. Called once per cycle, before any node is evaluated."""

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """The pod compiled for asking nodes; or SKIP, a rejection of the pod everywhere, or an error.

        A `SkipUntil` instead of SKIP means that the plugin has something to check once certain pods are on a node.
        A plugin that reads the pod's PersistentVolumeClaims says so by `reads_claims = True` (see `by_claims`).
        A profile may disable PreFilter and leave Filter enabled: then the method `without_pre_filter`, if any, is
        called instead. Most of upstream's plugins fail then, as Filter needs the result of PreFilter.
        """


@runtime_checkable
class ScorePlugin(Plugin, Protocol):
    """PreScore and Score. Called once per cycle, with the nodes that passed every filter."""

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """The pod compiled for scoring nodes; or a SKIP (contributes nothing), or an error.

        If PreScore is disabled, `without_pre_score`, if any, is called instead.
        """


def is_custom(plugin: object) -> bool:
    """Whether the user wrote the plugin (`guard.GuardedPlugin`): such a plugin may read anything."""
    return getattr(plugin, "is_custom", False)


def always(status: Status) -> Callable[..., Status]:
    """A method of a plugin that always gives the same answer."""
    return lambda *_: status


def by_claims(plugins: Iterable[FilterPlugin]) -> dict[str, FilterPlugin]:
    """Those of the plugins that read a pod's PersistentVolumeClaims, by name."""
    return {plugin.name: plugin for plugin in plugins if getattr(plugin, "reads_claims", False)}


class PostFilterResult(msgspec.Struct, frozen=True):
    """The result of a PostFilter.

    `nominated` None keeps an earlier nomination, "" clears it, a name sets it (upstream's NominatingInfo modes).
    `outcome` is what the report shows, such as `preemption.Preemption`.
    """

    status: Status
    nominated: str | None = None
    outcome: object = None


@runtime_checkable
class PostFilterPlugin(Plugin, Protocol):
    """Called when no node is feasible."""

    def post_filter(self, cycle: Any) -> PostFilterResult:
        """Make the pod schedulable, or say why not; `cycle.verdicts` holds every node's status.

        It is a `framework.cycle.Cycle`; that type depends on this module.
        """


class PostFilterKind(Enum):
    """The inputs of a PostFilter's result, which matter for the next pod of the same signature.

    A plugin sets `post_filter_kind` in the class that defines `post_filter`: a class that overrides one does not
    inherit the other.
    """

    #: The `preemption.evaluator`'s answer for the plugin's policy, and nothing else.
    EVALUATES = 0
    #: A message: it never makes a pod schedulable.
    REPORTS = 1


def post_filter_kind(plugin: Any) -> PostFilterKind | None:
    """The kind of the plugin's PostFilter; None: unknown."""
    owner = next((kind for kind in type(plugin).__mro__ if "post_filter" in vars(kind)), object)
    kind: PostFilterKind | None = vars(plugin if is_custom(plugin) else owner).get("post_filter_kind")
    return kind


class Placement(NamedTuple):
    """Some of the nodes, in the scheduler's order; without a name all of them."""

    name: str
    nodes: Sequence[NodeInfo]


class Proposal(NamedTuple):
    """The result of trying a group on a placement: the members that would be placed."""

    placement: Placement
    pods: Sequence[PodInfo]


@runtime_checkable
class PlacementGeneratePlugin(Plugin, Protocol):
    """Makes the placements of a group."""

    def generate_placements(self, group: PodGroup, state: State) -> Sequence[Placement] | Status:
        """The placements, none of them empty; or an error."""


@runtime_checkable
class PlacementScorePlugin(Plugin, Protocol):
    """Scores the placements on which a group fits."""

    def score_placement(self, group: PodGroup, state: State, proposal: Proposal) -> int:
        """The raw score."""

    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int]:
        """Scores 0 to 100 of all placements, in the same order."""
