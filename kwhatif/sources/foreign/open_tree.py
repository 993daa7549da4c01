"""What a path is: a folder, an archive, or neither. Archives are known by how they begin, not by their names."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from kwhatif.sources.foreign.tar_archive import TarArchive, is_tar
from kwhatif.sources.foreign.trees import Folder, Tree
from kwhatif.sources.foreign.zip_archive import ZipArchive, is_zip
from kwhatif.sources.inflate import Unreadable, inflated_parts

#: Enough to tell what a file is.
_HEAD = 512
#: These are archives, even broken ones. (`.tgz` is also how some tools call one file that is compressed.)
_TAR_SUFFIXES = (".tar", ".tar.gz", ".tar.zst")


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
    head = _head(place)
    if is_zip(head) or path.endswith(".zip"):
        return ZipArchive(place)
    return TarArchive(place) if is_tar(head) or path.endswith(_TAR_SUFFIXES) else None


def _head(path: Path) -> bytes:
    head = b""
    with path.open("rb") as file, suppress(Unreadable):  # whoever reads it for good says what is wrong with it
        for part in inflated_parts(file):
            head += part
            if len(head) >= _HEAD:
                break
    return head
