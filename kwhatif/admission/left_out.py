"""Images that a snapshot has left out: every stored container has one, so validation must not report it as missing.

Objects of the cluster are recognized by name, or by their controller, whose template they were created from.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kwhatif.admission.same import each, with_parts
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.workload import CronJobSpec

_SOME = "left-out"


def with_pod_images(pod: Pod, known: Pod | None = None) -> Pod:
    """The pod with a placeholder image in each container that the cluster has without one, for validation only."""
    if known is None and controller_of(pod.metadata) is None:
        return pod
    return with_parts(pod, spec=_with_images(pod.spec, pod.spec if known is None else known.spec))


def with_template_images(workload: Any, known: Any) -> Any:
    """The workload with a placeholder image in each container of its template that the cluster has without one.

    `known` is the workload in the cluster; None if it has none with that name.
    """
    if known is None and controller_of(workload.metadata) is None:
        return workload
    return with_parts(workload, spec=_with_spec_images(workload.spec, workload.spec if known is None else known.spec))


def _with_spec_images(spec: Any, known: Any) -> Any:
    if isinstance(spec, CronJobSpec):
        job = _with_spec_images(spec.job_template.spec, known.job_template.spec)
        return with_parts(spec, job_template=with_parts(spec.job_template, spec=job))
    if spec.template is None or known.template is None:
        return spec
    filled = _with_images(spec.template.spec, known.template.spec)
    return with_parts(spec, template=with_parts(spec.template, spec=filled))


def _with_images(spec: PodSpec, known: PodSpec) -> PodSpec:
    left_out = {container.name for container in (*known.containers, *known.init_containers) if not container.image}
    if not left_out:
        return spec

    def complete(container: Container) -> Container:
        return replace(container, image=_SOME) if container.name in left_out and not container.image else container

    return replace(
        spec, containers=each(complete, spec.containers), init_containers=each(complete, spec.init_containers)
    )
