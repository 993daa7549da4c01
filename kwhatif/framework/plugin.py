"""Plugin protocols: the scheduler's extension points, compiled per pod and asked per node.

Upstream keeps a plugin's per-pod state in a `CycleState` by string key and casts it back. Here the state *is* the
object that answers: `pre_filter` compiles the pod into a `NodeFilter`, `pre_score` into a `NodeScorer`. Both are
made anew for every cycle, so they may hold whatever they like.

A plugin is any object with `name` and one or more of `pre_enqueue`, `pre_filter`, `pre_score`, `post_filter`.
It is made once per profile by its factory in `catalog`, with its arguments.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import msgspec

from kwhatif.framework.status import SUCCESS, Status
from kwhatif.model.cluster import KubernetesObject
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.pod_row import PodRow
from kwhatif.state.state import State

if TYPE_CHECKING:
    from kwhatif.framework.cycle import Cycle

MAX_NODE_SCORE = 100


class Reads(IntEnum):
    """What a filter's verdict on a node can depend on, from the least to the most.

    The cycle asks a SHAPE filter once per distinct shape (`snapshot.shapes`); preemption does not ask SHAPE and NODE
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


#: Nodes by label, as key and value.
Domains = frozenset[tuple[str, str]]
NO_DOMAINS: Domains = frozenset()


class Readmission(NamedTuple):
    """What came of putting pods back on a node."""

    #: Those that cannot stay, in their order.
    refused: Sequence[PodInfo]
    #: For which other filters of the type the same comes of it, see `NodeFilter.in_scope`.
    scope: object


class NodeFilter:
    """A plugin's Filter for one pod: base class with upstream's defaults.

    Replicas may share one: what differs in name, UID and time of creation alone must be treated the same.
    """

    #: Nodes that PreFilter narrows the search to (upstream's PreFilterResult); None: all.
    only_nodes: frozenset[str] | None = None
    reads: Reads = Reads.NODE
    #: Whether a pod less on the node never makes it object: preemption may then rely on what it found out before.
    monotone: bool = False
    #: Filters of one type with equal questions answer alike, and so do `readmit` and everything else: they only look at
    #: the node, and never change. None: not known.
    question: Hashable = None
    #: Whether `reserve` does anything: then a replica of the same claims is compiled anew.
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

    def heeds(self, pod: PodInfo) -> bool:
        """Of a CLUSTER filter: whether its answer can change when the pod comes to a node or leaves it.

        Where it cannot, `add_pod` and `remove_pod` need not be called.
        """
        del pod
        return True

    def heeds_on(self, node: NodeInfo) -> bool:
        """Of a CLUSTER filter: a quick look whether it may heed any pod that is on the node, or has been."""
        del node
        return True

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        """The pod was added to the node (upstream's PreFilterExtensions.AddPod)."""

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        """The pod was removed from the node (upstream's PreFilterExtensions.RemovePod)."""

    def readmit(self, row: PodRow, node: NodeInfo) -> Readmission | None:
        """Put the pods on the node, which the pod fits, one after another, but for those beside which it does not fit.

        Only for speed: the same as `add_pod` on the node and `filter` for each pod, and `remove_pod` where that is
        not successful. The node itself stays as it is.

        Returns:
            Which pods cannot stay; None: it has to be tried out.
        """
        del row, node
        return None

    def beside(self, pods: Sequence[PodInfo], refused: Sequence[PodInfo], node: NodeInfo) -> dict[PodInfo, Status]:
        """What `filter` says with each refused pod there, when all before it that are not have been put on the node."""
        node = node.clone()
        statuses = dict.fromkeys(refused, SUCCESS)
        for pod in pods:
            node.add_pod(pod)
            if pod in statuses:
                statuses[pod] = self.filter(node)
                node.remove_pod(pod)
        return statuses

    def in_scope(self, scope: object) -> bool:
        """Whether the pod fits the same node, and the same pods cannot stay, as in a readmission of that scope."""
        del scope
        return False

    def reserve(self, node: NodeInfo, snapshot: State) -> Iterable[KubernetesObject]:
        """The pod goes to the node: the objects as later cycles must see them (claims that are now bound…)."""
        del node, snapshot
        return ()

    def turn_to(self, other: NodeFilter) -> bool:
        """Be the filter of another pod, that `other` was compiled for, whose claims are the only difference.

        Returns:
            Whether both say the same of every node, evidence aside, but for those to which a pod has come since this
            one was asked, and none minds what the other reserves. If not, this one is worthless.
        """
        del other
        return False

    def follow(self, pod: PodInfo, node: NodeInfo, amount: int) -> Domains | None:
        """A pod has come to the node for good (`amount` 1) or left it (-1): be what compiling anew would give.

        `add_pod` and `remove_pod` are another matter: they try things out on a fork, with upstream's oddities.

        Returns:
            The nodes that may be in another `cell` now, besides the node itself; None: compile anew, this one is
            worthless.
        """
        del pod, node, amount
        return NO_DOMAINS if self.reads < Reads.CLUSTER else None

    def cell(self, node: NodeInfo) -> Hashable:
        """Nodes of one cell get the same verdict, evidence aside. Asked of CLUSTER filters only, as `stance` is.

        Few nodes should change their cells as pods come and go: so a cell is made of labels, or of counts where
        (almost) every node has its own label (`Shapes.unfixed`).
        """
        return node.name

    def stance(self, node: NodeInfo) -> Hashable:
        """As long as this stays for a node of a cell, no verdict changes there, whichever pods are taken off its node.

        What other pods come and go on that very node is another matter.
        """
        del node
        return object()


