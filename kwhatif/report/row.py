"""The bases of what a report is made of, and of the documents that are printed whole."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from kwhatif.model.meta import FrozenMeta

API_VERSION = "kwhatif.dev/v1"


class Row(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all parts of a document."""


class Document(Row, kw_only=True):
    """Base of what `-o json` prints: a report, two of them compared, an inventory."""

    api_version: str = API_VERSION

    def to_json(self, indent: int = 0) -> str:
        """What `-o json` prints: on one line, or with that many blanks for each level."""
        try:
            encoded = msgspec.json.encode(self)
        except UnicodeEncodeError:  # a file's name that is not UTF-8
            return json.dumps(msgspec.to_builtins(self), indent=indent or None)
        return (msgspec.json.format(encoded, indent=indent) if indent else encoded).decode()

    def to_dict(self) -> dict[str, Any]:
        """The same content as dicts, lists, strings, numbers, booleans and None."""
        made: dict[str, Any] = json.loads(self.to_json())
        return made


def schema_of(kind: type[msgspec.Struct]) -> dict[str, object]:
    """The JSON Schema of documents of this type, under its own name."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://{API_VERSION}/{kind.__name__.lower()}.json",
    }
    return head | msgspec.json.schema(kind)


def schema_text(kind: type[msgspec.Struct]) -> str:
    """The schema as it is shipped: `schema/report.json` of `Report`."""
    return msgspec.json.format(msgspec.json.encode(schema_of(kind)), indent=2).decode() + "\n"
