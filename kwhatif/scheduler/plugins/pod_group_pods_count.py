"""PodGroupPodsCount: rather where more pods of the group find a place.

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
        """How many there would be."""
        members = state.members_of(key_of(group)).values()
        return sum(bool(pod.pod.spec.node_name) for pod in members) + len(proposal.pods)

    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int]:
        """In percent of the most; a group is not placed without a pod, so that is not 0."""
        most = max(scores)
        return [score * MAX_NODE_SCORE // most for score in scores]
