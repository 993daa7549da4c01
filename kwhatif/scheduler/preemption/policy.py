"""`Policy`: the replaceable rules of preemption.

In kube-scheduler these are the `Interface` in `pkg/scheduler/framework/preemption/preemption.go`, and the hooks
`IsEligiblePod` and `MoreImportantPod` in `default_preemption.go`. Override the methods that should differ:

    class SparingSpot(Policy):
        def potential_victims(self, pod, node):
            return [] if node.labels.get("spot") == "true" else super().potential_victims(pod, node)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from kwhatif.kube.model.pod import pod_condition
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.preemption.candidate import RUNGS, Rank, by_importance, rank
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."


def lower_priority(pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
    """The pods on the node that `pod` may evict, in the node's order; from any namespace, also terminating ones."""
    priority = pod.priority
    return [other for other in node.pods if other.priority < priority]


def why_not_eligible(cycle: Cycle, potential_victims: Callable[[PodInfo, NodeInfo], Sequence[PodInfo]]) -> str:
    """Why the pod may not evict others; "" if it may (`PodEligibleToPreemptOthers`)."""
    pod = cycle.pod
    if pod.pod.spec.preemption_policy == "Never":
        return NEVER
    node = cycle.state.node(pod.pod.status.nominated_node_name)
    if node is None:
        return ""
    verdict = cycle.verdict_of(node.name)
    # A node without a recorded status counts as unresolvable.
    if verdict is None or verdict.status.code is Code.UNRESOLVABLE:
        return ""
    if any(map(terminating_by_preemption, potential_victims(pod, node))):
        return TERMINATING
    return ""


def terminating_by_preemption(pod: PodInfo) -> bool:
    """Whether the scheduler has evicted the pod and the pod is still terminating."""
    if not pod.terminating:
        return False
    condition = pod_condition(pod.pod, "DisruptionTarget")
    return condition is not None and condition.status == "True" and condition.reason == "PreemptionByScheduler"


class EvictsByPolicy:
    """Base of PostFilter plugins that evict pods."""

    name: ClassVar[str]
    policy: Policy

    def sufficient_candidates(self, tried: int) -> int:
        """The number of candidates after which kube-scheduler stops; `tried` is the number of nodes to try."""
        raise NotImplementedError


class Policy:
    """The rules of kube-scheduler's DefaultPreemption."""

    #: The criteria of `rank`, one per number, in order.
    rungs: tuple[str, ...] = RUNGS
    #: Whether pods that have not started are in reverse order (the reason: `candidate.by_importance`).
    unstarted_reversed: bool = True

    def why_not_eligible(self, cycle: Cycle) -> str:
        """Why the cycle's pod may not evict others; "" if it may."""
        return why_not_eligible(cycle, self.potential_victims)

    def potential_victims(self, pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
        """The pods on the node that `pod` may evict, in the node's order."""
        return lower_priority(pod, node)

    def by_importance(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """The pods, the most important pod first: they are put back in this order."""
        return by_importance(pods, unstarted_reversed=self.unstarted_reversed)

    def rank(self, node: NodeInfo, victims: Sequence[PodInfo], pdb_violations: int) -> Rank:
        """The rank of a node with these victims (the most important victim first); the lowest rank wins."""
        del node
        return rank(victims, pdb_violations)

    def said_of(self, node: str, victims: int) -> str:
        """PostFilter's message about the chosen node and the number of its victims; "" for none."""
        del node, victims
        return ""


class PolicySince137(Policy):
    """Pods that have not started keep the node's order (`MoreImportantVictim`)."""

    unstarted_reversed = False

    def said_of(self, node: str, victims: int) -> str:
        """A message with the node and the number of its victims (`Preempt`)."""
        return f"found a potential placement for pod on node {node}, preempting {victims} victims"
