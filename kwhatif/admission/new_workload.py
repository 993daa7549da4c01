"""Whether the API server takes a workload, new or changed: its pods are admitted later, one by one."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.admission.defaults import default_object
from kwhatif.admission.denied import Denied
from kwhatif.admission.namespaces import check_namespace
from kwhatif.admission.validation.workload import Workload, validate_workload
from kwhatif.admission.validation.workload_update import validate_workload_update
from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.meta import Model
from kwhatif.model.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

#: Kind and group, as refusals name them.
_QUALIFIED: Mapping[type[Model], str] = {
    CronJob: "CronJob.batch",
    DaemonSet: "DaemonSet.apps",
    Deployment: "Deployment.apps",
    Job: "Job.batch",
    ReplicaSet: "ReplicaSet.apps",
    ReplicationController: "ReplicationController",
    StatefulSet: "StatefulSet.apps",
}


def check_workload(workload: Workload, cluster: Cluster) -> Denied | None:
    """The refusal of a workload that the cluster may have already; None when it is taken."""
    workload = default_object(workload)
    qualified = _QUALIFIED[type(workload)]
    known = cluster.get(type(workload), key_of(workload))
    if known is not None:
        return validate_workload_update(workload, known, qualified)
    return check_namespace(workload, cluster) or validate_workload(workload, qualified)
