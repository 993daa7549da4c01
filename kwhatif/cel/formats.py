"""Conversions of strings to other types, and the string formats of `kubernetes.format`.

Strings are parsed as in Go (`ConvertToType` in cel-go's `common/types/string.go`). The engine accepts some strings that
Go rejects, such as `" 1"` for a number, and rejects some strings that Go accepts. Formats follow
`k8s.io/apiserver/pkg/cel/library/format.go`.
"""

from __future__ import annotations

import binascii
import math
import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from datetime import date, datetime

from kwhatif.cel.net import read_url
from kwhatif.cel.values import Function
from kwhatif.kube.matching.field_errors import (
    dns_1035_label_errors,
    dns_label_errors,
    dns_subdomain_errors,
    label_key_errors,
    label_value_errors,
)
from kwhatif.kube.matching.labels import parse_int64
from kwhatif.kube.model.quantity import MAX_INT64, MAX_UINT64, fits

#: A uint64 has at most 20 digits, and Python does not parse numbers with thousands of digits.
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
    """The text to pass to the engine's `duration()` instead of `text`."""
    plain = text.replace("µ", "u").replace("μ", "u")
    nanos = [float(span["number"]) * _UNITS[span["unit"]] for span in _SPAN.finditer(plain)]
    if not _SPANS.fullmatch(plain) or max(nanos, default=0) > MAX_INT64 or not fits(sum(map(int, nanos))):
        raise _failure("google.protobuf.Duration")
    return plain


def timestamp_text(text: str) -> str:
    """The text to pass to the engine's `timestamp()` instead of `text`."""
    match = _TIMESTAMP.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)  # noqa: TRY301 - one message for everything that cannot be read
        # Python rejects the year 0, which the engine rejects later, with another message.
        datetime.fromisoformat(re.sub(r"\A0000", "0004", match["time"]))
    except ValueError:
        raise _failure("google.protobuf.Timestamp") from None
    return text


_CONVERSIONS = (
    Function("@int.string", ("string",), "int", to_int),
    Function("@uint.string", ("string",), "uint", to_uint),
    Function("@double.string", ("string",), "double", to_double),
    Function("@bool.string", ("string",), "bool", to_bool),
    Function("@duration.string", ("string",), "string", duration_text),
    Function("@timestamp.string", ("string",), "string", timestamp_text),
)


_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# QUIRK: upstream's dot before the fraction matches any character.
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")

Check = Callable[[str], Sequence[str]]


def _as_prefix(check: Check) -> Check:
    def check_prefix(text: str) -> Sequence[str]:
        # A name that is generated from a prefix has more characters after the dash.
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return check_prefix


def _uri(text: str) -> list[str]:
    try:
        read_url(text)
    except ValueError as error:
        return [str(error)]
    return []


def _uuid(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte(text: str) -> list[str]:
    try:
        valid = bool(text) and bool(b64decode(text, validate=True))
    except binascii.Error:
        valid = False
    return [] if valid else ["invalid base64"]


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _date(text: str) -> list[str]:
    return [] if _is_date(text) else ["invalid date"]


def _datetime(text: str) -> list[str]:
    day, _, rest = text.lower().partition("t")
    time = _TIME.fullmatch(rest)
    valid = time is not None and time[1] <= "23" and time[2] <= "59" and time[3] <= "59"
    return [] if valid and _is_date(day) else ["invalid datetime"]


FORMATS: dict[str, Check] = {
    "byte": _byte,
    "date": _date,
    "datetime": _datetime,
    "dns1035Label": dns_1035_label_errors,
    "dns1035LabelPrefix": _as_prefix(dns_1035_label_errors),
    "dns1123Label": dns_label_errors,
    "dns1123LabelPrefix": _as_prefix(dns_label_errors),
    "dns1123Subdomain": dns_subdomain_errors,
    "dns1123SubdomainPrefix": _as_prefix(dns_subdomain_errors),
    "labelValue": label_value_errors,
    "qualifiedName": label_key_errors,
    "uri": _uri,
    "uuid": _uuid,
}


def validate(name: str, text: str) -> list[str]:
    """The errors in `text` for the format `name`; `rewrite.py` converts them to an optional list."""
    return list(FORMATS[name](text))


_FORMAT = "kubernetes.NamedFormat"
FUNCTIONS = (
    *_CONVERSIONS,
    Function("@isFormat", ("string",), "bool", FORMATS.__contains__),
    Function("format.named", ("string",), _FORMAT, lambda name: name),
    Function("validate", (_FORMAT, "string"), "dyn", validate, member=True),
    *(Function(f"format.{name}", (), _FORMAT, lambda name=name: name) for name in FORMATS),
)
