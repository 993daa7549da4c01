"""`Denied`: the API server's refusal of a new object, as a value with its exact words."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kwhatif.model.cluster import KubernetesObject
from kwhatif.model.pod import Pod
from kwhatif.model.storage import PersistentVolumeClaim
from kwhatif.model.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)


class Denied(msgspec.Struct, frozen=True):
    """The object would not be created; `message` is what the API server answers."""

    message: str


_RESOURCES: Mapping[type[KubernetesObject], str] = {
    CronJob: "cronjobs.batch",
    DaemonSet: "daemonsets.apps",
    Deployment: "deployments.apps",
    Job: "jobs.batch",
    PersistentVolumeClaim: "persistentvolumeclaims",
    Pod: "pods",
    ReplicaSet: "replicasets.apps",
    ReplicationController: "replicationcontrollers",
    StatefulSet: "statefulsets.apps",
}


def forbidden(obj: KubernetesObject, reason: str) -> Denied:
    """An admission plugin's refusal (`admission.NewForbidden`)."""
    resource = _RESOURCES[type(obj)]
    name = obj.metadata.name or obj.metadata.generate_name or "Unknown"
    return Denied(f'{resource} "{name}" is forbidden: {reason}')
