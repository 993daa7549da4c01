"""Zip archives, read file by file and never unpacked to disk."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kwhatif.sources.dumps.foreign.trees import ByteBudget, File, Packed, counted, safe, unfit
from kwhatif.sources.text.inflate import SUSPICIOUS, TRUST, Unreadable, limit_of

_ENCRYPTED = 1


class ZipArchive:
    """A zip file."""

    def __init__(self, packed: Packed) -> None:
        self._packed = packed

    def files(self) -> list[File]:
        """All files and links."""
        with self._archive() as archive:
            found = [File(safe(entry.filename), _unfit(entry)) for entry in counted(_entries(archive))]
        if not found:
            raise Unreadable("is an archive without files")
        return found

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the wanted files."""
        budget = ByteBudget(limit_of(self._packed.size))
        with self._archive() as archive:
            for entry in _entries(archive):
                path = safe(entry.filename)
                if _unfit(entry) or not wanted(path):
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


def _unfit(entry: zipfile.ZipInfo) -> str:
    mode = entry.external_attr >> 16  # 0 where it was made on a system without modes
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted"
    return unfit(mode) if mode & 0o170000 else ""
