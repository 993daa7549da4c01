"""What a path is: a folder, an archive, or neither. Archives are known by how they begin, not by their names."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from kwhatif.sources.dumps.foreign.trees import Folder, Packed, Tree
from kwhatif.sources.text.inflate import Unreadable, inflated_parts

#: A zip archive, if only an empty one.
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
#: The header of a tar archive's first file, and where its checksum stands.
_HEADER = 512
_CHECKSUM = slice(148, 156)
#: These are archives, even broken ones. (`.tgz` is also how some tools call one file that is compressed.)
_TAR_SUFFIXES = (".tar", ".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2")


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
    return open_archive(Packed(lambda: place.open("rb"), place.stat().st_size), path)


def open_archive(packed: Packed, name: str) -> Tree | None:
    """The tree that these bytes are; None if they are not an archive.

    Raises:
        OSError: they cannot be read.
    """
    head = _head(packed)
    if head.startswith(_ZIP) or name.endswith(".zip"):
        from kwhatif.sources.dumps.foreign.zip_archive import ZipArchive

        return ZipArchive(packed)
    if _is_tar(head) or name.endswith(_TAR_SUFFIXES):
        from kwhatif.sources.dumps.foreign.tar_archive import TarArchive

        return TarArchive(packed)
    return None


def _head(packed: Packed) -> bytes:
    """How it begins when it is inflated."""
    head = b""
    with packed.open() as file, suppress(Unreadable):  # the reader reports what is wrong with it
        for part in inflated_parts(file):
            head += part
            if len(head) >= _HEADER:
                break
    return head[:_HEADER]


def _is_tar(head: bytes) -> bool:
    """Whether the checksum of the header is right, itself taken for blanks; old archives have no other mark."""
    checksum = head[_CHECKSUM].strip(b" \0")
    if len(head) < _HEADER or not checksum.isdigit():
        return False
    rest = sum(head) - sum(head[_CHECKSUM]) + len(head[_CHECKSUM]) * ord(" ")
    with suppress(ValueError):
        return int(checksum, 8) == rest
    return False
