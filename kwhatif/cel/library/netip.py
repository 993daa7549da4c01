"""Why a text is not an address or prefix, with Go's messages (`net/netip/netip.go`)."""

from __future__ import annotations

import json
import re

from kwhatif.kube.model.int64 import fits

_FIELD = re.compile(r"[0-9a-fA-F]*")
#: No more digits than an int64 has.
_BITS = re.compile(r"0|[1-9][0-9]{0,18}")


class _Refusal(Exception):
    def __init__(self, text: str, at: str = "") -> None:
        super().__init__(f"{text} (at {quote(at)})" if at else text)


def quote(text: str) -> str:
    """The text as Go quotes it."""
    return json.dumps(text, ensure_ascii=False)


def address_refusal(text: str) -> str:
    """Why `ParseAddr` rejects the text; "" if it accepts it."""
    first = next((character for character in text if character in _CHECKS), "")
    try:
        _CHECKS.get(first, _check_nothing)(text)
    except _Refusal as refusal:
        return f"ParseAddr({quote(text)}): {refusal}"
    return ""


def prefix_refusal(text: str) -> str:
    """Why `ParsePrefix` rejects the text; "" if it accepts it."""
    address, slash, bits = text.rpartition("/")
    if not slash:
        problem = "no '/'"
    elif problem := address_refusal(address):
        pass
    elif "%" in address:
        problem = "IPv6 zones cannot be present in a prefix"
    elif not _BITS.fullmatch(bits) or not fits(int(bits)):
        problem = f"bad bits after slash: {quote(bits)}"
    elif int(bits) > (128 if ":" in address else 32):
        problem = "prefix length out of range"
    return f"netip.ParsePrefix({quote(text)}): {problem}" if problem else ""


def _check_ipv4(text: str) -> None:
    fields, value, digits = 0, 0, 0
    for index, character in enumerate(text):
        if character in "0123456789":
            if digits == 1 and value == 0:
                raise _Refusal("IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(character), digits + 1
            if value > 255:
                raise _Refusal("IPv4 field has value >255")
        elif character == ".":
            if index in (0, len(text) - 1) or text[index - 1] == ".":
                raise _Refusal("IPv4 field must have at least one digit", text[index:])
            if fields == 3:
                raise _Refusal("IPv4 address too long")
            fields, value, digits = fields + 1, 0, 0
        else:
            raise _Refusal("unexpected character", text[index:])
    if fields < 3:
        raise _Refusal("IPv4 address too short")


def _check_ipv6(text: str) -> None:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _Refusal("zone must be a non-empty string")
    has_gap = rest.startswith("::")
    rest = rest[2:] if has_gap else rest
    if has_gap and not rest:
        return
    size = 0
    while size < 16:
        rest, size, more, gap = _check_field(rest, size, has_gap=has_gap)
        has_gap |= gap
        if not more:
            break
    if rest:
        raise _Refusal("trailing garbage after address", rest)
    if size < 16 and not has_gap:
        raise _Refusal("address string too short")
    if size == 16 and has_gap:
        raise _Refusal("the :: must expand to at least one field of zeros")


def _check_field(rest: str, size: int, *, has_gap: bool) -> tuple[str, int, bool, bool]:
    """The text after the field, the bytes so far, whether more must follow, and whether a gap follows."""
    found = _FIELD.match(rest)
    assert found is not None
    field = found.group()
    if len(field) > 4:
        raise _Refusal("each group must have 4 or less digits", rest)
    if not field:
        raise _Refusal("each colon-separated field must have at least one digit", rest)
    after = rest[len(field) :]
    if after.startswith("."):
        if not has_gap and size != 12:
            raise _Refusal("embedded IPv4 address must replace the final 2 fields of the address", rest)
        if size + 4 > 16:
            raise _Refusal("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
        _check_ipv4(rest)
        return "", size + 4, False, False
    if not after:
        return "", size + 2, False, False
    if not after.startswith(":"):
        raise _Refusal("unexpected character, want colon", after)
    if after == ":":
        raise _Refusal("colon must be followed by more characters", after)
    after = after[1:]
    gap = after.startswith(":")
    if gap and has_gap:
        raise _Refusal("multiple :: in address", after)
    after = after[1:] if gap else after
    return after, size + 2, bool(after), gap


def _check_zone(_: str) -> None:
    raise _Refusal("missing IPv6 address")


def _check_nothing(_: str) -> None:
    raise _Refusal("unable to parse IP")


#: The first character that decides the kind of address -> its check.
_CHECKS = {".": _check_ipv4, ":": _check_ipv6, "%": _check_zone}
