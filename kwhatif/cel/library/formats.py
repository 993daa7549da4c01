"""`kubernetes.format` (`k8s.io/apiserver/pkg/cel/library/format.go`)."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from datetime import date

from kwhatif.cel.library import url
from kwhatif.cel.library.function import Function
from kwhatif.kube.matching.label_syntax import (
    dns_1035_label_errors,
    dns_label_errors,
    dns_subdomain_errors,
    label_key_errors,
    label_value_errors,
)

_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# QUIRK: upstream's dot before the fraction matches any character.
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")

Check = Callable[[str], Sequence[str]]


def _as_prefix(check: Check) -> Check:
    def check_prefix(text: str) -> Sequence[str]:
        # A name that is generated from a prefix continues after the dash.
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return check_prefix


def _uri(text: str) -> list[str]:
    try:
        url.read(text)
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
    """The errors of `text`; `rewrite.py` converts them to an optional list."""
    return list(FORMATS[name](text))


_FORMAT = "kubernetes.NamedFormat"
FUNCTIONS = (
    Function("@isFormat", ("string",), "bool", FORMATS.__contains__),
    Function("format.named", ("string",), _FORMAT, lambda name: name),
    Function("validate", (_FORMAT, "string"), "dyn", validate, member=True),
    *(Function(f"format.{name}", (), _FORMAT, lambda name=name: name) for name in FORMATS),
)
