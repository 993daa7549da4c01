"""Guards of custom plugins that evict pods, and of their policies: see `framework.guard`."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.guard import CallSite, GuardedPlugin
from kwhatif.scheduler.framework.shown import view
from kwhatif.scheduler.preemption.candidate import Rank
from kwhatif.scheduler.preemption.policy import EvictsByPolicy, Policy
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class GuardedPreemption(GuardedPlugin, EvictsByPolicy):
    """A guarded plugin that evicts pods by a policy, which is guarded, too."""

    def __init__(self, inner: EvictsByPolicy) -> None:
        super().__init__(inner)
        if not isinstance(inner.policy, GuardedPolicy):
            inner.policy = GuardedPolicy(inner.policy, inner.name)
        self.policy = inner.policy

    def sufficient_candidates(self, tried: int) -> int:
        """As the plugin says."""
        return self._site.at("PostFilter", ()).call(self._inner.sufficient_candidates, tried, returns=int)


class GuardedPolicy(Policy):
    """Calls another policy, and reports its failures with plugin, pod and node."""

    def __init__(self, inner: Policy, plugin: str) -> None:
        self._inner = inner
        #: The pod and node of the last call, because two of the methods do not have these parameters.
        self._site = CallSite(plugin, "PostFilter")
        self.rungs = inner.rungs

    def why_not_eligible(self, cycle: Cycle) -> str:
        """The policy's reason why the cycle's pod may not evict others."""
        self._site = self._site._replace(pod=cycle.pod.key, node="")
        return self._site.call(self._inner.why_not_eligible, view(cycle), returns=str)

    def potential_victims(self, pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
        """The pods of the node that the policy allows to evict."""
        self._site = self._site._replace(pod=pod.key, node=node.name)
        found = self._site.call(self._inner.potential_victims, view(pod), view(node), returns=list)
        return self._real(found, node.pods)

    def by_importance(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """The pods in the policy's order of importance."""
        return self._real(self._site.call(self._inner.by_importance, list(map(view, pods)), returns=list), pods)

    def _real(self, found: Sequence[PodInfo], pods: Sequence[PodInfo]) -> list[PodInfo]:
        """The original pods of the read-only views that the policy returned."""
        meant = {id(view(pod)): pod for pod in pods}
        real = [pod for each in found if (pod := meant.get(id(each))) is not None]
        if len(real) != len(found):
            self._site.fail("it returned something that is not one of the pods that it was given", None)
        return real

    def rank(self, node: NodeInfo, victims: Sequence[PodInfo], pdb_violations: int) -> Rank:
        """The policy's rank of the node; it must have one number for each of `rungs`."""
        self._site = self._site._replace(node=node.name)
        rank: Rank = self._site.call(
            self._inner.rank, view(node), tuple(map(view, victims)), pdb_violations, returns=tuple
        )
        if len(rank) != len(self.rungs):
            self._site.fail(f"it returned a rank of {len(rank)} numbers for {len(self.rungs)} rungs", None)
        return rank
