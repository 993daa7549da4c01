"""`Policy`: the rules of preemption that can be replaced.

kube-scheduler's own are the `Interface` in `pkg/scheduler/framework/preemption/preemption.go` and the hooks
`IsEligiblePod` and `MoreImportantPod` of `default_preemption.go`. Override what you want to be different:

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
    """What others may ask of a PostFilter plugin that evicts pods."""

    name: ClassVar[str]
    policy: Policy

    def sufficient_candidates(self, tried: int) -> int:
        """After how many candidates kube-scheduler would stop, where that many nodes were tried."""
        raise NotImplementedError


class Policy:
    """The rules of kube-scheduler's DefaultPreemption."""

    #: What the numbers of `rank` mean, in their order.
    rungs: tuple[str, ...] = ranking.RUNGS
    #: Whether pods that have not started come out in reverse order (`ranking.by_importance` says why).
    unstarted_reversed: bool = True

    def why_not_eligible(self, cycle: Cycle) -> str:
        """Why the cycle's pod may not evict anybody; "" when it may."""
        return eligibility.why_not_eligible(cycle, self.potential_victims)

    def potential_victims(self, pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
        """The pods on the node that `pod` may evict, in the node's order."""
        return eligibility.lower_priority(pod, node)

    def by_importance(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """The pods that should rather stay first: they are the first to be put back."""
        return ranking.by_importance(pods, unstarted_reversed=self.unstarted_reversed)

    def rank(self, node: NodeInfo, victims: Sequence[PodInfo], pdb_violations: int) -> Rank:
        """The standing of a node whose eviction costs these victims, most important first; the least one wins."""
        del node
        return ranking.rank(victims, pdb_violations)

    def said_of(self, node: str, victims: int) -> str:
        """What PostFilter says of the node that it has found, where so many pods have to go; "" for nothing."""
        del node, victims
        return ""


class PolicySince137(Policy):
    """Of pods that have not started, the first on the node stays first (`MoreImportantVictim`)."""

    unstarted_reversed = False

    def said_of(self, node: str, victims: int) -> str:
        """Which node it is, and how many pods have to go there (`Preempt`)."""
        return f"found a potential placement for pod on node {node}, preempting {victims} victims"
