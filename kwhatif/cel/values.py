"""Kubernetes' own CEL types, encoded for the engine, and declarations of library functions.

The engine's Python bindings do not support additional types at run time, but the type checker supports additional type
names. So values of Kubernetes' types are byte strings at run time; expressions cannot observe that. The encodings of
quantities and versions can be compared bytewise: so the engine compares them itself, without a call into Python. (Each
such call takes a microsecond, and the bindings leak its arguments, about 180 bytes.)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Any, NamedTuple

from kwhatif.kube.model.quantity import MAX_UINT64

_DIGITS = re.compile(r"[0-9]*")
_IDENTIFIER = re.compile(r"[-0-9A-Za-z]+")
#: The maximum number of digits of a 64-bit number; Python does not parse numbers with thousands of digits.
_MOST_DIGITS = 20
_NUMBERS = struct.Struct(">QQQ")

# Keys compared bytewise have the same order as versions, so the CEL engine can compare them without calling Python.
_END, _NUMERIC, _ALPHANUMERIC = b"\0", b"\1", b"\2"
_PRERELEASE, _RELEASE = b"\0", b"\1"


@dataclass(frozen=True, order=True)
class Semver:
    """A semantic version; equality and order ignore build metadata, as they do in Kubernetes."""

    text: str = field(compare=False)
    key: bytes = field(repr=False)

    @staticmethod
    def parse(text: str) -> Semver:
        """Parse a version.

        Raises:
            ValueError: the text is not a version; with upstream's message.
        """
        return _parse(text)

    @staticmethod
    def parse_normalized(text: str) -> Semver:
        """Parse a version, accepting a leading "v", leading zeroes, and missing numbers.

        A missing patch number, or missing minor and patch numbers, count as 0.

        Raises:
            ValueError: the text is not a version; with upstream's message.
        """
        parts = [_without_leading_zeroes(part) for part in text.removeprefix("v").split(".", 2)]
        if len(parts) < 3 and re.search(r"[+-]", parts[-1]):
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        return _parse(".".join(parts + ["0"] * (3 - len(parts))))


def numbers(key: bytes) -> tuple[int, int, int]:
    """Major, minor and patch number of the version with this key."""
    major, minor, patch = _NUMBERS.unpack_from(key)
    return major, minor, patch


@lru_cache(maxsize=4096)
def _parse(text: str) -> Semver:
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) < 3:
        raise ValueError("No Major.Minor.Patch elements found")
    major, minor = _number("Major", parts[0]), _number("Minor", parts[1])
    patch_and_prerelease, plus, build = parts[2].partition("+")
    patch_text, dash, prerelease = patch_and_prerelease.partition("-")
    patch = _number("Patch", patch_text)
    key = _RELEASE
    if dash:
        key = _PRERELEASE + b"".join(_prerelease_key(part) for part in prerelease.split(".")) + _END
    if plus:
        _check_build(build)
    return Semver(text, _NUMBERS.pack(major, minor, patch) + key)


def _number(name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueError(f'Invalid character(s) found in {name.lower()} number "{text}"')
    if len(text) > 1 and text.startswith("0"):
        raise ValueError(f'{name} number must not contain leading zeroes "{text}"')
    return _uint64(text)


def _uint64(text: str) -> int:
    if not text:
        raise ValueError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > _MOST_DIGITS or int(text) > MAX_UINT64:
        raise ValueError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _prerelease_key(part: str) -> bytes:
    if not part:
        raise ValueError("Prerelease is empty")
    if _DIGITS.fullmatch(part):
        if len(part) > 1 and part.startswith("0"):
            raise ValueError(f'Numeric PreRelease version must not contain leading zeroes "{part}"')
        return _NUMERIC + struct.pack(">Q", _uint64(part))
    if not _IDENTIFIER.fullmatch(part):
        raise ValueError(f'Invalid character(s) found in prerelease "{part}"')
    return _ALPHANUMERIC + part.encode() + _END


def _check_build(build: str) -> None:
    for part in build.split("."):
        if not part:
            raise ValueError("Build meta data is empty")
        if not _IDENTIFIER.fullmatch(part):
            raise ValueError(f'Invalid character(s) found in build meta data "{part}"')


def _without_leading_zeroes(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isdigit() and stripped[:1].isascii() else "0" + stripped


# No UTF-8 text starts with this byte, so an ordinary byte string of an expression cannot look like these.
_QUANTITY, _SEMVER, _ADDRESS, _NETWORK, _URL, _FORMAT = (b"\xff" + tag for tag in (b"Q", b"V", b"I", b"C", b"U", b"F"))
_TAGS = {
    "kubernetes.Quantity": _QUANTITY,
    "kubernetes.Semver": _SEMVER,
    "net.IP": _ADDRESS,
    "net.CIDR": _NETWORK,
    "kubernetes.URL": _URL,
    "kubernetes.NamedFormat": _FORMAT,
}
#: Names of the types that are byte strings at run time.
KUBERNETES_TYPES = frozenset(_TAGS)

# In bytes: enough for every quantity with less than a hundred digits (`parse_quantity`).
_WIDTH = 64
_ZERO = 1 << (8 * _WIDTH - 1)

Address = IPv4Interface | IPv6Interface


@lru_cache(maxsize=4096)
def quantity(nanos: int) -> bytes:
    """Encode a quantity in nano-units."""
    return _QUANTITY + max(0, min(2 * _ZERO - 1, nanos + _ZERO)).to_bytes(_WIDTH)


def semver(version: Semver) -> bytes:
    """Encode a semantic version."""
    return _SEMVER + version.key


def encode(type_name: str, value: Any) -> Any:
    """Encode a value of the named type."""
    match type_name:
        case "kubernetes.Quantity":
            return bytearray(quantity(value))
        case "kubernetes.Semver":
            return bytearray(semver(value))
        case "net.IP":
            return bytearray(_ADDRESS + value.ip.packed)
        case "net.CIDR":
            return bytearray(_NETWORK + str(value).encode())
        case "kubernetes.URL" | "kubernetes.NamedFormat":
            return bytearray(_TAGS[type_name] + value.encode())
        case _:
            return value


def decode(type_name: str, value: Any) -> Any:
    """Decode a value of the named type: the inverse of `encode`, except that versions are returned as their keys.

    Raises:
        ValueError: the value has a different Kubernetes type; with cel-go's message.
    """
    tag = _TAGS.get(type_name)
    if tag is None:
        return value
    data = bytes(value)
    if not data.startswith(tag):
        raise ValueError("no such overload")
    body = data[len(tag) :]
    match type_name:
        case "kubernetes.Quantity":
            return int.from_bytes(body) - _ZERO
        case "net.IP":
            return ip_interface(body)
        case "net.CIDR":
            return ip_interface(body.decode())
        case "kubernetes.Semver":
            return body
        case _:
            return body.decode()


def decode_any(value: bytes) -> tuple[str, Any] | None:
    """(type name, value) for a value of Kubernetes' types; None for any other byte string."""
    for type_name, tag in _TAGS.items():
        if value.startswith(tag):
            return type_name, decode(type_name, value)
    return None


class Function(NamedTuple):
    """One implementation; at run time it is selected by name, style of call, and types of arguments.

    If it raises a `ValueError`, with upstream's message, the expression fails with that message.
    """

    name: str
    #: CEL names of the parameter types; a method's receiver comes first.
    parameters: tuple[str, ...]
    result: str
    implementation: Callable[..., Any]
    member: bool = False


def accepts(parse: Callable[..., Any]) -> Callable[..., bool]:
    """A function that returns whether `parse` accepts its arguments, such as `isURL` for `url`."""

    def accepted(*args: Any) -> bool:
        try:
            parse(*args)
        except ValueError:
            return False
        return True

    return accepted
