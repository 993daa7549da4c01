"""Whether the API server accepts a new or changed workload; its pods are admitted later, one at a time."""

from __future__ import annotations

from kwhatif.admission.defaults import default_object
from kwhatif.admission.left_out import with_template_images
from kwhatif.admission.namespaces import check_namespace
from kwhatif.admission.outcome import Denied
from kwhatif.admission.validation.workload import validate_workload
from kwhatif.admission.validation.workload_update import validate_workload_update
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.workload import Workload


def check_workload(workload: Workload, cluster: Cluster) -> Denied | None:
    """The rejection of a workload, which may already exist; None if it is accepted.

    What stands for a custom resource is not an object that the API server sees.
    """
    if workload.metadata.stands_for is not None:
        return check_namespace(workload, cluster)
    workload = default_object(workload)
    known = cluster.get(type(workload), key_of(workload))
    workload = with_template_images(workload, known)
    if known is not None:
        return validate_workload_update(workload, known)
    return check_namespace(workload, cluster) or validate_workload(workload)
