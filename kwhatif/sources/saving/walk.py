"""Rewriting every name in an object, wherever it stands; the walk to them is compiled once per type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any

from msgspec import inspect
from msgspec.structs import replace

from kwhatif.model.affinity import Toleration
from kwhatif.model.meta import Requirement
from kwhatif.model.node import Taint
from kwhatif.model.resource_slice import DeviceTaint
from kwhatif.model.storage import TopologyExpression
from kwhatif.sources.saving.roles import NAME, NODE, label_role, role_of

#: Role and text -> the new text.
Rename = Callable[[str, str], str]
Rewrite = Callable[[Any, Rename], Any]

_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_CLASS_QUOTA = ".storageclass.storage.k8s.io/"


def rewrite(obj: Any, rename: Rename) -> Any:
    """The object with every name renamed; the same object if none changed."""
    walk = _walk_of(type(obj))
    return obj if walk is None else walk(obj, rename)


def _walk_of(type_: type) -> Rewrite | None:
    if type_ not in _WALKS:
        _WALKS[type_] = _struct(type_)
    return _WALKS[type_]


def _struct(type_: type) -> Rewrite | None:
    info = inspect.type_info(type_)
    assert isinstance(info, inspect.StructType)
    fields = {field.name: _compile(field.type, type_.__name__, field.name) for field in info.fields}
    steps = tuple((name, step) for name, step in fields.items() if step is not None)
    if not steps:
        return None

    def struct(obj: Any, rename: Rename) -> Any:
        changed = {}
        for name, step in steps:
            value = getattr(obj, name)
            if value:
                new = step(value, rename)
                if new is not value:
                    changed[name] = new
        return replace(obj, **changed) if changed else obj

    return struct


def _compile(type_: inspect.Type, owner: str, field: str) -> Rewrite | None:
    match type_:
        case inspect.StructType():
            return _walk_of(type_.cls)
        case inspect.VarTupleType():
            return _each(_compile(type_.item_type, owner, field))
        case inspect.DictType():
            return _map(type_, owner, field)
        case inspect.UnionType():
            return _union(type_, owner, field)
        case inspect.StrType():
            return _text(role_of(owner, field))
    return None


def _union(type_: inspect.UnionType, owner: str, field: str) -> Rewrite | None:
    """A type that may be missing; texts that may as well be numbers are quantities, and kept."""
    types = [option for option in type_.types if not isinstance(option, inspect.NoneType)]
    return _compile(types[0], owner, field) if len(types) == 1 else None


def _map(type_: inspect.DictType, owner: str, field: str) -> Rewrite | None:
    match field:
        case "labels" | "match_labels" | "node_selector" | "selector":
            return _labels
        case "annotations":
            return _annotations
        case "disrupted_pods":
            return lambda pods, rename: {rename(NAME, name): when for name, when in pods.items()}
        case "hard" | "used":
            return lambda amounts, rename: {_quota(name, rename): amount for name, amount in amounts.items()}
    inner = _compile(type_.value_type, owner, field) if isinstance(type_.value_type, inspect.StructType) else None
    return inner and (lambda value, rename: {key: inner(item, rename) for key, item in value.items()})


def _each(inner: Rewrite | None) -> Rewrite | None:
    if inner is None:
        return None

    def each(values: tuple[Any, ...], rename: Rename) -> tuple[Any, ...]:
        new = tuple(inner(value, rename) for value in values)
        return values if all(map(is_, new, values)) else new

    return each


def _text(role: str | None) -> Rewrite | None:
    return None if role is None else (lambda text, rename: rename(role, text))


def _label(key: str, value: str, rename: Rename) -> str:
    role = label_role(key)
    return value if role is None else rename(role, value)


def _labels(labels: Mapping[str, str], rename: Rename) -> dict[str, str]:
    return {key: _label(key, value, rename) for key, value in labels.items()}


def _annotations(annotations: Mapping[str, str], rename: Rename) -> dict[str, str]:
    roles = {_SELECTED_NODE: NODE, _BETA_CLASS: NAME}
    return {key: rename(roles[key], value) if key in roles else value for key, value in annotations.items()}


def _quota(resource: str, rename: Rename) -> str:
    """A quota may be about one storage class: `gold.storageclass.storage.k8s.io/requests.storage`."""
    name, mark, rest = resource.partition(_CLASS_QUOTA)
    return rename(NAME, name) + mark + rest if mark else resource


def _keyed_values(obj: Any, rename: Rename) -> Any:
    return replace(obj, values=tuple(_label(obj.key, value, rename) for value in obj.values))


def _keyed_value(obj: Any, rename: Rename) -> Any:
    return replace(obj, value=_label(obj.key, obj.value, rename))


#: Known walks. To begin with those of types in which one field says what the other is.
_WALKS: dict[type, Rewrite | None] = {
    Requirement: _keyed_values,
    TopologyExpression: _keyed_values,
    DeviceTaint: _keyed_value,
    Taint: _keyed_value,
    Toleration: _keyed_value,
}
