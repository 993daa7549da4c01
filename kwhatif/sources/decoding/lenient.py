"""Values as Go decodes them, checked field by field.

The typed decoder is strict, fast, and stops at the first thing it dislikes. Where it does, the value comes here: what
Go accepts is put into the form that the decoder wants (`null` is "not set" anywhere, `3.0` is an integer), and
everything that Go refuses is reported, each with its path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from kwhatif.kube.matching.field_errors import json_name, range_of
from kwhatif.kube.model.meta import Model
from kwhatif.sources.text.documents import Buffer, Document
from kwhatif.sources.text.problems import FieldPath, ObjectProblems, Problems, hint_for_file

#: Takes a problem: message, path, hint.
AddProblemWithHint = Callable[[str, FieldPath, str], None]
Reader = Callable[[Any, FieldPath, AddProblemWithHint], Any]

#: How messages about numbers out of range begin: the rest of the object can still be checked.
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


#: What decoding can raise: not the type, not JSON, nested too deeply, not UTF-8.
FAILURES = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


#: What to do about an object that does not say what it is.
NOT_SET = "every Kubernetes object has an apiVersion and a kind"


class Head(msgspec.Struct, rename="camel"):
    """What distinguishes one object from another; of any type, since nothing is known yet."""

    api_version: Any = None
    kind: Any = None
    metadata: Any = None
    items: msgspec.Raw = msgspec.Raw(b"null")

    def is_list(self) -> bool:
        """A `List`, or a list of one kind as the API serves it."""
        return self.kind == "List" or (self.kind.endswith("List") and self.has_items())

    def has_items(self) -> bool:
        """Whether there are entries; an empty list may say `null`."""
        return bytes(memoryview(self.items)[:1]) == b"["


_HEAD = msgspec.json.Decoder(Head)


#: The deepest nesting of a document that is taken as data, as in YAML: its readers are recursive.
_MAX_DEPTH = 400


def data_of(document: Document, problems: Problems) -> Any:
    """The document as plain data, or None after reporting why it cannot be had."""
    try:
        data = msgspec.json.decode(document.json)
        if _is_deep(data):
            raise RecursionError
    except FAILURES as failure:
        report_failure(failure, document.json, problems.at(document.place))
        return None
    return data


def _is_deep(data: object) -> bool:
    level = [data]
    for _ in range(_MAX_DEPTH):
        below = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [item for items in below for item in items]
    return bool(level)


def read_head(json: Buffer, report: ObjectProblems) -> Head | None:
    """The value's head, or None after reporting why it has none."""
    try:
        return _HEAD.decode(json)
    except FAILURES as failure:
        report_failure(failure, json, report)
    return None


def shown_name(kind: str, metadata: object) -> str:
    """`Kind namespace/name`, as far as the object says it; what is of another type says nothing."""
    meta = metadata if isinstance(metadata, Mapping) else {}
    names = (meta.get("namespace"), meta.get("name") or meta.get("generateName"))
    return f"{kind} {'/'.join(name for name in names if name and isinstance(name, str))}".strip()


def is_object(head: Head, report: ObjectProblems) -> bool:
    """Whether the value says what it is; reports what is missing. From here on the report names the object."""
    if isinstance(head.kind, str):
        report.name = shown_name(head.kind, head.metadata)
    if not head.api_version and not head.kind:
        report.add("is not a Kubernetes object: it has neither apiVersion nor kind", hint=hint_for_file(report.file))
        return False
    complete = True
    for field, value in (("apiVersion", head.api_version), ("kind", head.kind)):
        if value is None or value == "":
            hint = hint_for_file(report.file) or NOT_SET
            report.add("is not set", (field,), hint)
        elif not isinstance(value, str):
            report.add(f"expected a string, got {json_name(value)}", (field,))
        complete = complete and isinstance(value, str) and bool(value)
    return complete


def read_leniently(json: Buffer, type_: type[Model], head: Head, report: ObjectProblems) -> Model | None:
    """The object as Go would read it, or None after reporting everything that Go would refuse."""
    wrong = False

    def add(message: str, path: FieldPath, hint: str) -> None:
        nonlocal wrong
        wrong = wrong or not message.startswith(OUT_OF_RANGE)
        report.add(message, path, hint)

    try:
        value = reader(type_)(msgspec.json.decode(json), (), add)
        if wrong:
            return None
        value |= {"apiVersion": head.api_version, "kind": head.kind}
        return msgspec.convert(value, type_)
    except msgspec.ValidationError:  # all else is reported by the reader
        report.add("a number is out of range")
    except FAILURES as failure:
        report_failure(failure, json, report)
    return None


def report_failure(failure: Exception, json: Buffer, report: ObjectProblems) -> None:
    """Say why a value could not be decoded."""
    match failure:
        case RecursionError():
            report.add("is nested too deeply")
        case UnicodeDecodeError():
            report.add("is not valid UTF-8")
        case msgspec.ValidationError():
            report.add(f"is not a Kubernetes object: expected an object with apiVersion and kind, got {_what(json)}")
        case _:
            report.add(f"is not valid JSON: {failure}")


def _what(json: Buffer) -> str:
    try:
        return json_name(msgspec.json.decode(json))
    except FAILURES:
        return "something else"
