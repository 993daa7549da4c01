"""What belongs to any server: its address, how long a request may take, and when it must end.

It imports little: the command line checks `--request-timeout` with it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from kwhatif.kube.model.quantity import parse_duration


def redacted(url: str) -> str:
    """The URL without the password that may be in it; of one that cannot be read, without what looks like one."""
    try:
        parts = urlsplit(url)
        password, is_address = parts.password, bool(parts.netloc)
    except ValueError:
        password, is_address = None, False
    if is_address:
        return url.replace(f":{password}@", ":xxxxx@", 1) if password else url
    head, at, tail = url.rpartition("@")
    scheme, slashes, credentials = head.rpartition("//")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{slashes}{user}:xxxxx@{tail}" if at and colon else url


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


T = TypeVar("T")


def within(seconds: float | None, do: Callable[[], T]) -> T:
    """What `do` returns; None as seconds: however long it takes.

    It runs on a thread of its own, which is left alone when the time is up: it must not hold what others need.

    Raises:
        TimeoutError: it takes longer.
    """
    if seconds is None:
        return do()
    import queue

    outcome: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put((do(), None))
        except BaseException as failure:  # noqa: BLE001 - it is raised again on the thread that waits
            outcome.put((None, failure))

    threading.Thread(target=run, daemon=True).start()
    try:
        found, failure = outcome.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if failure is not None:
        raise failure
    return found  # type: ignore[return-value] # there is a value where there is no failure
