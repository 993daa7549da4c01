import pytest

from kwhatif.kube.model.meta import parse_time

SECOND = 1_000_000_000
NEW_YEAR = 1_767_225_600 * SECOND


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("2026-01-01T00:00:00Z", NEW_YEAR),
        ("2026-01-01T00:00:01Z", NEW_YEAR + SECOND),
        ("2026-01-01T00:00:00.5Z", NEW_YEAR + SECOND // 2),
        ("2026-01-01T00:00:00.123456789Z", NEW_YEAR + 123_456_789),
        ("2026-01-01T01:00:00+01:00", NEW_YEAR),
        ("2025-12-31T23:00:00-01:00", NEW_YEAR),
        ("2026-01-01t00:00:00z", NEW_YEAR),
        ("1969-12-31T23:59:59Z", -SECOND),
    ],
)
def test_nanoseconds_since_the_epoch(text: str, nanoseconds: int) -> None:
    assert parse_time(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-01-01",
        "2026-W01-1T00:00:00Z",
        "2026-02-31T00:00:00Z",
        "2026-01-01 00:00:00Z",
        "2026-02-31T00:00:00.5Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00.5+24:00Z",
    ],
)
def test_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="time|day|hour|second"):
        parse_time(text)
