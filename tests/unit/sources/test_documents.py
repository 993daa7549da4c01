from __future__ import annotations

import msgspec
import pytest

from kwhatif.errors import InputError
from kwhatif.sources.text.documents import documents
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
