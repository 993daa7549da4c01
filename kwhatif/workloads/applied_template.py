"""What applying a manifest makes of a workload's pod template, field by field, as `kubectl apply` merges the two.

What the manifest gives counts; what it no longer has is removed if it was applied before; everything else stays as it
is in the cluster: what others have set, such as `kubectl rollout restart`, and what the API server has filled in
(`k8s.io/apimachinery/pkg/util/strategicpatch`, `CreateThreeWayMergePatch`).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.pod import PodTemplateSpec, TemplateText
from kwhatif.kube.model.workload import CronJob
from kwhatif.workloads.merge import UNKNOWN, Json, Owned, three_way
from kwhatif.workloads.template import content_of, has_images, same_template, with_images
from kwhatif.workloads.template_digest import KnownTemplate, equal_digests, keyed_digest, known_template, merged_digest
from kwhatif.workloads.template_fields import Fields, fields_of, filled_fields_of

T = TypeVar("T")

#: Set by `kubectl rollout restart`: no manifest has it.
_RESTARTED = ".metadata.annotations[kubectl.kubernetes.io/restartedAt]"
#: QUIRK: (pkg/apis/core/v1/conversion.go) removing it changes nothing: its old name `serviceAccount` stays, and counts.
_STAYS = ".spec.serviceAccountName"
_MARK_BYTES = 8
_DECODER = msgspec.json.Decoder(PodTemplateSpec)


class TemplateDifference(NamedTuple):
    """Whether the template changes. `unsure`: the cluster has `field`, and nothing says whether the manifest had it."""

    kind: Literal["same", "changed", "unsure"]
    field: str = ""


def template_of(workload: Any) -> PodTemplateSpec | None:
    """The pod template of a workload, whatever its kind."""
    spec = workload.spec.job_template.spec if isinstance(workload, CronJob) else workload.spec
    template: PodTemplateSpec | None = spec.template
    return template


def with_template(workload: T, template: PodTemplateSpec | None) -> T:
    """The workload with another pod template."""
    if isinstance(workload, CronJob):
        run = workload.spec.job_template
        run = replace(run, spec=replace(run.spec, template=template))
        return replace(workload, spec=replace(workload.spec, job_template=run))
    obj: Any = workload
    changed: T = replace(obj, spec=replace(obj.spec, template=template))
    return changed


def without_text(new: T, known: T) -> T:
    """The workload; if its template is not that of the known one, as one of which only the model is known."""
    template, old = template_of(new), template_of(known)
    if template is None or old is None or content_of(template) == content_of(old):
        return new
    return with_template(new, replace(template, text=None, digest=None))


def merge_template(new: T, known: T) -> tuple[T, TemplateDifference | None]:
    """The workload with the template that it has once it is applied; and whether that is another one.

    None: it cannot be said, since the input does not hold all of the template. What the model has is then compared.
    """
    old, applied = template_of(known), template_of(new)
    if old is None or applied is None:
        return new, None
    if applied.text is None and (applied is old or equal_digests(old, applied)):
        return new, TemplateDifference("same")  # an edit of something else in what a snapshot holds
    merged, difference = _merged(applied, old), compare(old, applied)
    if difference is None or applied.text is None:
        return with_template(new, merged), None
    looks_same = same_template(_model_of(old), _model_of(merged))
    if ":null" in applied.text.json and not (looks_same if merged.text is None else same_template(old, merged)):
        difference = TemplateDifference("changed")  # null takes a field away
    if difference.kind == "same" or (difference.kind == "unsure" and looks_same):
        kept = old if has_images(old.spec) else replace(old, spec=with_images(old.spec, applied.spec))
        if kept.text is not None and kept.text.applied != applied.text.json and _is_manifest(new):
            kept = replace(kept, text=replace(kept.text, applied=applied.text.json))
        return with_template(new, kept), difference
    if merged.text is not None:
        merged = replace(merged, text=replace(merged.text, applied=applied.text.json))
    mark = keyed_digest("", applied.text.json, _MARK_BYTES) if looks_same else ""
    return with_template(new, replace(merged, mark=mark)), difference


def _is_manifest(workload: Any) -> bool:
    """Whether it was read of one; the cluster's own workloads are scaled and restarted, too."""
    applied = workload.metadata.applied
    return applied is not None and bool(applied.given)


def _merged(new: PodTemplateSpec, known: PodTemplateSpec) -> PodTemplateSpec:
    """The new template merged with the known one; as text, or as a digest, where either is known of both."""
    tree = three_way(_tree(known), _tree(new), _owned(known))
    try:
        made = _DECODER.decode(msgspec.json.encode(tree))
    except msgspec.ValidationError:
        return new  # the known one has something of another type than the API has: it was read leniently
    if new.text is None:
        return made
    if known.text is not None:
        return replace(made, text=TemplateText(json=msgspec.json.encode(tree).decode()))
    return replace(made, digest=merged_digest(new.text, known))


def _model_of(template: PodTemplateSpec) -> PodTemplateSpec:
    return replace(template, text=None, digest=None)


def _tree(template: PodTemplateSpec) -> Json:
    """The template as it was read; else what the model has of it."""
    if template.text is not None and template.text.json:
        data: Json = msgspec.json.decode(template.text.json)
        return data
    plain: Json = msgspec.json.decode(msgspec.json.encode(replace(template, text=None, digest=None, mark="")))
    return plain


def _owned(known: PodTemplateSpec) -> Owned:
    """What was applied of it before."""
    stored = known_template(known)
    if stored is None or stored.applied is None:
        return UNKNOWN
    places, path = stored.applied, stored.path
    return Owned(lambda text: path(text) in places, is_whole=known.text is None or bool(known.text.applied))


def compare(known: PodTemplateSpec, new: PodTemplateSpec) -> TemplateDifference | None:
    """Whether applying the new template changes the known one; None if one of them is not known field by field."""
    stored = known_template(known)
    given = fields_of(new.text.json) if new.text else None
    filled = filled_fields_of(new.text.json) if new.text else None
    if stored is None or given is None or filled is None:
        return None
    values = {stored.path(path): stored.value(value) for path, value in filled.values.items() if value is not None}
    present = stored.fields.values
    explicit = {stored.path(path) for path in given.values}
    if any(values.get(path) != present.get(path) for path in explicit):
        return TemplateDifference("changed")
    if _is_reordered(stored, given):
        return TemplateDifference("changed")
    left = {path for path, value in present.items() if values.get(path) != value} - {stored.path(_STAYS)}
    if stored.applied is not None:
        return TemplateDifference("changed" if left & stored.applied else "same")
    left -= {stored.path(_RESTARTED)}
    return TemplateDifference("unsure", min(left)) if left else TemplateDifference("same")


def _is_reordered(stored: KnownTemplate, given: Fields) -> bool:
    """Whether the entries of a list would stand in another order; those that the manifest does not have aside."""
    for path, keys in given.orders.items():
        order = [stored.value(key) for key in keys]
        if [key for key in stored.fields.orders.get(stored.path(path), ()) if key in set(order)] != order:
            return True
    return False
