"""NamespaceLifecycle: nothing is created in a namespace that does not exist or is being deleted.

(`apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go`.)
"""

from __future__ import annotations

from kwhatif.admission.outcome import Denied, forbidden
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.workload import Namespace

#: Namespaces that the API server creates itself.
ALWAYS_THERE = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})


def check_namespace(obj: KubernetesObject, cluster: Cluster) -> Denied | None:
    """The rejection of an object whose namespace is missing or terminating.

    A cluster without any Namespace is a dump of other kinds: then nothing is known, and nothing is rejected.
    """
    name = obj.metadata.namespace
    namespace = cluster.get(Namespace, name)
    if namespace is None:
        if name in ALWAYS_THERE or not cluster.all(Namespace):
            return None
        return Denied(f'namespaces "{name}" not found')
    if namespace.metadata.deletion_timestamp is None:
        return None
    return forbidden(obj, f"unable to create new content in namespace {name} because it is being terminated")
