"""Trees of files: a folder, a tar or a zip archive, read in one pass and never unpacked to disk.

An archive comes from anywhere. Paths that lead out of it, and what inflates suspiciously, make it unreadable as a
whole; links are never followed, and a link in the place of a file that is wanted is a problem.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, Protocol, TypeVar

from kwhatif.sources.inflate import SUSPICIOUS, Unreadable, limit_of

#: A must-gather of a large cluster has some 100,000 files.
_MAX_FILES = 1_000_000
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
#: Where a tar header says that it is one.
_MAGIC_AT = 257
#: A tar file ends with two empty blocks. (In a gzipped one that was cut off, gzip misses its own end.)
_TAR_END = 1024
_TAR_SUFFIXES = (".tar", ".tar.gz", ".tgz")

T = TypeVar("T")


class File(NamedTuple):
    """A file of a tree."""

    path: str
    is_link: bool = False


class Tree(Protocol):
    """Files by path, relative to the tree's top."""

    def files(self) -> list[File]:
        """All files and links, in the order in which they are best read.

        Raises:
            Unreadable: the tree is broken, or made to do harm.
        """

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files.

        Raises:
            Unreadable: the same.
        """


def open_tree(path: str) -> Tree | None:
    """The tree at `path`; None if it is neither a folder nor an archive.

    Raises:
        OSError: it cannot be read.
    """
    place = Path(path)
    if place.is_dir():
        return Folder(place)
    if not place.is_file():
        return None
    with place.open("rb") as file:
        head = file.read(_MAGIC_AT + 5)
    if head.startswith(_ZIP):
        return ZipArchive(place)
    if head.startswith(_GZIP):
        head = _inflated_head(place)
    if head[_MAGIC_AT:].startswith(b"ustar") or path.endswith(_TAR_SUFFIXES):
        return TarArchive(place)
    return None


def _inflated_head(path: Path) -> bytes:
    with gzip.open(path) as file:
        try:
            return file.read(_MAGIC_AT + 5)
        except (OSError, EOFError, zlib.error):
            return b""  # whoever reads it for good says what is wrong with it


class Folder:
    """Files below a folder."""

    def __init__(self, top: Path) -> None:
        self._top = top

    def files(self) -> list[File]:
        """All files and links, sorted.

        Raises:
            OSError: some folder cannot be read.
        """
        found: list[File] = []
        for folder, folders, names in os.walk(self._top, onerror=_raise):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                found.append(File(path.relative_to(self._top).as_posix(), path.is_symlink()))
        return found

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files."""
        for file in self.files():
            if wanted(file.path) and not file.is_link:
                try:
                    yield file.path, Path(self._top, file.path).read_bytes()
                except OSError as failure:
                    raise Unreadable(f"{file.path} cannot be read: {failure.strerror or failure}") from failure


def _raise(failure: OSError) -> None:
    raise failure


class TarArchive:
    """A tar file, perhaps gzipped, read from the beginning to the end."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def files(self) -> list[File]:
        """All files and links."""
        with self._members() as members:
            found = [
                File(_checked(member.name), is_link=not member.isreg())
                for member, _ in members
                if member.isreg() or member.islnk() or member.issym()
            ]
        if not found:
            raise Unreadable("is an archive without files")
        return found

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files."""
        budget = limit_of(self._path.stat().st_size)
        with self._members() as members:
            for member, archive in members:
                path = _checked(member.name)
                if not member.isreg() or not wanted(path):
                    continue
                budget -= member.size
                # A sparse file may say that it is larger than any disk.
                if budget < 0 or member.issparse():
                    raise Unreadable(SUSPICIOUS)
                content = archive.extractfile(member)
                assert content is not None
                yield path, content.read()

    @contextmanager
    def _members(self) -> Iterator[Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]]:
        try:
            with self._path.open("rb") as file:
                packed = _is_packed(file)
                limited = _Limited(gzip.GzipFile(fileobj=file) if packed else file, limit_of(self._path.stat().st_size))
                with tarfile.open(fileobj=limited, mode="r|") as archive:
                    yield _counted((member, archive) for member in archive)
        except (tarfile.TarError, OSError, EOFError, zlib.error, UnicodeDecodeError, ValueError) as failure:
            raise Unreadable(f"is not a valid archive: {failure}") from failure


def _is_packed(file: IO[bytes]) -> bool:
    """Whether the archive is gzipped; one that is not must end as archives do."""
    packed = file.read(2) == _GZIP
    if not packed:
        file.seek(-min(file.seek(0, os.SEEK_END), _TAR_END), os.SEEK_END)
        if file.read().strip(b"\0"):
            raise Unreadable("is not a whole archive: the end is missing")
    file.seek(0)
    return packed


class _Limited(io.RawIOBase):
    """A stream that ends in an error where it gets too long."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, limit: int) -> None:
        self._file = file
        self._left = limit

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise Unreadable(SUSPICIOUS)
        return data


class ZipArchive:
    """A zip file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def files(self) -> list[File]:
        """All files and links."""
        with self._archive() as archive:
            return [
                File(_checked(entry.filename), stat.S_ISLNK(entry.external_attr >> 16))
                for entry in _counted(iter(archive.infolist()))
                if not entry.is_dir()
            ]

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files."""
        budget = limit_of(self._path.stat().st_size)
        with self._archive() as archive:
            for entry in archive.infolist():
                if entry.is_dir() or stat.S_ISLNK(entry.external_attr >> 16) or not wanted(entry.filename):
                    continue
                budget -= entry.file_size
                if budget < 0 or entry.file_size > limit_of(entry.compress_size):
                    raise Unreadable(SUSPICIOUS)
                with archive.open(entry) as content:  # ends where the entry said it would, whatever is inflated
                    yield entry.filename, content.read()

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self._path) as archive:
                yield archive
        except (zipfile.BadZipFile, OSError, EOFError, zlib.error, RuntimeError, NotImplementedError) as failure:
            raise Unreadable(f"is not a valid archive: {failure}") from failure


def _counted(entries: Iterator[T]) -> Iterator[T]:
    for number, entry in enumerate(entries):
        if number >= _MAX_FILES:
            raise Unreadable(f"holds more than {_MAX_FILES:,} files, and was not read")
        yield entry


def _checked(path: str) -> str:
    """The path, if it stays within the archive."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if ".." in parts or path.startswith(("/", "\\")) or (parts and parts[0].endswith(":")):
        raise Unreadable(f"holds a path that leads out of it, and was not read: {path}")
    return path.removeprefix("./")
