"""What a YAML scalar means to kubectl (`go.yaml.in/yaml/v2/resolve.go`, by way of `sigs.k8s.io/yaml`).

YAML 1.1 with Go's changes: `yes`, `on` and even `y` are booleans, a leading zero makes an octal number, there are no
base-60 numbers, and what looks like a time is a string.
"""

from __future__ import annotations

import re
from base64 import b64decode
from decimal import Decimal
from functools import lru_cache
from math import isfinite

Scalar = str | int | float | bool | None

_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_INT = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]{0,19}))")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
#: A longer literal is not a 64-bit number in any base.
_LONGEST_INT = 70


@lru_cache(maxsize=65536)
def plain(text: str) -> Scalar:
    """The value of a scalar without quotes and tag."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first == ".":
        return _float(text)
    if first in "+-0123456789":
        digits = text.replace("_", "")
        number = _int(digits)
        return _float(digits, otherwise=text) if number is None else number
    return text


def as_json(value: Scalar) -> Scalar:
    """The value as JSON has it: Go writes whole numbers without a point, and of large ones only what it knows.

    Raises:
        ValueError: JSON has no such number.
    """
    if not isinstance(value, float):
        return value
    if not isfinite(value):
        raise ValueError("is not a number that JSON can hold")
    return int(Decimal(repr(value))) if value.is_integer() and abs(value) < 1e21 else value


def tagged(text: str, tag: str) -> Scalar:
    """The value of a scalar with an explicit tag.

    Raises:
        ValueError: the text is not such a value.
    """
    name = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
    if name == "binary":
        return b64decode(text, validate=True).decode("utf-8", "replace")
    expected = {"bool": bool, "int": int, "float": float, "null": type(None)}.get(name)
    if expected is None:  # a string, a time, or a tag of the user's own
        return text
    value = plain(text)
    if expected is float and type(value) is int:
        return float(value)
    if type(value) is not expected:
        raise ValueError(f"cannot decode {text!r} as !!{name}")
    return value


def _int(digits: str) -> int | None:
    match = _INT.fullmatch(digits) if len(digits) <= _LONGEST_INT else None
    if match is None:
        return None
    sign, *bases = match.groups()
    number = next(int(part, base) for part, base in zip(bases, (16, 2, 8, 10), strict=True) if part)
    if sign == "-":
        return -number if number <= 2**63 else None
    # Unsigned numbers have no sign at all.
    return number if number < (2**63 if sign else 2**64) else None


def _float(digits: str, otherwise: str | None = None) -> Scalar:
    number = float(digits) if _FLOAT.fullmatch(digits) else float("inf")
    return number if abs(number) != float("inf") else (digits if otherwise is None else otherwise)
