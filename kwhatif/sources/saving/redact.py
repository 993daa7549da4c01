"""What a saved snapshot leaves out.

The model is the redaction: environment, commands, arguments, what probes ask, managed fields have no place in it. What
is left to drop are annotations that no rule reads, images, and, of pods that a controller has made, volumes that no
rule reads. Templates keep the names of theirs, and short digests of all their fields: `kwhatif gate` finds out by the
template whether a workload changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.groups import without_unknown as arguments_without_unknown
from kwhatif.autoscaler.karpenter.settings import without_unknown as settings_without_unknown
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import AnnotatedMeta, Model, ObjectMeta, controller_of
from kwhatif.kube.model.node import Node, NodeSpec, NodeStatus
from kwhatif.kube.model.pod import JOB_TRACKING, NO_ANNOTATIONS, Pod, PodMeta, PodSpec, TemplateDigest
from kwhatif.kube.model.storage import Volume
from kwhatif.kube.model.workload import WORKLOADS
from kwhatif.sources.saving.walk import Walker
from kwhatif.workloads.applied_object import without_secrets
from kwhatif.workloads.applied_template import template_of, with_template
from kwhatif.workloads.stateful_set import CLAIM_NAME
from kwhatif.workloads.template import digest_of, has_images, without_images

#: Annotations that are rules. Everything else may hold anything.
READ_ANNOTATIONS = frozenset(
    {
        CLAIM_NAME,
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "karpenter.sh/do-not-disrupt",
        "pv.kubernetes.io/bind-completed",
        "resource.kubernetes.io/extended-resource-claim",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)


def _with_rules(meta: AnnotatedMeta) -> AnnotatedMeta:
    if meta.annotations.keys() <= READ_ANNOTATIONS:
        return meta
    return replace(meta, annotations={key: text for key, text in meta.annotations.items() if key in READ_ANNOTATIONS})


#: Finds annotations wherever they stand: those of claims that are made of templates, too.
_ANNOTATED = Walker({AnnotatedMeta: _with_rules})
_NODE_POOL = "karpenter.sh/nodepool"
_SOME_FINALIZER = "kwhatif.dev/some-finalizer"
#: BLAKE2 takes keys of 64 bytes.
_LONGEST_SALT = 16
T = TypeVar("T", bound=Model)


def redact(obj: T, *, images: bool, arguments: bool = True) -> T:
    """The object without what scheduling does not read; with images, and an autoscaler's arguments, if asked for."""
    meta: ObjectMeta = obj.metadata  # type: ignore[attr-defined]
    obj = _ANNOTATED.rewrite(obj)
    if meta.applied is not None:
        kept = replace(obj.metadata, applied=without_secrets(meta.applied))  # type: ignore[attr-defined]
        obj = replace(obj, metadata=kept)
    if isinstance(obj, WORKLOADS):
        obj = _digested(obj)
        template = template_of(obj)
        if template is not None and _runs_autoscaler(template.metadata):
            obj = with_template(obj, replace(template, metadata=_with_flags(template.metadata, keep=arguments)))
    match obj:
        case Node():
            return replace(obj, spec=_node_spec(obj), status=_node_status(obj.status, images=images))
        case Pod():
            spec = obj.spec if images else without_images(obj.spec)
            return replace(
                obj,
                metadata=_with_flags(_pod_meta(obj.metadata), keep=arguments),
                spec=spec if controller_of(meta) is None else _without_unread_volumes(spec),
            )
    if isinstance(obj, WORKLOADS) and not images and (template := template_of(obj)) is not None:
        return with_template(obj, replace(template, spec=without_images(template.spec)))
    return obj


def _digested(workload: T) -> T:
    """Its template with digests instead of its text.

    Who owns ReplicaSets compares their templates with its own: those of a family have one salt.
    """
    template = template_of(workload)
    if template is None or (template.text is None and template.digest is None):
        return workload
    meta: ObjectMeta = workload.metadata  # type: ignore[attr-defined]
    owner = controller_of(meta)
    salt = meta.uid or key_of(workload)  # type: ignore[arg-type]
    if owner is not None:
        salt = owner.uid or f"{meta.namespace}/{owner.name}"
    return with_template(workload, replace(template, text=None, digest=digest_of(template, salt[:_LONGEST_SALT])))


def marked(objects: Iterable[Any]) -> Iterator[Any]:
    """The objects with marks instead of digests: whether two templates of a family differ, and nothing else of them."""
    seen: dict[str, list[TemplateDigest]] = {}
    for each in objects:
        applied = getattr(each.metadata, "applied", None)
        obj = each if applied is None else replace(each, metadata=replace(each.metadata, applied=None))
        template = template_of(obj) if isinstance(obj, WORKLOADS) else None
        if template is None or template.digest is None:
            yield obj
            continue
        digest = replace(template.digest, applied=None)
        family = seen.setdefault(digest.salt, [])
        if digest not in family:
            family.append(digest)
        number = family.index(digest)
        yield with_template(obj, replace(template, digest=None, mark=str(number) if number else ""))


def _pod_meta(meta: PodMeta) -> PodMeta:
    """Without annotations where none is a rule; finalizers that may hold anything become one name."""
    finalizers = dict.fromkeys(name if name == JOB_TRACKING else _SOME_FINALIZER for name in meta.finalizers)
    annotations = NO_ANNOTATIONS if meta.annotations == NO_ANNOTATIONS else meta.annotations
    return replace(meta, annotations=annotations, finalizers=tuple(finalizers))


def _runs_autoscaler(meta: PodMeta) -> bool:
    notes = meta.annotations
    return notes.autoscaler_arguments is not None or notes.karpenter_settings is not None


def _with_flags(meta: PodMeta, *, keep: bool) -> PodMeta:
    """With the settings of the autoscaler that the pod runs, if any, and if these are to be kept."""
    if not _runs_autoscaler(meta):
        return meta
    notes = meta.annotations
    arguments, settings = (notes.autoscaler_arguments, notes.karpenter_settings) if keep else (None, None)
    kept = replace(
        notes,
        autoscaler_arguments=None if arguments is None else arguments_without_unknown(arguments),
        karpenter_settings=None if settings is None else settings_without_unknown(settings),
    )
    return replace(meta, annotations=kept)


def _node_spec(node: Node) -> NodeSpec:
    """Without the name of the machine, unless a NodeClaim finds its node by it."""
    return node.spec if _NODE_POOL in node.metadata.labels else replace(node.spec, provider_id="")


def _node_status(status: NodeStatus, *, images: bool) -> NodeStatus:
    """Without the times of reports: the snapshot says itself when it was taken."""
    conditions = tuple(replace(condition, last_heartbeat_time=None) for condition in status.conditions)
    return replace(status, conditions=conditions, images=status.images if images else ())


def holds_images(obj: Model) -> bool:
    """Whether `redact` has images to drop."""
    match obj:
        case Node():
            return bool(obj.status.images)
        case Pod():
            return has_images(obj.spec)
    template = template_of(obj) if isinstance(obj, WORKLOADS) else None
    return template is not None and has_images(template.spec)


def _without_unread_volumes(spec: PodSpec) -> PodSpec:
    volumes = tuple(volume for volume in spec.volumes if replace(volume, name="") != Volume())
    return spec if len(volumes) == len(spec.volumes) else replace(spec, volumes=volumes)
