"""Syntax of label keys and values (`apimachinery/pkg/api/validate/content/kube.go`, `dns.go`).

The API server rejects nearly all errors, except in preferred node affinity, where the scheduler fails. The messages
are upstream's, word for word, because they end up in the scheduler's events.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
    """The errors of a text. `limit` is in bytes, which messages may call characters; `wrong` describes the syntax."""
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
