"""What a compiled plugin may say besides the scheduler's extension points, so that fewer questions need be asked.

Nothing here changes an answer. A `NodeFilter` or `NodeScorer` that also inherits from one of these is asked less often,
or kept from one replica to the next; one that does not is asked again, or compiled anew: right, but slower. The
functions at the end ask any of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Self

from kwhatif.kube.model.node import Node
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import SUCCESS, Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.pod_row import PodRow
from kwhatif.state.state import State

#: Nodes by label, as key and value.
TopologyDomains = frozenset[tuple[str, str]]
NO_DOMAINS: TopologyDomains = frozenset()

# --- preemption ----------------------------------------------------------------------------------------


class Relaxing(NodeFilter):
    """A filter to which a pod less on the node never makes it object: what it said before can be relied on."""

    #: False where that does not hold for the pod in question.
    relaxing: bool = True


class Selective(NodeFilter):
    """A CLUSTER filter that knows which pods matter to it: for others, `add_pod` and `remove_pod` are not called."""

    def affected_by(self, pod: PodInfo) -> bool:
        """Whether the answer can change when the pod comes to a node or leaves it."""
        raise NotImplementedError

    def affected_on(self, node: NodeInfo) -> bool:
        """A quick look whether any pod that is on the node, or has been, may matter."""
        return True


class Reprieved(NamedTuple):
    """What came of putting pods back on a node."""

    #: Those that cannot stay, in their order.
    refused: Sequence[PodInfo]
    #: For which other filters of the type the same comes of it, see `Reprieving.has_same_answer`.
    scope: object


class Sparing(NodeFilter):
    """A filter that passes nearly all nodes, and knows the others without looking at each."""

    def suspects(self, state: State) -> AbstractSet[str] | None:
        """The names of the nodes that it may object to; None: any."""
        raise NotImplementedError


class Signed(NodeFilter):
    """A filter that can be compared with one that the same plugin compiled for another pod, on the same state."""

    #: Those with equal signatures say the same of every node, evidence aside. None: of no other one that is known.
    signature: Hashable


class Reprieving(Signed):
    """A filter that looks at the node alone, and knows without trying which of the node's pods can stay.

    Those with equal signatures answer alike on any state, and never change.
    """

    def reprieve_all(self, row: PodRow, node: NodeInfo) -> Reprieved | None:
        """Put the pods on the node, which the pod fits, one after another, but for those beside which it does not fit.

        The same as `add_pod` on the node and `filter` for each pod, and `remove_pod` where that is not successful. The
        node itself stays as it is.

        Returns:
            Which pods cannot stay; None: it has to be tried out.
        """
        raise NotImplementedError

    def has_same_answer(self, scope: object) -> bool:
        """Whether the pod fits the same node, and the same pods cannot stay, as in a `Reprieved` of that scope."""
        return False

    def statuses_with(
        self, pods: Sequence[PodInfo], refused: Sequence[PodInfo], node: NodeInfo
    ) -> dict[PodInfo, Status]:
        """What `filter` says with each refused pod there, when all before it that are not have been put on the node."""
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
    """A CLUSTER filter or scorer that keeps up with the state, for the next pod of the same signature."""

    def fork_with(self, state: State) -> Self:
        """A copy that keeps up with a fork of the state, and leaves this one as it is."""
        raise NotImplementedError

    def apply_pod_change(self, pod: PodInfo, node: NodeInfo, amount: int) -> TopologyDomains | None:
        """A pod has come to the node for good (`amount` 1) or left it (-1): be what compiling anew would give.

        `add_pod` and `remove_pod` are another matter: they try things out on a fork, with upstream's oddities.

        Returns:
            The nodes that may be in another `node_class` now, besides the node itself; None: compile anew, this one is
            worthless.
        """
        raise NotImplementedError

    def apply_node_change(self, before: Node, after: Node) -> bool:
        """A node's taints or conditions are others, or it was cordoned or uncordoned.

        Returns:
            Whether what is said of other nodes is still what compiling anew would give; False: compile anew.
        """
        return False

    def node_class(self, node: NodeInfo) -> Hashable:
        """Nodes of one class get the same verdict, evidence aside, or the same raw score.

        Few nodes should change their classes as pods come and go: so a class is made of labels, or of counts where
        (almost) every node has its own label (`Shapes.unfixed`). A scorer that `ByShape` has one class for all
        nodes of a shape, exceptions aside.
        """
        raise NotImplementedError

    def class_state(self, node: NodeInfo) -> Hashable:
        """Fingerprint of a filter's state as seen from the node's class; scorers are not asked.

        While it is the same, evicting any set of pods from a node of that class yields the same verdict as before. It
        does not cover pods that are added to or removed from the node itself.
        """
        return object()

    def update_feasible_count(self, node: NodeInfo, number: int) -> None:
        """So many more nodes of this one's class, or of one that it was in, are feasible; a negative number: fewer.

        Only scorers are asked. Classes are then to be made so that it does not matter which of their nodes these are.
        """


class SignedScorer(NodeScorer):
    """A scorer that looks at the node and its pods alone.

    Those of one plugin with equal signatures give a node the same raw score. None: of no other one that is known.
    """

    signature: Hashable = None


class NormalizesByRange(NodeScorer):
    """A scorer whose `normalize` looks at which scores there are, not at how many nodes have each.

    It may be given one node of each.
    """


# --- asking any filter or scorer -----------------------------------------------------------------------


def is_relaxing(plugin: NodeFilter) -> bool:
    """Whether the filter never objects because a pod is gone (`Relaxing`)."""
    return isinstance(plugin, Relaxing) and plugin.relaxing and not is_reference()


def is_affected(plugin: NodeFilter, node: NodeInfo, pods: Iterable[PodInfo]) -> bool:
    """Whether the filter, a CLUSTER one, may say otherwise when these pods leave the node."""
    if is_reference() or not isinstance(plugin, Selective):
        return True
    return plugin.affected_on(node) and any(map(plugin.affected_by, pods))


def suspects_of(plugins: Iterable[NodeFilter], state: State) -> AbstractSet[str] | None:
    """The names of the nodes that any of the filters may object to; None: any node."""
    found = set[str]()
    for plugin in plugins:
        suspects = plugin.suspects(state) if isinstance(plugin, Sparing) and not is_reference() else None
        if suspects is None:
            return None
        found |= suspects
    return found


def tracks_pods(plugin: NodeFilter) -> bool:
    """Whether the filter keeps count of pods that come and go: only these are forked for every candidate node."""
    kind = type(plugin)
    return kind.add_pod is not NodeFilter.add_pod or kind.remove_pod is not NodeFilter.remove_pod


def apply_pod_change(
    plugin: NodeFilter | NodeScorer, pod: PodInfo, node: NodeInfo, amount: int
) -> TopologyDomains | None:
    """Tell any filter or scorer that a pod came or went (`Incremental.apply_pod_change`)."""
    if plugin.reads < Reads.CLUSTER:
        return NO_DOMAINS
    return plugin.apply_pod_change(pod, node, amount) if isinstance(plugin, Incremental) else None


def apply_node_change(plugin: NodeFilter | NodeScorer, before: Node, after: Node) -> bool:
    """Tell any filter or scorer that a node has changed (`Incremental.apply_node_change`)."""
    if plugin.reads < Reads.CLUSTER:
        return True
    return isinstance(plugin, Incremental) and plugin.apply_node_change(before, after)


def node_class(plugin: NodeFilter | NodeScorer, node: NodeInfo) -> Hashable:
    """The class of the node (`Incremental.node_class`); to a plugin that knows no classes each node is one."""
    return plugin.node_class(node) if isinstance(plugin, Incremental) else node.name


def class_state(plugin: NodeFilter, node: NodeInfo) -> Hashable:
    """The state as seen from the node (`Incremental.class_state`); of a plugin that knows none, none lasts."""
    return plugin.class_state(node) if isinstance(plugin, Incremental) else object()
