"""How long a request may take, as `--request-timeout` says it."""

from __future__ import annotations

import pytest

from kwhatif.sources.network import LONGEST, parse_timeout

TIMEOUTS = {
    "seconds": ("30", 30.0),
    "a duration": ("1m30s", 90.0),
    "no limit": ("0", None),
    "a duration that is no limit": ("0s", None),
    "more than the clock of a socket can count": ("10000000000", LONGEST),
    "more digits than any number of seconds has": ("9" * 5000, LONGEST),
    "a duration of centuries": ("9223372037s", LONGEST),
}


@pytest.mark.parametrize(("text", "seconds"), TIMEOUTS.values(), ids=TIMEOUTS.keys())
def test_a_timeout_is_in_seconds(text: str, seconds: float | None) -> None:
    assert parse_timeout(text) == seconds


@pytest.mark.parametrize("text", ["", "soon"])
def test_what_is_no_timeout_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is neither a number of seconds nor a duration"):
        parse_timeout(text)
