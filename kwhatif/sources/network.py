"""What belongs to any server: its address, and when a request must end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit


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
