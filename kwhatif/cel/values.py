"""Kubernetes' own CEL types, encoded as byte strings for the engine.

The engine's Python bindings have no user-defined types at run time, but the type checker knows them by name and keeps
them apart from all other types, so the encoding is never visible. Quantities and versions are encoded so that they can
be compared bytewise: the engine compares them itself, without a call into Python. (Each call takes a microsecond, and
the bindings leak its arguments, some 180 bytes.)
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Any

from kwhatif.cel.semver import Semver

# No UTF-8 text starts with this byte, so no ordinary byte string of an expression is mistaken for one of these.
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

# Enough for every quantity that `parse_quantity` returns for less than a hundred digits.
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
        ValueError: the value has another of Kubernetes' types; with cel-go's message.
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
    """Name and value of one of Kubernetes' types; None for any other byte string."""
    for type_name, tag in _TAGS.items():
        if value.startswith(tag):
            return type_name, decode(type_name, value)
    return None
