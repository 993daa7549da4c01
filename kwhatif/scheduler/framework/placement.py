"""Placements: the sets of nodes on which a group of pods is tried, and the plugins that make and score them.

(`PlacementGeneratePlugin` and `PlacementScorePlugin` in `staging/src/k8s.io/kube-scheduler/framework/interface.go`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.framework.plugin import Plugin
from kwhatif.scheduler.framework.status import Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class Placement(NamedTuple):
    """Some of the nodes, in the scheduler's order; without a name all of them."""

    name: str
    nodes: Sequence[NodeInfo]


class Proposal(NamedTuple):
    """What trying a group on a placement came to: the members that would be placed."""

    placement: Placement
    pods: Sequence[PodInfo]


@runtime_checkable
class PlacementGeneratePlugin(Plugin, Protocol):
    """Makes the placements of a group."""

    def generate_placements(self, group: PodGroup, state: State) -> Sequence[Placement] | Status:
        """The placements, none of them empty; or an error."""


@runtime_checkable
class PlacementScorePlugin(Plugin, Protocol):
    """Scores the placements on which a group fits."""

    def score_placement(self, group: PodGroup, state: State, proposal: Proposal) -> int:
        """The raw score."""

    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int]:
        """Scores 0 to 100 of all placements, in the same order."""
