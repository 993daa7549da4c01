"""`kubernetes.Semver` (`k8s.io/apiserver/pkg/cel/library/semverlib.go`); comparisons are in `rewrite.py`."""

from __future__ import annotations

from kwhatif.cel.library.function import Function, accepts
from kwhatif.cel.semver import Semver, numbers
from kwhatif.kube.model.quantity import wrap


def parse(text: str, normalize: bool = False) -> Semver:  # noqa: FBT001, FBT002 - called by position, by CEL
    """`semver(text)` and `semver(text, normalize)`."""
    return Semver.parse_normalized(text) if normalize else Semver.parse(text)


_SEMVER = "kubernetes.Semver"
# QUIRK: (semverlib.go) the parts are uint64, and are converted to int64 without a check.
FUNCTIONS = (
    Function("semver", ("string",), _SEMVER, parse),
    Function("semver", ("string", "bool"), _SEMVER, parse),
    Function("isSemver", ("string",), "bool", accepts(parse)),
    Function("isSemver", ("string", "bool"), "bool", accepts(parse)),
    Function("major", (_SEMVER,), "int", lambda key: wrap(numbers(key)[0]), member=True),
    Function("minor", (_SEMVER,), "int", lambda key: wrap(numbers(key)[1]), member=True),
    Function("patch", (_SEMVER,), "int", lambda key: wrap(numbers(key)[2]), member=True),
)
