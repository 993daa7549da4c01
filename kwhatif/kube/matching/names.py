"""Names as people write them: patterns that match them, and what somebody who mistyped one may have meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

#: So many are shown at most.
_MOST = 3
#: A name that is so many times as long as another is not much like it (`difflib`), which takes long to find out.
_TIMES_LONGER = 3


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are spelled much like this one, the nearest first.

    A name without its domain, as tables show the names of nodes, is nearest to the whole name, and so is the key of a
    label without its prefix. Upper and lower case count as the same. The order of the names does not matter.
    """
    by_lower: dict[str, str] = {}
    for each in sorted(known):
        by_lower.setdefault(each.lower(), each)
    part = name.lower()
    whole = [known for lower, known in by_lower.items() if lower.startswith(f"{part}.") or lower.endswith(f"/{part}")]
    if len(part) > _TIMES_LONGER * max(map(len, by_lower), default=0):
        return whole[:_MOST]
    return whole[:_MOST] or [by_lower[found] for found in get_close_matches(part, by_lower, _MOST)]


def did_you_mean(near: Sequence[str], otherwise: str = "") -> str:
    """The hint for a name that there is not, from those that are near to it; `otherwise` where none is."""
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def is_like(name: str, pattern: str) -> bool:
    """Whether the whole name matches a pattern with `*`, `?` and `[...]`, as in a shell.

    Upper and lower case differ; `*` also matches `/`.

    A `[` that nothing closes stands for itself. It is written as `[[]` here: fnmatch looks for the end of each such `[`
    in all of the rest, which takes minutes for a hundred thousand of them.
    """
    head, closed, tail = pattern.rpartition("]")
    return fnmatchcase(name, head + closed + tail.replace("[", "[[]") if "[" in tail else pattern)
