"""A guard around custom policies: see `framework.guard`."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.guard import CallSite
from kwhatif.scheduler.framework.shown import shown_cycle, shown_node, shown_pod
from kwhatif.scheduler.preemption.candidate import Rank
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class GuardedPolicy(Policy):
    """Another policy, whose failures are reported with plugin, pod and node."""

    def __init__(self, inner: Policy, plugin: str) -> None:
        self._inner = inner
        #: The pod and node of the last call; two of the methods do not get them.
        self._site = CallSite(plugin, "PostFilter", "")
        self.rungs = inner.rungs

    def why_not_eligible(self, cycle: Cycle) -> str:
        """Ask the policy whether the cycle's pod may evict others."""
        self._site = self._site._replace(pod=cycle.pod.key, node="")
        return self._site.call(self._inner.why_not_eligible, shown_cycle(cycle), returns=str)

    def potential_victims(self, pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
        """Ask the policy which pods of the node may be evicted."""
        self._site = self._site._replace(pod=pod.key, node=node.name)
        found = self._site.call(self._inner.potential_victims, shown_pod(pod), shown_node(node), returns=list)
        return self._real(found, node.pods)

    def by_importance(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """Ask the policy for the pods in order of importance."""
        shown = list(map(shown_pod, pods))
        return self._real(self._site.call(self._inner.by_importance, shown, returns=list), pods)

    def _real(self, found: Sequence[PodInfo], pods: Sequence[PodInfo]) -> list[PodInfo]:
        """The original pods of the read-only views that the policy returned."""
        meant = {id(shown_pod(pod)): pod for pod in pods}
        real = [pod for each in found if (pod := meant.get(id(each))) is not None]
        if len(real) != len(found):
            self._site.fail("it returned something that is not one of the pods that it was given", None)
        return real

    def rank(self, node: NodeInfo, victims: Sequence[PodInfo], pdb_violations: int) -> Rank:
        """Ask the policy for the rank of the node; it must have a number for each of `rungs`."""
        self._site = self._site._replace(node=node.name)
        rank: Rank = self._site.call(
            self._inner.rank, shown_node(node), tuple(map(shown_pod, victims)), pdb_violations, returns=tuple
        )
        if len(rank) != len(self.rungs):
            self._site.fail(f"it returned a rank of {len(rank)} numbers for {len(self.rungs)} rungs", None)
        return rank
