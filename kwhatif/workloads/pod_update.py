"""Pods that are applied as they are: a pod cannot be changed, only be replaced by another one of its name."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.admission.new_pod import complete_pod
from kwhatif.admission.outcome import Denied
from kwhatif.admission.pod_defaults import default_pod
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.container import Container, ResourceRequirements
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.workloads.injected import TOKEN_VOLUME
from kwhatif.workloads.template import has_images, spec_content, without_images


def is_as_made(pod: Pod, known: Pod, cluster: Cluster) -> bool:
    """Whether admission would make the pod that is there of the one that is applied."""
    made = complete_pod(pod, cluster)
    if isinstance(made, Denied):
        return False
    own = default_pod(pod).spec
    # A snapshot may have left the images out: see `same_template`.
    wanted = made.spec if has_images(known.spec) else without_images(made.spec)
    wanted, there = _as_asked(wanted, own), _as_asked(_as_created(known.spec, made.spec), own)
    return made.metadata.labels == known.metadata.labels and spec_content(wanted) == spec_content(there)


def _as_asked(spec: PodSpec, own: PodSpec) -> PodSpec:
    """Without what a LimitRange added to the requests and limits of `own`: there may be another one today."""
    return replace(
        spec,
        containers=_resources_of(own.containers, spec.containers),
        init_containers=_resources_of(own.init_containers, spec.init_containers),
    )


def _resources_of(own: Sequence[Container], containers: Sequence[Container]) -> tuple[Container, ...]:
    asked = {container.name: container.resources for container in own}
    return tuple(
        replace(container, resources=_common(container.resources, asked.get(container.name, container.resources)))
        for container in containers
    )


def _common(resources: ResourceRequirements, asked: ResourceRequirements) -> ResourceRequirements:
    requests = {name: amount for name, amount in resources.requests.items() if name in asked.requests}
    limits = {name: amount for name, amount in resources.limits.items() if name in asked.limits}
    return replace(resources, requests=requests, limits=limits)


def _as_created(stored: PodSpec, made: PodSpec) -> PodSpec:
    """Without what came to the pod later (node, token, readiness gates); with the scheduling gates that were lifted."""
    volumes = tuple(volume for volume in stored.volumes if not volume.name.startswith(TOKEN_VOLUME))
    return replace(
        stored,
        node_name=made.node_name or "",
        volumes=stored.volumes if len(made.volumes) == len(stored.volumes) else volumes,
        scheduling_gates=made.scheduling_gates,
        readiness_gates=made.readiness_gates,
    )
