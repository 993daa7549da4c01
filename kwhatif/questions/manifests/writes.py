"""Manifests as a user's writes to the API server; controllers react to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.new_objects import check_workload
from kwhatif.admission.outcome import Denied
from kwhatif.controllers.contract import Create, DeletePod, Remove, Update
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod, PodMeta, PodTemplateSpec, pod_condition
from kwhatif.kube.model.workload import (
    SCALABLE,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobStatus,
    ReplicaSet,
    Scalable,
    StatefulSet,
)
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.pods import unbound
from kwhatif.workloads.applied_object import applied_object
from kwhatif.workloads.claims import owns_claims
from kwhatif.workloads.comparison import Rollout, WorkloadUpdate, unstarted
from kwhatif.workloads.counts import autoscaled, capped
from kwhatif.workloads.deployment import RECREATE, bounds_for
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.inferred_replica_sets import sets_of_deployments
from kwhatif.workloads.job import run_of
from kwhatif.workloads.names import hash_of, with_made_up_uid
from kwhatif.workloads.owners import owned_by, pods_of, reference_to, workloads_of_custom
from kwhatif.workloads.removal import active, as_ready
from kwhatif.workloads.stateful_set import PARALLEL, REVISION_LABEL, revision_of
from kwhatif.workloads.template import content_of

_WITH_REVISIONS = (StatefulSet, DaemonSet)


def prepare(workloads: Sequence[KubernetesObject], cluster: Cluster, put: Callable[[KubernetesObject], object]) -> None:
    """Complete the cluster's objects of these workloads before they are applied; `put` is called with changed ones.

    Pods of hand-written clusters lack conditions, revisions and ReplicaSets; controllers would replace them.
    """
    for step in (_stand_ins, _sets, _annotated_sets, _complete_pods):
        for obj in list(step(workloads, cluster)):
            put(obj)


def _sets(workloads: Sequence[KubernetesObject], cluster: Cluster) -> Iterator[ReplicaSet]:
    return sets_of_deployments(cluster) if any(isinstance(each, Deployment) for each in workloads) else iter(())


def _stand_ins(workloads: Iterable[KubernetesObject], cluster: Cluster) -> Iterator[Any]:
    """Workloads that the input lacks though it has their pods, with the template of the first pod."""
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
    """ReplicaSets of Deployments with the controller's annotations: without them a changed number goes unnoticed."""
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
    """Pods with a node count as ready unless the input says otherwise; those without a revision get the newest one."""
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


USER = "user"


def as_applied(obj: Any, known: Any) -> Any:
    """An existing object after `kubectl apply`: fields stay that only the API server and controllers set."""
    meta, before = obj.metadata, known.metadata
    kept: dict[str, Any] = {
        name: getattr(before, name)
        for name in ("uid", "creation_timestamp", "deletion_timestamp", "generation", "owner_references", "finalizers")
        if hasattr(meta, name)
    }
    annotations = getattr(meta, "annotations", None)
    if isinstance(annotations, dict):
        kept["annotations"] = {**before.annotations, **annotations}
    obj = replace(obj, metadata=replace(meta, **kept))
    return replace(obj, status=known.status) if hasattr(obj, "status") else obj


def apply(
    obj: Any,
    update: WorkloadUpdate,
    before: Cluster,
    api_server: ApiServer,
    moment: Rollout | None,
    *,
    in_order: bool = True,
    stored: bool = False,
) -> Sequence[KubernetesObject]:
    """Apply an object that has pods.

    Args:
        obj: the object, with a name.
        update: what applying it changes.
        before: the cluster before anything is applied.
        api_server: where it is applied.
        moment: which moment of its rollout is asked about, if no time passes: replaced pods are gone then, and at
            its end all new pods are created at once. None: time passes.
        in_order: whether a StatefulSet creates its pods in order; otherwise all at once.
        stored: whether the API server has admitted a pod before.

    Returns:
        Unchanged objects that controllers are to look at.
    """
    if update.kind == "unchanged":
        return ()
    if update.kind == "restarted" and not isinstance(obj, CustomResource if moment else Pod | CustomResource):
        return _start_again(obj, update, api_server)
    if update.pod is not None:
        api_server.write(Update(update.pod), USER, None)
    elif isinstance(obj, Pod | CustomResource):
        _replace(obj, update, api_server, moment, stored=stored)
    else:
        merged = applied_object(obj, before)
        if moment is not None:
            merged = _as_at(moment, autoscaled(merged, api_server.state.cluster), update, in_order=in_order)
        apply_workload(merged, api_server)
        if moment == "final" and not (in_order and isinstance(merged, StatefulSet)):
            _remove(update.removed, api_server)
        if isinstance(merged, CronJob):
            run_once(merged, api_server)
    return ()


