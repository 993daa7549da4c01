"""What a saved snapshot leaves out.

The model is the redaction: environment, commands, arguments, probes, managed fields have no place in it. What is left
to drop are annotations that no rule reads, images, and the names of volumes that no rule reads.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from kwhatif.model.meta import AnnotatedMeta, Model, ObjectMeta
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod, PodTemplateSpec
from kwhatif.model.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobTemplateSpec,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from kwhatif.workloads.redacted import redacted

#: Annotations that are rules. Everything else may hold anything.
READ_ANNOTATIONS = frozenset(
    {
        "pv.kubernetes.io/bind-completed",
        "resource.kubernetes.io/extended-resource-claim",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
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
            return replace(obj, spec=redacted(obj.spec, images=images))
        case CronJob():
            return replace(obj, spec=replace(obj.spec, job_template=_run(obj.spec.job_template, images=images)))
    if isinstance(obj, _WITH_TEMPLATE) and obj.spec.template is not None:
        return replace(obj, spec=replace(obj.spec, template=_template(obj.spec.template, images=images)))
    return obj


def _run(run: JobTemplateSpec, *, images: bool) -> JobTemplateSpec:
    if run.spec.template is None:
        return run
    return replace(run, spec=replace(run.spec, template=_template(run.spec.template, images=images)))


def _template(template: PodTemplateSpec, *, images: bool) -> PodTemplateSpec:
    return replace(template, spec=redacted(template.spec, images=images))
