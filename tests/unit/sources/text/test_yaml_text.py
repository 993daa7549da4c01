"""YAML means what kubectl takes it for. The expected values are what `sigs.k8s.io/yaml` made of the same texts."""

import pytest

from kwhatif.sources.text.yaml_text import YAMLProblem, load

SCALARS = [
    ("yes", True),
    ("no", False),
    ("y", True),
    ("N", False),
    ("on", True),
    ("Off", False),
    ("TRUE", True),
    ("~", None),
    ("NULL", None),
    ("", None),
    ("0", 0),
    ("-0", 0),
    ("+5", 5),
    ("-17", -17),
    ("010", 8),
    ("0o17", 15),
    ("0x1F", 31),
    ("0b11", 3),
    ("-0b11", -3),
    ("08", 8),
    ("1_000", 1000),
    ("1__0", 10),
    ("1e3", 1000),
    ("1.5", 1.5),
    ("5.0", 5),
    (".5", 0.5),
    ("-.5", -0.5),
    (".", "."),
    ("1:30", "1:30"),
    ("12:30:45", "12:30:45"),
    ("2001-01-01", "2001-01-01"),
    ("2026-11-21T06:40:25Z", "2026-11-21T06:40:25Z"),
    ("inf", "inf"),
    ("1e999", "1e999"),
    ("18446744073709551615", 18446744073709551615),
    ("18446744073709551616", 18446744073709552000),
    ("99999999999999999999", 100000000000000000000),
    ("1e21", 1e21),
    ("0x", "0x"),
    ("_1", "_1"),
    ("=", "="),
    ("<<", "<<"),
    ("x:y", "x:y"),
    ("!!str 5", "5"),
    ("!!int '5'", 5),
    ("!!float 3", 3),
    ("!!binary aGk=", "hi"),
    ("!!bool yes", True),
    ("!mine x", "x"),
    ("10.0.0.1", "10.0.0.1"),
    ("64Gi", "64Gi"),
    ("'yes'", "yes"),
    ('"010"', "010"),
]


@pytest.mark.parametrize(("text", "value"), SCALARS, ids=[text or "(nothing)" for text, _ in SCALARS])
def test_scalars(text: str, value: object) -> None:
    loaded = load(f"a: {text}\n".encode())["a"]
    assert loaded == value
    assert isinstance(loaded, bool) is isinstance(value, bool)


@pytest.mark.parametrize(
    ("key", "json_key"),
    [("1", "1"), ("010", "8"), ("yes", "true"), ("1.5", "1.5"), ("'1'", "1"), ("k:{}", "k:{}")],
)
def test_keys_become_strings(key: str, json_key: str) -> None:
    assert load(f"{key}: x\n".encode()) == {json_key: "x"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", {"a": 3, "b": 2}, id="of two equal keys the last counts"),
        pytest.param("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}, id="an alias stands for its anchor"),
        pytest.param(
            "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3\n",
            {"a": {"k": 1, "l": 2}, "b": {"l": 2, "k": 3}},
            id="keys after a merge overwrite it",
        ),
        pytest.param(
            "a: &x {k: 1}\nb:\n  k: 3\n  <<: *x\n",
            {"a": {"k": 1}, "b": {"k": 1}},
            id="a merge overwrites the keys before it",
        ),
        pytest.param(
            "b:\n  <<: [{k: 1}, {k: 2, l: 2}]\n", {"b": {"k": 1, "l": 2}}, id="of several merged maps the first counts"
        ),
        pytest.param('b: {"<<": 1}\n', {"b": {"<<": 1}}, id="a quoted << is a key"),
        pytest.param("- \n-\n- a\n", [None, None, "a"], id="empty items are null"),
    ],
)
def test_structure(text: str, value: object) -> None:
    assert load(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        pytest.param("a: b: c\n", "mapping values are not allowed in this context", 1, 5, id="two colons"),
        pytest.param("a: 1\n b: 2\n", "mapping values are not allowed in this context", 2, 3, id="a stray indentation"),
        pytest.param(
            "a:\n- [1, 2\n",
            "while parsing a flow sequence did not find expected ',' or ']'",
            3,
            1,
            id="an open bracket",
        ),
        pytest.param("a: 1\nb: *x\n", "there is no anchor &x", 2, 4, id="an alias of nothing"),
        pytest.param("a: &x\n  b: *x\n", "anchor &x contains itself", 2, 6, id="an anchor within itself"),
        pytest.param("a: .inf\n", "is not a number that JSON can hold", 1, 4, id="infinity"),
        pytest.param("a: !!int x\n", "cannot decode 'x' as !!int", 1, 4, id="a wrong tag"),
        pytest.param("? [a]\n: b\n", "a key must be a string", 1, 3, id="a list as key"),
        pytest.param("~: b\n", "a key must be a string", 1, 1, id="null as key"),
        pytest.param("a:\n  <<: 1\n", "<< merges only maps", 2, 7, id="a merge of a number"),
        pytest.param(
            "a: 1\n...\n---\nb: 1\n", "a new document must begin with a line ---", 3, 1, id="a second document"
        ),
        pytest.param("a: \x01\n", "control characters are not allowed", 1, 0, id="a control character"),
        pytest.param("[" * 500, "is nested too deeply", 1, 401, id="hostile nesting"),
    ],
)
def test_problems_have_line_and_column(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(YAMLProblem) as caught:
        load(text.encode())
    assert (caught.value.message, caught.value.line, caught.value.column) == (message, line, column)


def test_aliases_cannot_be_used_to_fill_the_memory() -> None:
    lines = ["a0: &a0 [" + ",".join(["x"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(YAMLProblem, match="excessive"):
        load("\n".join(lines).encode())


def test_neither_can_aliases_of_long_texts() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 5_000)}]\n"
    with pytest.raises(YAMLProblem, match="excessive"):
        load(text.encode())
