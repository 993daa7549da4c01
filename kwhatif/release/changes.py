"""What changed from release to release, in words: the rules by which two schedulers decide otherwise.

`Release` makes the decisions; this table only names its differences for `kwhatif upgrade`. What changes texts alone is
not in it. Where a gate stands in a row, that it is on by default is what changed (`pkg/features/kube_features.go`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class RuleChange(NamedTuple):
    """A rule of a plugin that kube-scheduler 1.`since` was the first to follow by default."""

    since: int
    plugin: str
    text: str
    gate: str = ""

    @property
    def name(self) -> str:
        """Short: the gate, or the plugin, with the release."""
        return f"{self.gate or self.plugin} (1.{self.since})"


_DRA = "DynamicResources"
#: The newest first.
CHANGES = (
    RuleChange(37, "VolumeBinding", "nodes are scored by the free capacity of their storage", "StorageCapacityScoring"),
    RuleChange(37, "NodeVolumeLimits", "a node without the CSI driver can turn the pod away", "VolumeLimitScaling"),
    RuleChange(37, _DRA, "DeviceTaintRules taint devices", "DRADeviceTaintRules"),
    RuleChange(
        36,
        "NodeResourcesBalancedAllocation",
        "nodes are scored by how much more evenly they are used with the pod, no longer by how evenly",
    ),
    RuleChange(36, "ImageLocality", "images of image volumes count, too"),
    RuleChange(36, "NodeDeclaredFeatures", "nodes without features that a pod needs are out", "NodeDeclaredFeatures"),
    RuleChange(36, _DRA, "devices serve extended resources", "DRAExtendedResource"),
    RuleChange(36, "NodeResourcesFit", "devices serve extended resources", "DRAExtendedResource"),
    RuleChange(36, _DRA, "tainted devices are left out", "DRADeviceTaints"),
    RuleChange(36, _DRA, "devices share counters of their pool", "DRAPartitionableDevices"),
    RuleChange(36, _DRA, "a device's capacity is shared among requests", "DRAConsumableCapacity"),
    RuleChange(36, _DRA, "binding waits for conditions of devices", "DRADeviceBindingConditions"),
    RuleChange(
        36,
        "NodeResourcesFit",
        "resources of a whole pod can be resized in place",
        "InPlacePodLevelResourcesVerticalScaling",
    ),
    RuleChange(35, _DRA, "nodes are scored by which alternative of firstAvailable they offer"),
    RuleChange(34, _DRA, "ResourceClaims count", "DynamicResourceAllocation"),
    RuleChange(34, _DRA, "requests can list alternatives", "DRAPrioritizedList"),
    RuleChange(34, "NodeResourcesFit", "resources of a whole pod count", "PodLevelResources"),
    RuleChange(34, "NodeResourcesBalancedAllocation", "resources of a whole pod count", "PodLevelResources"),
    RuleChange(34, "NodeResourcesFit", "eviction is not tried on a node that could never hold the pod"),
)


def changes_between(before: str, after: str) -> Iterator[RuleChange]:
    """The changes that lie between two releases, such as "1.34" and "1.36", in whichever direction."""
    low, high = sorted(int(version.split(".")[1]) for version in (before, after))
    return (change for change in CHANGES if low < change.since <= high)
