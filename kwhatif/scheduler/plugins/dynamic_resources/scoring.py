"""DynamicResources' Score: prefers nodes with higher-ranked alternatives (`computeScore`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.kube.model.resource import AllocationResult, ResourceClaim
from kwhatif.scheduler.framework.incremental import NormalizesByRange
from kwhatif.scheduler.framework.plugin import NodeScorer, Reads
from kwhatif.scheduler.framework.scoring import default_normalize
from kwhatif.scheduler.plugins.dynamic_resources.filtering import ClaimFilter
from kwhatif.state.node_info import NodeInfo

#: The most alternatives of a request (`FirstAvailableDeviceRequestMaxSize`).
_MAX_ALTERNATIVES = 8


def prefers(claims: Sequence[ResourceClaim]) -> bool:
    """Whether any request has alternatives."""
    return any(request.first_available for claim in claims for request in claim.spec.devices.requests)


class Preference(NormalizesByRange, NodeScorer):
    """8 points for each request that gets its first alternative, 7 for the second, and so on."""

    reads = Reads.NODE

    def __init__(self, claims: ClaimFilter) -> None:
        self._claims = claims

    def score(self, node: NodeInfo) -> int:
        """The sum over all claims, including those that were already allocated."""
        new = self._claims.allocations(node)
        if new is None:
            return 0
        pending = iter(new)
        return sum(_points(claim, claim.status.allocation or next(pending)) for claim in self._claims.claims)

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        """100 for the best node."""
        return default_normalize(scores)


def _points(claim: ResourceClaim, allocation: AllocationResult) -> int:
    given = {result.request for result in allocation.devices.results}
    return sum(
        _MAX_ALTERNATIVES - place
        for request in claim.spec.devices.requests
        for place, alternative in enumerate(request.first_available)
        if f"{request.name}/{alternative.name}" in given
    )
