"""What a cluster refers to and does not hold: the answers that depend on it cannot be trusted.

Nothing of this is said in a report: whoever writes a cluster by hand writes what the question needs. `snapshot info`
says it, of dumps that are meant to be whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kwhatif.matching.volumes import claim_class, claim_names
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import Model, controller_of
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod, is_terminal
from kwhatif.model.policy import PodDisruptionBudget
from kwhatif.model.resource import ResourceClaim
from kwhatif.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.model.workload import Namespace, ReplicaSet, ReplicationController, Service, StatefulSet

_CONTROLLERS: Mapping[str, type[Model]] = {
    "ReplicaSet": ReplicaSet,
    "ReplicationController": ReplicationController,
    "StatefulSet": StatefulSet,
}


class Gap(NamedTuple):
    """Objects that are referred to and missing."""

    kind: str
    #: Key of what is missing -> who first refers to it.
    missing: dict[str, str]
    consequence: str

    def __str__(self) -> str:
        """One sentence, with an example."""
        name, user = next(iter(self.missing.items()))
        count = len(self.missing)
        what = f"{self.kind} {name}" if count == 1 else f"{count} objects of kind {self.kind}, such as {name}"
        return f"missing: {what} (used by {user}): {self.consequence}"


#: What objects of one kind refer to: kind and key of each.
References = Callable[[Any], Iterable[tuple[type[Model], str]]]


def gaps(cluster: Cluster) -> Iterator[str]:
    """Everything that is missing, one sentence each."""
    yield from map(str, _dangling(cluster))
    nodes, budgets, services = (cluster.all(kind) for kind in (Node, PodDisruptionBudget, Service))
    if nodes and not budgets and "PodDisruptionBudget" not in cluster.unread:
        yield "there is no PodDisruptionBudget: if the cluster has some, which evictions violate them is unknown"
    if nodes and not services and "Service" not in cluster.unread:
        yield "there is no Service, not even that of the API server: default spreading does not see services"
    if nodes and cluster.all(PersistentVolume) and not cluster.all(CSINode) and "CSINode" not in cluster.unread:
        yield "there is no CSINode: limits on volumes per node are unknown"


def _dangling(cluster: Cluster) -> Iterator[Gap]:
    for referrer, references, consequence in _RULES:
        missing: dict[type[Model], dict[str, str]] = {}
        for key, obj in cluster.all(referrer).items():  # type: ignore[type-var]
            for kind, wanted in references(obj):
                if wanted not in cluster.all(kind):  # type: ignore[type-var]
                    missing.setdefault(kind, {}).setdefault(wanted, f"{referrer.__name__} {key}")
        for kind, names in missing.items():
            if kind.__name__ not in cluster.unread:
                yield Gap(kind.__name__, names, consequence)


def _node(pod: Pod) -> Iterator[tuple[type[Model], str]]:
    if pod.spec.node_name and not is_terminal(pod):
        yield Node, pod.spec.node_name


def _namespace(pod: Pod) -> Iterator[tuple[type[Model], str]]:
    yield Namespace, pod.metadata.namespace


def _controller(pod: Pod) -> Iterator[tuple[type[Model], str]]:
    owner = controller_of(pod.metadata)
    if owner is not None and owner.kind in _CONTROLLERS:
        yield _CONTROLLERS[owner.kind], f"{pod.metadata.namespace}/{owner.name}"


def _claims(pod: Pod) -> Iterator[tuple[type[Model], str]]:
    if is_terminal(pod):
        return
    for claim in claim_names(pod):
        yield PersistentVolumeClaim, f"{pod.metadata.namespace}/{claim.name}"
    for device in pod.spec.resource_claims:
        if device.resource_claim_name:
            yield ResourceClaim, f"{pod.metadata.namespace}/{device.resource_claim_name}"


def _storage(claim: PersistentVolumeClaim) -> Iterator[tuple[type[Model], str]]:
    if claim.spec.volume_name:
        yield PersistentVolume, claim.spec.volume_name
    elif claim_class(claim):
        yield StorageClass, claim_class(claim)


_RULES: tuple[tuple[type[Model], References, str], ...] = (
    (Pod, _node, "its pods count nowhere"),
    (Pod, _namespace, "namespace selectors see no label of it but its name"),
    (Pod, _controller, "its pods are not spread by default"),
    (Pod, _claims, "pods that use it cannot be judged"),
    (PersistentVolumeClaim, _storage, "pods that use the claim cannot be judged"),
)
