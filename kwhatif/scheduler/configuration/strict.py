"""Strict decoding, as in kube-scheduler: unknown fields and wrong types are errors that name the place.

`null` counts as missing, as everywhere in Kubernetes.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import inspect

from kwhatif.kube.matching.field_errors import Issue, did_you_mean, nearest
from kwhatif.kube.model.quantity import MAX_INT64, MIN_INT64

_SCALARS: dict[type[inspect.Type], tuple[str, type | tuple[type, ...]]] = {
    inspect.StrType: ("a string", str),
    inspect.BytesType: ("a string in base64", str),
    inspect.BoolType: ("a boolean", bool),
    inspect.IntType: ("an integer", int),
    inspect.FloatType: ("a number", (int, float)),
}
_JSON_NAMES: dict[type, str] = {
    bool: "a boolean",
    dict: "an object",
    float: "a number",
    int: "an integer",
    list: "a list",
    str: "a string",
    type(None): "null",
}


def json_name(value: object) -> str:
    """The type of a value in words."""
    return _JSON_NAMES.get(type(value), type(value).__name__)


def range_of(integer: inspect.IntType) -> tuple[int, int]:
    """The smallest and the largest number of the type; by default those of int64."""
    low, high = integer.ge, integer.le
    return MIN_INT64 if low is None else low, MAX_INT64 if high is None else high


def without_nulls(data: Any) -> Any:
    """The data without nulls; a null in a list becomes an empty object, because all lists contain objects."""
    if isinstance(data, dict):
        return {name: without_nulls(value) for name, value in data.items() if value is not None}
    if isinstance(data, list):
        return [{} if item is None else without_nulls(item) for item in data]
    return data


def problems(data: object, type_: type, path: str = "") -> Iterator[Issue]:
    """All fields in `data` that are unknown or have a wrong type: `profiles[0].plugin`."""
    yield from _problems(data, inspect.type_info(type_), path)


def _problems(data: object, info: inspect.Type, path: str) -> Iterator[Issue]:  # noqa: C901 - an arm per type
    match info:
        case inspect.UnionType():
            yield from _of_union(data, info, path)
        case inspect.VarTupleType() | inspect.ListType():
            if not isinstance(data, list):
                yield path, _mismatch("a list", data)
                return
            for index, item in enumerate(data):
                yield from _problems(item, info.item_type, f"{path}[{index}]")
        case inspect.DictType():
            if not isinstance(data, Mapping):
                yield path, _mismatch("an object", data)
                return
            for name, value in data.items():
                yield from _problems(value, info.value_type, f'{path}["{name}"]')
        case inspect.StructType():
            yield from _of_struct(data, info, path)
        case inspect.LiteralType():
            if data not in info.values:
                yield path, f"must be one of {', '.join(map(str, info.values))}; it is {_shown(data)}"
        case _ if type(info) in _SCALARS:
            yield from _of_scalar(data, info, path)


def _of_union(data: object, info: inspect.UnionType, path: str) -> Iterator[Issue]:
    """Check that one of several types matches; problems are reported for the first one."""
    found = [list(_problems(data, member, path)) for member in info.types if not isinstance(member, inspect.NoneType)]
    if all(found):
        yield from found[0]


def _of_struct(data: object, info: inspect.StructType, path: str) -> Iterator[Issue]:
    if not isinstance(data, Mapping):
        yield path, _mismatch("an object", data)
        return
    fields = {field.encode_name: field for field in info.fields}
    for name, value in data.items():
        here = f"{path}.{name}" if path else str(name)
        if name in fields:
            yield from _problems(value, fields[name].type, here)
        else:
            meant = did_you_mean(nearest(str(name), fields)[:1])
            yield here, f"unknown field; {meant}" if meant else "unknown field"
    for name, field in fields.items():
        if field.required and name not in data:
            yield f"{path}.{name}" if path else name, "Required value"


def _of_scalar(data: object, info: inspect.Type, path: str) -> Iterator[Issue]:
    wanted, python = _SCALARS[type(info)]
    if not isinstance(data, python) or (isinstance(data, bool) and python is not bool):
        yield path, _mismatch(wanted, data)
    elif isinstance(info, inspect.IntType) and isinstance(data, int):
        low, high = range_of(info)
        if not low <= data <= high:
            yield path, f"Invalid value: {data}: out of range"
    elif isinstance(info, inspect.BytesType) and isinstance(data, str):
        try:
            b64decode(data, validate=True)
        except binascii.Error as wrong:
            yield path, f"is not base64: {wrong}"


def _shown(data: object) -> str:
    return repr(data) if isinstance(data, str) else json_name(data)


def _mismatch(wanted: str, data: object) -> str:
    return f"expected {wanted}, got {json_name(data)}"
