"""Go durations."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.quantity import go_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("10s", 10 * 10**9),
        ("1m30s", 90 * 10**9),
        ("1.5h", 5400 * 10**9),
        (".5s", 500 * 10**6),
        ("100ms", 100 * 10**6),
        ("2us", 2000),
        ("2µs", 2000),
        ("3ns", 3),
        ("-1s", -(10**9)),
        ("+1s", 10**9),
    ],
)
def test_durations(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text", ["", "10", "s", "1d", "1s 2s", "1.s.", "--1s", "ten", "１s", "9" * 5000 + "s", "9" * 100_000]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 10s or 1m30s"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(17, "17s"), (60, "1m0s"), (90.5, "1m30.5s"), (3600, "1h0m0s"), (3725, "1h2m5s")]
)
def test_durations_as_go_prints_them(seconds: float, text: str) -> None:
    assert go_duration(round(seconds * 10**9)) == text
