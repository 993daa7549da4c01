"""The result of admission: `Admitted`, with all changes, or `Denied`, with the API server's message and the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import FrozenMeta, Model, Row
from kwhatif.kube.model.pod import PodTemplateSpec


class ChangeRow(Row):
    """A change of an object by admission, or by an edit: which field, from what, to what, and who did it."""

    by: str
    field: str
    before: str | None = None
    after: str | None = None


def changes_between(by: str, before: Model, after: Model) -> Iterator[ChangeRow]:
    """The fields in which two objects of one type differ."""
    return _differences(by, "", before, after)


def _differences(by: str, path: str, before: Any, after: Any) -> Iterator[ChangeRow]:
    if before is after or before == after:
        return
    if isinstance(before, Model) and type(before) is type(after):
        for name, json_name in _fields(type(before)):
            here = f"{path}.{json_name}" if path else json_name
            yield from _differences(by, here, getattr(before, name), getattr(after, name))
    elif isinstance(before, dict | None) and isinstance(after, dict):
        was = before or {}
        for key in dict.fromkeys([*was, *after]):
            yield from _differences(by, f"{path}[{key}]", was.get(key), after.get(key))
    elif isinstance(before, tuple) and isinstance(after, tuple):
        for index, (old, new) in enumerate(zip_longest(before, after)):
            yield from _differences(by, f"{path}[{index}]", old, new)
    else:
        yield ChangeRow(by, path, _text(before), _text(after))


#: Fields of a pod template that the API does not have.
_OURS = frozenset({"digest", "mark", "text"})


@cache
def _fields(kind: type[Model]) -> tuple[tuple[str, str], ...]:
    fields = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return tuple(field for field in fields if not (kind is PodTemplateSpec and field[0] in _OURS))


def _text(value: Any) -> str | None:
    """The value as a manifest has it; an empty value counts as absent."""
    if value in (None, "", (), {}):
        return None
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


T = TypeVar("T", bound=Model)


class _Cause(msgspec.Struct, metaclass=FrozenMeta, frozen=True, rename="camel", tag_field="type", gc=False):
    """Base: serialised with its class name as `type`."""


class QuotaExceeded(_Cause):
    """A ResourceQuota has no room; amounts as the API server writes them, of the resources that exceed it."""

    quota: str
    requested: dict[str, str]
    used: dict[str, str]
    limited: dict[str, str]


class LimitRangeViolated(_Cause):
    """A request or a limit is outside of what a LimitRange of the namespace allows."""


class PodSecurityViolated(_Cause):
    """The pod violates the Pod Security standard that its namespace enforces: `level`, or `level:version`."""

    standard: str


class ObjectNotFound(_Cause):
    """It names an object that does not exist, or is in a namespace that does not exist."""

    kind: Literal["Namespace", "PriorityClass", "RuntimeClass"]
    name: str


class AlreadyExists(_Cause):
    """An object of its kind and name exists."""


class InvalidObject(_Cause):
    """Validation of its fields fails."""


class Forbidden(_Cause):
    """The API server rejects it for another reason: `by` is an admission plugin, or a feature gate that is off."""

    by: str


class NotSimulated(_Cause):
    """The API server would take it: kwhatif does not make such a pod."""


#: Why an object is not created.
Refusal = (
    QuotaExceeded
    | LimitRangeViolated
    | PodSecurityViolated
    | ObjectNotFound
    | AlreadyExists
    | InvalidObject
    | Forbidden
    | NotSimulated
)


class Denied(msgspec.Struct, frozen=True):
    """The object would not be created; `message` is the API server's answer."""

    message: str
    cause: Refusal


def forbidden(obj: KubernetesObject, reason: str, cause: Refusal) -> Denied:
    """An admission plugin's rejection (`admission.NewForbidden`)."""
    name = obj.metadata.name or obj.metadata.generate_name or "Unknown"
    return Denied(f'{resource_of(obj)} "{name}" is forbidden: {reason}', cause)


def already_exists(obj: KubernetesObject) -> Denied:
    """The error for creating an object that exists (`apierrors.NewAlreadyExists`)."""
    return Denied(f'{resource_of(obj)} "{obj.metadata.name}" already exists', AlreadyExists())


def resource_of(obj: KubernetesObject) -> str:
    """Plural and group, as in messages of admission: `deployments.apps`."""
    known = RESOURCES[type(obj)]
    return f"{known.plural}.{known.group}".rstrip(".")


def kind_of(obj: KubernetesObject) -> str:
    """Kind and group, as in messages of validation: `Deployment.apps`."""
    known = RESOURCES[type(obj)]
    return f"{known.kind}.{known.group}".rstrip(".")


class Admitted(msgspec.Struct, Generic[T], frozen=True):
    """The object as the API server stores it, and all changes by admission, in order."""

    object: T
    changes: tuple[ChangeRow, ...] = ()


class AdmissionStep(NamedTuple, Generic[T]):
    """One step of admission, with its name in the API server."""

    name: str
    run: Callable[[T, Cluster], T | Denied]


def run_steps(steps: Sequence[AdmissionStep[T]], obj: T, cluster: Cluster) -> Admitted[T] | Denied:
    """Run all steps in order, up to the first rejection."""
    changes: list[ChangeRow] = []
    for step in steps:
        result = step.run(obj, cluster)
        if isinstance(result, Denied):
            return result
        changes.extend(changes_between(step.name, obj, result))
        obj = result
    return Admitted(obj, tuple(changes))
