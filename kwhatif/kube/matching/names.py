"""Names that users type: patterns that match them, and suggestions for mistyped ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

#: The most suggestions that are shown.
_MOST = 3
#: A name that is this many times as long as another is never similar; `difflib` would take long to find out.
_TIMES_LONGER = 3


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are spelled like this one, the most similar first.

    A name without its domain, as tables show node names, is most similar to the full name, and so is a label key
    without its prefix. Case is ignored. The order of the names does not matter.
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
    """The hint for an unknown name, from the similar ones; `otherwise` if there are none."""
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def hinted(message: str, name: str, known: Iterable[str]) -> str:
    """The message about an unknown name, and the most similar known one, if any."""
    hint = did_you_mean(nearest(name, known)[:1])
    return f"{message}; {hint}" if hint else message


def is_like(name: str, pattern: str) -> bool:
    """Whether the whole name matches a pattern with `*`, `?` and `[...]`, as in a shell.

    Case matters; `*` also matches `/`.

    A `[` without a `]` stands for itself. It is replaced by `[[]`, because fnmatch searches the rest of the pattern for
    the end of each such `[`, which takes minutes for 100,000 of them.
    """
    head, closed, tail = pattern.rpartition("]")
    return fnmatchcase(name, head + closed + tail.replace("[", "[[]") if "[" in tail else pattern)
