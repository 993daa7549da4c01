"""What a cluster is asked for: the API's lists of the kinds that scheduling reads.

CronJobs are missing on purpose: no rule asks what CronJobs a cluster has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kwhatif.model.meta import Model
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
from kwhatif.model.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota, RuntimeClass
from kwhatif.model.resource import DeviceClass, ResourceClaim, ResourceClaimTemplate
from kwhatif.model.resource_slice import ResourceSlice
from kwhatif.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kwhatif.model.workload import (
    DaemonSet,
    Deployment,
    Job,
    Namespace,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)


class Resource(NamedTuple):
    """One list of the API."""

    type: type[Model]
    #: API group; "" is the core group.
    group: str
    #: The name in URLs and in roles.
    plural: str

    @property
    def kind(self) -> str:
        """The kind of its objects."""
        return self.type.__name__

    @property
    def api_version(self) -> str:
        """Group and version, as objects write them."""
        return f"{self.group}/v1" if self.group else "v1"

    @property
    def path(self) -> str:
        """Where the API serves the objects of all namespaces."""
        return f"/apis/{self.group}/v1/{self.plural}" if self.group else f"/api/v1/{self.plural}"


_BY_GROUP: Mapping[str, Mapping[type[Model], str]] = {
    "": {
        Node: "nodes",
        Pod: "pods",
        Namespace: "namespaces",
        Service: "services",
        ReplicationController: "replicationcontrollers",
        PersistentVolumeClaim: "persistentvolumeclaims",
        PersistentVolume: "persistentvolumes",
        LimitRange: "limitranges",
        ResourceQuota: "resourcequotas",
    },
    "apps": {
        ReplicaSet: "replicasets",
        StatefulSet: "statefulsets",
        Deployment: "deployments",
        DaemonSet: "daemonsets",
    },
    "batch": {Job: "jobs"},
    "policy": {PodDisruptionBudget: "poddisruptionbudgets"},
    "scheduling.k8s.io": {PriorityClass: "priorityclasses"},
    "node.k8s.io": {RuntimeClass: "runtimeclasses"},
    "storage.k8s.io": {
        StorageClass: "storageclasses",
        CSINode: "csinodes",
        CSIDriver: "csidrivers",
        CSIStorageCapacity: "csistoragecapacities",
        VolumeAttachment: "volumeattachments",
    },
    "resource.k8s.io": {
        ResourceClaim: "resourceclaims",
        ResourceClaimTemplate: "resourceclaimtemplates",
        DeviceClass: "deviceclasses",
        ResourceSlice: "resourceslices",
    },
}

#: The largest lists come first.
RESOURCES = tuple(
    Resource(type_, group, plural) for group, kinds in _BY_GROUP.items() for type_, plural in kinds.items()
)
BY_KIND = {resource.kind: resource for resource in RESOURCES}
BY_PLURAL = {resource.plural: resource for resource in RESOURCES}

#: Without these there is no answer at all.
ESSENTIAL = frozenset({"Node", "Pod"})

_CORE = "the core group"


def by_group(kinds: Iterable[str]) -> str:
    """The resources of these kinds in words, group by group: `limitranges in the core group, jobs in batch`."""
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        groups.setdefault(BY_KIND[kind].group, []).append(BY_KIND[kind].plural)
    return ", ".join(f"{' and '.join(_pairs(plurals))} in {group or _CORE}" for group, plurals in groups.items())


def _pairs(words: list[str]) -> list[str]:
    return [", ".join(words[:-1]), words[-1]] if len(words) > 1 else words
