"""Kubernetes 1.33: differences from 1.34."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from kwhatif.scheduler.framework.events import ActionType
from kwhatif.scheduler.plugins.dynamic_resources import CLAIM, NODE_UNTIL_133
from kwhatif.scheduler.plugins.inter_pod_affinity import InterPodAffinityUntil133
from kwhatif.scheduler.plugins.node_resources_fit import NodeResourcesFitUntil133
from kwhatif.scheduler.plugins.taint_toleration import TaintTolerationByName
from kwhatif.scheduler.plugins.volume_restrictions import VolumeRestrictionsUntil133
from kwhatif.scheduler.release.release import find_release
from kwhatif.scheduler.release.v1_34 import DynamicResourcesUntil134

_NEXT = find_release(34)


class DynamicResourcesUntil133(DynamicResourcesUntil134):
    """More resources of a node do not queue pods that wait for devices."""

    events: ClassVar[tuple[ActionType, ActionType]] = (NODE_UNTIL_133, CLAIM)


RELEASE = _NEXT.neighbour(
    33,
    replaced=[
        # Its arguments have no type yet (`apis/config/register.go`): they are ignored.
        replace(_NEXT.entry("DynamicResources"), factory=DynamicResourcesUntil133, args=None),
        replace(_NEXT.entry("TaintToleration"), factory=TaintTolerationByName),
        replace(_NEXT.entry("NodeResourcesFit"), factory=NodeResourcesFitUntil133),
        replace(_NEXT.entry("InterPodAffinity"), factory=InterPodAffinityUntil133),
        replace(_NEXT.entry("VolumeRestrictions"), factory=VolumeRestrictionsUntil133),
    ],
)
