"""The quick way through YAML gives what the full parser gives, or nothing."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.sources.text.yaml_blocks import NotSimpleError, to_json
from kwhatif.sources.text.yaml_text import YAMLProblem, load
from tests import FIXTURES
from tests.examples import examples

REFUSED = object()

SCALARS = st.sampled_from(
    [
        *"""yes no y on Off true TRUE ~ null 0 -0 +5 -17 010 0x1F 0b11 08 1_000 1e3 1.5 .5 . .. - -- --- ---x 1:30 2001-01-01\n    .inf -.INF .nan 1e999 99999999999999999999 18446744073709551616 1e21 0.1 1.10 0x 1__0 _1 << = x:y :x ?x -x *x &x !x\n    @x `x %x {} [] [a 'x' 'it''s' \"x\\ty\" \"\\u00e9\" \"\\ud83d\" \"\\x41\" \"a 'b | |- |+ > >- |2 é 日本 10.0.0.1 64Gi 500m\n    7c9f8d6b5 12345e6 k:{\"type\":\"Ready\"} f:x a,b a] } [x ... #x a#b""".split(),
        "",
        "foo bar",
        "a #b",
        "a: b",
        "{a: b}",
        "[1, yes]",
        "!!str 5",
        "&x a",
        "1 2",
        "a\u2028b",
        "a\x85b",
        "x\ty",
        "x  y",
    ]
)
KEYS = st.sampled_from(
    [
        *"""a b foo.bar/x yes no 1 010 1.5 1e30 ~ null 0x1F 'q' \"d\" f:x k:{\"a\":\"b\"} . << true y -1 é -a ? \"\" '' items""".split(),
        "a b",
    ]
)
NOISE = st.sampled_from(["", "", "", "", " ", "  # c", " #c", "\t"])
TEXT = st.sampled_from(["text", "yes", "# no", "a: b", "- x", "bar'", 'baz"', "b]", "c: 2}", ""])


@st.composite
def blocks(draw: st.DrawFn, indent: int = 0, depth: int = 0) -> list[str]:
    """Lines of a map or a list, mostly as kubectl writes them."""
    is_list, lines = draw(st.booleans()), []
    for _ in range(draw(st.integers(1, 3))):
        start = " " * indent + ("-" if is_list else draw(KEYS) + ":")
        shape = draw(st.integers(0, 9))
        if depth < 3 and shape < 4:
            lines += _nested(draw, start, indent, depth, is_list=is_list)
        elif shape == 4:
            lines.append(
                start + " " + draw(st.sampled_from(["|", "|-", ">", "'foo", '"foo', "foo", "[a,", "{a: 1,", "|+"]))
            )
            more = draw(st.lists(st.tuples(st.integers(0, 3), TEXT), max_size=3))
            lines += [" " * (indent + deeper) + text for deeper, text in more]
        else:
            lines.append(start + " " + draw(SCALARS) + draw(NOISE))
        if draw(st.integers(0, 15)) == 0:
            lines.append(draw(st.sampled_from(["", "# comment", "   # c", " ", "\t"])))
    return lines


def _nested(draw: st.DrawFn, start: str, indent: int, depth: int, *, is_list: bool) -> list[str]:
    if is_list:
        first, *rest = draw(blocks(indent + 2, depth + 1))
        return [start + " " + first.lstrip(" "), *rest]
    below = draw(blocks(indent + draw(st.sampled_from([0, 1, 2, 2, 2, 4])), depth + 1))
    return [start + draw(NOISE), *below]


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Documents, some of them with a character too many or too few."""
    text = "\n".join(draw(blocks()))
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + draw(st.sampled_from(["", *" -:#'\"\t{}[]&*!|>%@`,\\xyn01~.\r\n"]))
            + text[at + draw(st.integers(0, 1)) :]
        )
    return (text + "\n").encode()


def full(text: bytes) -> object:
    try:
        return load(text)
    except YAMLProblem:
        return REFUSED


@settings(max_examples=examples(1500))
@given(documents())
def test_what_it_reads_the_full_parser_reads_alike(text: bytes) -> None:
    try:
        json = to_json(text)
    except NotSimpleError:
        return
    assert msgspec.json.encode(full(text), order="sorted") == msgspec.json.encode(
        msgspec.json.decode(json), order="sorted"
    )


def test_a_dump_of_kubectl_is_simple() -> None:
    text = (FIXTURES / "demo" / "cluster.yaml").read_bytes()
    assert msgspec.json.decode(to_json(text)) == load(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a:\n- b\n- c: 1\n  d: 2\n", id="a list at the indentation of its key"),
        pytest.param("a:\n    - b\n    -  c\n", id="a list that is indented"),
        pytest.param("a: |\n  x\n   y\n\nb: 1\n", id="a block of text"),
        pytest.param("a: foo\n  bar\n\n  baz\nb: 1\n", id="a folded line"),
        pytest.param("- a: foo\n    bar\n  b: 1\n- c\n", id="a folded line in an item"),
        pytest.param("a: 'x\n  y'\nb: \"\\\n  z\"\n", id="quotes over two lines"),
        pytest.param("a: [1, {b: yes}]\nc:\n", id="brackets"),
        pytest.param("a:\n  b:\nc:\n- d:\n- e\n", id="values that are missing"),
        pytest.param("# x\n\na: 1 # y\n", id="comments"),
        pytest.param("\n# nothing\n", id="nothing at all"),
        pytest.param("a: é\n", id="letters beyond ASCII"),
        pytest.param('f:metadata:\n  k:{"uid":"1"}: {}\n  .: {}\n', id="the keys of managedFields"),
    ],
)
def test_entries_of_any_form_are_read(text: str) -> None:
    assert msgspec.json.decode(to_json(text.encode())) == load(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: &x 1\nb: *x\n", id="an alias"),
        pytest.param("just text\n", id="a scalar alone"),
        pytest.param("a: b: c\n", id="what is no YAML"),
        pytest.param("a: .nan\n", id="a number that JSON has not"),
        pytest.param("a: \u0085x\n", id="an odd break of a line"),
        pytest.param("1.5: x\n", id="a key with rules of its own"),
        pytest.param("".join(f"a{n}: [x]\n" for n in range(100)), id="nothing but entries of another form"),
    ],
)
def test_the_rest_is_left_to_the_full_parser(text: str) -> None:
    with pytest.raises(NotSimpleError):
        to_json(text.encode())


def test_invalid_utf8_is_left_to_the_full_parser() -> None:
    with pytest.raises(NotSimpleError):
        to_json(b"a: \xff\n")
