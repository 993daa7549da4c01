"""What is known of a pod template field by field: its text, or the digests that a snapshot keeps instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import NamedTuple

from kwhatif.kube.model.pod import PodTemplateSpec, TemplateDigest, TemplateText
from kwhatif.workloads.template_fields import Fields, filled_fields_of, managed_paths, places_of

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
    """The digest of a template of which a snapshot has kept one, once another one is applied; see `workloads.merge`."""
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
