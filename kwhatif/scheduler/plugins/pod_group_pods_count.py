"""PodGroupPodsCount: prefers the placement for which more pods of the group get a node.

(`pkg/scheduler/framework/plugins/podgrouppodscount/podgroup_pods_count.go`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.framework.plugin import MAX_NODE_SCORE, Proposal
from kwhatif.state.state import State


class PodGroupPodsCount:
    """Counts the pods of the group that have a node, and those that would get one."""

    name: ClassVar[str] = "PodGroupPodsCount"

    def score_placement(self, group: PodGroup, state: State, proposal: Proposal) -> int:
        """The number of pods of the group with a node, if this placement were chosen."""
        members = state.members_of(key_of(group)).values()
        return sum(bool(pod.pod.spec.node_name) for pod in members) + len(proposal.pods)

    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int]:
        """Percentages of the maximum, which is not 0: a placement has at least one pod."""
        most = max(scores)
        return [score * MAX_NODE_SCORE // most for score in scores]
