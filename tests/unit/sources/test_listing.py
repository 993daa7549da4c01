"""A list in pieces is the list."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import yaml

from kwhatif.sources.text import documents
from kwhatif.sources.text.documents import NotPiecesError, split_json, split_yaml

ITEMS = [
    {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": f"{kind}{n}", "labels": {"a": "},{", "b": "x\n- y"}},
        "spec": {"l": [{"a": 1}, {"b": None}]},
    }
    for n in range(9)
    for kind in ("Pod", "Widget")
]


def json_list(text: bytes) -> documents.Listing | None:
    return split_json(io.BytesIO(text))


def dumped(items: list[Any], **style: Any) -> bytes:
    return json.dumps(
        {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}, **style
    ).encode()


def in_yaml(items: list[Any]) -> bytes:
    return yaml.safe_dump(
        {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
    ).encode()


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "PIECE", 300)


@pytest.mark.parametrize(
    ("split", "text", "pieces"),
    [
        pytest.param(json_list, dumped(ITEMS, indent=4), 9, id="JSON as kubectl prints it"),
        pytest.param(json_list, dumped(ITEMS, indent=1), 6, id="JSON with little indentation"),
        pytest.param(json_list, dumped(ITEMS), 6, id="JSON on one line"),
        pytest.param(json_list, dumped(ITEMS, separators=(",", ":")), 6, id="JSON without spaces"),
        pytest.param(json_list, dumped([{"kind": "Pod", **item} for item in ITEMS]), 6, id="JSON with the kind first"),
        pytest.param(split_yaml, in_yaml(ITEMS), 6, id="YAML as kubectl prints it"),
        pytest.param(split_yaml, b"---\n" + in_yaml(ITEMS), 6, id="YAML behind a separator"),
    ],
)
def test_the_pieces_are_the_list(split: Callable[[bytes], documents.Listing | None], text: bytes, pieces: int) -> None:
    found = split(text)
    assert found is not None
    assert (found.api_version, found.kind) == ("v1", "List")
    parts = [msgspec.json.decode(piece.json) for piece in found.pieces]
    assert [item for part in parts for item in part] == ITEMS
    assert len(parts) >= pieces


def test_entries_of_a_typed_list_are_recognised_by_their_metadata() -> None:
    items = [{"metadata": {"name": f"p{n}"}, "spec": {"l": [{"a": 1}, {"b": 2}], "x": "y" * 100}} for n in range(20)]
    found = json_list(json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}).encode())
    assert found is not None
    parts = [msgspec.json.decode(piece.json) for piece in found.pieces]
    assert [item for part in parts for item in part] == items
    assert len(parts) >= 6


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b'{"apiVersion":"v1","kind":"Pod","spec":{"items":[{}]}}', id="no list"),
        pytest.param(b'{"apiVersion":"v1","kind":"List","items":[]}', id="an empty list"),
        pytest.param(b'{"apiVersion":"v1","kind":"List","items":[{}]', id="a list that was cut off"),
        pytest.param(b'{"items":[{}]}', id="a list of nothing in particular"),
    ],
)
def test_what_does_not_look_like_a_list_is_not_taken_apart(text: bytes) -> None:
    assert json_list(text) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"apiVersion: v1\nkind: Pod\nspec:\n  items:\n  - a\n", id="no list"),
        pytest.param(b"apiVersion: v1\nitems:\n- a: b\nkind: List\nitems:\n- c\n", id="entries twice"),
        pytest.param(b"items:\n- a: b\n", id="a list of nothing in particular"),
    ],
)
def test_neither_is_yaml(text: bytes) -> None:
    assert split_yaml(text) is None


def test_a_cut_within_an_entry_is_noticed_in_yaml() -> None:
    text = b'apiVersion: v1\nkind: List\nitems:\n- a: "' + b"x" * 300 + b'\n- y"\n- b: 1\n'
    found = split_yaml(text)
    assert found is not None
    with pytest.raises(NotPiecesError):
        list(found.pieces)


@pytest.mark.parametrize("piece", [150, 400, 1_000, 10_000])
@pytest.mark.parametrize("size", [1, 90, 5_000])
def test_a_file_is_read_piece_by_piece(piece: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "PIECE", piece)
    monkeypatch.setattr(documents, "_MAX_ENTRY", 2_000)  # less than the largest entry has
    items = [{"apiVersion": "v1", "kind": "Pod", "x": "y" * (n * size % 6_000)} for n in range(40)]
    text = dumped(items, indent=4)
    found = json_list(text)
    assert found is not None
    pieces = list(found.pieces)
    assert [item for each in pieces for item in msgspec.json.decode(each.json)] == items
    ends = [each.end for each in pieces]
    assert ends == sorted(ends)
    assert text[ends[-1] :].lstrip().startswith(b"]")


def test_a_file_that_is_cut_off_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO(dumped(ITEMS, indent=4))
    found = split_json(file)
    assert found is not None
    next(found.pieces)
    file.truncate(1_000)
    with pytest.raises(NotPiecesError):
        list(found.pieces)
