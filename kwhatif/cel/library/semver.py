"""`kubernetes.Semver` (`k8s.io/apiserver/pkg/cel/library/semverlib.go`); comparisons are in `rewrite.py`."""

from __future__ import annotations

from kwhatif.cel.library.function import Function
from kwhatif.cel.semver import Semver, numbers


def parse(text: str, normalize: bool = False) -> Semver:  # noqa: FBT001, FBT002 - called by position, by CEL
    """`semver(text)` and `semver(text, normalize)`."""
    return Semver.parse_normalized(text) if normalize else Semver.parse(text)


def is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 - called by position, by CEL
    """`isSemver(text)` and `isSemver(text, normalize)`."""
    try:
        parse(text, normalize)
    except ValueError:
        return False
    return True


def _as_int64(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number  # QUIRK: upstream converts uint64 to int64 unchecked


_SEMVER = "kubernetes.Semver"
FUNCTIONS = (
    Function("semver", ("string",), _SEMVER, parse),
    Function("semver", ("string", "bool"), _SEMVER, parse),
    Function("isSemver", ("string",), "bool", is_semver),
    Function("isSemver", ("string", "bool"), "bool", is_semver),
    Function("major", (_SEMVER,), "int", lambda key: _as_int64(numbers(key)[0]), member=True),
    Function("minor", (_SEMVER,), "int", lambda key: _as_int64(numbers(key)[1]), member=True),
    Function("patch", (_SEMVER,), "int", lambda key: _as_int64(numbers(key)[2]), member=True),
)
