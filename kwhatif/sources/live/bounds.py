"""How far one list of the API may go."""

from __future__ import annotations

from kwhatif.sources.live.failures import unreadable
from kwhatif.sources.text.inflate import MAX_TEXT

#: Pages of a list: four million objects, more than etcd holds.
MAX_PAGES = 8000
MAX_EMPTY_PAGES = 100


class Bounds:
    """How far a list may go: a server that never comes to its end must not be followed for ever."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._tokens: set[str] = set()
        self._bytes = self._empty = 0

    def check(self, token: str, body: bytes, *, is_empty: bool) -> None:
        """Take note of a page, and the token with which the list goes on.

        Raises:
            ClusterUnreadable: it has been there before, or the list is too long.
        """
        self._bytes += len(body)
        self._empty += is_empty
        if token in self._tokens:
            raise unreadable(self._what, "the server answers the same pages over and over")
        if token:
            self._tokens.add(token)
        if self._empty > MAX_EMPTY_PAGES:
            raise unreadable(
                self._what, f"the server answers empty pages, {self._empty} by now, and says that more follow"
            )
        if self._bytes > MAX_TEXT or len(self._tokens) > MAX_PAGES:
            raise unreadable(self._what, f"the list is longer than {MAX_PAGES:,} pages or {MAX_TEXT >> 30} GiB")
