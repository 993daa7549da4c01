"""Kubernetes 1.34: differences from 1.35."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from kwhatif.dra.requests import AllocatorRules
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.model.meta import Model
from kwhatif.scheduler.framework.profile import Point
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources, DynamicResourcesArgs
from kwhatif.scheduler.plugins.dynamic_resources.claims import ClaimRules
from kwhatif.scheduler.release.release import find_release
from kwhatif.scheduler.release.v1_35 import NOT_OWNER

_NEXT = find_release(35)
_CLAIMS = _NEXT.entry("DynamicResources")


_EXPERIMENTAL = AllocatorRules(
    reports_invalid_pools=False,
    leaves_counters_out=False,
    pools_by_node=True,
    counters_everywhere=False,
    counters_by_slice=True,
    names_alternative=False,
    distinct_by_device=True,
    forgets_alternative=True,
)


def _allocator_rules(gates: Gates) -> AllocatorRules:
    """`DRAResourceClaimDeviceStatus`, enabled by default, selects "experimental" (`AllocatorFeatures`)."""
    if gates & {"DRAConsumableCapacity", "DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"}:
        return _EXPERIMENTAL
    return _EXPERIMENTAL._replace(knows_distinct=False, refuses_capacity=False)


class DynamicResourcesArgsUntil134(Model):
    """The arguments, without `bindingTimeout` (`apis/config/types_pluginargs.go`)."""

    filter_timeout: str | None = None


class DynamicResourcesUntil134(DynamicResources):
    """The plugin with the allocators of 1.34, and without a binding timeout."""

    rules: ClassVar[ClaimRules] = ClaimRules(NOT_OWNER, timeout_is_error=False, allocator=_allocator_rules)

    def __init__(self, args: DynamicResourcesArgsUntil134 | None = None, *, gates: Gates = BASE_GATES) -> None:
        super().__init__(DynamicResourcesArgs(filter_timeout=args.filter_timeout if args else None), gates=gates)


RELEASE = _NEXT.neighbour(
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
