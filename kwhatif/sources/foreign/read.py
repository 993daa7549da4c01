"""Reading a dump that another tool made: recognized by its layout, decoded like any other file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.model.cluster import KubernetesObject, key_of
from kwhatif.model.missing import Missing
from kwhatif.sources.collected import Collected
from kwhatif.sources.decode import Batch, ObjectDecoder
from kwhatif.sources.files import as_utf8
from kwhatif.sources.foreign.layouts import Layout, recognize
from kwhatif.sources.foreign.trees import File, Folder, Tree, open_tree
from kwhatif.sources.inflate import Unreadable, inflate
from kwhatif.sources.listing import Listing, NotPiecesError
from kwhatif.sources.origin import Origin, Place
from kwhatif.sources.problems import Problems
from kwhatif.sources.read import read_text
from kwhatif.sources.resources import BY_KIND, RESOURCES

_NOTHING = (b"", b"null")


class ForeignDump(NamedTuple):
    """A tree of files that a tool has made, or an archive of anything."""

    path: str
    tree: Tree
    layout: Layout
    files: Sequence[File]

    def read(self, decoder: ObjectDecoder, problems: Problems, collected: Collected) -> Iterator[Batch]:
        """Its objects, each once; what is to be said of it goes to `collected`."""
        wanted = {file.path: kind for file in self.files if (kind := self.layout.kind_of(file.path)) is not None}
        for file in self.files:
            if file.is_link and file.path in wanted:
                problems.add(f"{self.path}: {file.path}", "is a link, which is not followed")
        seen = _Seen(self.layout.name)
        try:
            for path, data in self.tree.read(wanted.__contains__):
                for batch in self._read_file(path, data, wanted[path], decoder, problems):
                    yield seen.once(batch)
        except Unreadable as reason:
            problems.add(self.path, str(reason))
        collected.caveats += [*self.layout.caveats, *seen.caveats()]
        if self.layout.says_all:
            there = {*wanted.values(), *(kind.__name__ for kind in seen.objects)}
            absent = {resource.kind for resource in RESOURCES} - there
            collected.cluster.unread |= dict.fromkeys(sorted(absent), f"{self.layout.name} has no")

    def _read_file(
        self, path: str, data: bytes, kind: str, decoder: ObjectDecoder, problems: Problems
    ) -> Iterator[Batch]:
        name = f"{self.path}: {path}"
        try:
            text = as_utf8(inflate(data))
        except Unreadable as reason:
            problems.add(name, str(reason))
            return
        if text.strip() in _NOTHING:
            return
        entries = _bare_entries(text) if kind else None
        if entries is None:
            yield from read_text(name, text, decoder, problems)
            return
        listing = Listing(BY_KIND[kind].api_version, f"{kind}List", iter((entries,)))
        try:
            yield from decoder.listing(listing, Place(Origin(name)))
        except NotPiecesError:
            problems.add(name, "is not valid JSON")


def find_foreign(path: str) -> ForeignDump | None:
    """The dump at `path`, if it is an archive, or a folder that a known tool has made.

    Raises:
        Unreadable: it is an archive that cannot be read.
        OSError: it cannot be read at all.
    """
    tree = open_tree(path)
    if tree is None:
        return None
    files = tree.files()
    layout = recognize([file.path for file in files])
    return None if isinstance(tree, Folder) and not layout.says_all else ForeignDump(path, tree, layout, files)


class _List(msgspec.Struct):
    kind: str | None = None
    items: msgspec.Raw = msgspec.Raw(b"null")


def _bare_entries(text: bytes) -> bytes | None:
    """The entries of a JSON list that does not say what they are: only its path does."""
    if text.lstrip().startswith(b"["):
        return text
    try:
        bare = msgspec.json.decode(text, type=_List)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    entries = bytes(bare.items)
    return None if bare.kind or entries == b"null" else entries


class _Seen:
    """Objects so far: tools ask for some twice, at different moments. The first one counts."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.objects: dict[type, dict[str, KubernetesObject]] = {}
        self._conflicts: list[str] = []

    def once(self, batch: Batch) -> Batch:
        """The batch without objects that were there before."""
        return batch._replace(objects=[obj if obj is None or self._is_new(obj) else None for obj in batch.objects])

    def _is_new(self, obj: KubernetesObject) -> bool:
        key = key_of(obj)
        first = self.objects.setdefault(type(obj), {}).setdefault(key, obj)
        if first is not obj and first != obj:
            self._conflicts.append(f"{type(obj).__name__} {key}")
        return first is obj

    def caveats(self) -> Iterator[Missing]:
        """What is to be said about objects that came twice."""
        if self._conflicts:
            yield Missing(
                f"{self._name} holds {len(self._conflicts)} objects more than once, with different contents, such as"
                f" {self._conflicts[0]}: the first of each counts"
            )
