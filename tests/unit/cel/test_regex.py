"""find and findAll."""

from __future__ import annotations

import re

import pytest

from kwhatif.cel import CelRuntimeError, compile_expression
from kwhatif.cel.library import without_groups

VALUES = {
    "find": ("'abc 123'.find('[0-9]+')", "123"),
    "find nothing": ("'abc 123'.find('xyz')", ""),
    "find an empty match": ("'abc 123'.find('[0-9]*')", ""),
    "find returns the match, not the group": ("'abc 123'.find('b(c) (?P<n>1)')", "bc 1"),
    "find with a parenthesis that is none": ("'a(b)'.find('[(]b\\\\)')", "(b)"),
    "find with a computed pattern": ("'abc 123'.find('(' + '1)')", "1"),
    "find with Unicode classes": ("'aäb'.find('\\\\p{L}+')", "aäb"),
    "findAll": ("'123 abc 456'.findAll('[0-9]+')", ["123", "456"]),
    "findAll with a limit": ("'123 abc 456'.findAll('[0-9]+', 1)", ["123"]),
    "findAll with a limit of nothing": ("'123 abc 456'.findAll('[0-9]+', 0)", []),
    "findAll with a negative limit": ("'123 abc 456'.findAll('[0-9]+', -1)", ["123", "456"]),
    "findAll nothing": ("'123'.findAll('xyz')", []),
    "findAll leaves out empty matches after others": ("'12 a'.findAll('[0-9]*')", ["12", "", ""]),
    "findAll returns matches, not groups": ("'a1 b2'.findAll('([a-z])([0-9])')", ["a1", "b2"]),
    "digits are ASCII": ("'1٣'.findAll('\\\\d')", ["1"]),
    "a dollar is the end of the text": ("'a\\n'.findAll('a$')", []),
    "named classes": ("'a1_'.findAll('[[:alpha:]]|_')", ["a", "_"]),
    "quoted patterns": ("'a.b'.findAll('\\\\Q.\\\\E')", ["."]),
}


@pytest.mark.parametrize(("expression", "expected"), VALUES.values(), ids=VALUES.keys())
def test_values(expression: str, expected: object) -> None:
    assert compile_expression(expression, {}).evaluate({}) == expected


def test_computed_patterns_that_are_none_say_so() -> None:
    with pytest.raises(CelRuntimeError, match=r"^Illegal regex: error parsing regexp: missing closing \]: `\[b`$"):
        compile_expression("'a'.find(text)", {"text": "string"}).evaluate({"text": "[b"})
    with pytest.raises(CelRuntimeError, match="^Illegal regex: error parsing regexp: "):
        compile_expression("'a'.findAll(text)", {"text": "string"}).evaluate({"text": "[b"})


@pytest.mark.parametrize("pattern", ["a(b)(?:c)", r"\((a)", "[(](a)[^](](b)", r"(?i)(?P<n>a)(?=b)", "[[:alpha:](](x)"])
def test_without_groups_captures_nothing(pattern: str) -> None:
    assert re.compile(without_groups(pattern).replace("[:alpha:]", "a-z")).groups == 0
