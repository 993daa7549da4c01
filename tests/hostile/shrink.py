"""Make a case small that shows a fault: objects, fields and items go as long as it shows; of damaged files, lines."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.hostile.inputs import Parts
from tests.hostile.layout import Files

#: How often a fault is asked for again while its files are made small.
ATTEMPTS = 300


class _Left:
    """Asks `shows`, at most so many times."""

    def __init__(self, shows: Callable[[Any], bool]) -> None:
        self._shows, self._attempts = shows, ATTEMPTS

    def __call__(self, smaller: Any) -> bool:
        self._attempts -= 1
        return self._attempts >= 0 and self._shows(smaller)


def shrink_parts(parts: Parts, shows: Callable[[Parts], bool]) -> Parts:
    """The smallest objects found that still show it; large containers lose something first."""
    still = _Left(shows)
    for path in sorted(_paths(parts), key=lambda path: (len(path), str(path))):
        try:
            container = _at(parts, path)
        except (KeyError, IndexError, TypeError):
            continue  # it went with what held it
        if not isinstance(container, dict | list):
            continue  # of a list that is shorter now, another item stands there
        keys: list[Any] = list(range(len(container)) if isinstance(container, list) else container)

        def suffices(keys: list[Any], now: Parts = parts, path: tuple[Any, ...] = path) -> bool:
            return still(_without_others(now, path, keys))

        kept = _fewest(keys, suffices)
        parts = _without_others(parts, path, kept)
    return parts


def shrink(files: Files, shows: Callable[[Files], bool]) -> Files:
    """The smallest files found that still show it."""
    still = _Left(shows)
    for name in sorted(files, key=lambda name: -len(files[name])):
        for separator in (b"\n---\n", b"\n", b", "):
            pieces = files[name].split(separator)

            def suffices(rest: list[bytes], now: Files = files, name: str = name, sep: bytes = separator) -> bool:
                return still(now | {name: sep.join(rest)})

            kept = _fewest(pieces, suffices)
            files = files | {name: separator.join(kept)}
    return files


def _fewest(pieces: list[Any], shows: Callable[[list[Any]], bool]) -> list[Any]:
    """Delta debugging: chunks of pieces go, from halves down to single ones."""
    size = (len(pieces) + 1) // 2
    while size:
        at = 0
        while at < len(pieces):
            rest = pieces[:at] + pieces[at + size :]
            if shows(rest):
                pieces = rest
            else:
                at += size
        size //= 2
    return pieces


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where lists and maps stand; the parts themselves stay."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if isinstance(value[key], dict | list):
            yield (*path, key)
            yield from _paths(value[key], (*path, key))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _without_others(parts: Parts, path: tuple[Any, ...], keys: list[Any]) -> Parts:
    """A copy in which the container at this place has only these items."""
    made = copy.deepcopy(parts)
    container = _at(made, path)
    if isinstance(container, list):
        container[:] = [container[key] for key in keys]
    else:
        for key in set(container) - set(keys):
            del container[key]
    return made
