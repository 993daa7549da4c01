"""Kubernetes 1.35: differences from 1.36."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from kwhatif.dra.devices import BINDING_GATES
from kwhatif.dra.requests import AllocatorRules
from kwhatif.kube.gates import Gates
from kwhatif.scheduler.catalog import Entry
from kwhatif.scheduler.framework.profile import GROUP_POINTS, Point
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources
from kwhatif.scheduler.plugins.dynamic_resources.claims import ClaimRules
from kwhatif.scheduler.plugins.image_locality import ImageLocalityOfContainers
from kwhatif.scheduler.plugins.inter_pod_affinity import InterPodAffinityUntil135
from kwhatif.scheduler.plugins.node_declared_features import NodeDeclaredFeaturesByName
from kwhatif.scheduler.plugins.node_resources_balanced_allocation import BalanceItself
from kwhatif.scheduler.plugins.pod_topology_spread import PodTopologySpreadUntil135
from kwhatif.scheduler.release.release import find_release

_NEXT = find_release(36)


#: The message of releases up to 1.35 after the name of a claim that was created for another pod.
NOT_OWNER = "was not created for pod {pod} (pod is not owner)"
#: Any of these sets of gates selects "experimental", otherwise it is "incubating".
_EXPERIMENTAL = ({"DRAConsumableCapacity"}, BINDING_GATES)


_RULES = AllocatorRules(forgets_alternative=True)


def _allocator_rules(gates: Gates) -> AllocatorRules:
    if any(needed <= gates for needed in _EXPERIMENTAL):
        return _RULES
    return _RULES._replace(knows_distinct=False, refuses_capacity=False)


class DynamicResourcesUntil135(DynamicResources):
    """The plugin up to 1.35, with its messages (`dynamic-resource-allocation/resourceclaim/resourceclaim.go`)."""

    rules: ClassVar[ClaimRules] = ClaimRules(NOT_OWNER, timeout_is_error=False, allocator=_allocator_rules)


_FIT = _NEXT.entry("NodeResourcesFit")
_GANGS = _NEXT.entry("GangScheduling")


def _before_groups(entry: Entry) -> tuple[Point, ...]:
    """The points without those for pod groups (`staging/src/k8s.io/kube-scheduler/config/v1/types.go`)."""
    return tuple(point for point in entry.points if point not in GROUP_POINTS)


RELEASE = _NEXT.neighbour(
    35,
    replaced=[
        replace(_NEXT.entry("NodeResourcesBalancedAllocation"), factory=BalanceItself),
        replace(_FIT, points=_before_groups(_FIT), checks="NodeResourcesFitUntil135"),
        replace(_NEXT.entry("ImageLocality"), factory=ImageLocalityOfContainers),
        replace(_NEXT.entry("InterPodAffinity"), factory=InterPodAffinityUntil135),
        replace(_NEXT.entry("PodTopologySpread"), factory=PodTopologySpreadUntil135),
        replace(_NEXT.entry("DynamicResources"), factory=DynamicResourcesUntil135),
        replace(_NEXT.entry("NodeDeclaredFeatures"), factory=NodeDeclaredFeaturesByName),
        replace(_GANGS, points=(*_GANGS.points, Point.RESERVE)),
    ],
    removed=["TopologyPlacementGenerator", "PodGroupPodsCount"],
)
