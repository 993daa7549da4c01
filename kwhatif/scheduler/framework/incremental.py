"""What a compiled plugin may implement besides the scheduler's extension points, so that it is called less often.

Nothing here changes an answer. A `NodeFilter` or `NodeScorer` that inherits from one of these is called less often,
or kept from replica to replica; others are called or compiled again: correct, but slower. The functions at the end
work with any of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Self

from kwhatif.kube.model.node import Node
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import SUCCESS, Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import PodRow, State

#: Nodes by label, as key and value.
TopologyDomains = frozenset[tuple[str, str]]
NO_DOMAINS: TopologyDomains = frozenset()

# --- preemption ----------------------------------------------------------------------------------------


class Relaxing(NodeFilter):
    """A filter that never rejects a node because a pod has left it: earlier passes stay valid."""

    #: False where that does not hold for the pod in question.
    relaxing: bool = True


class Selective(NodeFilter):
    """A CLUSTER filter that knows which pods affect it; `add_pod` and `remove_pod` are called only for these."""

    def affected_by(self, pod: PodInfo) -> bool:
        """Whether the answer can change when the pod is added to a node or removed from it."""
        raise NotImplementedError

    def affected_on(self, node: NodeInfo) -> bool:
        """A fast check whether any pod that is or was on the node may matter."""
        return True


class Reprieved(NamedTuple):
    """The result of putting pods back on a node."""

    #: The pods that cannot stay, in their order.
    refused: Sequence[PodInfo]
    #: The other filters of the type that have the same result, see `Reprieving.has_same_answer`.
    scope: object


class Sparing(NodeFilter):
    """A filter that passes nearly all nodes, and knows the others without checking each."""

    def suspects(self, state: State) -> AbstractSet[str] | None:
        """The names of the nodes that it may reject; None: any."""
        raise NotImplementedError


class Signed(NodeFilter):
    """A filter that can be compared with one that the same plugin compiled for another pod, on the same state."""

    #: Filters with equal signatures give every node the same verdict, except for evidence. None: not comparable.
    signature: Hashable


class Reprieving(Signed):
    """A filter that reads only the node, and can tell without trying which of the node's pods can stay.

    Filters with equal signatures give the same answers on any state, and never change.
    """

    def reprieve_all(self, row: PodRow, node: NodeInfo) -> Reprieved | None:
        """Put the pods back on the node in order, except those that would leave no room for the pod.

        The same as `add_pod` on the node and `filter` for each pod, and `remove_pod` if the filter rejects. The
        node itself is not changed.

        Returns:
            The pods that cannot stay; None: it has to be tried.
        """
        raise NotImplementedError

    def has_same_answer(self, scope: object) -> bool:
        """Whether the pod fits the same node, and the same pods cannot stay, as in a `Reprieved` of that scope."""
        return False

    def statuses_with(
        self, pods: Sequence[PodInfo], refused: Sequence[PodInfo], node: NodeInfo
    ) -> dict[PodInfo, Status]:
        """The status of `filter` with each refused pod on the node, together with all earlier pods that can stay."""
        node = node.clone()
        statuses = dict.fromkeys(refused, SUCCESS)
        for pod in pods:
            node.add_pod(pod)
            if pod in statuses:
                statuses[pod] = self.filter(node)
                node.remove_pod(pod)
        return statuses


# --- replicas ------------------------------------------------------------------------------------------


class Incremental:
    """A CLUSTER filter or scorer that tracks changes of the state, for the next pod of the same signature."""

    #: The only namespace whose pods it counts; None: pods of any may matter.
    namespace: str | None = None

    def fork_with(self, state: State) -> Self:
        """An independent copy for a fork of the state."""
        raise NotImplementedError

    def apply_pod_change(self, pod: PodInfo, node: NodeInfo, amount: int) -> TopologyDomains | None:
        """A pod was bound to the node (`amount` 1) or left it (-1): become what compiling again would give.

        Unlike `add_pod` and `remove_pod`, which try changes on a fork, with upstream's quirks.

        Returns:
            The nodes whose `node_class` may have changed, besides the node itself; None: compile again, this one is no
            longer valid.
        """
        raise NotImplementedError

    def apply_node_change(self, before: Node, after: Node) -> bool:
        """A node's taints or conditions changed, or it was cordoned or uncordoned.

        Returns:
            Whether the answers for other nodes are still those that compiling again would give; False: compile again.
        """
        return False

    def apply_added_node(self, node: NodeInfo) -> bool:
        """A node was added; its pods are passed to `apply_pod_change` after this.

        Returns:
            Whether this is now what compiling again would give, except for the order of equal domains, which only
            preemption reads; False: compile again.
        """
        return False

    def node_class(self, node: NodeInfo) -> Hashable:
        """Nodes of one class get the same verdict (except for evidence), or the same raw score.

        Few nodes should change their class as pods come and go: so a class consists of labels, or of counts if
        (almost) every node has its own label (`Shapes.unfixed`). A `ByShape` scorer has one class for all
        nodes of a shape, except for exceptions.
        """
        raise NotImplementedError

    def class_state(self, node: NodeInfo) -> Hashable:
        """Fingerprint of a filter's state as seen from the node's class; scorers are not asked.

        While it is equal, evicting any set of pods from a node of that class yields the same verdict as before. It
        does not cover pods that are added to or removed from the node itself.
        """
        return object()

    def update_feasible_count(self, node: NodeInfo, number: int) -> None:
        """`number` more nodes of this node's class, or of a former class of it, are feasible; negative: fewer.

        Called for scorers only. Their classes must be such that it does not matter which of their nodes these are.
        """


class SignedScorer(NodeScorer):
    """A scorer that reads only the node and its pods.

    Scorers of one plugin with equal signatures give a node the same raw score. None: not comparable.
    """

    signature: Hashable = None


class NormalizesByRange(NodeScorer):
    """A scorer whose `normalize` depends on the set of scores, not on how many nodes have each.

    It may be given one node per score.
    """


# --- asking any filter or scorer -----------------------------------------------------------------------


def is_relaxing(plugin: NodeFilter) -> bool:
    """Whether the filter never rejects because a pod is gone (`Relaxing`)."""
    return isinstance(plugin, Relaxing) and plugin.relaxing and not is_reference()


def is_affected(plugin: NodeFilter, node: NodeInfo, pods: Iterable[PodInfo]) -> bool:
    """Whether the answer of a CLUSTER filter may change when these pods leave the node."""
    if is_reference() or not isinstance(plugin, Selective):
        return True
    return plugin.affected_on(node) and any(map(plugin.affected_by, pods))


def possibly_rejected(plugins: Iterable[NodeFilter], state: State) -> AbstractSet[str] | None:
    """The names of the nodes that any of the filters may reject; None: any node."""
    found = set[str]()
    for plugin in plugins:
        suspects = plugin.suspects(state) if isinstance(plugin, Sparing) and not is_reference() else None
        if suspects is None:
            return None
        found |= suspects
    return found


def tracks_pods(plugin: NodeFilter) -> bool:
    """Whether the filter tracks pods that come and go: only these are forked for every candidate node."""
    kind = type(plugin)
    return kind.add_pod is not NodeFilter.add_pod or kind.remove_pod is not NodeFilter.remove_pod


def apply_pod_change(
    plugin: NodeFilter | NodeScorer, pod: PodInfo, node: NodeInfo, amount: int
) -> TopologyDomains | None:
    """Pass a pod that was added or removed to any filter or scorer (`Incremental.apply_pod_change`)."""
    if plugin.reads < Reads.CLUSTER:
        return NO_DOMAINS
    return plugin.apply_pod_change(pod, node, amount) if isinstance(plugin, Incremental) else None


def namespace_of(plugin: NodeFilter | NodeScorer) -> str | None:
    """The only namespace whose pods must be passed to `apply_pod_change`; None: all pods."""
    return plugin.namespace if isinstance(plugin, Incremental) else None


def apply_node_change(plugin: NodeFilter | NodeScorer, before: Node, after: Node) -> bool:
    """Tell any filter or scorer that a node has changed (`Incremental.apply_node_change`)."""
    if plugin.reads < Reads.CLUSTER:
        return True
    return isinstance(plugin, Incremental) and plugin.apply_node_change(before, after)


def apply_added_node(plugin: NodeFilter | NodeScorer, node: NodeInfo) -> bool:
    """Tell any filter or scorer that a node was added (`Incremental.apply_added_node`)."""
    if plugin.reads < Reads.CLUSTER:
        return True
    return isinstance(plugin, Incremental) and plugin.apply_added_node(node)


def node_class(plugin: NodeFilter | NodeScorer, node: NodeInfo) -> Hashable:
    """The class of the node (`Incremental.node_class`); for other plugins each node has its own."""
    return plugin.node_class(node) if isinstance(plugin, Incremental) else node.name


def class_state(plugin: NodeFilter, node: NodeInfo) -> Hashable:
    """The state as seen from the node (`Incremental.class_state`); for other plugins it always differs."""
    return plugin.class_state(node) if isinstance(plugin, Incremental) else object()


class DomainTally:
    """Counts by topology value: a common base, and a private difference.

    Made for preemption, which forks the state of a plugin per candidate node but then changes only that node's domains.
    """

    __slots__ = ("_base", "_delta", "nonzero")

    def __init__(self, base: dict[str, int]) -> None:
        self._base = base
        self._delta: dict[str, int] = {}
        #: How many values have a count other than 0.
        self.nonzero = sum(map(bool, base.values()))

    def count(self, value: str) -> int:
        """The count of a value; 0 for an unknown one."""
        return self._base.get(value, 0) + self._delta.get(value, 0)

    @property
    def values(self) -> Iterator[str]:
        """The values with a count above 0."""
        return (value for value in self._base.keys() | self._delta.keys() if self.count(value) > 0)

    def add(self, value: str, amount: int) -> int:
        """Change a count, and return it."""
        before = self.count(value)
        after = before + amount
        self._delta[value] = self._delta.get(value, 0) + amount
        self.nonzero += bool(after) - bool(before)
        return after

    def settle(self, value: str, amount: int) -> int:
        """Change a count in the common base, and return it. Not allowed on a fork, or while a fork is in use."""
        before = self._base.get(value, 0)
        after = self._base[value] = before + amount
        self.nonzero += bool(after) - bool(before)
        return after

    @property
    def settled(self) -> Mapping[str, int]:
        """The common base."""
        return self._base

    def copy(self) -> DomainTally:
        """An independent copy with a base of its own."""
        other = self.fork()
        other._base = self._base.copy()
        return other

    def fork(self) -> DomainTally:
        """An independent copy."""
        other = DomainTally.__new__(DomainTally)
        other._base = self._base
        other._delta = self._delta.copy()
        other.nonzero = self.nonzero
        return other
