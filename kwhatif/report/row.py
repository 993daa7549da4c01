"""The base of documents that are printed whole, and their schemas."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from kwhatif.kube.model.meta import Row

API_VERSION = "kwhatif.dev/v1"


class _Notebook:
    """The renderer that makes pages of documents for notebooks, if there is one."""

    draw: Callable[[Document], str | None] = staticmethod(lambda _: None)


def draw_in_notebooks(draw: Callable[[Document], str | None]) -> None:
    """Use this to show documents in notebooks; None: notebooks show text."""
    _Notebook.draw = staticmethod(draw)


class Document(Row, kw_only=True):
    """Base of everything that `-o json` prints: a report, two compared reports, an inventory."""

    api_version: str = API_VERSION

    def to_json(self, indent: int = 0) -> str:
        """The text of `-o json`: on one line, or indented by this number of spaces."""
        try:
            encoded = msgspec.json.encode(self)
        except UnicodeEncodeError:  # a file name that is not UTF-8
            return json.dumps(msgspec.to_builtins(self), indent=indent or None)
        return (msgspec.json.format(encoded, indent=indent) if indent else encoded).decode()

    def _repr_html_(self) -> str | None:
        return _Notebook.draw(self)

    def to_dict(self) -> dict[str, Any]:
        """The same content as dicts, lists, strings, numbers, booleans and None."""
        made: dict[str, Any] = json.loads(self.to_json())
        return made


def schema_of(kind: type[msgspec.Struct], known: type[msgspec.Struct] | None = None) -> dict[str, object]:
    """The JSON Schema of documents of this type, under its own name.

    Definitions of the schema `known` are not repeated, but are a `$ref` to that file.
    """
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": _identifier(kind)} | msgspec.json.schema(
        kind
    )
    if known is None:
        return made
    elsewhere = msgspec.json.schema(known)["$defs"]
    made["$defs"] = {name: body for name, body in made["$defs"].items() if name not in elsewhere}
    referring: dict[str, object] = _referring(made, {f"#/$defs/{name}": _identifier(known) for name in elsewhere})
    return referring


def _identifier(kind: type[msgspec.Struct]) -> str:
    return f"https://{API_VERSION}/{kind.__name__.lower()}.json"


def _referring(schema: Any, files: dict[str, str]) -> Any:
    """The schema with each `$ref` to a definition of another file preceded by that file's identifier."""
    if isinstance(schema, list):
        return [_referring(item, files) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: files.get(value, "") + value if key == "$ref" else _referring(value, files)
        for key, value in schema.items()
    }


def schema_text(kind: type[msgspec.Struct], known: type[msgspec.Struct] | None = None) -> str:
    """The schema as it is shipped: `schema/report.json` of `Report`."""
    return msgspec.json.format(msgspec.json.encode(schema_of(kind, known)), indent=2).decode() + "\n"
