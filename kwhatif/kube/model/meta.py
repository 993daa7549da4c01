"""Common parts of all objects: metadata, owners, selectors, times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenMeta(msgspec.StructMeta):
    """Metaclass of frozen structs: with it, type checkers know that subclasses are also frozen."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _ModelMeta(msgspec.StructMeta):
    """Metaclass of frozen structs with keyword-only fields."""


class Row(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all parts of a document: what a rule finds out and a report shows as it is, is one of these, too."""


class Model(
    msgspec.Struct,
    metaclass=_ModelMeta,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    repr_omit_defaults=True,  # template hashes use the repr: a new field must not change the hashes
    gc=False,
):
    """Base of all model types.

    Frozen; partial (only fields that scheduling reads). The decoder drops `null` for fields with a default.
    `gc=False`: the objects do not have cycles, and a cluster has a million of them.
    """


#: Integers with the API's ranges; decoders reject numbers out of range.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class OwnerReference(Model):
    """`metadata.ownerReferences[]`."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool = False


class LastApplied(Model):
    """The fields of an object that were applied before, except its pod template (`TemplateText.applied`).

    Apply uses them to find the fields that a manifest no longer has. Exactly one of these attributes is set.
    """

    #: The JSON that `kubectl apply` stores (`kubectl.kubernetes.io/last-applied-configuration`).
    configuration: str = ""
    #: The JSON of kubectl's `fieldsV1` in `managedFields` (`--server-side`).
    managed: str = ""
    #: In a snapshot: the paths of the fields, without keys that users can choose.
    paths: tuple[str, ...] = ()
    #: For a manifest that has not been applied yet: its own JSON.
    given: str = ""


class CustomResourceRef(Model):
    """The custom resource that an object represents: a `CloneSet` is represented by a Deployment."""

    kind: str = ""
    group: str = ""
    name: str = ""
    #: Whether the input lacks the custom resource: the object was inferred from its pods.
    inferred: bool = False


class ObjectMeta(Model):
    """The metadata that scheduling reads; only some kinds have annotations (`AnnotatedMeta`)."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    generate_name: str = ""
    generation: Int64 = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    #: The fields that were applied before; None: not known.
    applied: LastApplied | None = msgspec.field(name="kwhatif.dev/applied", default=None)
    #: The custom resource that this object represents; None for an ordinary object.
    stands_for: CustomResourceRef | None = msgspec.field(name="kwhatif.dev/stands-for", default=None)


class ApiObject(Model, tag_field="kind", tag=True):
    """Base of all kinds of objects: `kind` is the name of the class."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()


#: Labels written as `{}`, recognized by identity: messages show them differently from missing labels.
GIVEN_EMPTY: dict[str, str] = {}


class AnnotatedMeta(ObjectMeta):
    """Metadata of kinds whose annotations rules read (claims, storage classes, CSINodes), or queue pods (nodes)."""

    annotations: dict[str, str] = {}


class Requirement(Model):
    """One `matchExpressions[]` (or `matchFields[]`) entry of a label or node selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Model):
    """`metav1.LabelSelector`: a missing selector matches nothing, an empty selector matches everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


def controller_of(meta: ObjectMeta) -> OwnerReference | None:
    """The owner that controls the object, if any (`metav1.GetControllerOf`)."""
    for owner in meta.owner_references:
        if owner.controller:
            return owner
    return None


_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The first and the last second that RFC 3339 can express, in seconds since the epoch.
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799


#: One second in nanoseconds.
SECOND = 1_000_000_000
#: The length of a time in the API server's notation, with Z at the end: such times can be compared as strings.
PLAIN_TIME = len("2026-01-31T12:00:00Z")


def is_plain_time(text: str) -> bool:
    """Whether the time is in that notation."""
    return len(text) == PLAIN_TIME and text[-1] == "Z"


def parse_time(text: str) -> int:
    """Nanoseconds since the epoch of an RFC 3339 time.

    Raises:
        ValueError: the text is not an RFC 3339 time.
    """
    minute, second = _MINUTES.get(text[11:17]), _SECONDS.get(text[17:])
    if minute is None or second is None:
        return _parse_any_time(text)
    return _day(text[:11]) + minute + second


def created_at(meta: ObjectMeta) -> int:
    """When the object was created, in nanoseconds since the epoch; 0 if not known."""
    return parse_time(meta.creation_timestamp) if meta.creation_timestamp else 0


#: Parts of a time in nanoseconds, such as "12:34:" and "56Z". Few of a cluster's 100,000 times are equal, but many of
#: their parts are.
_MINUTES = {f"{minute // 60:02}:{minute % 60:02}:": minute * 60_000_000_000 for minute in range(24 * 60)}
_SECONDS = {f"{second:02}Z": second * 1_000_000_000 for second in range(60)}


@lru_cache(maxsize=4096)
def _day(text: str) -> int:
    """The start of a day such as "2026-01-31T", in nanoseconds since the epoch."""
    return _parse_any_time(f"{text}00:00:00Z")


def format_time(seconds: int) -> str:
    """Format seconds since the epoch as RFC 3339, limited to the years 1 to 9999."""
    known = min(max(seconds, FIRST_SECOND), LAST_SECOND)
    return (_EPOCH + timedelta(seconds=known)).isoformat().replace("+00:00", "Z")


def _parse_any_time(text: str) -> int:
    """Nanoseconds since the epoch, for a time that may have fractions of seconds and an offset."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    nanos = int((match[7] or "").ljust(9, "0"))
    offset = (int(match[9]) * 60 + int(match[10])) * 60 if match[8] else 0
    since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    seconds = since.days * 86_400 + since.seconds
    return (seconds - (offset if match[8] == "+" else -offset)) * 1_000_000_000 + nanos
