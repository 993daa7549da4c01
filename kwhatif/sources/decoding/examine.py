"""What a JSON value is that the fast decoder does not take, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kwhatif.kube.matching.field_errors import json_name
from kwhatif.kube.model.meta import Model
from kwhatif.sources.decoding.lenient import OUT_OF_RANGE, reader
from kwhatif.sources.text.documents import Buffer, Document
from kwhatif.sources.text.origin import FieldPath
from kwhatif.sources.text.problems import ObjectProblems, Problems, hint_for_file

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


#: So deep may a document be that is taken as data; what looks at it calls itself for each level. As in YAML.
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
