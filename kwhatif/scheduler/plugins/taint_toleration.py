"""TaintToleration: rejects nodes with untolerated taints (`plugins/tainttoleration/taint_toleration.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.matching.nodes import PREFER_NO_SCHEDULE, first_untolerated, tolerated
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import Toleration
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.evidence import UntoleratedTaint
from kwhatif.scheduler.framework.filters import ByShape
from kwhatif.scheduler.framework.hints import ClusterEventWithHint, QueueingHint, builtin, is_same_pod, queue_if
from kwhatif.scheduler.framework.incremental import NormalizesByRange
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads, always
from kwhatif.scheduler.framework.scoring import default_normalize
from kwhatif.scheduler.framework.status import SUCCESS, Status, error, unresolvable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class _Tolerates(NodeFilter):
    reads = Reads.SHAPE

    def __init__(self, tolerations: Sequence[Toleration]) -> None:
        self._tolerations = tolerations

    def filter(self, node: NodeInfo) -> Status:
        taint = first_untolerated(node.taints, self._tolerations)
        if taint is None:
            return SUCCESS
        return unresolvable(self._reason(taint), UntoleratedTaint(taint.key, taint.value, taint.effect))

    def _reason(self, taint: Taint) -> str:
        return "node(s) had untolerated taint(s)"


class _ToleratesByName(_Tolerates):
    def _reason(self, taint: Taint) -> str:
        return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"


class _FewestTaints(ByShape, NormalizesByRange, NodeScorer):
    reads = Reads.SHAPE

    def __init__(self, tolerations: Sequence[Toleration]) -> None:
        self._tolerations = [toleration for toleration in tolerations if toleration.effect in ("", PREFER_NO_SCHEDULE)]

    def score(self, node: NodeInfo) -> int:
        """The number of PreferNoSchedule taints that the pod does not tolerate."""
        return sum(
            taint.effect == PREFER_NO_SCHEDULE and not tolerated(taint, self._tolerations) for taint in node.taints
        )

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return default_normalize(scores, reverse=True)


class TaintToleration:
    """Rejects nodes with an untolerated NoSchedule or NoExecute taint; PreferNoSchedule taints lower the score."""

    name: ClassVar[str] = "TaintToleration"
    _filter: ClassVar[type[_Tolerates]] = _Tolerates

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """Never SKIP: a node without taints may get one."""
        return self._filter(pod.pod.spec.tolerations)

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """Never SKIP: nodes without taints score 100."""
        return _FewestTaints(pod.pod.spec.tolerations)

    #: Score fails, because it needs PreScore's state.
    without_pre_score = always(error('failed to read "PreScoreTaintToleration" from cycleState: not found'))

    sign = staticmethod(signers.tolerations)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A node is added, or its taints change; the pod gets a toleration."""
        node = ActionType.ADD | ActionType.UPDATE_NODE_TAINT
        return (
            builtin(EventResource.NODE, node, _after_node_change),
            builtin(EventResource.POD, ActionType.UPDATE_POD_TOLERATION, _after_toleration_change),
        )


class TaintTolerationByName(TaintToleration):
    """The plugin up to 1.33: the reason names the taint."""

    _filter = _ToleratesByName


def _after_node_change(pod: PodInfo, old: Node | None, new: Node, _cluster: Cluster) -> QueueingHint:
    """The pod now tolerates the node's taints, and did not before."""
    tolerations = pod.pod.spec.tolerations
    if old is not None and first_untolerated(old.spec.taints, tolerations) is None:
        return QueueingHint.QUEUE_SKIP
    return queue_if(first_untolerated(new.spec.taints, tolerations) is None)


def _after_toleration_change(pod: PodInfo, _old: Pod, new: Pod, _cluster: Cluster) -> QueueingHint:
    return queue_if(is_same_pod(pod, new))
