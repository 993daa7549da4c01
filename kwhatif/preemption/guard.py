"""A guard around policies of your own: see `framework.guard`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kwhatif.framework.cycle import Cycle
from kwhatif.framework.guard import CallSite, called
from kwhatif.preemption.policy import Policy
from kwhatif.preemption.ranking import Rank
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class GuardedPolicy(Policy):
    """Another policy, whose failures are reported with plugin, pod and node."""

    def __init__(self, inner: Policy, plugin: str, fence: Callable[..., Any] = called) -> None:
        self._inner = inner
        #: What was asked about last; two of the questions do not say it themselves.
        self._site = CallSite(plugin, "PostFilter", "", fence=fence)
        self.rungs = inner.rungs

    def why_not_eligible(self, cycle: Cycle) -> str:
        """See `Policy`."""
        self._site = self._site._replace(pod=cycle.pod.key, node="")
        return self._site.call(self._inner.why_not_eligible, cycle, returns=str)

    def potential_victims(self, pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
        """See `Policy`."""
        self._site = self._site._replace(pod=pod.key, node=node.name)
        return self._site.call(self._inner.potential_victims, pod, node, returns=list)

    def by_importance(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """See `Policy`."""
        return self._site.call(self._inner.by_importance, pods, returns=list)

    def rank(self, node: NodeInfo, victims: Sequence[PodInfo], pdb_violations: int) -> Rank:
        """See `Policy`."""
        self._site = self._site._replace(node=node.name)
        rank: Rank = self._site.call(self._inner.rank, node, victims, pdb_violations, returns=tuple)
        if len(rank) != len(self.rungs):
            self._site.fail(f"it returned a rank of {len(rank)} numbers for {len(self.rungs)} rungs", None)
        return rank
