"""Kubernetes 1.35, as it differs from 1.36."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from kwhatif.plugins.dynamic_resources import DynamicResources
from kwhatif.plugins.dynamic_resources.claims import Words
from kwhatif.plugins.image_locality import ImageLocalityOfContainers
from kwhatif.plugins.node_declared_features import NodeDeclaredFeaturesByName
from kwhatif.plugins.node_resources_balanced_allocation import BalanceItself
from kwhatif.release.release import find_release

_NEXT = find_release(36)


class DynamicResourcesUntil135(DynamicResources):
    """In the words of 1.35 (`staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go`)."""

    words: ClassVar[Words] = Words(not_owner="was not created for pod {pod} (pod is not owner)", timeout_is_error=False)


RELEASE = _NEXT.neighbour(
    35,
    replaced=[
        replace(_NEXT.entry("NodeResourcesBalancedAllocation"), factory=BalanceItself),
        replace(_NEXT.entry("ImageLocality"), factory=ImageLocalityOfContainers),
        replace(_NEXT.entry("DynamicResources"), factory=DynamicResourcesUntil135),
        replace(_NEXT.entry("NodeDeclaredFeatures"), factory=NodeDeclaredFeaturesByName),
    ],
    removed=["TopologyPlacementGenerator", "PodGroupPodsCount"],
)
