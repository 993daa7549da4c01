"""What the containers of a pod request, and are limited to, together: in the words of the API server's messages."""

from __future__ import annotations

from typing import cast

from kwhatif.matching.requests import Nanos, aggregate
from kwhatif.model.amount import Amount, amounts
from kwhatif.model.container import ResourceList
from kwhatif.model.pod import PodSpec

Amounts = dict[str, Amount]


def requested(spec: PodSpec) -> Amounts:
    """`AggregateContainerRequests`, without resources of the pod as a whole and without overhead."""
    return cast("Amounts", aggregate(spec, lambda container: _fresh(container.resources.requests)))


def limited(spec: PodSpec) -> Amounts:
    """`AggregateContainerLimits`, likewise."""
    return cast("Amounts", aggregate(spec, lambda container: _fresh(container.resources.limits)))


def _fresh(resources: ResourceList) -> Nanos:
    return cast("Nanos", amounts(resources))
