"""What a saved snapshot leaves out.

The model is the redaction: environment, commands, arguments, probes, managed fields have no place in it. What is left
to drop are annotations that no rule reads, images, and the names of volumes that no rule reads.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from kwhatif.model.meta import AnnotatedMeta, Model, ObjectMeta
from kwhatif.model.node import Node
from kwhatif.model.pod import Container, Pod, PodSpec, PodTemplateSpec
from kwhatif.model.volume import Volume
from kwhatif.model.workload import (
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

#: Annotations that are rules. Everything else may hold anything.
READ_ANNOTATIONS = frozenset(
    {
        "pv.kubernetes.io/bind-completed",
        "resource.kubernetes.io/extended-resource-claim",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)

_WITH_TEMPLATE = (DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet)
T = TypeVar("T", bound=Model)


def redact(obj: T, *, images: bool) -> T:
    """The object without what scheduling does not read; images only if they are asked for."""
    meta: ObjectMeta = obj.metadata  # type: ignore[attr-defined]
    if isinstance(meta, AnnotatedMeta) and not meta.annotations.keys() <= READ_ANNOTATIONS:
        kept = {key: value for key, value in meta.annotations.items() if key in READ_ANNOTATIONS}
        obj = replace(obj, metadata=replace(meta, annotations=kept))
    match obj:
        case Node() if obj.status.images and not images:
            return replace(obj, status=replace(obj.status, images=()))
        case Pod():
            return replace(obj, spec=_spec(obj.spec, images=images))
    if isinstance(obj, _WITH_TEMPLATE) and obj.spec.template is not None:
        return replace(obj, spec=replace(obj.spec, template=_template(obj.spec.template, images=images)))
    return obj


def _template(template: PodTemplateSpec, *, images: bool) -> PodTemplateSpec:
    return replace(template, spec=_spec(template.spec, images=images))


def _spec(spec: PodSpec, *, images: bool) -> PodSpec:
    volumes = tuple(volume for volume in spec.volumes if _is_read(volume, images=images))
    if len(volumes) < len(spec.volumes):
        spec = replace(spec, volumes=volumes)
    if images:
        return spec
    return replace(
        spec, containers=_without_image(spec.containers), init_containers=_without_image(spec.init_containers)
    )


def _without_image(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(replace(container, image="") if container.image else container for container in containers)


def _is_read(volume: Volume, *, images: bool) -> bool:
    source = replace(volume, name="", image=volume.image if images else None)
    return source != Volume()
