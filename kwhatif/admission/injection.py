"""Mutating webhooks, as far as existing pods show what they add (`pkg/admission/plugin/webhook/mutating`).

Existing parts with the same name are kept, because webhooks recognize their own changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from kwhatif.admission.same import each as each_of
from kwhatif.admission.same import with_parts
from kwhatif.kube.model.admission_hooks import InjectedContainers, Injection, KnownInjection
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.container import Container, ResourceRequirements
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.volume import Volume
from kwhatif.kube.model.workload import CronJob, Job, ReplicaSet


def inject(pod: Pod, cluster: Cluster) -> Pod:
    """The pod with what webhooks add; the pod itself if no webhooks are known."""
    known = injection_of(pod, cluster)
    return pod if known is None else replace(pod, spec=_injected(pod.spec, known.injection))


def injection_of(pod: Pod, cluster: Cluster) -> KnownInjection | None:
    """What webhooks add to a pod that is created now; None if it already has that."""
    if cluster.webhooks is None:
        return None
    known = cluster.webhooks.injection(pod, workload_of(pod, cluster))
    return None if known is None or _injected(pod.spec, known.injection) is pod.spec else known


def workload_of(pod: Pod, cluster: Cluster) -> str:
    """The top-level workload of the pod, such as `Deployment shop/web`; "" for a bare pod."""
    owner, namespace = controller_of(pod.metadata), pod.metadata.namespace
    if owner is None:
        return ""
    key = f"{namespace}/{owner.name}"
    between = cluster.get(ReplicaSet, key) if owner.kind == "ReplicaSet" else None
    if owner.kind == "Job":
        job = cluster.get(Job, key)
        if job is None:  # the Job of a future run has the CronJob's name and a time
            cron_job = key.rpartition("-")[0]
            return f"Job {key}" if cluster.get(CronJob, cron_job) is None else f"CronJob {cron_job}"
        above = controller_of(job.metadata)
    else:
        above = None if between is None else controller_of(between.metadata)
    return f"{owner.kind} {key}" if above is None else f"{above.kind} {namespace}/{above.name}"


def _injected(spec: PodSpec, injection: Injection) -> PodSpec:
    names = {each.name for each in (*spec.containers, *spec.init_containers)}
    selector = {**injection.node_selector, **(spec.node_selector or {})}
    new = [each for each in injection.tolerations if each not in spec.tolerations]
    return with_parts(
        spec,
        containers=_with(spec.containers, injection.containers, names, injection.resources),
        init_containers=_with(spec.init_containers, injection.init_containers, names, injection.resources),
        volumes=_with_new(spec.volumes, injection.volumes),
        tolerations=(*spec.tolerations, *new) if new else spec.tolerations,
        node_selector=spec.node_selector if len(selector) == len(spec.node_selector or {}) else selector,
    )


def _with(
    own: tuple[Container, ...],
    more: InjectedContainers,
    names: set[str],
    resources: Mapping[str, ResourceRequirements],
) -> tuple[Container, ...]:
    if resources:
        own = each_of(lambda each: _resized(each, resources[each.name]) if each.name in resources else each, own)
    first = [each for each in more.first if each.name not in names]
    last = [each for each in more.last if each.name not in names]
    return (*first, *own, *last) if first or last else own


def _resized(container: Container, given: ResourceRequirements) -> Container:
    own = container.resources
    requests, limits = {**own.requests, **given.requests}, {**own.limits, **given.limits}
    if (requests, limits) == (own.requests, own.limits):
        return container
    return replace(container, resources=replace(own, requests=requests, limits=limits))


def _with_new(own: tuple[Volume, ...], more: Iterable[Volume]) -> tuple[Volume, ...]:
    names = {each.name for each in own}
    new = [each for each in more if each.name not in names]
    return (*own, *new) if new else own
