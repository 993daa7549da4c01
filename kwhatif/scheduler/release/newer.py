"""Kubernetes 1.37: differences from 1.36."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec.structs import replace

from kwhatif.dra.requests import AllocatorRules
from kwhatif.kube.gates import BASE, GROUPS_GATE, TOPOLOGY_GATE, Gates, default_gates
from kwhatif.scheduler.catalog import Entry
from kwhatif.scheduler.framework.events import ActionType
from kwhatif.scheduler.framework.profile import Point
from kwhatif.scheduler.plugins.default_preemption import DefaultPreemptionSince137
from kwhatif.scheduler.plugins.dynamic_resources import CLAIM_SINCE_137, NODE, DynamicResources
from kwhatif.scheduler.plugins.dynamic_resources.claims import ClaimRules
from kwhatif.scheduler.plugins.gang_scheduling import GangScheduling
from kwhatif.scheduler.plugins.image_locality import ImageLocalityOfAll
from kwhatif.scheduler.plugins.inter_pod_affinity import InterPodAffinitySince137
from kwhatif.scheduler.plugins.node_name import NodeNameSince137
from kwhatif.scheduler.plugins.pod_group_pods_count import PodGroupPodsCount
from kwhatif.scheduler.plugins.topology_placement_generator import TopologyPlacementGenerator
from kwhatif.scheduler.release import Release, find_release

_BEFORE = find_release(BASE)


def _allocator_rules(_gates: Gates) -> AllocatorRules:
    return AllocatorRules(
        counts_request_by_request=True,
        names_devices=True,
        counters_everywhere=False,
        keeps_books=True,
        all_by_size=True,
    )


class DynamicResourcesSince137(DynamicResources):
    """The plugin since 1.37: PostFilter has no message for pods without claims (`dynamicresources.go`)."""

    rules: ClassVar[ClaimRules] = ClaimRules(no_claims="", no_help="", allocator=_allocator_rules)
    events: ClassVar[tuple[ActionType, ActionType]] = (NODE, CLAIM_SINCE_137)


_CHANGED = _BEFORE.neighbour(
    37,
    replaced=[
        replace(_BEFORE.entry("NodeName"), factory=NodeNameSince137, points=(Point.PRE_FILTER, Point.FILTER)),
        replace(_BEFORE.entry("ImageLocality"), factory=ImageLocalityOfAll),
        replace(_BEFORE.entry("InterPodAffinity"), factory=InterPodAffinitySince137),
        replace(
            _BEFORE.entry("DynamicResources"),
            factory=DynamicResourcesSince137,
            without_gate=None,
            points=(*_BEFORE.entry("DynamicResources").points, Point.POD_GROUP_POST_FILTER),
        ),
        replace(
            _BEFORE.entry("DefaultPreemption"),
            factory=DefaultPreemptionSince137,
            points=(*_BEFORE.entry("DefaultPreemption").points, Point.POD_GROUP_POST_FILTER),
        ),
        replace(_BEFORE.entry("GangScheduling"), factory=GangScheduling, default=True, gate=GROUPS_GATE),
        replace(
            _BEFORE.entry("TopologyPlacementGenerator"),
            factory=TopologyPlacementGenerator,
            default=True,
            gate=TOPOLOGY_GATE,
        ),
        replace(_BEFORE.entry("PodGroupPodsCount"), factory=PodGroupPodsCount, default=True, gate=TOPOLOGY_GATE),
    ],
)


#: For pods that wait for a deferred resize: valid in a configuration, but without effect unless its gate is on.
_DEFERRED = Entry(
    "DeferredPodScheduling",
    (Point.PRE_FILTER, Point.FILTER, Point.PERMIT),
    default=False,
    gate="InPlacePodVerticalScalingSchedulerPreemption",
)


def _in_order() -> Release:
    """Put NodeName before NodeUnschedulable, so that it restricts the nodes first (`default_plugins.go`)."""
    others = [*(entry for entry in _CHANGED.entries if entry.name != "NodeName"), _DEFERRED]
    index = next(index for index, entry in enumerate(others) if entry.name == "NodeUnschedulable")
    entries = (*others[:index], _CHANGED.entry("NodeName"), *others[index:])
    return Release(37, entries, default_gates(37), sums_first=True, nominates_gated=True)


RELEASES: Mapping[int, Release] = {37: _in_order()}
