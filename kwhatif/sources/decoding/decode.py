"""From JSON to typed objects: fast where everything is as expected, thorough where it is not.

A whole list is decoded in one go. Only if that fails (an unknown kind, a `null`, a wrong type) its entries are taken
one by one, and only those which fail again are looked at field by field (`lenient.py`). Objects are
kept by kind and key (`Registry`): the same one twice is fine, two different ones of one name are not.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import force_setattr, replace

from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.kube.model.saved import Originals
from kwhatif.sources.decoding.bystanders import Bystanders
from kwhatif.sources.decoding.kinds import KINDS, NAMED, AnyObject, group_of
from kwhatif.sources.decoding.lenient import FAILURES, NOT_SET, Head, is_object, read_head, read_leniently
from kwhatif.sources.decoding.templates import keep_template, keep_templates
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.text.documents import Buffer, Document, Listing, NotPiecesError, documents, split_json, split_yaml
from kwhatif.sources.text.problems import Origin, Place, Problems


class DecodedBatch(NamedTuple):
    """Objects that were decoded together; None stands for one that was not.

    `start` is the index of the first within the list at `place`, -1 for an object that stands there itself.
    """

    place: Place
    start: int
    objects: Sequence[KubernetesObject | None]
    #: How much of a list's text was read with them, in bytes; 0: not known.
    read: int = 0

    def place_of(self, index: int) -> Place:
        """Where an object of the batch stands."""
        return self.place if self.start < 0 else self.place.item(self.start + index)


class _Entry(NamedTuple):
    """What the entries of a list are, unless they say it themselves; None in a plain `List`."""

    api_version: str | None = None
    kind: str | None = None

    def is_read(self) -> bool:
        """Whether there can be anything to decode in such a list."""
        return self.kind is None or (self.kind in KINDS and KINDS[self.kind].reads(self.api_version or ""))


_RAW_ENTRIES = msgspec.json.Decoder(tuple[msgspec.Raw, ...])
_ANY_OBJECT = msgspec.json.Decoder(AnyObject)
_KINDS = {kind.type: kind for kind in KINDS.values()}


@cache
def _entries_decoder(kind: str | None) -> msgspec.json.Decoder[Any]:
    type_: Any = KINDS[kind].type if kind else AnyObject
    return msgspec.json.Decoder(tuple[type_, ...])


def _decode_entries(json: Buffer, entry: _Entry) -> Sequence[Any]:
    """The entries of a list as objects, or all of them raw if not every one can be decoded as it stands.

    Raises:
        One of `FAILURES`: not even raw; `json` is not a list.
    """
    if entry.is_read():
        try:
            objects: Sequence[Any] = _entries_decoder(entry.kind).decode(json)
        except FAILURES:
            pass
        else:
            keep_templates(objects, json)
            return _versioned(objects, entry.api_version) if entry.api_version else objects
    return _RAW_ENTRIES.decode(json)


def _versioned(objects: Sequence[Any], api_version: str) -> Sequence[Any]:
    """The objects; those without an `apiVersion` have this one."""
    for obj in objects:
        force_setattr(obj, "api_version", obj.api_version or api_version)
    return objects


def _decode_piece(json: bytes, entry: _Entry) -> Sequence[Any]:
    try:
        if not json.isascii():
            json.decode()  # also what is not read must be text
        return _decode_entries(json, entry)
    except FAILURES as failure:
        raise NotPiecesError from failure


class ObjectDecoder:
    """Decodes documents and lists; counts what it skips."""

    def __init__(
        self,
        problems: Problems,
        default_namespace: str,
        originals: Originals | None = None,
        kinds: KnownKinds | None = None,
    ) -> None:
        """`kinds`: the custom kinds of which pods are made."""
        self._problems = problems
        self._namespace = default_namespace
        self._originals = originals
        #: `apiVersion/kind` of objects that scheduling does not read -> how many.
        self.skipped: Counter[str] = Counter()
        #: `apiVersion/kind` of objects that it would read in another version -> how many.
        self.outdated: Counter[str] = Counter()
        #: Kinds of which a list was read, though it may have been empty.
        self.listed: set[str] = set()
        #: What is read of some objects that are skipped.
        self.bystanders = Bystanders(kinds)

    def document(self, document: Document, known: tuple[str, str] | None = None) -> Iterator[DecodedBatch]:
        """The objects of one document, an object or a list; `known` is what it is unless it says it itself."""
        entry = _Entry() if known is None else _Entry(*known)
        self._keep(document.json, entry)
        yield from self._value(document.json, document.place, entry)

    def listing(self, listing: Listing, place: Place) -> Iterator[DecodedBatch]:
        """The objects of a list that was taken apart, piece by piece while they are hot.

        Raises:
            NotPiecesError: the pieces are not lists. What was counted and reported so far is forgotten.
        """
        entry = _entry_of(listing.api_version, listing.kind)
        before = self.skipped.copy(), self.outdated.copy(), len(self._problems)
        start = 0
        try:
            for piece in listing.pieces:
                entries = _decode_piece(piece.json, entry)
                self._keep(piece.json, entry)
                for batch in self._entries(entries, entry, place, start):
                    yield batch._replace(read=piece.end)
                start += len(entries)
        except NotPiecesError:
            self.skipped, self.outdated, problems = before
            self._problems.forget_after(problems)
            raise

    def accept(self, entries: Sequence[KubernetesObject], api_version: str, place: Place) -> DecodedBatch:
        """The objects of a list whose entries were decoded elsewhere, with the text of their templates."""
        return DecodedBatch(place, 0, self._accept_all(_versioned(entries, api_version)))

    def _keep(self, json: Buffer, entry: _Entry) -> None:
        if self._originals is not None:
            self._originals.add(json, entry.kind or "", self._namespace)

    def _entries(self, entries: Sequence[Any], entry: _Entry, place: Place, start: int) -> Iterator[DecodedBatch]:
        if not entry.is_read():
            self._skip(entry.api_version or "", entry.kind or "", len(entries))
            for raw in entries:
                self.bystanders.see(entry.api_version or "", entry.kind or "", raw)
        elif entries and isinstance(entries[0], msgspec.Raw):
            for index, raw in enumerate(entries, start):
                yield from self._value(memoryview(raw), place.item(index), entry)
        else:
            if entry.kind is None:
                self._ask_for_versions(entries, place, start)
            yield DecodedBatch(place, start, self._accept_all(entries))

    def _ask_for_versions(self, entries: Sequence[Any], place: Place, start: int) -> None:
        """Entries of a `List` have to say their version themselves."""
        for index, obj in enumerate(entries, start):
            if not obj.api_version:
                report = self._problems.at(place.item(index), str(ObjectRef.of(obj)))
                report.add("is not set", ("apiVersion",), NOT_SET)

    def _value(self, json: Buffer, place: Place, entry: _Entry) -> Iterator[DecodedBatch]:
        """One value: fast if it is an object of a known kind, else as examination finds it."""
        try:
            obj = _ANY_OBJECT.decode(json)
        except FAILURES:
            obj = None
        if obj is not None and obj.api_version:
            keep_template(obj, json)
            yield DecodedBatch(place, -1, (self._accept(obj),))
        else:
            yield from self._examine(json, place, entry)

    def _examine(self, json: Buffer, place: Place, entry: _Entry) -> Iterator[DecodedBatch]:
        report = self._problems.at(place)
        head = read_head(json, report)
        if head is None:
            return
        head.api_version = entry.api_version if head.api_version is None else head.api_version
        head.kind = entry.kind if head.kind is None else head.kind
        if not is_object(head, report):
            return
        if head.is_list():
            yield from self._list(head, place)
        elif head.kind in KINDS and KINDS[head.kind].reads(head.api_version):
            obj = read_leniently(json, KINDS[head.kind].type, head, report)
            if obj is not None:  # else it was refused
                keep_template(obj, json)
            yield DecodedBatch(place, -1, (None if obj is None else self._accept(obj),))
        else:
            self._skip(head.api_version, head.kind)
            self.bystanders.see(head.api_version, head.kind, json)

    def _list(self, head: Head, place: Place) -> Iterator[DecodedBatch]:
        entry = _entry_of(head.api_version, head.kind)
        if entry.kind is not None and entry.is_read():
            self.listed.add(entry.kind)
        entries = _decode_entries(memoryview(head.items), entry) if head.has_items() else ()
        yield from self._entries(entries, entry, place, 0)

    def _accept_all(self, objects: Sequence[Any]) -> Sequence[KubernetesObject | None]:
        for type_, run in groupby(objects, type):
            kind = _KINDS[type_]
            same_kind = list(run)
            versions = {obj.api_version for obj in same_kind}
            namespaces = {obj.metadata.namespace for obj in same_kind}
            if not versions <= kind.api_versions or ("" in namespaces if kind.namespaced else namespaces != {""}):
                return [self._accept(obj) for obj in objects]
        return objects

    def _accept(self, obj: Any) -> Any:
        """The object, in the namespace where it belongs, if its version is read."""
        kind = _KINDS[type(obj)]
        if not kind.reads(obj.api_version):
            self._skip(obj.api_version, type(obj).__name__)
            if isinstance(obj, PodGroup):  # other schedulers have a kind of this name
                self.bystanders.see(obj.api_version, PodGroup.__name__, msgspec.json.encode(obj))
            return None
        if (obj.metadata.namespace != "") is not kind.namespaced:
            namespace = self._namespace if kind.namespaced else ""
            obj = replace(obj, metadata=replace(obj.metadata, namespace=namespace))
        convert = kind.conversions.get(obj.api_version)
        return obj if convert is None else convert(obj)

    def _skip(self, api_version: str, kind: str, count: int = 1) -> None:
        is_known = kind in KINDS and group_of(api_version) == KINDS[kind].group
        outdated = is_known and (api_version, kind) not in NAMED
        (self.outdated if outdated else self.skipped)[f"{api_version}/{kind}"] += count


def _entry_of(api_version: str, kind: str) -> _Entry:
    return _Entry() if kind == "List" else _Entry(api_version, kind.removesuffix("List"))


class Registry:
    """All objects read so far, and enough to say where each stood."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self.kinds: dict[type, dict[str, KubernetesObject]] = {}
        self._batches: list[DecodedBatch] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read; an empty list counts as something."""
        return not self._batches

    def add(self, batch: DecodedBatch) -> None:
        """Take in what was decoded."""
        self._batches.append(batch)
        objects = batch.objects
        kinds = set(map(type, objects))
        runs = groupby(objects, type) if len(kinds) > 1 else ((kind, objects) for kind in kinds)
        for kind, run in runs:
            if kind is not type(None):
                self._add_all(kind, [obj for obj in run if obj is not None])

    def _add_all(self, kind: type, objects: list[KubernetesObject]) -> None:
        known = self.kinds.setdefault(kind, {})
        added = {key_of(obj): obj for obj in objects}
        if len(added) == len(objects) and known.keys().isdisjoint(added):
            known.update(added)
            return
        for obj in objects:
            key = key_of(obj)
            first = known.setdefault(key, obj)
            # Objects yet to be named by the API server may look the same.
            if first is not obj and first != obj and obj.metadata.name:
                report = self._problems.at(self._place(obj), f"{kind.__name__} {key}")
                other = self._place(first).of().where()
                report.add(f"is there twice, with different contents; the other: {other}")

    def _place(self, wanted: KubernetesObject) -> Place:
        return next(
            batch.place_of(index) for batch in self._batches for index, obj in enumerate(batch.objects) if obj is wanted
        )


#: Below this size the plain way is fast enough, and its errors have lines.
_LARGE = 1 << 20


def read_text(
    name: str, text: bytes, decoder: ObjectDecoder, problems: Problems, known: tuple[str, str] | None = None
) -> Iterator[DecodedBatch]:
    """Everything that is in one file, as it is decoded. The same objects may come twice.

    `known` is the version and the kind of objects that do not say theirs.
    """
    try:
        listing = _split(text) if len(text) >= _LARGE else None
        if listing is not None:
            yield from decoder.listing(listing, Place(Origin(name)))
            return
    except NotPiecesError:
        pass
    for document in documents(name, text, problems):
        yield from decoder.document(document, known)


def _split(text: bytes) -> Listing | None:
    return split_json(BytesIO(text)) or split_yaml(text)


@contextmanager
def open_list(path: Path) -> Iterator[Listing | None]:
    """The list that a large JSON file is: to be decoded as it is read, so that the text is never in memory as a whole.

    None for whatever else is there, and for what can be read only once.

    Raises:
        OSError: it cannot be read.
    """
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size < _LARGE:
        yield None
        return
    with path.open("rb") as file:
        yield split_json(file)
