"""Changes between releases, in short: rules, and feature gates that became enabled by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from kwhatif.kube.gates import default_gates
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import EmptyDirVolume, SomeVolume, Volume

#: Whether a change can affect a pod that fits on some node.
Concerns = Callable[[Pod], bool]


def _every(_pod: Pod) -> bool:
    return True


def _none(_pod: Pod) -> bool:
    """The change affects only rejections and their consequences, never a pod that fits on some node."""
    return False


def _with_devices(pod: Pod) -> bool:
    """The change affects pods with claims, or with resources that may have a DeviceClass."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return bool(pod.spec.resource_claims) or any("/" in name for each in containers for name in each.resources.requests)


#: Volumes without scheduling rules: local ones, and those with the content of other objects.
_ON_NODE = (Volume(), Volume(empty_dir=EmptyDirVolume()), Volume(host_path=SomeVolume()))


def _with_volumes(pod: Pod) -> bool:
    return any(replace(volume, name="") not in _ON_NODE for volume in pod.spec.volumes)


def _with_resources(pod: Pod) -> bool:
    """The change affects pods with pod-level resources."""
    return pod.spec.resources is not None


def _with_affinity(pod: Pod) -> bool:
    return pod.spec.affinity is not None


class ReleaseChange(msgspec.Struct, frozen=True):
    """One rule or feature gate that differs between two releases."""

    #: The first minor version that has it.
    since: int
    #: The plugin of the rule; "" for a gate.
    plugin: str
    #: A description, or the name of the gate.
    what: str
    #: Upstream's file, below `pkg/scheduler/framework/plugins`.
    file: str = ""
    #: Which of the pods that fit on some node it can affect.
    concerns: Concerns = _every
    #: Whether it affects only the resources of pods during a resize.
    of_resizes: bool = False


_DEVICES = "dynamicresources/dynamicresources.go"
_PREEMPTION = "defaultpreemption/default_preemption.go"
_IMAGES = "imagelocality/image_locality.go"
_AFFINITY = "interpodaffinity/plugin.go"
_FIT = "noderesources/fit.go"
_BALANCE = "noderesources/balanced_allocation.go"

_RULES = (
    ReleaseChange(37, "NodeName", "leaves all other nodes out before any filter", "nodename/node_name.go", _none),
    ReleaseChange(37, "ImageLocality", "image volumes count as images", _IMAGES, _with_volumes),
    ReleaseChange(37, "DynamicResources", "takes back what it counted for refused devices", _DEVICES, _with_devices),
    ReleaseChange(37, "DefaultPreemption", "says where eviction makes room", _PREEMPTION, _none),
    ReleaseChange(37, "DefaultPreemption", "order of victims that have not started", _PREEMPTION, _none),
    ReleaseChange(37, "InterPodAffinity", "a namespaceSelector decides alone", _AFFINITY, _with_affinity),
    ReleaseChange(37, "NodeResourcesFit", "pods that are resized count another way", _FIT, of_resizes=True),
    ReleaseChange(36, "NodeResourcesBalancedAllocation", "scores the improvement, not the balance", _BALANCE),
    ReleaseChange(36, "ImageLocality", "image volumes score", _IMAGES, _with_volumes),
    ReleaseChange(36, "DynamicResources", "a search that takes too long is an error", _DEVICES, _with_devices),
    ReleaseChange(35, "DynamicResources", "the alternative of a request scores", _DEVICES, _with_devices),
    ReleaseChange(35, "DynamicResources", "takes no device from a pool that is not complete", _DEVICES, _with_devices),
    ReleaseChange(34, "TaintToleration", "does not name the taint", "tainttoleration/taint_toleration.go", _none),
    ReleaseChange(34, "NodeResourcesFit", "no eviction where the pod is too large for the node", _FIT, _none),
    ReleaseChange(34, "InterPodAffinity", "a namespaceSelector may take in all namespaces", _AFFINITY, _with_affinity),
    ReleaseChange(34, "VolumeRestrictions", "other words", "volumerestrictions/volume_restrictions.go", _none),
)
#: Gate -> the pods that it affects; by default those with devices for gates that start with DRA, otherwise all.
_GATES: dict[str, Concerns] = {
    "DynamicResourceAllocation": _with_devices,
    "MaxUnavailableStatefulSet": _none,
    "PodLevelResources": _with_resources,
    "PodLevelResourcesFixDefaulting": _with_resources,
    "StorageCapacityScoring": _with_volumes,
    "VolumeAttributesClass": _with_volumes,
    "VolumeLimitScaling": _with_volumes,
}
_OF_RESIZES = "InPlacePodLevelResourcesVerticalScaling"


def changes(before: int, after: int) -> Iterator[ReleaseChange]:
    """The changes between two minor versions, the newest first; `before` may be the newer version."""
    low, high = sorted((before, after))
    yield from (rule for rule in _RULES if low < rule.since <= high)
    for since in range(high, low, -1):
        for gate in sorted(default_gates(since) - default_gates(since - 1)):
            concerns = _GATES.get(gate, _with_devices if gate.startswith("DRA") else _every)
            yield ReleaseChange(since, "", gate, concerns=concerns, of_resizes=gate == _OF_RESIZES)