def _as_at(moment: Rollout, merged: Any, update: WorkloadUpdate, *, in_order: bool) -> Any:
    """The workload with a strategy by which its controller creates the pods of that moment at once."""
    if isinstance(merged, Deployment) and moment == "final" and update.kind == "changed":
        strategy = replace(merged.spec.strategy, type=RECREATE, rolling_update=None)
        return replace(merged, spec=replace(merged.spec, strategy=strategy))
    if isinstance(merged, StatefulSet) and not in_order:
        return replace(merged, spec=replace(merged.spec, pod_management_policy=PARALLEL))
    return merged


def _replace(
    obj: Pod | CustomResource, update: WorkloadUpdate, api_server: ApiServer, moment: Rollout | None, *, stored: bool
) -> None:
    """Create new pods; existing pods of a custom resource are deleted, as its controller is not known."""
    remove_workloads(obj, api_server)
    if moment is not None:
        _remove(update.removed, api_server)
    elif isinstance(obj, CustomResource):
        for pod in update.removed:
            api_server.write(DeletePod(key_of(pod), "Deleted"), USER, None)
    for pod in update.added.pods:
        if moment is None:
            replace_pod(unbound(pod), api_server, stored=stored)
        else:
            # Existing claims were created for the pod with the recorded UID.
            replace_pod(pod if owns_claims(pod, api_server.state.cluster) else with_made_up_uid(pod), api_server)


def _start_again(obj: Any, update: WorkloadUpdate, api_server: ApiServer) -> Sequence[KubernetesObject]:
    """Restart the pods: each is deleted; a bare pod is created with its name, as before it was scheduled."""
    if isinstance(obj, Pod):
        stored = api_server.stored(unstarted(obj))
        if isinstance(stored, Denied):
            _remove(update.removed, api_server)
        else:
            api_server.put(stored, None)
        return ()
    _remove(update.removed, api_server)
    if isinstance(obj, Job):
        api_server.write(Remove(Job, key_of(obj)), USER, None)
        api_server.memory(Job.__name__, key_of(obj)).clear()
        api_server.write(Create(replace(obj, status=JobStatus())), USER, None)
    elif isinstance(obj, CronJob):
        run_once(obj, api_server)
    return obj, *api_server.owned(obj, ReplicaSet)


def replace_pod(pod: Pod, api_server: ApiServer, *, stored: bool = False) -> None:
    """Create the pod in place of one of its name, which may have ended; `stored`: it was admitted before."""
    if pod.metadata.name:
        api_server.write(Remove(Pod, key_of(pod)), USER, None)
    api_server.write(Create(pod, stored=stored), USER, None)


def remove_workloads(obj: Pod | CustomResource, api_server: ApiServer) -> None:
    """Delete the workloads of a custom resource with their pods, which controllers would otherwise replace."""
    for each in workloads_of_custom(obj, api_server.state.cluster) if isinstance(obj, CustomResource) else ():
        api_server.write(Remove(type(each), key_of(each)), USER, None)


def _remove(pods: Sequence[Pod], api_server: ApiServer) -> None:
    for pod in pods:
        api_server.write(Remove(Pod, key_of(pod)), USER, None)


def run_once(cron_job: CronJob, api_server: ApiServer) -> None:
    """Create the Job of one run."""
    if not cron_job.spec.suspend:
        run = capped(run_of(cron_job), api_server.limits.maximum)
        meta = replace(run.metadata, owner_references=(reference_to(cron_job, api_server.state.cluster),))
        api_server.write(Create(with_made_up_uid(replace(run, metadata=meta))), USER, None)


def apply_workload(merged: Any, api_server: ApiServer) -> None:
    """Store the workload, merged with the existing one."""
    few = capped(merged, api_server.limits.maximum)
    if few is not merged and (denied := check_workload(merged, api_server.state.cluster)) is not None:
        api_server.decide(merged, denied)  # of the number that is asked for, not of the few
        return
    made = obj = default_object(few)
    known = api_server.state.cluster.get(type(obj), key_of(obj))
    if known is None:
        made = with_made_up_uid(made)
    api_server.write(Create(made) if known is None else Update(as_applied(made, known)), USER, None)
