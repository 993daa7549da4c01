"""Feature gates: those that a rule of kwhatif asks about, and since when each is on by default.

The defaults stand in `pkg/features/kube_features.go`; `schema/feature-gates.json` has all gates of all releases.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

#: Names of the feature gates that are on.
Gates = AbstractSet[str]

#: The release that plugins follow which are made without a release: the one that the code was written from.
BASE = 36
#: Gate -> the first minor version in which it is on by default; of those that are older than 1.33 that is 33.
_ON_SINCE = {
    "DRAAdminAccess": 34,
    "DRAConsumableCapacity": 36,
    "DRADeviceBindingConditions": 36,
    "DRADeviceTaints": 36,
    "DRAExtendedResource": 36,
    "DRAPartitionableDevices": 36,
    "DRAPrioritizedList": 34,
    "DRAResourceClaimDeviceStatus": 33,
    "DRASchedulerFilterTimeout": 34,
    "DynamicResourceAllocation": 34,
    "NodeDeclaredFeatures": 36,
    "PodLevelResources": 34,
    "StorageCapacityScoring": 37,
    "VolumeLimitScaling": 37,
}

#: The gates that some rule asks about.
KNOWN = frozenset(_ON_SINCE)


def default_gates(minor: int) -> frozenset[str]:
    """The gates that are on in Kubernetes 1.`minor` unless somebody says otherwise."""
    return frozenset(gate for gate, since in _ON_SINCE.items() if since <= minor)


BASE_GATES = default_gates(BASE)
