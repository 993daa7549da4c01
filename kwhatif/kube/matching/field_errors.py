"""Errors of names and fields, with the API machinery's messages, and suggestions for misspelled names.

Follows `apimachinery/pkg/api/validate/content` (`kube.go`, `dns.go`) and `apimachinery/pkg/util/validation`. The API
server rejects nearly all invalid labels, except in preferred node affinity: there the scheduler fails, and its events
contain these messages.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from msgspec import inspect

from kwhatif.kube.model.quantity import MAX_INT64, MIN_INT64, parse_duration

_MAX_NAME = 63
_MAX_SUBDOMAIN = 253

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_1035_LABEL = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"

_name_syntax = re.compile(_NAME)
_value_syntax = re.compile(_VALUE)
_dns_label_syntax = re.compile(_DNS_LABEL)
_dns_1035_label_syntax = re.compile(_DNS_1035_LABEL)
_subdomain_syntax = re.compile(_SUBDOMAIN)

_CHARACTERS = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_KEY_EXAMPLES = f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
_WRONG_VALUE = (
    f"a valid label must be an empty string or {_CHARACTERS} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_WRONG_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    f" an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_DNS_LABEL}')"
)
_WRONG_1035_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    f" '{_DNS_1035_LABEL}')"
)
_WRONG_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    f" end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


def _errors(text: str, limit: int, unit: str, syntax: re.Pattern[str], wrong: str) -> list[str]:
    """The errors of a text. `limit` is in bytes (messages may say "characters"); `wrong` describes the syntax."""
    too_long = [f"must be no more than {limit} {unit}"] if len(text.encode()) > limit else []
    return too_long if syntax.fullmatch(text) else [*too_long, wrong]


@lru_cache(maxsize=65536)
def label_value_errors(value: str) -> tuple[str, ...]:
    """The errors of a label value; none if it is valid."""
    return tuple(_errors(value, _MAX_NAME, "bytes", _value_syntax, _WRONG_VALUE))


@lru_cache(maxsize=65536)
def label_key_errors(key: str) -> tuple[str, ...]:
    """The errors of a label key, `name` or `prefix/name`; none if it is valid."""
    prefix, slash, name = key.rpartition("/")
    wrong = f"must {_CHARACTERS} {_KEY_EXAMPLES}"
    if "/" in prefix:
        return (f"a valid label key {wrong} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    errors = [f"prefix part {error}" for error in _prefix_errors(prefix)] if slash else []
    if not name:
        errors.append("name part must be non-empty")
    errors += [f"name part {error}" for error in _errors(name, _MAX_NAME, "bytes", _name_syntax, wrong)]
    return tuple(errors)


def _prefix_errors(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    return _errors(prefix, _MAX_SUBDOMAIN, "bytes", _subdomain_syntax, _WRONG_SUBDOMAIN)


# --- names of objects (`apimachinery/pkg/util/validation/validation.go`) -------------------------------


@lru_cache(maxsize=65536)
def dns_subdomain_errors(name: str) -> tuple[str, ...]:
    """The errors of the name of most objects (`IsDNS1123Subdomain`); none if it is valid."""
    return tuple(_errors(name, _MAX_SUBDOMAIN, "characters", _subdomain_syntax, _WRONG_SUBDOMAIN))


@lru_cache(maxsize=65536)
def dns_label_errors(name: str) -> tuple[str, ...]:
    """The errors of the name of a container, volume or namespace (`IsDNS1123Label`); none if it is valid."""
    wrong = "must not contain dots" if "." in name and _subdomain_syntax.fullmatch(name) else _WRONG_LABEL
    return tuple(_errors(name, _MAX_NAME, "characters", _dns_label_syntax, wrong))


@lru_cache(maxsize=65536)
def dns_1035_label_errors(name: str) -> tuple[str, ...]:
    """The errors of the name of a service (`IsDNS1035Label`); none if it is valid."""
    return tuple(_errors(name, _MAX_NAME, "characters", _dns_1035_label_syntax, _WRONG_1035_LABEL))


#: (path, message).
Issue = tuple[str, str]

_NUMBER = re.compile(r"[-+]?(?:\d++\.?\d*+|\.\d++)")


def quoted(values: str | Sequence[str]) -> str:
    """A value as in the API machinery's messages; an empty list is printed as Go's nil slice."""
    return json.dumps(
        values or None if isinstance(values, tuple) else values, ensure_ascii=False, separators=(",", ":")
    )


def aggregate(messages: Iterable[str]) -> str:
    """Several errors as one message: in brackets, without duplicates; a single one is unchanged (`pkg/util/errors`)."""
    once = tuple(dict.fromkeys(messages))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]" if once else ""


_PLAIN = re.compile(r"[\w-]+")


def quoted_path(path: Sequence[str | int]) -> str:
    """The path as users write it: `spec.containers[0].image`; a key that holds dots or slashes is quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def field_path(path: Sequence[str | int]) -> str:
    """The path as the API server writes it: keys of maps without quotes."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def shown(value: str | int) -> str:
    """A value as in field errors: plain numbers are unchanged, texts and quantities are in quotes."""
    return str(value) if type(value) is int else quoted(str(value))


def invalid(path: str, value: str | int, detail: str) -> Issue:
    """`field.Invalid`."""
    return path, f"Invalid value: {shown(value)}: {detail}"


def required(path: str, detail: str = "") -> Issue:
    """`field.Required`."""
    return path, f"Required value: {detail}" if detail else "Required value"


def duplicate(path: str, value: str | int) -> Issue:
    """`field.Duplicate`."""
    return path, f"Duplicate value: {shown(value)}"


def forbidden(path: str, detail: str) -> Issue:
    """`field.Forbidden`."""
    return path, f"Forbidden: {detail}" if detail else "Forbidden"


def too_many(path: str, count: int, most: int) -> Issue:
    """`field.TooMany`."""
    return path, f"Too many: {count}: must have at most {most} item{'s' if most != 1 else ''}"


def unsupported(path: str, value: str, supported: Sequence[str]) -> Issue:
    """`field.NotSupported`."""
    return path, f"Unsupported value: {shown(value)}: supported values: {', '.join(map(quoted, supported))}"


def not_found(path: str, value: str, detail: str) -> Issue:
    """`field.NotFound`, with `detail`."""
    return path, f"Not found: {shown(value)}: {detail}"


def label_name(path: str, name: str) -> Iterator[Issue]:
    """`ValidateLabelName`."""
    yield from (invalid(path, name, wrong) for wrong in label_key_errors(name))


def duration(path: str, text: str) -> Iterator[Issue]:
    """The issue for a text that is not a Go duration: decoding fails with the message of `time.ParseDuration`."""
    try:
        parse_duration(text)
    except ValueError:
        number = _NUMBER.fullmatch(text)
        what = "missing unit in" if number else "invalid"
        yield path, f'time: {what} duration "{text}"'


#: The maximum number of suggestions.
_MOST = 3
#: A name that is this many times longer than another name is never similar: `difflib` would be slow.
_TIMES_LONGER = 3


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names with a similar spelling, the most similar first.

    The most similar to a name without its domain (as tables show node names), or to a label key without its prefix, is
    the full name. Case is ignored. The order of the names does not matter.
    """
    by_lower: dict[str, str] = {}
    for each in sorted(known):
        by_lower.setdefault(each.lower(), each)
    part = name.lower()
    whole = [known for lower, known in by_lower.items() if lower.startswith(f"{part}.") or lower.endswith(f"/{part}")]
    if len(part) > _TIMES_LONGER * max(map(len, by_lower), default=0):
        return whole[:_MOST]
    return whole[:_MOST] or [by_lower[found] for found in get_close_matches(part, by_lower, _MOST)]


def did_you_mean(near: Sequence[str], otherwise: str = "") -> str:
    """The hint for an unknown name, with the similar names; `otherwise` if there are no similar names."""
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def hinted(message: str, name: str, known: Iterable[str]) -> str:
    """The message about an unknown name, with the most similar known name, if any."""
    hint = did_you_mean(nearest(name, known)[:1])
    return f"{message}; {hint}" if hint else message


def is_like(name: str, pattern: str) -> bool:
    """Whether the whole name matches a pattern with `*`, `?` and `[...]`, as in a shell.

    Case matters; `*` also matches `/`.

    A `[` without a `]` is a literal. It is replaced by `[[]`, because fnmatch searches the rest of the pattern for the
    end of each such `[`: a pattern with 100,000 of them would take minutes.
    """
    head, closed, tail = pattern.rpartition("]")
    return fnmatchcase(name, head + closed + tail.replace("[", "[[]") if "[" in tail else pattern)


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
    """The JSON type of a value, for messages."""
    return _JSON_NAMES.get(type(value), type(value).__name__)


def range_of(integer: inspect.IntType) -> tuple[int, int]:
    """The minimum and maximum of the type; by default the range of int64."""
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
    """Check that one of several types matches; if none matches, report the problems of the first type."""
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
