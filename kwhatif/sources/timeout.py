"""`--request-timeout`: a duration as kubectl takes it. Apart from the rest, so that checking it imports nothing."""

from __future__ import annotations

import re

from kwhatif.kube.model.quantity import parse_duration

#: Seconds. One answer never takes more than a day, and the clocks of sockets overflow.
LONGEST = 86_400.0
_SECONDS = re.compile(r"[0-9]+")


def parse_timeout(text: str) -> float | None:
    """Seconds of a `--request-timeout`: a duration, or a number of seconds; 0 means no limit. At most `LONGEST`.

    Raises:
        ValueError: the text is neither.
    """
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        try:
            seconds = parse_duration(text) / 10**9
        except ValueError:
            raise ValueError(f"{text!r} is neither a number of seconds nor a duration such as 30s or 2m") from None
    if seconds < 0:
        raise ValueError(f"{text!r} is less than nothing")
    return min(seconds, LONGEST) or None
