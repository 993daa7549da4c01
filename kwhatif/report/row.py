"""The base of documents that are printed whole, their schemas, and their rows as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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


# --- rows and tables -------------------------------------------------------------------------------------------------


#: Command -> the rows that answer it.
_MAIN: Mapping[str, str] = {
    "advise": "advise.workloads",
    "audit": "audit.findings",
    "autoscale": "autoscaler.rounds",
    "capacity": "capacity",
    "compare": "compare.answers",
    "consolidate": "consolidate.nodes",
    "deschedule": "deschedule.evicted",
    "drain": "story.workloads",
    "outage": "story.workloads",
    "queue": "queue.pods",
    "resize": "resize",
    "simulate": "story.workloads",
    "threats": "threats.threats",
    "upgrade": "upgrade.workloads",
    "who-fits": "who_fits.takers",
}


def main_part(command: str, *, many: bool) -> str:
    """The part that answers the command; `many`: for many scenarios, one row each."""
    return "scenarios" if many else _MAIN.get(command, "decisions")


def rows_of(document: Row, part: str) -> Sequence[Row]:
    """The rows of a part, such as `decisions` or `story.events`; a path through a list gives those of all its rows.

    Raises:
        ValueError: there is no such part, or it is not made of rows.
    """
    return [row for row, _ in _found(document, part)]


def records(document: Row, part: str) -> list[dict[str, Any]]:
    """The rows as flat dicts: a nested row is named `preemption.node`, and lists are not changed.

    Rows from a list in several rows begin with the names of these: the `pod` for `decisions.rejected`.
    """
    return [_named(_flat(row), row, above) for row, above in _found(document, part)]


def frame(document: Row, part: str) -> Any:
    """The records as a pandas.DataFrame.

    Raises:
        ImportError: pandas is not installed; the message says what to install.
        ValueError: see `rows_of`.
    """
    made = records(document, part)
    try:
        import pandas as pd
    except ImportError as missing:
        raise ImportError("frame() needs pandas: pip install 'kwhatif[pandas]'") from missing
    return pd.DataFrame.from_records(made)


def _found(document: Row, part: str) -> Iterator[tuple[Row, Row | None]]:
    """Rows, each with the outer row whose list contains it."""
    found: list[tuple[Any, Row | None]] = [(document, None)]
    for name in part.split("."):
        found = [each for value, above in found for each in _children(value, above, name, part)]
    for value, above in found:
        if not isinstance(value, Row):
            kind = type(value).__name__
            raise ValueError(f"{part!r} is not made of rows: it is of type {kind}")  # noqa: TRY004 - the part is wrong
        yield value, above


def _children(value: Any, above: Row | None, name: str, part: str) -> Iterator[tuple[Any, Row | None]]:
    fields = getattr(value, "__struct_fields__", ())
    if name not in fields:
        raise ValueError(f"{part!r}: there is no {name!r}; there {'are ' + ', '.join(fields) if fields else 'is none'}")
    child = getattr(value, name)
    if isinstance(child, tuple):
        yield from ((each, each if isinstance(each, Row) and above is None else above) for each in child)
    elif child is not None:
        yield child, above


def _named(flat: dict[str, Any], row: Row, above: Row | None) -> dict[str, Any]:
    """The record, after the names of the outer row."""
    if above is None or above is row:
        return flat
    name = above.__struct_fields__[0]
    return {(f"of_{name}" if name in flat else name): getattr(above, name), **flat}


def _flat(row: Row) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in row.__struct_fields__:
        value = getattr(row, name)
        if isinstance(value, Row):
            made |= {f"{name}.{inner}": each for inner, each in _flat(value).items()}
        else:
            made[name] = msgspec.to_builtins(value)
    return made
