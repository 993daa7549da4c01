"""Label selectors as text."""

from __future__ import annotations

import pytest

from kwhatif.kube.matching.labels import SelectorError, parse_selector


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("", {}, None),
        ("zone", {"zone": "a"}, {}),
        ("!zone", {}, {"zone": "a"}),
        ("zone=a", {"zone": "a"}, {"zone": "b"}),
        ("zone == a,disk", {"zone": "a", "disk": ""}, {"zone": "a"}),
        ("zone!=a", {}, {"zone": "a"}),
        ("zone in (a, b)", {"zone": "b"}, {"zone": "c"}),
        ("zone notin (a,b)", {"zone": "c"}, {"zone": "a"}),
        ("in in (in,notin)", {"in": "notin"}, {"in": "x"}),
        ("zone in (,a)", {"zone": ""}, {"zone": "b"}),
        ("zone in ()", {"zone": ""}, {"zone": "a"}),
        ("zone=", {"zone": ""}, {"zone": "a"}),
        ("cores>8", {"cores": "9"}, {"cores": "8"}),
        ("cores<8", {"cores": "7"}, {"cores": "x"}),
    ],
)
def test_selectors(text: str, yes: dict[str, str], no: dict[str, str] | None) -> None:
    selector = parse_selector(text)
    assert selector.matches(yes)
    assert no is None or not selector.matches(no)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a>x", "the value must be an integer"),
        ("a/b/c", 'unable to parse requirement: <nil>: Invalid value: "a/b/c"'),
    ],
)
def test_what_is_not_a_selector(text: str, message: str) -> None:
    with pytest.raises(SelectorError, match=r".*") as wrong:
        parse_selector(text)
    assert message in str(wrong.value)
