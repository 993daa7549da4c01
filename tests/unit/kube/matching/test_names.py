"""Patterns match as a shell matches, whatever their length."""

from __future__ import annotations

import pytest

from kwhatif.kube.matching.field_errors import is_like


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
