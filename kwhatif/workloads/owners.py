"""Who owns what: references to controllers, and the running pods of a workload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.workload import CronJob, DaemonSet, Deployment, Job, PodSource, ReplicaSet, StatefulSet
from kwhatif.workloads.names import uid_of
from kwhatif.workloads.survey import survey_of

T = TypeVar("T", bound=KubernetesObject)
#: What controllers of custom resources may create instead of pods: Argo Rollouts create ReplicaSets.
_BETWEEN: tuple[type[PodSource], ...] = (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job)


def reference(owner: KubernetesObject) -> OwnerReference:
    """The reference by which the object controls what it makes; where it has no UID, a stand-in is in its place."""
    return _reference(owner, owner.metadata.uid)


def reference_to(owner: KubernetesObject, cluster: Cluster) -> OwnerReference:
    """The reference to an object of a manifest: only a UID that the cluster knows counts, not the manifest's own."""
    known = cluster.get(type(owner), key_of(owner))
    return _reference(owner, "" if known is None else known.metadata.uid)


def _reference(owner: KubernetesObject, uid: str) -> OwnerReference:
    kind, meta, api_version = type(owner).__name__, owner.metadata, RESOURCES[type(owner)].api_version
    uid = uid or uid_of(kind, meta.namespace, meta.name)
    return OwnerReference(kind=kind, name=meta.name, uid=uid, api_version=api_version, controller=True)


def pods_controlled_by(kind: str, meta: ObjectMeta, cluster: Cluster) -> list[Pod]:
    """The pods that run, or wait, for this very controller; those that have finished do not count."""
    found = survey_of(cluster).controlled.get((meta.namespace, kind, meta.name))
    pods = () if found is None else cluster.select(Pod, found.in_order)
    return [pod for pod in pods if not is_terminal(pod) and _is(meta, controller_of(pod.metadata))]


def _is(meta: ObjectMeta, owner: OwnerReference | None) -> bool:
    """Where both have a UID, the UIDs decide; hand-written objects have none."""
    return owner is not None and (not meta.uid or not owner.uid or meta.uid == owner.uid)


def pods_of(obj: KubernetesObject, cluster: Cluster) -> list[Pod]:
    """The pods that run, or wait, for a workload; through its ReplicaSets or Jobs, where it has such."""
    known = cluster.get(type(obj), key_of(obj))
    meta = known.metadata if known is not None else obj.metadata
    if isinstance(obj, Deployment):
        return _pods_through(ReplicaSet, obj, meta, cluster)
    if isinstance(obj, CronJob):
        return _pods_through(Job, obj, meta, cluster)
    return pods_controlled_by(type(obj).__name__, meta, cluster)


def _pods_through(kind: type[T], obj: Deployment | CronJob, meta: ObjectMeta, cluster: Cluster) -> list[Pod]:
    found = [owned.metadata for owned in owned_by(type(obj).__name__, meta, kind, cluster)]
    between = (*found, *_only_named(kind, obj, cluster))
    return [pod for owned in between for pod in pods_controlled_by(kind.__name__, owned, cluster)]


def _only_named(kind: type[T], obj: Deployment | CronJob, cluster: Cluster) -> Iterator[ObjectMeta]:
    """Owners that pods name and the input lacks, and that can only belong to the workload."""
    known, owners = survey_of(cluster).controlled, (obj.metadata.namespace, kind.__name__)
    for place in sorted(place for place in known if place[:2] == owners):
        namespace, _, name = place
        if cluster.get(kind, f"{namespace}/{name}"):
            continue
        pods = (pod for pod in cluster.select(Pod, known[place].in_order) if not is_terminal(pod))
        if (pod := next(pods, None)) is not None and is_named_after(obj, name, pod):
            yield ObjectMeta(namespace=namespace, name=name)


def workloads_of_custom(resource: CustomResource, cluster: Cluster) -> list[PodSource]:
    """The workloads that a custom resource controls."""
    meta = resource.metadata
    return [obj for kind in _BETWEEN for obj in owned_by(resource.kind, meta, kind, cluster)]


def pods_of_custom(resource: CustomResource, cluster: Cluster) -> list[Pod]:
    """The pods that run, or wait, for a custom resource: it controls them, or the workloads that do."""
    pods = pods_controlled_by(resource.kind, resource.metadata, cluster)
    return [*pods, *(pod for each in workloads_of_custom(resource, cluster) for pod in pods_of(each, cluster))]


def owned_by(owner: str, meta: ObjectMeta, kind: type[T], cluster: Cluster) -> Iterator[T]:
    """The objects of a kind that an object owns; `owner`: its own kind, `meta`: its metadata in the cluster."""
    for obj in cluster.all(kind).values():
        reference = controller_of(obj.metadata)
        if reference is None or obj.metadata.namespace != meta.namespace:
            continue
        if (reference.kind, reference.name) == (owner, meta.name) and _is(meta, reference):
            yield obj


def is_named_after(obj: Deployment | CronJob, name: str, pod: Pod) -> bool:
    """Whether a ReplicaSet or Job that is not in the input must be that of the workload."""
    end = name.removeprefix(f"{obj.metadata.name}-")
    if end == name or "-" in end:
        return False
    return end.isdigit() if isinstance(obj, CronJob) else _selects(obj.spec.selector, pod)


def _selects(selector: LabelSelector | None, pod: Pod) -> bool:
    try:
        return compile_selector(selector).matches(pod.metadata.labels)
    except SelectorError:
        return False
