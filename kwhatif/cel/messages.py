"""Errors of expressions, and translation of the engine's messages to cel-go's, which Kubernetes shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kwhatif.cel.values import decode_any
from kwhatif.errors import KwhatifError


class CelError(KwhatifError):
    """An expression has an error; `message` is Kubernetes' text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CelCompileError(CelError):
    """The expression is not valid."""


class CelRuntimeError(CelError):
    """The expression is valid, but its evaluation fails for this data."""


#: The engine puts a status code before a message; its bindings also put one after it.
_CODE = re.compile(r"\A[A-Z_]+: (?P<text>.*?)(?: \[[A-Z_]+\])?\Z", re.DOTALL)
_TYPES = {"int64": "int", "uint64": "uint", "null": "null_type"}
_RENAMED = {"regex.extract": "find"}
_NO_OVERLOAD = re.compile(
    r"No matching overloads found : (?:\((?P<receiver>\w+)\)\.)?(?P<name>[^(]+)(?:\((?P<args>.*)\))?", re.DOTALL
)
_METHOD = re.compile(r"(?P<type>.+)\.(?P<name>\w+)\(.*\)")
#: The engine's messages about regular expressions -> Go's messages for the same problems.
_REGEX_ERRORS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}


_NUMBERS = {"int64", "uint64", "double"}
_RECEIVERS = {"google.protobuf.Timestamp", "google.protobuf.Duration", "timestamp", "duration", "string"}
#: Operator -> types of the left operand for which cel-go's message does not contain the operator: types that have the
#: operator for some right operand, and types that accept calls of any function.
_OPERANDS = {
    "_+_": _NUMBERS | _RECEIVERS | {"list"},
    "_-_": _NUMBERS | _RECEIVERS,
    "_*_": _NUMBERS | _RECEIVERS,
    "_/_": _NUMBERS | _RECEIVERS,
    "_%_": {"int64", "uint64"} | _RECEIVERS,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _NUMBERS | _RECEIVERS | {"bool"}),
}
#: Functions whose names are not in error messages.
_UNNAMED = frozenset({"contains", "startsWith", "endsWith", "matches", "find", "regex.replace"})


def _regex_error(match: re.Match[str]) -> str:
    return f"error parsing regexp: {_REGEX_ERRORS.get(match[1], match[1])}: `{match[2]}`"


def _no_such_overload(match: re.Match[str], operators: Mapping[str, str]) -> str:
    name, args = match["name"], [part for part in [match["receiver"], *(match["args"] or "").split(", ")] if part]
    name = _RENAMED.get(name, name.removeprefix("@string."))  # from `library/strings.py`
    types = {**_TYPES, "bytes": "kubernetes.Semver"}  # no attribute is a byte string
    method = _METHOD.fullmatch(operators.get(name, ""))
    if method and "bytes" in args:
        name, types["bytes"] = method["name"], method["type"]
    if name == "size":
        return "no such overload: size"
    if name in _OPERANDS and args[0] not in _OPERANDS[name]:
        return f"no such overload: {name}"
    if not name[0].isalpha() or name in _UNNAMED:
        return "no such overload"  # cel-go no longer knows the operator's name here
    return f"no such overload: {name}({', '.join(types.get(part, part) for part in args)})"


_RUNTIME: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (r'Key not found in map : "?(.*?)"?', lambda match: f"no such key: {match[1]}"),
        (r"Index error: index=(-?\d+) size=\d+", lambda match: f"index out of bounds: {match[1]}"),
        (r"Index error: expected integer type, got (.*)", lambda match: f"unsupported index type '{match[1]}' in list"),
        (r"(?:double|uint64) out of int64 range", lambda _: "integer overflow"),
        (r"(?:double|int64) out of uint64 range", lambda _: "unsigned integer overflow"),
        (r"malformed UTF-8 bytes", lambda _: "invalid UTF-8 in bytes, cannot convert to string"),
        (
            r"No matching overloads found : (?P<to>duration|timestamp)\((?P<from>\w+)\)",
            lambda match: (
                f"type conversion error from '{_TYPES.get(match['from'], match['from'])}'"
                f" to 'google.protobuf.{match['to'].capitalize()}'"
            ),
        ),
        (
            r"decimal clause can only be used on numbers, was given (.*)",
            lambda match: f"error during formatting: decimal clause can only be used on integers, was given {match[1]}",
        ),
        (
            r"hex clause can only be used on integers, byte buffers, and strings, was given (.*)",
            lambda match: (
                "error during formatting: only integers, byte buffers, and strings can be formatted as hex,"
                f" was given {match[1]}"
            ),
        ),
        (
            r'only "NaN", "Infinity", and "-Infinity" are supported for conversion to double: .*',
            lambda _: "error during formatting: fixed-point clause can only be used on doubles, was given string",
        ),
        (r"unrecognized formatting clause .*", lambda match: f"could not parse formatting clause: {match[0]}"),
        (r"unexpected end of format string", lambda _: "unexpected end of string"),
        (r"Iteration budget exceeded", lambda _: "operation cancelled: actual cost limit exceeded"),
        (r"divide by zero", lambda _: "division by zero"),
        (r"flatten\(\): (level must be non-negative)", lambda match: match[1]),
        (r"invalid regular expression: (.*?): (.*)", _regex_error),
        (r"No matching overloads found : <iter_range>", lambda _: "unsupported comprehension range type"),
        (r"Applying SELECT to non-message type", lambda _: "no such key"),
        (r'No value with name "(.*?)" found in Activation', lambda match: f"no such attribute(s): {match[1]}"),
    )
)


def plain(text: str) -> str:
    """A message of the engine without its status code."""
    match = _CODE.match(text)
    return match["text"] if match else text


def runtime_error(text: str, operators: Mapping[str, str]) -> str:
    """cel-go's message for this runtime error; for `operators` see `rewrite`."""
    text = plain(text)
    for pattern, words in _RUNTIME:
        if match := pattern.fullmatch(text):
            return operators.get("regex", "") * (words is _regex_error) + words(match)
    match = _NO_OVERLOAD.fullmatch(text)
    return _no_such_overload(match, operators) if match else text


_CONVERSIONS = {
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "string": "unsupported native conversion from string to 'bool'",
    "double": "type conversion error from Double to 'bool'",
    "bytes": "type conversion error from Bytes to 'bool'",
    "list": "type conversion error from list to 'bool'",
    "map": "type conversion error from map to 'bool'",
    "null_type": "type conversion error from 'null_type' to 'bool'",
    "google.protobuf.Timestamp": "type conversion error from 'Timestamp' to 'bool'",
    "google.protobuf.Duration": "type conversion error from 'Duration' to 'bool'",
}
_RUNTIME_TYPES = {"NULL": "null_type", "TIMESTAMP": "google.protobuf.Timestamp", "DURATION": "google.protobuf.Duration"}


def not_a_bool(engine_type: str, value: Any) -> str:
    """The scheduler's message for a selector whose value is not a bool."""
    name = engine_type.partition("<")[0]
    type_name = _RUNTIME_TYPES.get(name, name.lower())
    conversion = _CONVERSIONS.get(type_name, f"type conversion error from '{type_name}' to 'bool'")
    if isinstance(value, bytearray) and (found := decode_any(bytes(value))):
        type_name = found[0]
        conversion = f"type conversion error from '{type_name.rpartition('.')[2]}' to 'bool'"
    return f"CEL result of type {type_name} could not be converted to bool: {conversion}"
