"""What manifests say beyond the fields that scheduling reads: annotations, and templates inside custom resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from kwhatif.sources.decoding.examine import shown_name
from kwhatif.sources.decoding.strict import repeated_fields
from kwhatif.sources.text.documents import Document
from kwhatif.sources.text.origin import FieldPath, Place


class Outline(NamedTuple):
    """One object of a document as plain data, and where it stands."""

    data: Mapping[str, Any]
    place: Place

    @property
    def kind(self) -> str:
        """Its kind; "" where it has none."""
        kind = self.data.get("kind")
        return kind if isinstance(kind, str) else ""

    @property
    def version(self) -> str:
        """Its `apiVersion`; "" where it has none."""
        version = self.data.get("apiVersion")
        return version if isinstance(version, str) else ""

    @property
    def entry(self) -> dict[str, str]:
        """What its entries are, if it is a list of one kind."""
        return {"apiVersion": self.version, "kind": self.kind.removesuffix("List")}

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Its metadata."""
        return _map(self.data, "metadata")

    @property
    def name(self) -> str:
        """`Kind namespace/name`, as far as the manifest says."""
        return shown_name(self.kind, self.metadata)

    @property
    def annotations(self) -> dict[str, str]:
        """Its annotations."""
        annotations = _map(self.metadata, "annotations")
        return {name: value for name, value in annotations.items() if isinstance(value, str)}

    def at(self, path: Sequence[str]) -> object:
        """The value of a field; None where there is none."""
        value: object = self.data
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        return value


def outlines(document: Document) -> Iterator[Outline]:
    """The objects of a document, those of lists one by one; entries of a `DeploymentList` need not say their kind."""
    yield from _outlines(msgspec.json.decode(document.json), document.place, {})


def _outlines(data: object, place: Place, inherited: Mapping[str, str]) -> Iterator[Outline]:
    if not isinstance(data, Mapping):
        return
    outline = Outline({**inherited, **data}, place)
    items = data.get("items")
    if not (outline.kind.endswith("List") and isinstance(items, list)):
        yield outline
        return
    entry = {} if outline.kind == "List" else outline.entry
    for index, item in enumerate(items):
        yield from _outlines(item, place.item(index), entry)


def _map(data: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = data.get(field)
    return value if isinstance(value, Mapping) else {}


def repeats_by_object(document: Document, found: Sequence[Outline]) -> dict[str, list[FieldPath]]:
    """The repeated fields of each object, by its pointer; its paths begin at the object.

    A key that a list repeats, outside of its entries, counts for the first of them.
    """
    repeats: dict[str, list[FieldPath]] = {}
    for path in repeated_fields(document):
        inside = [one for one in found if path[: len(one.place.path)] == one.place.path]
        if inside:
            place = inside[0].place
            repeats.setdefault(place.origin.pointer, []).append(path[len(place.path) :])
    return repeats
