"""`nearest`."""

from __future__ import annotations

import pytest

from kwhatif.model.nearest import nearest


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
