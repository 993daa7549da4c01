"""Archives as trees of files.

An archive comes from anywhere. A path that leads out of it makes it unreadable as a whole. Archives are never unpacked
to disk: tar archives are read from the beginning to the end, zip archives file by file. Only a dump that is an archive
imports this module: `tarfile` and `zipfile` take longer than the rest of what reads a file.
"""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Self

from kwhatif.sources.dumps.trees import LINK, NO_FILE, ByteBudget, File, Packed, counted, safe, unfit
from kwhatif.sources.text.inflate import (
    MAGIC,
    MAX_STREAM,
    SUSPICIOUS,
    TRUST,
    Unreadable,
    inflated_parts,
    is_compressed,
    limit_of,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

#: A tar file ends with two empty blocks. (In a compressed one that was cut off, the end of the compression is missing.)
_END = 2 * 512
_PIECE = 1 << 20
#: How `tarfile` says that the archive, or the file, ends here.
_ENDS = ("EOFHeaderError", "EmptyHeaderError")
#: Headers that say something about the next one; names of files and such fit into far less.
_ABOUT_NEXT = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_MAX_ABOUT = 1 << 20
_SPARSE = "is a sparse file, which may be larger than any disk"


class TarArchive:
    """A tar file, perhaps compressed."""

    def __init__(self, packed: Packed) -> None:
        self._packed = packed

    def files(self) -> list[File]:
        """All files, links and devices."""
        with self._entries() as entries:
            found = [File(safe(entry.name), _unfit_member(entry)) for entry, _ in entries if not entry.isdir()]
        if not found:
            raise Unreadable("is an archive without files")
        return found

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files."""
        budget = ByteBudget(limit_of(self._packed.size))
        with self._entries() as entries:
            for entry, archive in entries:
                path = safe(entry.name)
                if _unfit_member(entry) or not wanted(path):
                    continue
                budget.spend(entry.size, path)
                content = archive.extractfile(entry)
                assert content is not None
                yield path, content.read()

    @contextmanager
    def _entries(self) -> Iterator[Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]]:
        try:
            with self._packed.open() as file:
                is_plain = _is_plain(file)
                most = self._packed.size if is_plain else limit_of(self._packed.size, is_stream=True)
                stream = io.BufferedReader(_Stream(file, self._packed.size))
                with tarfile.open(fileobj=stream, mode="r|", tarinfo=_entry_type(most)) as archive:
                    yield counted((entry, archive) for entry in archive)
                while stream.read(_PIECE):  # to the end, where compression says whether all of it was sound
                    pass
        except (tarfile.TarError, OSError, UnicodeDecodeError, ValueError, RecursionError) as failure:
            raise Unreadable(f"is not a valid archive: {failure}") from failure


class _Entry(tarfile.TarInfo):
    """An entry. A header that is broken is an error: `tarfile` would take it for the end of the archive.

    So is one that claims more bytes than there can be: `tarfile` would go on reading at the end, block for block.
    """

    #: The most bytes that the archive can hold.
    most = 0

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        _check_size(self, _MAX_ABOUT if self.type in _ABOUT_NEXT else self.most)
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return] # made to be overridden, says tarfile.py

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            found = super().fromtarfile(archive)
        except tarfile.HeaderError as failure:
            if type(failure).__name__ in _ENDS:
                raise
            raise Unreadable(f"is not a valid archive: {failure}") from failure
        _check_size(found, cls.most)  # which the header before it may have changed
        return found


def _check_size(entry: tarfile.TarInfo, most: int) -> None:
    if most < entry.size <= MAX_STREAM and entry.isreg():
        raise Unreadable(SUSPICIOUS, TRUST)  # perhaps it is true
    if not 0 <= entry.size <= most:
        raise Unreadable(
            f"is not a valid archive: {safe(entry.name)} claims a size of {entry.size} bytes, more than it can hold"
        )


def _entry_type(most: int) -> type[_Entry]:
    """The most entries of an archive with this number of bytes."""
    return type("_Entry", (_Entry,), {"most": most})


def _unfit_member(entry: tarfile.TarInfo) -> str:
    if entry.issym() or entry.islnk():
        return LINK
    if entry.issparse():
        return _SPARSE
    return "" if entry.isreg() else NO_FILE


def _is_plain(file: IO[bytes]) -> bool:
    """Whether the archive is not compressed; then it must end as archives do."""
    is_plain = not is_compressed(file.read(MAGIC))
    if is_plain:
        file.seek(-min(file.seek(0, os.SEEK_END), _END), os.SEEK_END)
        if file.read().strip(b"\0"):
            raise Unreadable("is not a whole archive: the end is missing")
    file.seek(0)
    return is_plain


class _Stream(io.RawIOBase):
    """The inflated archive: an error where it gets too long."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._budget = ByteBudget(limit_of(size, is_stream=True))
        self._parts = inflated_parts(file)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """The next bytes, as many as there are at hand; none at the end."""
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._budget.spend(len(part))
            self._rest = memoryview(part)
        target = memoryview(buffer)
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


_ENCRYPTED = 1


class ZipArchive:
    """A zip file."""

    def __init__(self, packed: Packed) -> None:
        self._packed = packed

    def files(self) -> list[File]:
        """All files and links."""
        with self._archive() as archive:
            found = [File(safe(entry.filename), _unfit_info(entry)) for entry in counted(_entries(archive))]
        if not found:
            raise Unreadable("is an archive without files")
        return found

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files."""
        budget = ByteBudget(limit_of(self._packed.size))
        with self._archive() as archive:
            for entry in _entries(archive):
                path = safe(entry.filename)
                if _unfit_info(entry) or not wanted(path):
                    continue
                budget.spend(entry.file_size, path)
                if entry.file_size > limit_of(entry.compress_size):
                    raise Unreadable(f"{path} {SUSPICIOUS}", TRUST)
                with archive.open(entry) as content:  # ends where the entry said it would, whatever is inflated
                    yield path, content.read()

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        try:
            with self._packed.open() as file, zipfile.ZipFile(file) as archive:
                yield archive
        except Unreadable:
            raise
        except Exception as failure:  # what `zipfile` and four decompressors raise on damage is documented nowhere
            reason = f"{failure}" or type(failure).__name__
            raise Unreadable(f"is not a valid archive: {reason}") from failure


def _entries(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    return (entry for entry in archive.infolist() if not entry.is_dir())


def _unfit_info(entry: zipfile.ZipInfo) -> str:
    mode = entry.external_attr >> 16  # 0 where it was made on a system without modes
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted"
    return unfit(mode) if mode & 0o170000 else ""
