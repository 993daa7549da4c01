"""Kubernetes 1.33 to 1.35: each differs from the next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec.structs import replace

from kwhatif.dra.devices import BINDING_GATES
from kwhatif.dra.requests import AllocatorRules
from kwhatif.kube.gates import BASE, BASE_GATES, Gates
from kwhatif.kube.model.meta import Model
from kwhatif.scheduler.catalog import Entry
from kwhatif.scheduler.framework.events import ActionType
from kwhatif.scheduler.framework.profile import GROUP_POINTS, Point
from kwhatif.scheduler.plugins.dynamic_resources import CLAIM, NODE_UNTIL_133, DynamicResources, DynamicResourcesArgs
from kwhatif.scheduler.plugins.dynamic_resources.claims import ClaimRules
from kwhatif.scheduler.plugins.image_locality import ImageLocalityOfContainers
from kwhatif.scheduler.plugins.inter_pod_affinity import InterPodAffinityUntil133, InterPodAffinityUntil135
from kwhatif.scheduler.plugins.node_declared_features import NodeDeclaredFeaturesByName
from kwhatif.scheduler.plugins.node_resources_balanced_allocation import BalanceItself
from kwhatif.scheduler.plugins.node_resources_fit import NodeResourcesFitUntil133
from kwhatif.scheduler.plugins.pod_topology_spread import PodTopologySpreadUntil135
from kwhatif.scheduler.plugins.taint_toleration import TaintTolerationByName
from kwhatif.scheduler.plugins.volume_restrictions import VolumeRestrictionsUntil133
from kwhatif.scheduler.release import Release, find_release

# --- 1.35: differences from 1.36 ---------------------------------------------------------------------

_BASE = find_release(BASE)

#: The message of releases up to 1.35 after the name of a claim that was created for another pod.
NOT_OWNER = "was not created for pod {pod} (pod is not owner)"
#: Any of these sets of gates selects "experimental", otherwise it is "incubating".
_EXPERIMENTAL_GATES = ({"DRAConsumableCapacity"}, BINDING_GATES)


_RULES_135 = AllocatorRules(forgets_alternative=True)


def _rules_of_135(gates: Gates) -> AllocatorRules:
    if any(needed <= gates for needed in _EXPERIMENTAL_GATES):
        return _RULES_135
    return _RULES_135._replace(knows_distinct=False, refuses_capacity=False)


class DynamicResourcesUntil135(DynamicResources):
    """The plugin up to 1.35, with its messages (`dynamic-resource-allocation/resourceclaim/resourceclaim.go`)."""

    rules: ClassVar[ClaimRules] = ClaimRules(NOT_OWNER, timeout_is_error=False, allocator=_rules_of_135)


_FIT = _BASE.entry("NodeResourcesFit")
_GANGS = _BASE.entry("GangScheduling")


def _before_groups(entry: Entry) -> tuple[Point, ...]:
    """The points without those for pod groups (`staging/src/k8s.io/kube-scheduler/config/v1/types.go`)."""
    return tuple(point for point in entry.points if point not in GROUP_POINTS)


_V35 = _BASE.neighbour(
    35,
    replaced=[
        replace(_BASE.entry("NodeResourcesBalancedAllocation"), factory=BalanceItself),
        replace(_FIT, points=_before_groups(_FIT), checks="NodeResourcesFitUntil135"),
        replace(_BASE.entry("ImageLocality"), factory=ImageLocalityOfContainers),
        replace(_BASE.entry("InterPodAffinity"), factory=InterPodAffinityUntil135),
        replace(_BASE.entry("PodTopologySpread"), factory=PodTopologySpreadUntil135),
        replace(_BASE.entry("DynamicResources"), factory=DynamicResourcesUntil135),
        replace(_BASE.entry("NodeDeclaredFeatures"), factory=NodeDeclaredFeaturesByName),
        replace(_GANGS, points=(*_GANGS.points, Point.RESERVE)),
    ],
    removed=["TopologyPlacementGenerator", "PodGroupPodsCount"],
)


# --- 1.34: differences from 1.35 ---------------------------------------------------------------------

_CLAIMS = _V35.entry("DynamicResources")


_RULES_134 = AllocatorRules(
    reports_invalid_pools=False,
    leaves_counters_out=False,
    pools_by_node=True,
    counters_everywhere=False,
    counters_by_slice=True,
    names_alternative=False,
    distinct_by_device=True,
    forgets_alternative=True,
)


def _rules_of_134(gates: Gates) -> AllocatorRules:
    """`DRAResourceClaimDeviceStatus`, enabled by default, selects "experimental" (`AllocatorFeatures`)."""
    if gates & {"DRAConsumableCapacity", "DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"}:
        return _RULES_134
    return _RULES_134._replace(knows_distinct=False, refuses_capacity=False)


class DynamicResourcesArgsUntil134(Model):
    """The arguments, without `bindingTimeout` (`apis/config/types_pluginargs.go`)."""

    filter_timeout: str | None = None


class DynamicResourcesUntil134(DynamicResources):
    """The plugin with the allocators of 1.34, and without a binding timeout."""

    rules: ClassVar[ClaimRules] = ClaimRules(NOT_OWNER, timeout_is_error=False, allocator=_rules_of_134)

    def __init__(self, args: DynamicResourcesArgsUntil134 | None = None, *, gates: Gates = BASE_GATES) -> None:
        super().__init__(DynamicResourcesArgs(filter_timeout=args.filter_timeout if args else None), gates=gates)


_V34 = _V35.neighbour(
    34,
    replaced=[
        # The alternative that a node gives does not affect scores yet (`dynamicresources.go` has no Score).
        replace(
            _CLAIMS,
            factory=DynamicResourcesUntil134,
            args=DynamicResourcesArgsUntil134,
            points=tuple(point for point in _CLAIMS.points if point is not Point.SCORE),
            weight=1,
        )
    ],
    removed=["NodeDeclaredFeatures", "GangScheduling"],
)


# --- 1.33: differences from 1.34 ---------------------------------------------------------------------


class DynamicResourcesUntil133(DynamicResourcesUntil134):
    """More resources of a node do not queue pods that wait for devices."""

    events: ClassVar[tuple[ActionType, ActionType]] = (NODE_UNTIL_133, CLAIM)


_V33 = _V34.neighbour(
    33,
    replaced=[
        # Its arguments have no type yet (`apis/config/register.go`): they are ignored.
        replace(_V34.entry("DynamicResources"), factory=DynamicResourcesUntil133, args=None),
        replace(_V34.entry("TaintToleration"), factory=TaintTolerationByName),
        replace(_V34.entry("NodeResourcesFit"), factory=NodeResourcesFitUntil133),
        replace(_V34.entry("InterPodAffinity"), factory=InterPodAffinityUntil133),
        replace(_V34.entry("VolumeRestrictions"), factory=VolumeRestrictionsUntil133),
    ],
)


RELEASES: Mapping[int, Release] = {release.minor: release for release in (_V33, _V34, _V35)}
