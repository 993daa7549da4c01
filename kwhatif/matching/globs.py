"""Patterns with `*`, `?` and `[...]`, as a shell matches names with them."""

from __future__ import annotations

from fnmatch import fnmatchcase


def is_like(name: str, pattern: str) -> bool:
    """Whether the whole name matches. Upper and lower case differ; `*` also matches `/`.

    A `[` that nothing closes stands for itself. It is written as `[[]` here: fnmatch looks for the end of each such `[`
    in all of the rest, which takes minutes for a hundred thousand of them.
    """
    head, closed, tail = pattern.rpartition("]")
    return fnmatchcase(name, head + closed + tail.replace("[", "[[]") if "[" in tail else pattern)
