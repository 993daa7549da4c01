"""What applying a manifest makes of a workload's pod template, field by field, as `kubectl apply` merges the two.

What the manifest gives counts; what it no longer has is removed if it was applied before; everything else stays as it
is in the cluster: what others have set, such as `kubectl rollout restart`, and what the API server has filled in
(`k8s.io/apimachinery/pkg/util/strategicpatch`, `CreateThreeWayMergePatch`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.pod import PodTemplateSpec, TemplateText
from kwhatif.kube.model.workload import CronJob
from kwhatif.workloads.template import (
    KnownTemplate,
    content_of,
    equal_digests,
    has_images,
    keyed_digest,
    known_template,
    merged_digest,
    same_template,
    with_images,
)
from kwhatif.workloads.template_fields import Fields, entry_keys, fields_of, filled_fields_of, path_below

Json = dict[str, Any]


class Owned(NamedTuple):
    """What was applied before, by the paths of `template_fields`."""

    has: Callable[[str], bool]
    #: Whether a part that the manifest no longer has goes with all that is in it (`kubectl apply`), or only what was
    #: applied of it (`--server-side`).
    is_whole: bool = True


#: Nothing is known of what was applied before: then nothing is removed.
UNKNOWN = Owned(lambda _: False)

#: The fields that identify entries of a list (`patchMergeKey` in the API's types); the first counts.
_MERGE_KEYS: Mapping[str, Sequence[str]] = {
    "containers": ("name",),
    "drivers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "port"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
#: Lists of plain values that are sets (`patchStrategy: merge`).
_SETS = frozenset({"finalizers", "podCIDRs"})
#: Of these, or of their entries, only what the manifest gives is kept once anything of them changes
#: (`patchStrategy: retainKeys`): another type of strategy does not keep the old one's numbers.
_RETAIN_KEYS = frozenset({"resourceClaims", "strategy", "volumes"})
#: Maps that are replaced as a whole, by kind and path (`patchStrategy: replace`).
REPLACED = frozenset({("PodDisruptionBudget", ".spec.selector")})


def three_way(live: Json, given: Json, owned: Owned = UNKNOWN, *, kind: str = "") -> Json:
    """The object once the manifest is applied, as plain data.

    What the manifest gives counts; what it no longer has goes if it was applied before; everything else stays as it is
    in the cluster. Lists whose entries have keys are merged entry by entry, all others are replaced as a whole
    (`k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`, `CreateThreeWayMergePatch` and `StrategicMergeMapPatch`).

    Args:
        live: as it is in the cluster.
        given: the manifest; null stands for a field that is to go.
        owned: what was applied before.
        kind: of the object, where that makes a difference.
    """
    return _Merging(owned, kind).maps(live, given, "", "")


class _Merging(NamedTuple):
    owned: Owned
    kind: str

    def maps(self, live: Json, given: Json, path: str, name: str, *, retains: bool = False) -> Json:
        """Two maps; `name` is that of the field, `retains` whether it keeps nothing but what is given."""
        merged: Json = {}
        for key, value in live.items():
            below = path_below(path, name, key)
            if key not in given:
                left = self._left(value, below, key)
                if left is not None:
                    merged[key] = left
            elif given[key] is not None:
                merged[key] = self._values(value, given[key], below, key)
        for key, value in given.items():
            if key not in live and value is not None:
                merged[key] = without_nulls(value)
        if retains and merged != live:
            return {key: value for key, value in merged.items() if given.get(key) is not None}
        return merged

    def _values(self, live: Any, given: Any, path: str, name: str) -> Any:
        if isinstance(live, dict) and isinstance(given, dict):
            if (self.kind, path) in REPLACED:
                return without_nulls(given)
            return self.maps(live, given, path, name, retains=name in _RETAIN_KEYS)
        if isinstance(live, list) and isinstance(given, list):
            return self._lists(live, given, path, name)
        return without_nulls(given)

    def _left(self, live: Any, path: str, name: str) -> Any:
        """What stays of a part that the manifest does not have; None: nothing."""
        is_owned = self.owned.has(path)
        if live and not (is_owned and self.owned.is_whole):
            if isinstance(live, dict):
                return self.maps(live, {}, path, name) or None
            if isinstance(live, list) and _known_by(name, live, live) is not None:
                return self._lists(live, [], path, name) or None
        return None if is_owned else live

    def _lists(self, live: list[Any], given: list[Any], path: str, name: str) -> list[Any]:
        if name in _SETS:
            kept = [each for each in live if each in given or not self.owned.has(f"{path}[{each}]")]
            return [*kept, *(each for each in given if each not in live)]
        known_by = _known_by(name, live, given)
        if known_by is None:
            return [without_nulls(each) for each in given]
        there, wanted = ({each[known_by]: each for each in entries} for entries in (live, given))
        places = dict(zip(there, entry_keys(live, name) or map(str, there), strict=True))
        merged: dict[Any, Any] = {}
        for key, entry in there.items():
            below = f"{path}[{places[key]}]"
            if key in wanted:
                merged[key] = self.maps(entry, wanted[key], below, "entry", retains=name in _RETAIN_KEYS)
            elif (left := self._left(entry, below, "entry")) is not None:
                merged[key] = left
        merged |= {key: without_nulls(entry) for key, entry in wanted.items() if key not in there}
        return [merged[key] for key in _in_order(list(there), list(wanted), merged)]


def _in_order(live: Sequence[Any], wanted: Sequence[Any], merged: Mapping[Any, Any]) -> list[Any]:
    """As the manifest orders them; what only the cluster has stands where it stood (`mergeSortedSlice`)."""
    others = [key for key in live if key in merged and key not in set(wanted)]
    if [key for key in live if key in set(wanted)] == list(wanted):
        return [*(key for key in live if key in merged), *(key for key in wanted if key not in set(live))]
    place = {key: at for at, key in enumerate(live)}
    found: list[Any] = []
    left, right = list(wanted), others
    while left and right:
        is_before = left[0] in place and place[left[0]] < place[right[0]]
        found.append((left if is_before else right).pop(0))
    return [*found, *left, *right]


def _known_by(name: str, live: list[Any], given: list[Any]) -> str | None:
    """The field that identifies the entries of both lists; None where the list is replaced as a whole."""
    entries = [*live, *given]
    if not all(isinstance(entry, dict) for entry in entries):
        return None
    for field in _MERGE_KEYS.get(name, ()):
        if all(isinstance(entry.get(field), str | int) for entry in entries):
            is_unique = all(len({entry[field] for entry in each}) == len(each) for each in (live, given))
            return field if is_unique else None
    return None


def without_nulls(value: Any) -> Any:
    """Plain data without fields that are null, as the API server stores it."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


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
    """Whether entries of a list would be in another order, except those that the manifest does not have."""
    for path, keys in given.orders.items():
        order = [stored.value(key) for key in keys]
        if [key for key in stored.fields.orders.get(stored.path(path), ()) if key in set(order)] != order:
            return True
    return False
