"""Trees of files: what is in a folder or an archive (`archives`), by path.

Links and devices are neither followed nor opened, and one in the place of a file that is wanted is a problem.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, TypeVar

from kwhatif.sources.text.inflate import SUSPICIOUS, TRUST, Unreadable

#: A must-gather of a large cluster has some 100,000 files.
MAX_FILES = 500_000

LINK = "is a link, which is not followed"
NO_FILE = "is not a file, but a device, a pipe or a socket"

T = TypeVar("T")


class File(NamedTuple):
    """An entry of a tree that is not a folder."""

    path: str
    #: Why its content cannot be had; "" if it can.
    unfit: str = ""


class Packed(NamedTuple):
    """The bytes of an archive; it is opened more than once."""

    open: Callable[[], BinaryIO]
    size: int


class Tree(Protocol):
    """Files by path, relative to the tree's top."""

    def files(self) -> list[File]:
        """All entries but folders, in the order in which they are best read.

        Raises:
            Unreadable: the tree is broken, or made to do harm.
            OSError: it cannot be read at all.
        """

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files that are fit for it.

        Raises:
            Unreadable: the tree is broken, or made to do harm.
        """


class Folder:
    """Files below a folder."""

    def __init__(self, top: Path) -> None:
        self._top = top

    def files(self) -> list[File]:
        """All files, sorted; links to folders are not followed.

        Raises:
            Unreadable: there are too many.
        """
        return list(counted(self._files(), "name a smaller folder"))

    def _files(self) -> Iterator[File]:
        for folder, folders, names in os.walk(self._top, onerror=_raise):
            folders.sort()
            below = Path(folder).relative_to(self._top).as_posix()
            for name in sorted(names):
                mode = os.lstat(os.path.join(folder, name)).st_mode  # noqa: PTH118 - there may be 500,000
                yield File(name if below == "." else f"{below}/{name}", unfit(mode))

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files."""
        for file in self.files():
            if wanted(file.path) and not file.unfit:
                try:
                    yield file.path, Path(self._top, file.path).read_bytes()
                except OSError as failure:
                    raise Unreadable(f"{file.path} cannot be read: {failure.strerror or failure}") from failure


def _raise(failure: OSError) -> None:
    raise failure


def unfit(mode: int) -> str:
    """Why something with that mode is not a file to read; "" if it is one."""
    return LINK if stat.S_ISLNK(mode) else "" if stat.S_ISREG(mode) else NO_FILE


def safe(path: str) -> str:
    """The path of an archive's entry, if it stays within the archive.

    Raises:
        Unreadable: it does not.
    """
    parts = path.replace("\\", "/").split("/")
    if ".." in parts or path.startswith(("/", "\\")) or parts[0].endswith(":"):
        raise Unreadable(f"holds a path that leads out of it, and was not read: {path}")
    return path.removeprefix("./")


def counted(entries: Iterator[T], hint: str = TRUST) -> Iterator[T]:
    """The entries, as long as there are not too many.

    Raises:
        Unreadable: there are.
    """
    for number, entry in enumerate(entries):
        if number >= MAX_FILES:
            raise Unreadable(f"holds more than {MAX_FILES:,} files, and was not read", hint)
        yield entry


class ByteBudget:
    """How much may still be read."""

    def __init__(self, size: int) -> None:
        self._left = size

    def spend(self, size: int, what: str = "") -> None:
        """Count this number of bytes.

        Raises:
            Unreadable: they are not there; `what` is the file that was to be read.
        """
        self._left -= size
        if self._left < 0:
            raise Unreadable(f"{what} {SUSPICIOUS}".lstrip(), TRUST)
