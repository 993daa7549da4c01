"""Names, label keys and values: their syntax with the API server's messages, patterns, and the nearest name."""

import re
from difflib import get_close_matches

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.matching.field_errors import is_like, label_key_errors, label_value_errors, nearest

NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@pytest.mark.parametrize(
    ("key", "errors"),
    [
        pytest.param("app", [], id="a bare name"),
        pytest.param("a", [], id="one letter"),
        pytest.param("topology.kubernetes.io/zone", [], id="a prefix and a name"),
        pytest.param("a" * 63, [], id="63 bytes"),
        pytest.param("a" * 64, ["name part must be no more than 63 bytes"], id="64 bytes"),
        pytest.param("-a", [f"name part {NAME_RULE}"], id="a dash in front"),
        pytest.param("", ["name part must be non-empty", f"name part {NAME_RULE}"], id="nothing"),
        pytest.param("/a", ["prefix part must be non-empty"], id="an empty prefix"),
        pytest.param("Ex.com/a", [f"prefix part {SUBDOMAIN_RULE}"], id="capitals in the prefix"),
        pytest.param("x" * 254 + "/a", ["prefix part must be no more than 253 bytes"], id="a long prefix"),
        pytest.param(
            "a/b/c",
            [
                f"a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ],
            id="two slashes",
        ),
    ],
)
def test_keys(key: str, errors: list[str]) -> None:
    assert list(label_key_errors(key)) == errors


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        pytest.param("", [], id="the empty value"),
        pytest.param("v1.2_x-3", [], id="inner punctuation"),
        pytest.param("a" * 64, ["must be no more than 63 bytes"], id="64 bytes"),
        pytest.param("-5", [VALUE_RULE], id="a negative number"),
        pytest.param("a b", [VALUE_RULE], id="a blank"),
        pytest.param("é", [VALUE_RULE], id="a letter that is not ASCII"),
    ],
)
def test_values(value: str, errors: list[str]) -> None:
    assert list(label_value_errors(value)) == errors


@given(st.text(alphabet="aZ9-_.", max_size=66))
def test_a_name_is_a_non_empty_value(text: str) -> None:
    assert bool(label_key_errors(text)) == (not text or bool(label_value_errors(text)))


@given(st.text(alphabet="aZ9-_. \n", max_size=6))
def test_values_start_and_end_alphanumeric(text: str) -> None:
    valid = not text or bool(re.fullmatch(r"[-_.A-Za-z0-9]+", text) and text[0].isalnum() and text[-1].isalnum())
    assert (not label_value_errors(text)) == valid


# --- Patterns match as a shell matches, whatever their length -----------------------------------------


@pytest.mark.parametrize(
    ("name", "pattern", "matches"),
    [
        ("web-1", "web-*", True),
        ("web-1", "WEB-*", False),
        ("web-1", "web-[12]", True),
        ("web-1", "web-[!12]", False),
        ("web-1", "web-?", True),
        ("ml/web", "*", True),
        ("web-[", "web-[", True),
        ("web-[1", "web-[[]1", True),
        ("a]b[", "a]b[", True),
        ("a1b[c", "a[1]b[*", True),
        ("x", "[" * 100_000, False),
        ("[" * 1000, "[" * 1000, True),
        ("x", "[]" * 50_000, False),
    ],
)
def test_patterns(name: str, pattern: str, *, matches: bool) -> None:
    assert is_like(name, pattern) is matches


# --- `nearest` ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("acelerator", ["zone", "accelerator", "hostname"], ["accelerator"]),
        ("deployment", ["Deployment", "DaemonSet"], ["Deployment"]),
        ("chekout/web", ["checkout/web", "catalog/web", "ml/trainer"], ["checkout/web"]),
        ("a-1", ["a-2", "a-1.eu.internal", "a-11.eu.internal"], ["a-1.eu.internal"]),
        ("zone", ["zones", "topology.kubernetes.io/zone"], ["topology.kubernetes.io/zone"]),
        ("x", ["zone", "accelerator"], []),
        ("x", [], []),
    ],
)
def test_names_that_are_spelled_alike(name: str, known: list[str], expected: list[str]) -> None:
    """The nearest comes first; nothing where nothing is near."""
    assert nearest(name, known) == expected
    assert nearest(name, reversed(known)) == expected


@given(st.text("ab", max_size=60), st.lists(st.text("ab", max_size=12), max_size=5))
def test_a_name_that_is_much_longer_is_near_to_none(name: str, known: list[str]) -> None:
    """As `difflib` finds by counting."""
    found = nearest(name, known)
    starts = [each for each in sorted({*known}) if each.startswith(f"{name}.") or each.endswith(f"/{name}")]
    assert found == (starts[:3] or get_close_matches(name, sorted({*known}), 3))
    assert nearest("a" * 1_000_000, known) == []
