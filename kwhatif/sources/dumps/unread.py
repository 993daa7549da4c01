"""Kinds that could not be read: a caveat per subject, not per kind.

A user who may list only nodes and pods has two dozen unread kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import (
    NoAdmission,
    NoAutoscalers,
    NoBudgets,
    NoDevices,
    NoEvents,
    NoGroups,
    NoLimits,
    NoNamespaces,
    NoPriorityClasses,
    NoServices,
    NoStorage,
    NoWorkloads,
)

#: Why a kind is unread (`Cluster.unread`): the user may not list it.
FORBIDDEN = "no permission to list"
#: Or the server could not: an API whose conversion webhook is down, say.
FAILED = "the server failed to list"
#: Or there are more than are read.
CUT = "there are too many to read all"

#: Kinds that change which nodes an autoscaler adds or removes, of Karpenter and of the Cluster Autoscaler: none is
#: modelled.
AUTOSCALING = ("NodeOverlay", "CapacityBuffer", "CapacityQuota", "ProvisioningRequest")

#: The caveat about a subject -> the kinds that are read for it.
_SUBJECTS: Mapping[Callable[..., Caveat], tuple[str, ...]] = {
    NoBudgets: ("PodDisruptionBudget",),
    NoPriorityClasses: ("PriorityClass",),
    NoNamespaces: ("Namespace",),
    NoServices: ("Service", "ReplicationController", "ReplicaSet", "StatefulSet"),
    NoWorkloads: ("Deployment", "DaemonSet", "Job", "CronJob"),
    NoLimits: ("LimitRange", "ResourceQuota", "RuntimeClass"),
    NoStorage: (
        "PersistentVolumeClaim",
        "PersistentVolume",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "VolumeAttachment",
    ),
    NoDevices: ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice", "DeviceTaintRule"),
    NoAdmission: (
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ServiceAccount",
    ),
    NoAutoscalers: ("HorizontalPodAutoscaler", "NodePool", "NodeClaim", *AUTOSCALING),
    NoEvents: ("Event",),
    NoGroups: ("Workload", "PodGroup", "CompositePodGroup"),
}


def unread_caveats(unread: Mapping[str, str]) -> Iterator[Caveat]:
    """What to say about `Cluster.unread`."""
    for lacking, kinds in _SUBJECTS.items():
        reasons: dict[str, list[str]] = {}
        for kind in kinds:
            if kind in unread:
                reasons.setdefault(unread[kind], []).append(kind)
        for reason, missing in reasons.items():
            yield lacking(kinds=tuple(missing), reason=reason)
