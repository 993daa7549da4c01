"""`Policy`: the replaceable rules of preemption.

kube-scheduler's own are the `Interface` in `pkg/scheduler/framework/preemption/preemption.go` and the hooks
`IsEligiblePod` and `MoreImportantPod` of `default_preemption.go`. Override what should be different:

    class SparingSpot(Policy):
        def potential_victims(self, pod, node):
            return [] if node.labels.get("spot") == "true" else super().potential_victims(pod, node)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.preemption import eligibility, ranking
from kwhatif.scheduler.preemption.ranking import Rank
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class EvictsByPolicy:
    """Base of PostFilter plugins that evict pods."""

    name: ClassVar[str]
    policy: Policy

    def sufficient_candidates(self, tried: int) -> int:
        """The number of candidates after which kube-scheduler would stop, if `tried` nodes were tried."""
        raise NotImplementedError


class Policy:
    """The rules of kube-scheduler's DefaultPreemption."""

    #: The criteria of `rank`, one per number, in order.
    rungs: tuple[str, ...] = ranking.RUNGS
    #: Whether pods that have not started are in reverse order (`ranking.by_importance` says why).
    unstarted_reversed: bool = True

    def why_not_eligible(self, cycle: Cycle) -> str:
        """Why the cycle's pod may not evict others; "" if it may."""
        return eligibility.why_not_eligible(cycle, self.potential_victims)

    def potential_victims(self, pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
        """The pods on the node that `pod` may evict, in the node's order."""
        return eligibility.lower_priority(pod, node)

    def by_importance(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """The pods, the most important first: they are put back in this order."""
        return ranking.by_importance(pods, unstarted_reversed=self.unstarted_reversed)

    def rank(self, node: NodeInfo, victims: Sequence[PodInfo], pdb_violations: int) -> Rank:
        """The rank of a node with these victims, the most important first; the lowest rank wins."""
        del node
        return ranking.rank(victims, pdb_violations)

    def said_of(self, node: str, victims: int) -> str:
        """PostFilter's message about the chosen node and the number of its victims; "" for none."""
        del node, victims
        return ""


class PolicySince137(Policy):
    """Pods that have not started keep the node's order (`MoreImportantVictim`)."""

    unstarted_reversed = False

    def said_of(self, node: str, victims: int) -> str:
        """The node, and the number of its victims (`Preempt`)."""
        return f"found a potential placement for pod on node {node}, preempting {victims} victims"
