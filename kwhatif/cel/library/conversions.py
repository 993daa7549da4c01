"""Conversions of strings, parsed as in Go (`ConvertToType` in cel-go's `common/types/string.go`).

The engine accepts some strings that Go does not, such as `" 1"` as a number, and the other way round.
"""

from __future__ import annotations

import math
import re
from datetime import datetime

from kwhatif.cel.library.function import Function
from kwhatif.kube.matching.labels import parse_int64
from kwhatif.kube.model.quantity import MAX_INT64, MAX_UINT64, fits

#: No uint64 has more than 20 digits, and Python refuses to parse thousands of them.
_UINT = re.compile(r"(?=[0-9])0*+([0-9]{0,20})")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_HEX_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F_]*\.?[0-9a-fA-F_]*[pP][+-]?[0-9]+")
_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SPAN = re.compile(r"(?<![0-9.])(?P<number>[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?P<unit>ns|us|ms|s|m|h)")
_SPANS = re.compile(rf"[+-]?(?:0|(?:{_SPAN.pattern.replace('?P<number>', '?:').replace('?P<unit>', '?:')})+)")
_TIMESTAMP = re.compile(
    r"(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
)


def _failure(kind: str) -> ValueError:
    return ValueError(f"type conversion error from 'string' to '{kind}'")


def to_int(text: str) -> int:
    """`int(text)`."""
    number = parse_int64(text)
    if number is None:
        raise _failure("int")
    return number


def to_uint(text: str) -> int:
    """`uint(text)`."""
    match = _UINT.fullmatch(text)
    number = -1 if match is None else int(match[1] or 0)
    if not 0 <= number <= MAX_UINT64:
        raise _failure("uint")
    return number


def to_double(text: str) -> float:
    """`double(text)`."""
    try:
        number = float.fromhex(text) if _HEX_FLOAT.fullmatch(text) else float(text)
    except (ValueError, OverflowError):
        raise _failure("double") from None
    if text != text.strip() or (math.isinf(number) and "inf" not in text.lower()):
        raise _failure("double")
    return number


def to_bool(text: str) -> bool:
    """`bool(text)`."""
    if text not in _TRUE + _FALSE:
        raise _failure("bool")
    return text in _TRUE


def duration_text(text: str) -> str:
    """The text that the engine parses as `duration(text)`."""
    plain = text.replace("µ", "u").replace("μ", "u")
    nanos = [float(span["number"]) * _UNITS[span["unit"]] for span in _SPAN.finditer(plain)]
    if not _SPANS.fullmatch(plain) or max(nanos, default=0) > MAX_INT64 or not fits(sum(map(int, nanos))):
        raise _failure("google.protobuf.Duration")
    return plain


def timestamp_text(text: str) -> str:
    """The text that the engine parses as `timestamp(text)`."""
    match = _TIMESTAMP.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)  # noqa: TRY301 - one message for everything that cannot be read
        # The engine rejects the year 0, with another message.
        datetime.fromisoformat(re.sub(r"\A0000", "0004", match["time"]))
    except ValueError:
        raise _failure("google.protobuf.Timestamp") from None
    return text


FUNCTIONS = (
    Function("@int.string", ("string",), "int", to_int),
    Function("@uint.string", ("string",), "uint", to_uint),
    Function("@double.string", ("string",), "double", to_double),
    Function("@bool.string", ("string",), "bool", to_bool),
    Function("@duration.string", ("string",), "string", duration_text),
    Function("@timestamp.string", ("string",), "string", timestamp_text),
)
