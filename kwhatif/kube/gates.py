"""Feature gates: those that a rule of kwhatif asks about, and since when each is on by default.

The defaults stand in `pkg/features/kube_features.go`; `schema/feature-gates.json` has all gates of all releases.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

#: Names of the feature gates that are on.
Gates = AbstractSet[str]

#: The release that plugins follow if none is given: the one that the code was written from.
BASE = 36
#: Gate -> the first minor version in which it is on by default; 33 for gates that are older than 1.33.
_ON_SINCE = {
    "DRAAdminAccess": 34,
    "DRAConsumableCapacity": 36,
    "DRADeviceBindingConditions": 36,
    "DRADeviceTaintRules": 37,
    "DRADeviceTaints": 36,
    "DRAExtendedResource": 36,
    "DRAPartitionableDevices": 36,
    "DRAPrioritizedList": 34,
    "DRAResourceClaimDeviceStatus": 33,
    "DRASchedulerFilterTimeout": 34,
    "DynamicResourceAllocation": 34,
    "HPAScaleToZero": 37,
    "InPlacePodLevelResourcesVerticalScaling": 36,
    "InPlacePodVerticalScaling": 33,
    "InPlacePodVerticalScalingInitContainers": 36,
    "MaxUnavailableStatefulSet": 37,
    "NodeDeclaredFeatures": 36,
    "PodLevelResources": 34,
    "PodLevelResourcesFixDefaulting": 37,
    "StorageCapacityScoring": 37,
    "VolumeAttributesClass": 34,
    "VolumeLimitScaling": 37,
}

#: Groups of pods (since 1.37 as modelled here: before that the API is another one). Without the first gate the API
#: server drops what makes a pod one of a group.
GROUPS_GATE = "GenericWorkload"
TOPOLOGY_GATE = "TopologyAwareWorkloadScheduling"
GROUP_POLICY_GATE = "PodGroupPreemptionPolicy"
#: Not modelled. While they are off, the API server drops the fields; while they are on, a caveat names the objects.
GROUP_CLAIMS_GATE = "DRAWorkloadResourceClaims"
COMPOSITE_GROUPS_GATE = "CompositePodGroup"
#: Gate -> the first minor version of which a rule asks about it, of those that are off by default in all.
_OFF_SINCE = dict.fromkeys((GROUPS_GATE, TOPOLOGY_GATE, GROUP_POLICY_GATE), 37)


def known_gates(minor: int) -> frozenset[str]:
    """The gates that some rule of Kubernetes 1.`minor` asks about."""
    return frozenset(_ON_SINCE).union(gate for gate, since in _OFF_SINCE.items() if since <= minor)


def default_gates(minor: int) -> frozenset[str]:
    """The gates that are on by default in Kubernetes 1.`minor`."""
    return frozenset(gate for gate, since in _ON_SINCE.items() if since <= minor)


BASE_GATES = default_gates(BASE)


class ResizeRules(NamedTuple):
    """Which parts of a pod's status count, besides its spec, while it is resized in place (`PodResourcesOptions`)."""

    #: What its containers have been granted (gate `InPlacePodVerticalScaling`).
    containers: bool = True
    #: What the pod as a whole has been granted (gate `InPlacePodLevelResourcesVerticalScaling`).
    pod: bool = True
    #: Since 1.37: the largest of three sums over all containers; before, the sum of the largest values of each.
    sums_first: bool = False


BASE_RESIZES = ResizeRules()
#: The spec alone counts.
SPEC_ALONE = ResizeRules(containers=False, pod=False)


def resize_rules(gates: Gates, *, sums_first: bool = False) -> ResizeRules:
    """The rules under these gates."""
    containers = "InPlacePodVerticalScaling" in gates
    pod = containers and "InPlacePodLevelResourcesVerticalScaling" in gates
    return ResizeRules(containers=containers, pod=pod, sums_first=sums_first)
