"""What controllers have to find before a workload is applied, where the input lacks it.

Hand-written clusters have pods without conditions, revisions and ReplicaSets. A controller that takes them as they are
would replace what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod, PodMeta, PodTemplateSpec, pod_condition
from kwhatif.kube.model.workload import SCALABLE, DaemonSet, Deployment, ReplicaSet, Scalable, StatefulSet
from kwhatif.workloads.controllers.deployment import bounds_for
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.generated import hash_of
from kwhatif.workloads.inferred.replica_sets import sets_of_deployments
from kwhatif.workloads.owners import owned_by, pods_of
from kwhatif.workloads.removal import active, as_ready
from kwhatif.workloads.stateful_set import REVISION_LABEL, revision_of
from kwhatif.workloads.template import content_of

_WITH_REVISIONS = (StatefulSet, DaemonSet)


def prepare(workloads: Sequence[KubernetesObject], cluster: Cluster, put: Callable[[KubernetesObject], object]) -> None:
    """Complete what the cluster has of these workloads, which are about to be applied; `put` takes what is changed."""
    for step in (_stand_ins, _sets, _annotated_sets, _complete_pods):
        for obj in list(step(workloads, cluster)):
            put(obj)


def _sets(workloads: Sequence[KubernetesObject], cluster: Cluster) -> Iterator[ReplicaSet]:
    return sets_of_deployments(cluster) if any(isinstance(each, Deployment) for each in workloads) else iter(())


def _stand_ins(workloads: Iterable[KubernetesObject], cluster: Cluster) -> Iterator[Any]:
    """Workloads that the input lacks though it has their pods: with the template of the first of these."""
    for each in workloads:
        if not isinstance(each, Scalable | DaemonSet) or cluster.get(type(each), key_of(each)) is not None:
            continue
        pods = active(pods_of(each, cluster))
        if not pods:
            continue
        first = pods[0]
        spec = replace(first.spec, node_name="", priority=None)
        template = PodTemplateSpec(metadata=PodMeta(labels=first.metadata.labels), spec=spec)
        changed: dict[str, Any] = {"template": template}
        if isinstance(each, SCALABLE):
            changed["replicas"] = len(pods)
        yield replace(each, spec=replace(each.spec, **changed))


def _annotated_sets(workloads: Iterable[KubernetesObject], cluster: Cluster) -> Iterator[ReplicaSet]:
    """ReplicaSets of Deployments, with what the controller notes on them: else a changed number goes unnoticed."""
    for each in workloads:
        known = cluster.get(Deployment, key_of(each)) if isinstance(each, Deployment) else None
        if known is None:
            continue
        bounds = bounds_for(known, replicas_of(known))
        for owned in owned_by(type(known).__name__, known.metadata, ReplicaSet, cluster):
            noted = owned.metadata.annotations
            if owned.spec.replicas != 0 and not noted.desired_replicas:
                noted = replace(noted, desired_replicas=str(bounds.wanted), max_replicas=str(bounds.most))
                yield replace(owned, metadata=replace(owned.metadata, annotations=noted))


def _complete_pods(workloads: Iterable[KubernetesObject], cluster: Cluster) -> Iterator[Pod]:
    """Pods on nodes, of which nothing says that they are not ready, are; those without a revision have the newest."""
    for each in workloads:
        known = cluster.get(type(each), key_of(each))
        if known is None or isinstance(known, Pod):
            continue
        pods = active(pods_of(known, cluster))
        revision = ""
        if isinstance(known, _WITH_REVISIONS) and not any(REVISION_LABEL in pod.metadata.labels for pod in pods):
            revision = _revision(known)
        for pod in pods:
            complete = pod
            if pod.spec.node_name and pod_condition(pod, "Ready") is None:
                complete = as_ready(pod)
            if revision:
                labels = {**pod.metadata.labels, REVISION_LABEL: revision}
                complete = replace(complete, metadata=replace(pod.metadata, labels=labels))
            if complete is not pod:
                yield complete


def _revision(known: StatefulSet | DaemonSet) -> str:
    if isinstance(known, StatefulSet):
        return known.status.update_revision or revision_of(known)
    return hash_of(content_of(known.spec.template or PodTemplateSpec()))
