"""Pod templates: the pods that a controller makes of one (`GetPodFromTemplate`), and whether two are the same.

An `Expansion` is all pods of a workload, equal ones together, with the claims that come with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.admission.defaults import default_pod
from kwhatif.kube.matching.contents import plain
from kwhatif.kube.matching.field_errors import dns_subdomain_errors
from kwhatif.kube.model.meta import OwnerReference
from kwhatif.kube.model.pod import NO_ANNOTATIONS, Pod, PodMeta, PodSpec, PodTemplateSpec, TemplateDigest, TemplateText
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.workloads.template_fields import ADDED_LABELS, Fields, filled_fields_of, managed_paths, places_of


class ReplicaGroup(msgspec.Struct, frozen=True):
    """Pods that differ in nothing but their names: what holds for one of them holds for all.

    `pod` has no name where the API server makes it (`generateName`); `names` are the stand-ins then.
    """

    pod: Pod
    names: tuple[str, ...]
    #: What the controller makes before the pods.
    claims: tuple[PersistentVolumeClaim, ...] = ()

    def pods(self) -> Iterator[Pod]:
        """The pods one by one, named; they share all else."""
        meta = self.pod.metadata
        for name in self.names:
            yield self.pod if name == meta.name else replace(self.pod, metadata=replace(meta, name=name))


class Expansion(msgspec.Struct, frozen=True):
    """The pods that a controller would make, in its order."""

    groups: tuple[ReplicaGroup, ...] = ()
    #: How many more there are to be: too many to be made one by one (`workloads.counts`).
    left_out: int = 0

    @property
    def pods(self) -> list[Pod]:
        """All pods."""
        return [pod for group in self.groups for pod in group.pods()]


#: Bytes of a digest. Few for values, so that a short secret cannot be found by trying: one change in 65,536 is missed.
_PATH_BYTES, _VALUE_BYTES = 5, 2


class KnownTemplate(NamedTuple):
    """The template of the cluster, its paths and values perhaps as digests."""

    fields: Fields
    #: The paths of what was applied before, parts that have others below them too; None: not known.
    applied: frozenset[str] | None
    #: What makes of a path and of a value what stands in `fields`.
    path: Callable[[str], str]
    value: Callable[[str], str]


def known_template(template: PodTemplateSpec) -> KnownTemplate | None:
    """What is known of it field by field; None: nothing."""
    if template.text is not None:
        fields = filled_fields_of(template.text.json)
        return None if fields is None else KnownTemplate(fields, _applied(template.text), str, str)
    digest = template.digest
    if digest is None:
        return None
    applied = None if digest.applied is None else frozenset(digest.applied)
    fields = Fields(dict(digest.fields), digest.orders)
    return KnownTemplate(
        fields,
        applied,
        lambda path: keyed_digest(digest.salt, path, _PATH_BYTES),
        lambda value: keyed_digest(digest.salt, value, _VALUE_BYTES),
    )


def digest_of(template: PodTemplateSpec, salt: str) -> TemplateDigest | None:
    """What a snapshot may hold of it; None if it is not known field by field."""
    if template.text is None:
        return template.digest
    known = known_template(template)
    if known is None:
        return None

    def path(text: str) -> str:
        return keyed_digest(salt, text, _PATH_BYTES)

    def value(text: str) -> str:
        return keyed_digest(salt, text, _VALUE_BYTES)

    (values, orders), applied = known.fields, known.applied
    return TemplateDigest(
        salt=salt,
        fields={path(name): value(text or "") for name, text in values.items()},
        orders={path(name): tuple(map(value, keys)) for name, keys in orders.items()},
        applied=None if applied is None else tuple(sorted(map(path, applied & places_of(template.text.json)))),
    )


def merged_digest(new: TemplateText, known: PodTemplateSpec) -> TemplateDigest | None:
    """The digest of a template of which a snapshot has kept one, once another one is applied (`applied_template`)."""
    stored = known_template(known)
    given = digest_of(PodTemplateSpec(text=new), known.digest.salt) if known.digest is not None else None
    if stored is None or given is None or known.digest is None:
        return None
    places = set(map(stored.path, places_of(new.json)))
    gone = (stored.applied or frozenset()) - places
    present: Mapping[str, str] = known.digest.fields
    kept = {path: value for path, value in present.items() if path not in gone | places}
    explicit = {path: value for path, value in given.fields.items() if path in places}
    # Which entries of lists went with their fields cannot be said: then the manifest has them all.
    orders = given.orders if gone & present.keys() else {**known.digest.orders, **given.orders}
    return TemplateDigest(
        salt=known.digest.salt,
        fields={**given.fields, **kept, **explicit},
        orders=orders,
        applied=tuple(sorted(places)),
    )


def equal_digests(one: PodTemplateSpec, other: PodTemplateSpec) -> bool | None:
    """Whether two templates, of which a snapshot has kept digests of at least one, are the same in every field.

    None if that cannot be said: one of them is not known field by field, or their digests are of different salts.
    """
    salt = next((each.digest.salt for each in (one, other) if each.text is None and each.digest is not None), None)
    if salt is None:
        return None
    digests = [digest_of(each, salt) for each in (one, other)]
    if any(digest is None or digest.salt != salt for digest in digests):
        return None
    first, second = ((digest.fields, digest.orders) for digest in digests if digest is not None)
    return first == second


def keyed_digest(salt: str, text: str, size: int) -> str:
    """A digest of `size` bytes, in hexadecimal digits; without the salt it cannot be computed."""
    return blake2b(text.encode(), digest_size=size, key=salt.encode()).hexdigest()


def _applied(text: TemplateText) -> frozenset[str] | None:
    """The paths that were applied before, if that is known."""
    if text.applied:
        return places_of(text.applied)
    return managed_paths(text.managed) if text.managed else None


def pod_of(
    template: PodTemplateSpec,
    namespace: str,
    owner: OwnerReference,
    labels: Mapping[str, str] | None = None,
) -> Pod:
    """The pod, yet without a name; `labels` come on top of the template's."""
    meta = PodMeta(
        namespace=namespace,
        generate_name=_prefix(owner.name),
        labels={**template.metadata.labels, **(labels or {})},
        owner_references=(owner,),
        annotations=template.metadata.annotations,
        finalizers=template.metadata.finalizers,
    )
    return Pod(metadata=meta, spec=template.spec)


