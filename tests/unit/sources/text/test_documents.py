"""Documents of a file; a list in pieces is the list."""

import io
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import yaml

from kwhatif.errors import InputError
from kwhatif.sources.text.documents import Listing, NotPiecesError, documents, split_json, split_yaml
from kwhatif.sources.text.problems import Problems


def split(text: str) -> list[tuple[int, int, object]]:
    """(number, first line, value) of every document."""
    problems = Problems()
    found = [
        (document.place.origin.document, document.place.origin.line, msgspec.json.decode(document.json))
        for document in documents("f", text.encode(), problems)
    ]
    problems.raise_if_any()
    return found


def wrong(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        split(text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("---\n---\n# only a comment\n---\n", [], id="empty documents"),
        pytest.param("a: 1\n---\nb: 2", [(1, 1, {"a": 1}), (2, 3, {"b": 2})], id="YAML documents"),
        pytest.param("# c\n---\na: 1\n--- # d\n\nb: 2\n", [(1, 3, {"a": 1}), (2, 5, {"b": 2})], id="comments"),
        pytest.param("a: |\n  ---\n  x\n", [(1, 1, {"a": "---\nx\n"})], id="a separator that is indented is none"),
        pytest.param("a: 1\r\n---\r\nb: 2\r\n", [(1, 1, {"a": 1}), (2, 3, {"b": 2})], id="lines of Windows"),
        pytest.param(' {"a": 1}\n', [(1, 0, {"a": 1})], id="JSON"),
        pytest.param(
            '{"a":1}{"b":2}\n{"c":3}\n',
            [(1, 0, {"a": 1}), (2, 0, {"b": 2}), (3, 0, {"c": 3})],
            id="JSON values one after the other",
        ),
        pytest.param("{a: 1, b: yes}\n", [(1, 1, {"a": 1, "b": True})], id="YAML in braces"),
        pytest.param(
            '{"a": 1} # c\n---\nb: 2\n', [(1, 1, {"a": 1}), (2, 3, {"b": 2})], id="YAML that begins like JSON"
        ),
        pytest.param("[1]\n", [(1, 1, [1])], id="a list"),
    ],
)
def test_documents(text: str, found: object) -> None:
    assert split(text) == found


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param(
            "a: 1\n---\nb: [\n---\nc: d: e\n",
            [
                "f, document 2, line 4, column 1: is not valid YAML: while parsing a flow node did not find expected node content",
                "f, document 3, line 5, column 5: is not valid YAML: mapping values are not allowed in this context",
            ],
            id="every YAML document is tried",
        ),
        pytest.param(
            "a: 1\n--- b\nc: 1\n",
            ["f, line 2: is not a valid separator of documents: nothing may follow --- on its line"],
            id="a separator with content",
        ),
        pytest.param(
            '{"a": 1,\n "b": ]}', ["f: is not valid JSON: line 2, column 7: invalid character"], id="JSON with a gap"
        ),
        pytest.param('{"a": {"b"', ["f: is not valid JSON: the end is missing"], id="JSON that was cut off"),
        pytest.param(
            '{"a":1}{"b"}', ["f: is not valid JSON: line 1, column 12: expected ':'"], id="a later JSON value"
        ),
        pytest.param('{"a":' * 3000, ["f: is nested too deeply"], id="hostile JSON"),
    ],
)
def test_problems(text: str, problems: list[str]) -> None:
    assert wrong(text) == problems


def test_a_large_broken_json_file_is_not_tried_as_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.sources.text.documents._MAX_FLOW_YAML", 5)
    assert wrong("{a: 1}") == ["f: is not valid JSON: line 1, column 2: expected '\"'"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param((), 3, id="the document"),
        pytest.param(("spec",), 4, id="a key"),
        pytest.param(("spec", "containers", 1), 7, id="an item"),
        pytest.param(("spec", "containers", 1, "image"), 8, id="a key in an item"),
        pytest.param(("spec", "containers", 0, "image"), 6, id="a missing field is where its parent is"),
    ],
)
def test_lines_of_fields(path: tuple[str | int, ...], line: int) -> None:
    text = "---\n# c\nkind: Pod\nspec:\n  containers:\n  - name: a\n  - name: b\n    image: c\n"
    (document,) = documents("f", text.encode(), Problems())
    assert document.place.of(path).line == line


# --- A list in pieces is the list ---------------------------------------------------------------------


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


def json_list(text: bytes) -> Listing | None:
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
    monkeypatch.setattr("kwhatif.sources.text.documents.PIECE", 300)


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
def test_the_pieces_are_the_list(split: Callable[[bytes], Listing | None], text: bytes, pieces: int) -> None:
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
    monkeypatch.setattr("kwhatif.sources.text.documents.PIECE", piece)
    monkeypatch.setattr("kwhatif.sources.text.documents._MAX_ENTRY", 2_000)  # less than the largest entry has
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
