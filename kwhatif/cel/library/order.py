"""Comparisons of two values that are known to be quantities or versions only at run time.

If the type checker knows the types, `rewrite.py` lets the engine compare.
"""

from __future__ import annotations

from kwhatif.cel.library.function import Function
from kwhatif.cel.values import decode_any


def compare(left: bytes, right: bytes) -> int:
    """-1, 0 or 1, as `left.compareTo(right)`."""
    types = {found[0] if (found := decode_any(bytes(side))) else "" for side in (left, right)}
    if len(types) > 1 or not types <= {"kubernetes.Quantity", "kubernetes.Semver"}:
        raise ValueError("no such overload")
    return (left > right) - (left < right)


FUNCTIONS = (
    Function("compareTo", ("bytes", "bytes"), "int", compare, member=True),
    Function("isGreaterThan", ("bytes", "bytes"), "bool", lambda a, b: compare(a, b) > 0, member=True),
    Function("isLessThan", ("bytes", "bytes"), "bool", lambda a, b: compare(a, b) < 0, member=True),
)