class NodeScorer:
    """A plugin's Score for one pod. Replicas may share one, as they do a `NodeFilter`."""

    #: The score depends on nothing but the node's shape: asked once per shape.
    by_shape: bool = False
    #: What a score can depend on; a CLUSTER one also on which nodes are feasible.
    reads: Reads = Reads.CLUSTER
    #: Whether `normalize` changes anything.
    normalizes: bool = False
    #: `normalize` looks at which scores there are, not at how many nodes have each: it may be given one node of each.
    normalizes_by_range: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.normalizes = cls.normalize is not NodeScorer.normalize

    def score(self, node: NodeInfo) -> int:
        """The raw score of a feasible node."""
        raise NotImplementedError

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        """Scores 0 to 100 from the raw scores of all feasible nodes, in the same order."""
        del nodes
        return scores

    def follow(self, pod: PodInfo, node: NodeInfo, amount: int) -> Domains | None:
        """As `NodeFilter.follow`."""
        del pod, node, amount
        return NO_DOMAINS if self.reads < Reads.CLUSTER else None

    def admit(self, node: NodeInfo, number: int) -> None:
        """So many nodes of this one's cell, or of one that it was in, became feasible; fewer than 0: no longer are.

        Cells are then to be made so that it does not matter which of their nodes these are.
        """

    def cell(self, node: NodeInfo) -> Hashable:
        """As `NodeFilter.cell`: nodes of one cell have the same raw score."""
        return node.name


class Plugin(Protocol):
    """Anything with upstream's plugin name."""

    name: ClassVar[str]


@runtime_checkable
class PreEnqueuePlugin(Plugin, Protocol):
    """Decides whether a pod may enter the queue at all."""

    def pre_enqueue(self, pod: PodInfo, snapshot: State) -> Status:
        """SUCCESS, or why the pod stays out."""


@runtime_checkable
class FilterPlugin(Plugin, Protocol):
    """PreFilter and Filter. Called once per cycle, before any node is looked at."""

    def pre_filter(self, pod: PodInfo, snapshot: State) -> NodeFilter | Status:
        """The pod compiled for asking nodes; or SKIP, a rejection of the pod everywhere, or an error.

        SKIP_FOR_NOW in place of SKIP says that the plugin may have something to check once the next replica asks.
        A plugin that reads the pod's PersistentVolumeClaims says so by `reads_claims = True` (see `by_claims`).
        A profile may disable PreFilter and leave Filter enabled: a method `without_pre_filter`, if there is one, is
        called in place of this, then. Most plugins of upstream fail for want of what PreFilter leaves to Filter.
        """


@runtime_checkable
class ScorePlugin(Plugin, Protocol):
    """PreScore and Score. Called once per cycle, with the nodes that passed every filter."""

    def pre_score(self, pod: PodInfo, snapshot: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """The pod compiled for scoring nodes; or SKIP (contributes nothing), SKIP_FOR_NOW, or an error.

        Where PreScore is disabled, `without_pre_score` is called in place of this, if there is one.
        """


def by_claims(plugins: Iterable[FilterPlugin]) -> dict[str, FilterPlugin]:
    """Those of the plugins that read a pod's PersistentVolumeClaims, by name."""
    return {plugin.name: plugin for plugin in plugins if getattr(plugin, "reads_claims", False)}


class PostFilterResult(msgspec.Struct, frozen=True):
    """What a PostFilter says.

    `nominated` None keeps an earlier nomination, "" clears it, a name sets it (upstream's NominatingInfo modes).
    `outcome` is what the report shows, such as `preemption.Preemption`.
    """

    status: Status
    nominated: str | None = None
    outcome: object = None


@runtime_checkable
class PostFilterPlugin(Plugin, Protocol):
    """Called when no node is feasible."""

    def post_filter(self, cycle: Cycle) -> PostFilterResult:
        """Make the pod schedulable, or say why not; `cycle.verdicts` holds every node's status."""