def _prefix(name: str) -> str:
    """With a dash, where that makes no name too long (`getPodsPrefix`)."""
    return name if dns_subdomain_errors(f"{name}-a") else f"{name}-"


def content_of(template: PodTemplateSpec | None) -> object:
    """The template in a form that is equal, and prints the same, for equivalent templates.

    Defaults are filled in, quantities are numbers, and what is empty is absent, as the API server compares them
    (`equality.Semantic`). Of fields that are not in the model, there is only the template's mark.
    """
    if template is None:
        return None
    labels = sorted((key, value) for key, value in template.metadata.labels.items() if key not in ADDED_LABELS)
    annotations = template.metadata.annotations
    noted = () if annotations == NO_ANNOTATIONS else (plain(annotations),)
    marked = (template.mark,) if template.mark else ()
    return tuple(labels), plain(default_pod(Pod(spec=template.spec)).spec), *noted, *marked


def same_template(known: PodTemplateSpec | None, new: PodTemplateSpec | None) -> bool:
    """Whether the cluster's template says what the new one says, in fields that are not in the model, too.

    Where those are not known of both, a mark distinguishes a new template from the cluster's (`content_of`). The API
    server stores no container without an image: where there are none, a snapshot has left them out; that they are still
    the same is assumed, unless there is a mark.
    """
    if known is None or new is None:
        return known is new
    equal = _equal_fields(known, new)
    if equal is not None:
        return equal
    if not has_images(known.spec):
        new = replace(new, spec=without_images(new.spec))
    return _is_equal(known, new) or content_of(known) == content_of(new)


def _is_equal(known: PodTemplateSpec, new: PodTemplateSpec) -> bool:
    """Whether they say the same in the same words, which is what nearly all do."""
    labels, others = known.metadata.labels, new.metadata.labels
    return (
        known.spec == new.spec
        and known.mark == new.mark
        and known.metadata.annotations == new.metadata.annotations
        and {key: value for key, value in labels.items() if key not in ADDED_LABELS}
        == {key: value for key, value in others.items() if key not in ADDED_LABELS}
    )


def _equal_fields(one: PodTemplateSpec, other: PodTemplateSpec) -> bool | None:
    """Whether the two are the same in every field; None if that is not known of both."""
    if one.text is None or other.text is None:
        return equal_digests(one, other)
    if one.text.json == other.text.json or _equal_texts(one.text.json, other.text.json):
        return True
    fields = filled_fields_of(one.text.json), filled_fields_of(other.text.json)
    return None if None in fields else fields[0] == fields[1]


class _Outline(msgspec.Struct, forbid_unknown_fields=True):
    """A template of which only the metadata is decoded."""

    metadata: dict[str, Any] = {}
    spec: msgspec.Raw = msgspec.Raw()


_decode_outline = msgspec.json.Decoder(_Outline).decode


def _equal_texts(one: str, other: str) -> bool:
    """Whether the two differ in nothing but labels that are added: that is quickly seen of nearly all."""
    try:
        outlines = [_decode_outline(text) for text in (one, other)]
    except (msgspec.DecodeError, RecursionError):
        return False
    return bytes(outlines[0].spec) == bytes(outlines[1].spec) and _unlabelled(outlines[0]) == _unlabelled(outlines[1])


def _unlabelled(outline: _Outline) -> dict[str, Any]:
    labels = outline.metadata.get("labels")
    if not isinstance(labels, dict):
        return outline.metadata
    return {**outline.metadata, "labels": {key: value for key, value in labels.items() if key not in ADDED_LABELS}}


def has_images(spec: PodSpec) -> bool:
    """Whether any container says what it runs."""
    return any(container.image for container in (*spec.containers, *spec.init_containers))


def without_images(spec: PodSpec) -> PodSpec:
    """The spec with neither containers' nor volumes' images, as a snapshot may hold it."""
    return replace(
        spec,
        containers=_each_without_image(spec.containers),
        init_containers=_each_without_image(spec.init_containers),
        volumes=tuple(replace(volume, image=None) if volume.image else volume for volume in spec.volumes),
    )


def with_images(spec: PodSpec, source: PodSpec) -> PodSpec:
    """The spec with the images that another one has in containers and volumes of the same names."""
    images = {each.name: each.image for each in (*source.containers, *source.init_containers)}
    volumes = {volume.name: volume.image for volume in source.volumes}
    return replace(
        spec,
        containers=tuple(replace(each, image=images.get(each.name, "")) for each in spec.containers),
        init_containers=tuple(replace(each, image=images.get(each.name, "")) for each in spec.init_containers),
        volumes=tuple(replace(each, image=each.image or volumes.get(each.name)) for each in spec.volumes),
    )


def _each_without_image(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(replace(container, image="") if container.image else container for container in containers)
