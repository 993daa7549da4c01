"""Make files small that show a fault: take lines, then pieces of lines, away as long as it shows."""

from __future__ import annotations

from collections.abc import Callable

from tests.hostile.layout import Files

#: How often a fault is asked for again while its files are made small.
ATTEMPTS = 150


def shrink(files: Files, shows: Callable[[Files], bool], attempts: int = ATTEMPTS) -> Files:
    """The smallest files found that still show it (`shows` is asked at most `attempts` times)."""
    left = [attempts]

    def still(smaller: Files) -> bool:
        left[0] -= 1
        return left[0] >= 0 and shows(smaller)

    for name in sorted(files, key=lambda name: -len(files[name])):
        for separator in (b"\n---\n", b"\n", b", "):
            files = _without_pieces(files, name, separator, still)
    return files


def _without_pieces(files: Files, name: str, separator: bytes, shows: Callable[[Files], bool]) -> Files:
    """Delta debugging: chunks of pieces go, from halves down to single ones."""
    pieces = files[name].split(separator)
    size = len(pieces) // 2
    while size:
        at = 0
        while at < len(pieces):
            rest = pieces[:at] + pieces[at + size :]
            smaller = files | {name: separator.join(rest)}
            if rest and shows(smaller):
                pieces, files = rest, smaller
            else:
                at += size
        size //= 2
    return files
