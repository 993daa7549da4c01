"""The API kinds that kwhatif knows: type, group, plural, and whether they are namespaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef
from kwhatif.kube.model.meta import ApiObject
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, Workload
from kwhatif.kube.model.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota, RuntimeClass
from kwhatif.kube.model.resource import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from kwhatif.kube.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kwhatif.kube.model.workload import (
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


class Resource(NamedTuple):
    """One kind, as the API serves it; in version v1 of its group, with few exceptions."""

    type: type[ApiObject]
    #: API group; "" is the core group.
    group: str
    #: The name in URLs and in roles.
    plural: str
    namespaced: bool
    version: str = "v1"

    @property
    def kind(self) -> str:
        """The name of the kind."""
        return self.type.__name__

    @property
    def api_version(self) -> str:
        """Group and version, as in `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The URL path of the objects in all namespaces."""
        return f"/{'apis' if self.group else 'api'}/{self.api_version}/{self.plural}"


_OF_CLUSTER: Mapping[str, Mapping[type[ApiObject], str]] = {
    "": {Node: "nodes", Namespace: "namespaces", PersistentVolume: "persistentvolumes"},
    "scheduling.k8s.io": {PriorityClass: "priorityclasses"},
    "node.k8s.io": {RuntimeClass: "runtimeclasses"},
    "storage.k8s.io": {
        StorageClass: "storageclasses",
        CSINode: "csinodes",
        CSIDriver: "csidrivers",
        VolumeAttachment: "volumeattachments",
    },
    "resource.k8s.io": {
        DeviceClass: "deviceclasses",
        ResourceSlice: "resourceslices",
        DeviceTaintRule: "devicetaintrules",
    },
}
_NAMESPACED: Mapping[str, Mapping[type[ApiObject], str]] = {
    "": {
        Pod: "pods",
        Service: "services",
        ReplicationController: "replicationcontrollers",
        PersistentVolumeClaim: "persistentvolumeclaims",
        LimitRange: "limitranges",
        ResourceQuota: "resourcequotas",
    },
    "apps": {
        ReplicaSet: "replicasets",
        StatefulSet: "statefulsets",
        Deployment: "deployments",
        DaemonSet: "daemonsets",
    },
    "batch": {Job: "jobs", CronJob: "cronjobs"},
    "policy": {PodDisruptionBudget: "poddisruptionbudgets"},
    "storage.k8s.io": {CSIStorageCapacity: "csistoragecapacities"},
    "resource.k8s.io": {ResourceClaim: "resourceclaims", ResourceClaimTemplate: "resourceclaimtemplates"},
    "scheduling.k8s.io": {PodGroup: "podgroups", Workload: "workloads"},
}
#: The API versions of kinds that do not have a version v1 yet.
_VERSIONS: Mapping[type[ApiObject], str] = {PodGroup: "v1beta1", Workload: "v1beta1"}


def _resources() -> list[Resource]:
    return [
        Resource(type_, group, plural, namespaced, _VERSIONS.get(type_, "v1"))
        for table, namespaced in ((_OF_CLUSTER, False), (_NAMESPACED, True))
        for group, kinds in table.items()
        for type_, plural in kinds.items()
    ]


#: Resources by type.
RESOURCES: Mapping[type, Resource] = {resource.type: resource for resource in _resources()}

#: Resources by the name of the kind.
BY_KIND: Mapping[str, Resource] = {resource.kind: resource for resource in RESOURCES.values()}


def find(ref: ObjectRef, cluster: Cluster) -> KubernetesObject | None:
    """The referenced object; None: it does not exist, or its kind is unknown."""
    resource = BY_KIND.get(ref.kind)
    return None if resource is None else cluster.get(resource.type, ref.key)


T = TypeVar("T", bound=KubernetesObject)


def in_namespace(kind: type[T], namespace: str, cluster: Cluster) -> Sequence[T]:
    """The objects of that kind in the namespace, in the cluster's order."""
    found: Sequence[T] = cluster.derived(_by_namespace(kind), kind).get(namespace, ())
    return found


@cache
def _by_namespace(kind: type[Any]) -> Callable[[Cluster], Mapping[str, Sequence[Any]]]:
    def build(cluster: Cluster) -> Mapping[str, Sequence[Any]]:
        found: dict[str, list[Any]] = {}
        for obj in cluster.all(kind).values():
            found.setdefault(obj.metadata.namespace, []).append(obj)
        return found

    return build


#: Short names of kubectl -> kinds.
SHORT_NAMES = {
    "cj": "CronJob",
    "deploy": "Deployment",
    "ds": "DaemonSet",
    "no": "Node",
    "ns": "Namespace",
    "pc": "PriorityClass",
    "pdb": "PodDisruptionBudget",
    "po": "Pod",
    "pv": "PersistentVolume",
    "pvc": "PersistentVolumeClaim",
    "quota": "ResourceQuota",
    "rc": "ReplicationController",
    "rs": "ReplicaSet",
    "sc": "StorageClass",
    "sts": "StatefulSet",
    "svc": "Service",
}


#: Custom kinds whose objects are represented by a built-in kind; they can also be found by their own kind.
_PLAYED_AS: Mapping[type[ApiObject], str] = {
    Deployment: "rollout rollouts rollout.argoproj.io cloneset clonesets cloneset.apps.kruise.io",
    StatefulSet: "cluster clusters cluster.postgresql.cnpg.io statefulset.apps.kruise.io",
}


def _by_word() -> Mapping[str, Resource]:
    found: dict[str, Resource] = {}
    for resource in RESOURCES.values():
        for word in (resource.kind.lower(), resource.plural):
            found[word] = resource
            if resource.group:
                found[f"{word}.{resource.group}"] = found[f"{word}.{resource.version}.{resource.group}"] = resource
    short = {short: found[kind.lower()] for short, kind in SHORT_NAMES.items()}
    return found | short | {word: RESOURCES[type_] for type_, words in _PLAYED_AS.items() for word in words.split()}


#: Resources by all their names in kubectl, in lower case: singular, plural, short, and with the group appended.
BY_WORD: Mapping[str, Resource] = _by_word()
