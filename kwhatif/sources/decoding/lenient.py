"""Values as Go decodes them, checked field by field.

The typed decoder is strict, fast, and stops at the first thing it dislikes. Where it does, the value comes here: what
Go accepts is put into the form that the decoder wants (`null` is "not set" anywhere, `3.0` is an integer), and
everything that Go refuses is reported, each with its path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import inspect

from kwhatif.kube.matching.field_errors import json_name, range_of
from kwhatif.sources.text.origin import FieldPath

#: Takes a problem: message, path, hint.
AddProblemWithHint = Callable[[str, FieldPath, str], None]
Reader = Callable[[Any, FieldPath, AddProblemWithHint], Any]

#: How messages begin about a number that is as good as any other of its type: all else can still be checked.
OUT_OF_RANGE = "is out of range"
_ZEROS: dict[type, Any] = {
    inspect.StrType: "",
    inspect.IntType: 0,
    inspect.BoolType: False,
    inspect.FloatType: 0.0,
}


@cache
def reader(type_: type) -> Reader:
    """Reads decoded JSON for a typed object."""
    return _reader(inspect.type_info(type_))


def _reader(type_: inspect.Type) -> Reader:
    match type_:
        case inspect.StructType():
            return _struct(type_)
        case inspect.DictType():
            return _map(type_)
        case inspect.VarTupleType() | inspect.ListType():
            return _list(type_)
        case inspect.UnionType():
            return _union(type_)
    return _scalar((type_,))


def mismatch(wanted: str, value: Any) -> tuple[str, str]:
    """What is wrong with a value of another type, and what to do about it."""
    hint = "put it in quotes" if wanted == "a string" and isinstance(value, bool | int | float) else ""
    return f"expected {wanted}, got {json_name(value)}", hint


def _wrong(wanted: str, value: Any, path: FieldPath, add: AddProblemWithHint) -> None:
    message, hint = mismatch(wanted, value)
    add(message, path, hint)


def _struct(type_: inspect.StructType) -> Reader:
    # Made on first use: types may be recursive.
    fields: dict[str, Reader] = {}

    def read(value: Any, path: FieldPath, add: AddProblemWithHint) -> Any:
        if not isinstance(value, dict):
            _wrong("an object", value, path, add)
            return {}
        if not fields:
            fields.update({field.encode_name: _reader(field.type) for field in type_.fields})
        known = {
            name: fields[name](item, (*path, name), add)
            for name, item in value.items()
            if item is not None and name in fields
        }
        if type_.tag_field and type_.tag_field in value:
            known[type_.tag_field] = value[type_.tag_field]
        return known

    return read


def _map(type_: inspect.DictType) -> Reader:
    inner, zero = _reader(type_.value_type), _zero(type_.value_type)

    def read(value: Any, path: FieldPath, add: AddProblemWithHint) -> Any:
        if not isinstance(value, dict):
            _wrong("an object", value, path, add)
            return {}
        return {key: zero() if item is None else inner(item, (*path, key), add) for key, item in value.items()}

    return read


def _list(type_: inspect.VarTupleType | inspect.ListType) -> Reader:
    inner, zero = _reader(type_.item_type), _zero(type_.item_type)

    def read(value: Any, path: FieldPath, add: AddProblemWithHint) -> Any:
        if not isinstance(value, list):
            _wrong("a list", value, path, add)
            return []
        return [zero() if item is None else inner(item, (*path, index), add) for index, item in enumerate(value)]

    return read


def _union(type_: inspect.UnionType) -> Reader:
    """Either one type that may be missing, or several kinds of scalars."""
    types = tuple(option for option in type_.types if not isinstance(option, inspect.NoneType))
    return _reader(types[0]) if len(types) == 1 else _scalar(types)


def _scalar(types: tuple[inspect.Type, ...]) -> Reader:
    kinds = {type(option) for option in types}
    accepts_float = inspect.FloatType in kinds
    integer = next((option for option in types if isinstance(option, inspect.IntType)), None)
    wanted = " or ".join(
        name
        for kind, name in (
            (inspect.StrType, "a string"),
            (inspect.FloatType, "a number"),
            (inspect.IntType, "an integer" if inspect.FloatType not in kinds else ""),
            (inspect.BoolType, "a boolean"),
        )
        if kind in kinds and name
    )

    def read(value: Any, path: FieldPath, add: AddProblemWithHint) -> Any:
        if isinstance(value, float) and integer and not accepts_float and value.is_integer():
            value = int(value)
        if type(value) not in _PYTHON or not kinds & _PYTHON[type(value)]:
            _wrong(wanted, value, path, add)
        elif type(value) is int and integer and not accepts_float:
            low, high = range_of(integer)
            if not low <= value <= high:
                add(f"{OUT_OF_RANGE}: it must be from {low} to {high}", path, "")
                return 0
        return value

    return read


#: Which types a JSON value fits.
_PYTHON: dict[type, set[type]] = {
    bool: {inspect.BoolType},
    float: {inspect.FloatType},
    int: {inspect.IntType, inspect.FloatType},
    str: {inspect.StrType},
}


def _zero(type_: inspect.Type) -> Callable[[], Any]:
    """What Go makes of a `null` among the entries of a list or a map."""
    if isinstance(type_, inspect.UnionType):
        kinds = {type(option) for option in type_.types}
        if inspect.NoneType in kinds:
            return lambda: None
        return lambda: 0 if inspect.IntType in kinds else ""
    if isinstance(type_, inspect.StructType | inspect.DictType):
        return dict
    if isinstance(type_, inspect.VarTupleType | inspect.ListType):
        return list
    return lambda: _ZEROS.get(type(type_))
