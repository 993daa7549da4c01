"""An object once a manifest is applied: the manifest merged with the existing object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.outcome import Denied
from kwhatif.admission.plugins import add_default_tolerations
from kwhatif.admission.pod_update import validate_pod_update
from kwhatif.kube.matching.contents import plain
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import LastApplied
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import SCALABLE, WORKLOADS
from kwhatif.workloads.applied_template import (
    UNKNOWN,
    Json,
    Owned,
    TemplateDifference,
    merge_template,
    template_of,
    three_way,
    with_template,
)
from kwhatif.workloads.template import has_images, without_images
from kwhatif.workloads.template_fields import managed_paths, places_of

T = TypeVar("T")
_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {}

#: What an apply changes of the metadata.
_METADATA = ("labels", "annotations")
#: What it does not touch: the API server and controllers write it.
_NOT_APPLIED = ("apiVersion", "kind", "metadata", "status")


class Merged(NamedTuple):
    """An object once a manifest is applied."""

    object: Any
    #: What happens to its template; None: it has none, or it is not known.
    difference: TemplateDifference | None = None
    #: Whether it keeps a number of pods that the manifest leaves out, and that may have been applied before.
    keeps_number: bool = False


def applied_object(new: T, cluster: Cluster) -> T:
    """The object of a manifest as the API server has it afterwards; what is new stays as it is given."""
    obj: Any = new
    known = cluster.get(type(obj), key_of(obj)) if obj.metadata.name else None
    if known is None:
        return noted(new)
    made: T = merged(new, known).object
    return made


def updated_pod(new: Pod, known: Pod) -> Pod | Denied:
    """The pod once a manifest of its name is applied; the known one itself where nothing changes.

    The plugins that complete a new pod do not run again, but for the tolerations that every pod gets.
    """
    pod = add_default_tolerations(default_object(merged(new, known).object))
    if not has_images(known.spec):  # a snapshot may have left them out
        pod = replace(pod, spec=without_images(pod.spec))
    denied = validate_pod_update(pod, known)
    if denied is not None:
        return denied
    noted_before = replace(pod.metadata, applied=known.metadata.applied)
    return known if noted_before == known.metadata and plain(pod.spec) == plain(known.spec) else pod


def merged(new: Any, known: Any) -> Merged:
    """The object of a manifest, merged with the known one of its name."""
    difference, obj = None, new
    if isinstance(new, WORKLOADS):
        obj, difference = merge_template(new, known)
    is_kept = isinstance(new, SCALABLE) and new.spec.replicas is None and known.metadata.applied is None
    return Merged(_merged_rest(obj, known), difference, is_kept)


def noted(new: T) -> T:
    """The object of a manifest as it is created: it is known what was applied."""
    obj: Any = new
    applied = obj.metadata.applied
    if applied is None or not applied.given:
        return new
    obj = replace(obj, metadata=replace(obj.metadata, applied=LastApplied(configuration=applied.given)))
    template = template_of(obj) if isinstance(obj, WORKLOADS) else None
    if template is not None and template.text is not None:
        obj = with_template(obj, replace(template, text=replace(template.text, applied=template.text.json)))
    made: T = obj
    return made


def _merged_rest(new: Any, known: Any) -> Any:
    """Everything but the template, which is the new one's already."""
    owned, given = _owned(known.metadata.applied), _given(new)
    if given is None:
        return _with_number(new, known, owned)  # what it gives and what it leaves out cannot be told apart
    live = _data_of(known)
    tree = three_way(_applicable(live), _applicable(given), owned, kind=type(new).__name__)
    metadata = {**live.get("metadata", {}), **tree.pop("metadata", {})}
    data = {"kind": type(new).__name__, "apiVersion": new.api_version, **tree, "metadata": metadata}
    decoder = _DECODERS.setdefault(type(new), msgspec.json.Decoder(type(new)))
    try:
        made: Any = decoder.decode(msgspec.json.encode(data))
    except msgspec.ValidationError:
        return new  # the live object has something of another type than the API has: it was read leniently
    made = replace(made, metadata=replace(made.metadata, applied=noted(new).metadata.applied))
    if hasattr(known, "status"):
        made = replace(made, status=known.status)
    return default_object(with_template(made, template_of(new)) if isinstance(new, WORKLOADS) else made)


def _given(new: Any) -> Json | None:
    """What the manifest says; None where that cannot be told from what it leaves out.

    Of a pod that was read from elsewhere, what the model has: what it gives as the default is not known to be given.
    """
    applied = new.metadata.applied
    given: Json | None = None if applied is None or not applied.given else msgspec.json.decode(applied.given)
    return _data_of(new) if given is None and isinstance(new, Pod) else given


def _with_number(new: Any, known: Any, owned: Owned) -> Any:
    """The object with the number of replicas filled in, where it names none."""
    if not isinstance(new, SCALABLE) or new.spec.replicas is not None or owned.has(".spec.replicas"):
        return new
    return replace(new, spec=replace(new.spec, replicas=known.spec.replicas))


def _data_of(obj: Any) -> Json:
    """What the model has of the object, its template aside."""
    data: Json = msgspec.json.decode(
        msgspec.json.encode(with_template(obj, None) if isinstance(obj, WORKLOADS) else obj)
    )
    data.get("metadata", {}).pop("kwhatif.dev/applied", None)
    return data


def _applicable(data: Json) -> Json:
    """The part of it that an apply can change."""
    metadata: Mapping[str, Any] = data.get("metadata") or {}
    kept = {key: metadata[key] for key in _METADATA if isinstance(metadata.get(key), Mapping)}
    return {**{key: value for key, value in data.items() if key not in _NOT_APPLIED}, "metadata": kept}


def _owned(applied: LastApplied | None) -> Owned:
    if applied is None:
        return UNKNOWN
    if applied.configuration:
        return Owned(places_of(applied.configuration).__contains__)
    if applied.managed:
        return Owned(managed_paths(applied.managed).__contains__, is_whole=False)
    return Owned(frozenset(applied.paths).__contains__)


def without_secrets(applied: LastApplied | None) -> LastApplied | None:
    """What a snapshot may keep of it: names that the API defines, none that a user has chosen."""
    if applied is None:
        return None
    places = places_of(applied.configuration) | managed_paths(applied.managed) | frozenset(applied.paths)
    return LastApplied(paths=tuple(sorted(path for path in places if path.startswith(".spec.") and "[" not in path)))
