"""Dumps that other tools made: trees of files, in folders or archives, and exports in shapes of their own.

They are recognized by their layout (`layouts`), and decoded like any other file.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import ObjectsTwice
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder, read_text
from kwhatif.sources.decoding.kinds import ASKED
from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.exports import note_absent, read_file
from kwhatif.sources.dumps.trees import ByteBudget, File, Folder, Packed, Tree
from kwhatif.sources.text.documents import NotPiecesError, one_piece
from kwhatif.sources.text.files import STDIN, as_utf8
from kwhatif.sources.text.inflate import MAX_TEXT, Unreadable, inflate, inflated_parts
from kwhatif.sources.text.problems import Origin, Place, Problems

if TYPE_CHECKING:
    from kwhatif.sources.dumps.layouts import Layout

#: A zip archive, if only an empty one.
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
#: The header of a tar archive's first file, and where its checksum stands.
_HEADER = 512
_CHECKSUM = slice(148, 156)
#: These are archives, even broken ones. (`.tgz` is also how some tools call one file that is compressed.)
_TAR_SUFFIXES = (".tar", ".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2")


def open_tree(path: str) -> Tree | None:
    """The tree at `path`; None if it is neither a folder nor an archive, by its content and not by its name.

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
        from kwhatif.sources.dumps.archives import ZipArchive

        return ZipArchive(packed)
    if _is_tar(head) or name.endswith(_TAR_SUFFIXES):
        from kwhatif.sources.dumps.archives import TarArchive

        return TarArchive(packed)
    return None


def _head(packed: Packed) -> bytes:
    """The first bytes, inflated."""
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


_NOTHING = (b"", b"null")
#: Kind -> the version of objects whose path alone says what they are.
_API_VERSIONS = {each.kind: each.api_version(each.versions[0]) for each in reversed(ASKED) if not each.is_custom}


class ForeignDump(NamedTuple):
    """A tree of files that a tool has made, or an archive of anything."""

    path: str
    tree: Tree
    layout: Layout
    files: Sequence[File]

    def read(self, decoder: ObjectDecoder, problems: Problems, collected: Collected) -> Iterator[DecodedBatch]:
        """Its objects, each once; caveats about it go to `collected`."""
        kinds = self.layout.kinds
        notes: dict[str, bytes] = {}
        seen = _Seen(self.layout.name)
        for path, text in self._texts(kinds, problems):
            if path in self.layout.notes:
                notes[path] = text
            if path not in kinds:
                continue
            if text.strip() in _NOTHING:
                if not self.layout.may_be_empty:
                    problems.add(f"{self.path}: {path}", "is empty", "the tool was stopped, or its disk was full")
            else:
                for batch in self._read_file(path, text, kinds[path], decoder, problems, collected):
                    yield seen.once(batch)
        collected.caveats += [*self.layout.caveats(notes), *seen.caveats()]
        if self.layout.is_known:
            collected.cluster.update_facts(is_whole=True)
        if self.layout.lacks_kinds:
            note_absent(collected, self.layout.name, {*kinds.values(), *seen.kinds})

    def _texts(self, wanted: Container[str], problems: Problems) -> Iterator[tuple[str, bytes]]:
        """Path and text of every file that is wanted, or that is a note."""
        for file in self.files:
            if file.unfit and file.path in wanted:
                problems.add(f"{self.path}: {file.path}", file.unfit)
        budget = ByteBudget(MAX_TEXT)
        try:
            for path, data in self.tree.read(lambda path: path in wanted or path in self.layout.notes):
                try:
                    text = as_utf8(inflate(data))
                except Unreadable as reason:
                    if path in wanted:
                        problems.add(f"{self.path}: {path}", str(reason), reason.hint)
                    continue
                budget.spend(len(text), path)
                yield path, text
        except Unreadable as reason:
            problems.add(self.path, str(reason), reason.hint)

    def _read_file(
        self, path: str, text: bytes, kind: str, decoder: ObjectDecoder, problems: Problems, collected: Collected
    ) -> Iterator[DecodedBatch]:
        name = f"{self.path}: {path}"
        if not kind:
            yield from read_file(name, text, decoder, problems, collected)
        elif (entries := _bare_entries(text)) is not None:
            listing = one_piece(_API_VERSIONS[kind], f"{kind}List", entries)
            try:
                yield from decoder.listing(listing, Place(Origin(name)))
            except NotPiecesError:
                problems.add(name, "is not valid JSON")
        else:
            yield from read_text(name, text, decoder, problems, (_API_VERSIONS[kind], kind))


class _Seen:
    """Objects of one dump so far: tools ask for some twice, at different moments. The first one counts."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._objects: dict[type, dict[str, KubernetesObject]] = {}
        self._conflicts: list[str] = []

    @property
    def kinds(self) -> set[str]:
        """Kinds of which there are objects."""
        return {kind.__name__ for kind in self._objects}

    def once(self, batch: DecodedBatch) -> DecodedBatch:
        """The batch without objects that were there before."""
        return batch._replace(objects=[obj if obj is None or self._is_new(obj) else None for obj in batch.objects])

    def caveats(self) -> Iterator[Caveat]:
        """Caveats about objects that occur twice."""
        if self._conflicts:
            yield ObjectsTwice(dump=self._name, count=len(self._conflicts), example=self._conflicts[0])

    def _is_new(self, obj: KubernetesObject) -> bool:
        key = key_of(obj)
        first = self._objects.setdefault(type(obj), {}).setdefault(key, obj)
        if first is not obj and first != obj:
            self._conflicts.append(f"{type(obj).__name__} {key}")
        return first is obj


def find_foreign(path: str, kinds: KnownKinds) -> ForeignDump | None:
    """The dump at `path`, if it is an archive, or a folder that a known tool has made; with these custom kinds.

    Raises:
        Unreadable: it is an archive that cannot be read.
        OSError: it cannot be read at all.
    """
    return _dump(path, open_tree(path), kinds)


def find_piped(text: bytes, kinds: KnownKinds) -> ForeignDump | None:
    """The dump that came in on standard input, if that is an archive.

    Raises:
        Unreadable: it cannot be read.
    """
    return _dump(STDIN, open_archive(Packed(partial(BytesIO, text), len(text)), STDIN), kinds)


def _dump(path: str, tree: Tree | None, known: KnownKinds) -> ForeignDump | None:
    if tree is None:
        return None
    from kwhatif.sources.dumps.layouts import plain, recognize  # has dozens of patterns to compile

    files = tree.files()
    paths = [file.path for file in files]
    layout = recognize(paths, known) or (None if isinstance(tree, Folder) else plain(paths))
    return None if layout is None else ForeignDump(path, tree, layout, files)


class _List(msgspec.Struct):
    kind: str | None = None
    items: msgspec.Raw = msgspec.Raw(b"null")


def _bare_entries(text: bytes) -> bytes | None:
    """The entries of a JSON list that does not say what they are: only its path does."""
    if text.lstrip().startswith(b"["):
        return text
    try:
        bare = msgspec.json.decode(text, type=_List)
    except FAILURES:
        return None
    entries = bytes(bare.items)
    return None if bare.kind or entries == b"null" else entries
