"""Numbers in names and annotations: whatever stands there, nothing crashes."""

import pytest

from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.workloads.names import natural_number, ordinal_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("007", 7),
        ("2147483647", 2**31 - 1),
        ("2147483648", None),
        ("9" * 5000, None),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("²", None),
        ("٣", None),
    ],
)
def test_natural_number(text: str, expected: int | None) -> None:
    assert natural_number(text) == expected
    assert ordinal_of(ObjectMeta(name=f"db-{text}"), "db") == expected
    assert ordinal_of(ObjectMeta(name=f"web-{text}"), "db") is None
