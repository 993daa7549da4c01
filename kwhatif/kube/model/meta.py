"""What all objects share: metadata, owners, selectors, times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenMeta(msgspec.StructMeta):
    """Of a frozen struct; by it type checkers know that subclasses of a frozen base are frozen too."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _ModelMeta(msgspec.StructMeta):
    """Of a frozen struct whose fields are given by keyword."""


class Model(
    msgspec.Struct,
    metaclass=_ModelMeta,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    repr_omit_defaults=True,  # hashes of templates are made of this: a new field does not change them
    gc=False,
):
    """Base of all model types.

    Frozen; partial (only what scheduling reads); `null` is not accepted where a default exists, the decoder drops it.
    `gc=False`: the trees have no cycles, and a cluster has a million of them.
    """


#: Numbers as wide as they are in the API; the decoders refuse others.
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
    """What was applied of an object before, the pod template aside, which has its own (`TemplateText`).

    By it, applying a manifest finds out what the manifest no longer has. One of the fields is given.
    """

    #: JSON that `kubectl apply` notes (`kubectl.kubernetes.io/last-applied-configuration`).
    configuration: str = ""
    #: JSON of kubectl's `fieldsV1` in `managedFields` (`--server-side`).
    managed: str = ""
    #: In a snapshot: the paths of the fields, without keys that anybody may have chosen.
    paths: tuple[str, ...] = ()
    #: Of a manifest, which is yet to be applied: its own JSON.
    given: str = ""


class ObjectMeta(Model):
    """The metadata that scheduling reads; annotations only where a rule reads them (`AnnotatedMeta`)."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    generate_name: str = ""
    generation: Int64 = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    #: None: not known.
    applied: LastApplied | None = msgspec.field(name="kwhatif.dev/applied", default=None)


class ApiObject(Model, tag_field="kind", tag=True):
    """Base of all kinds of objects: `kind` is the name of the class."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()


#: Labels that a manifest gives as `{}`: no labels, but a message that shows them shows this very object otherwise.
GIVEN_EMPTY: dict[str, str] = {}


class AnnotatedMeta(ObjectMeta):
    """Metadata of kinds whose annotations are rules (claims, storage classes, CSINodes), or wake pods (nodes)."""

    annotations: dict[str, str] = {}


class Requirement(Model):
    """One `matchExpressions[]` (or `matchFields[]`) entry of a label or node selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Model):
    """`metav1.LabelSelector`: a missing one matches nothing, an empty one everything."""

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
#: Seconds since the epoch of the first and the last second that a time may be: outside of them RFC 3339 has none.
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799


#: In nanoseconds.
SECOND = 1_000_000_000
#: How long a time is as the API server writes it, if it ends in Z: these sort as texts.
PLAIN_TIME = len("2026-01-31T12:00:00Z")


def parse_time(text: str) -> int:
    """Nanoseconds since the epoch of an RFC 3339 time.

    Raises:
        ValueError: when the text is not such a time.
    """
    minute, second = _MINUTES.get(text[11:17]), _SECONDS.get(text[17:])
    if minute is None or second is None:
        return _parse_any_time(text)
    return _day(text[:11]) + minute + second


#: Of a hundred thousand times in a cluster hardly any two are the same, but their parts are: "12:34:" and "56Z", as the
#: API server writes them, in nanoseconds.
_MINUTES = {f"{minute // 60:02}:{minute % 60:02}:": minute * 60_000_000_000 for minute in range(24 * 60)}
_SECONDS = {f"{second:02}Z": second * 1_000_000_000 for second in range(60)}


@lru_cache(maxsize=4096)
def _day(text: str) -> int:
    """When a day such as "2026-01-31T" begins."""
    return _parse_any_time(f"{text}00:00:00Z")


def format_time(seconds: int) -> str:
    """The RFC 3339 time of so many seconds since the epoch; before the year 1 the first one, after 9999 the last."""
    known = min(max(seconds, FIRST_SECOND), LAST_SECOND)
    return (_EPOCH + timedelta(seconds=known)).isoformat().replace("+00:00", "Z")


def _parse_any_time(text: str) -> int:
    """Nanoseconds since the epoch of a time that may have fractions of seconds and an offset."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    nanos = int((match[7] or "").ljust(9, "0"))
    offset = (int(match[9]) * 60 + int(match[10])) * 60 if match[8] else 0
    since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    seconds = since.days * 86_400 + since.seconds
    return (seconds - (offset if match[8] == "+" else -offset)) * 1_000_000_000 + nanos
