"""PodGroups and their pods."""

from typing import Any

from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import PodSchedulingGroup
from kwhatif.kube.model.pod_group import (
    DisruptionMode,
    GangPolicy,
    NoFields,
    PodGroup,
    PodGroupSpec,
    SchedulingConstraints,
    SchedulingPolicy,
    TopologyConstraint,
)
from tests.builders import PodBuilder, pod


def group(name: str, least: int | None = 1, *, topology: str = "", whole: bool = False, priority: int = 0) -> PodGroup:
    """A PodGroup; without a least number its policy is `basic`; `whole`: it is evicted as a whole."""
    policy = SchedulingPolicy(basic=NoFields()) if least is None else SchedulingPolicy(gang=GangPolicy(least))
    more: dict[str, Any] = {}
    if topology:
        more["scheduling_constraints"] = SchedulingConstraints((TopologyConstraint(topology),))
    if whole:
        more["disruption_mode"] = DisruptionMode(all=NoFields())
    spec = PodGroupSpec(scheduling_policy=policy, priority=priority, **more)
    return PodGroup(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


def member(name: str, of: str) -> PodBuilder:
    """A pod of the group of that name."""
    return pod(name).spec(scheduling_group=PodSchedulingGroup(of))
