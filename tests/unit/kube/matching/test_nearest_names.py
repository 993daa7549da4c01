"""`nearest`."""

from __future__ import annotations

from difflib import get_close_matches

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.matching.field_errors import nearest


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
