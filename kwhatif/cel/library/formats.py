"""`kubernetes.format` (`k8s.io/apiserver/pkg/cel/library/format.go`).

Which texts a format accepts is upstream's rule; how a refusal is worded is not.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from datetime import date

from kwhatif.cel.library import url
from kwhatif.cel.library.function import Function

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1123 = re.compile(_LABEL)
_SUBDOMAIN_1123 = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# QUIRK: upstream's dot before the fraction matches any character.
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")

Check = Callable[[str], list[str]]


def _matches(pattern: re.Pattern[str], longest: int, description: str) -> Check:
    def check(text: str) -> list[str]:
        too_long = [f"must be no more than {longest} bytes"] if len(text.encode()) > longest else []
        return too_long if pattern.fullmatch(text) else [*too_long, f"is not {description}"]

    return check


def _as_prefix(check: Check) -> Check:
    def check_prefix(text: str) -> list[str]:
        # A name generated from a prefix goes on after the dash.
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return check_prefix


_label_1123 = _matches(_LABEL_1123, 63, "a DNS label (RFC 1123)")
_subdomain_1123 = _matches(_SUBDOMAIN_1123, 253, "a DNS subdomain (RFC 1123)")
_label_1035 = _matches(_LABEL_1035, 63, "a DNS label (RFC 1035)")
_name = _matches(_NAME, 63, "a name of letters, digits, '-', '_' and '.'")


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return ["has more than one '/'"]
    return [*(_subdomain_1123(prefix) if slash else []), *_name(name)]


def _label_value(text: str) -> list[str]:
    return _name(text) if text else []


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
    "dns1035Label": _label_1035,
    "dns1035LabelPrefix": _as_prefix(_label_1035),
    "dns1123Label": _label_1123,
    "dns1123LabelPrefix": _as_prefix(_label_1123),
    "dns1123Subdomain": _subdomain_1123,
    "dns1123SubdomainPrefix": _as_prefix(_subdomain_1123),
    "labelValue": _label_value,
    "qualifiedName": _qualified_name,
    "uri": _uri,
    "uuid": _uuid,
}


def validate(name: str, text: str) -> list[str]:
    """What is wrong with `text`; `rewrite.py` makes it an optional list."""
    return FORMATS[name](text)


_FORMAT = "kubernetes.NamedFormat"
FUNCTIONS = (
    Function("@isFormat", ("string",), "bool", FORMATS.__contains__),
    Function("format.named", ("string",), _FORMAT, lambda name: name),
    Function("validate", (_FORMAT, "string"), "dyn", validate, member=True),
    *(Function(f"format.{name}", (), _FORMAT, lambda name=name: name) for name in FORMATS),
)
