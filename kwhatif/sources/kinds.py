"""The kinds that kwhatif reads: type, API group and versions of each.

A kind is only itself in its own group: `serving.knative.dev/v1 Service` is no `v1 Service`. Versions are accepted where
the fields that scheduling reads have the same shape and meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.model.meta import Model
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
from kwhatif.model.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota, RuntimeClass
from kwhatif.model.resource import DeviceClass, ResourceClaim, ResourceClaimTemplate
from kwhatif.model.resource_slice import ResourceSlice
from kwhatif.model.saved import SAVED_API_VERSION, SavedSnapshot
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
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    Namespace,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)


class Kind(NamedTuple):
    """A kind that is read, and the `apiVersion`s of it that are."""

    type: type[Model]
    api_versions: frozenset[str]
    namespaced: bool
    #: Other versions, of the same shape but of another meaning -> what makes the current one of it.
    conversions: Mapping[str, Callable[[Any], Any]]

    def reads(self, api_version: str) -> bool:
        """Whether objects of that version are read."""
        return api_version in self.api_versions or api_version in self.conversions

    @property
    def group(self) -> str:
        """The API group; "" is the core group."""
        return group_of(min(self.api_versions))


def group_of(api_version: str) -> str:
    """The group of an `apiVersion`."""
    return api_version.rpartition("/")[0]


def _convert_budget(budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """An empty selector of v1beta1 selects nothing, one of v1 everything (`pkg/apis/policy/v1beta1/conversion.go`)."""
    selector = budget.spec.selector
    if selector is None or selector.match_labels or selector.match_expressions:
        return budget
    return replace(budget, spec=replace(budget.spec, selector=None))


_CONVERSIONS: Mapping[type[Model], Mapping[str, Callable[[Any], Any]]] = {
    PodDisruptionBudget: {"policy/v1beta1": _convert_budget}
}


def _table(types: Mapping[type[Model], tuple[str, ...]], *, namespaced: bool) -> dict[str, Kind]:
    return {
        type_.__name__: Kind(type_, frozenset(versions), namespaced, _CONVERSIONS.get(type_, {}))
        for type_, versions in types.items()
    }


#: v1 is v1beta2 word for word; v1beta1 is laid out otherwise.
_DEVICES = ("resource.k8s.io/v1", "resource.k8s.io/v1beta2")
_STORAGE = ("storage.k8s.io/v1", "storage.k8s.io/v1beta1")

_NAMESPACED = _table(
    {
        CSIStorageCapacity: _STORAGE,
        CronJob: ("batch/v1", "batch/v1beta1"),
        DaemonSet: ("apps/v1",),
        Deployment: ("apps/v1",),
        Job: ("batch/v1",),
        LimitRange: ("v1",),
        PersistentVolumeClaim: ("v1",),
        Pod: ("v1",),
        PodDisruptionBudget: ("policy/v1",),
        ReplicaSet: ("apps/v1",),
        ReplicationController: ("v1",),
        ResourceClaim: _DEVICES,
        ResourceClaimTemplate: _DEVICES,
        ResourceQuota: ("v1",),
        Service: ("v1",),
        StatefulSet: ("apps/v1",),
    },
    namespaced=True,
)
_OF_CLUSTER = _table(
    {
        CSIDriver: _STORAGE,
        CSINode: _STORAGE,
        DeviceClass: _DEVICES,
        Namespace: ("v1",),
        Node: ("v1",),
        PersistentVolume: ("v1",),
        PriorityClass: ("scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1"),
        ResourceSlice: _DEVICES,
        RuntimeClass: ("node.k8s.io/v1", "node.k8s.io/v1beta1"),
        SavedSnapshot: (SAVED_API_VERSION,),
        StorageClass: _STORAGE,
        VolumeAttachment: _STORAGE,
    },
    namespaced=False,
)

#: By name.
KINDS = _NAMESPACED | _OF_CLUSTER

#: All types as one union, told apart by their `kind`.
AnyObject: Any = reduce(or_, (kind.type for kind in KINDS.values()))

#: Kinds of which pods are made.
POD_KINDS: tuple[type[Model], ...] = (
    Pod,
    Deployment,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
)
