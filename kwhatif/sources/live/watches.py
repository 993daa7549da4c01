"""One watch of the API: what happens to the objects of a list from one state of the cluster on, line by line."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from threading import Event
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec
import urllib3
import urllib3.exceptions

from kwhatif.errors import ClusterUnreadable
from kwhatif.sources.decoding.kinds import Asked
from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.live.connection import Connection
from kwhatif.sources.live.failures import explain, refusal, unreadable
from kwhatif.sources.live.lists import selection
from kwhatif.sources.live.request import MAX_ANSWER, MAX_RETRY_AFTER, Cancelled, retry_after
from kwhatif.sources.network import within

#: Seconds after which a watch is ended by the server, and up to twice that (`minWatchTimeout` in `reflector.go`).
_TIMEOUT = 300
_CHUNK = 1 << 16
_GONE = 410


class WatchEvent(NamedTuple):
    """An object came, changed or went."""

    asked: Asked
    api_version: str
    #: `ADDED`, `MODIFIED` or `DELETED`.
    type: str
    json: bytes


class WatchExpiredError(Exception):
    """The server does not know any more what happened since: the list has to be read again."""


class WatchBrokenError(Exception):
    """The watch ended early; it can go on from where it was, after at least `pause` seconds."""

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Versioned(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    #: Of a `Status`.
    code: int = 0


_LINE, _VERSIONED = msgspec.json.Decoder(_Line), msgspec.json.Decoder(_Versioned)


class Watch:
    """An open watch. A thread reads it; any other may end it."""

    def __init__(self, connection: Connection, asked: Asked, version: str, resource_version: str) -> None:
        self.asked = asked
        #: The state of the cluster that has been seen.
        self.resource_version = resource_version
        #: When the server last said something, by the clock that never jumps.
        self.last_sign = time.monotonic()
        self._api_version = asked.api_version(version)
        self._connection = connection
        self._path = asked.path(version)
        self._response: urllib3.BaseHTTPResponse | None = None
        self._stop = Event()

    def open(self, timeout: float | None, silence: float) -> None:
        """Send the request, and wait for the head of the answer.

        Args:
            timeout: seconds for that.
            silence: seconds after which a connection that says nothing is taken for dead: bookmarks come every minute.

        Raises:
            ClusterUnreadable: no credentials are to be had, or the server refuses.
            WatchExpiredError: the server does not know that state any more.
            WatchBrokenError: there is no answer.
        """
        query = {
            "watch": "true",
            "resourceVersion": self.resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(_TIMEOUT * (1 + random.random()))),  # noqa: S311 - so that not all end at once
        } | selection(self.asked)
        url = f"{self._connection.host}{self._path}?{urlencode(query)}"
        try:
            response = within(timeout, partial(self._send, url, urllib3.Timeout(connect=timeout, read=silence)))
        except (urllib3.exceptions.HTTPError, OSError) as failure:
            raise WatchBrokenError(explain(failure, self._connection.proxy)) from failure
        self._response = response
        if response.status != 200:
            self._refuse(response)
        self.last_sign = time.monotonic()

    def _send(self, url: str, timeout: urllib3.Timeout) -> urllib3.BaseHTTPResponse:
        headers = self._connection.headers()
        headers.discard("Accept-Encoding")
        return self._connection.pool.request(
            "GET", url, headers=headers, preload_content=False, retries=False, redirect=False, timeout=timeout
        )

    def _refuse(self, response: urllib3.BaseHTTPResponse) -> None:
        try:
            body = response.read(_CHUNK)
        except (urllib3.exceptions.HTTPError, OSError):
            body = b""
        self.end()
        if response.status == _GONE:
            raise WatchExpiredError
        if response.status == 429 or response.status >= 500:
            pause = min(retry_after(response.headers) or 0.0, MAX_RETRY_AFTER)
            raise WatchBrokenError(refusal(response.status, body), pause)
        said = refusal(response.status, body).replace("`kwhatif rbac`", "`kwhatif rbac --watch`")
        raise unreadable(f"watching {self._path}", said, response.status)

    def events(self, silence: float) -> Iterator[WatchEvent]:
        """What happens, until the server ends the watch.

        Raises:
            WatchExpiredError: the server does not know any more what happened.
            WatchBrokenError: the connection is broken, says nothing for so long, or says what makes no sense.
            Cancelled: it was ended.
        """
        try:
            for line in self._lines(silence):
                self.last_sign = time.monotonic()
                event = self._event(line)
                if event is not None:
                    yield event
        except (urllib3.exceptions.HTTPError, OSError) as failure:
            if self._stop.is_set():
                raise Cancelled from failure
            raise WatchBrokenError(explain(failure, self._connection.proxy)) from failure
        except (AttributeError, ValueError) as failure:  # so urllib3 says that it was closed meanwhile
            if self._stop.is_set():
                raise Cancelled from failure
            raise
        finally:
            self.end()

    def _lines(self, silence: float) -> Iterator[bytes]:
        response, rest = self._response, b""
        assert response is not None, "it was opened"
        while chunk := response.read1(_CHUNK):
            if self._stop.is_set():
                raise Cancelled
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
            if not lines and time.monotonic() - self.last_sign > silence:
                raise WatchBrokenError("bytes, but no whole event in time")
            if len(rest) > MAX_ANSWER:
                raise WatchBrokenError(f"an event is longer than {MAX_ANSWER >> 20} MiB")
        if rest:
            raise WatchBrokenError("an event was cut short")

    def _event(self, line: bytes) -> WatchEvent | None:
        """The event; None: a bookmark."""
        try:
            what = _LINE.decode(line)
            about = _VERSIONED.decode(what.object)
        except FAILURES as failure:
            raise WatchBrokenError(f"an event is not valid JSON: {failure}") from failure
        if what.type == "ERROR":
            if about.code == _GONE:
                raise WatchExpiredError
            raise WatchBrokenError(refusal(about.code, bytes(what.object)))
        self.resource_version = about.metadata.resource_version or self.resource_version
        if what.type == "BOOKMARK":
            return None
        return WatchEvent(self.asked, self._api_version, what.type, bytes(what.object))

    def end(self) -> None:
        """Close the connection, also while a reader waits."""
        self._stop.set()
        response, self._response = self._response, None
        if response is None:
            return
        sock = getattr(response.connection, "sock", None)
        with suppress(OSError, AttributeError):
            sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr] # who reads from it wakes up
        with suppress(OSError, urllib3.exceptions.HTTPError, ValueError):
            response.close()


__all__ = ["ClusterUnreadable", "Watch", "WatchBrokenError", "WatchEvent", "WatchExpiredError"]
