"""The Cluster Autoscaler 1.36.1: scale-up and scale-down (`kubernetes/autoscaler`, `cluster-autoscaler/core`)."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.autoscaler.answer import ScalingPlan, ScalingRound
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroups
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.caveat import Caveat
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.state import State


def scale_up(
    state: State, profiles: Mapping[str, Profile], groups: NodeGroups
) -> tuple[ScalingRound, tuple[Caveat, ...]]:
    """One loop of scale-up."""
    raise InputError([Problem("--autoscaler", "the Cluster Autoscaler is not modelled yet")])


def scale_down(
    state: State, profiles: Mapping[str, Profile], groups: NodeGroups, at: str
) -> tuple[ScalingPlan, tuple[Caveat, ...]]:
    """Which nodes are unneeded now."""
    raise InputError([Problem("--autoscaler", "the Cluster Autoscaler is not modelled yet")])
