"""Semantic versions, parsed and ordered as by github.com/blang/semver/v4 (`k8s.io/apiserver/pkg/cel/semver.go`)."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from functools import lru_cache

from kwhatif.kube.model.quantity import MAX_UINT64

_DIGITS = re.compile(r"[0-9]*")
_IDENTIFIER = re.compile(r"[-0-9A-Za-z]+")
#: No longer number fits into 64 bits, and Python refuses to parse thousands of digits.
_MOST_DIGITS = 20
_NUMBERS = struct.Struct(">QQQ")

# Keys have the same order as versions when compared bytewise, so the CEL engine can compare without calling Python.
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

        The patch number may be missing, or patch and minor number: they are 0.

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
