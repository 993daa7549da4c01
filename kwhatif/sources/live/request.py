"""One GET: tried again where that can help, explained where it cannot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from functools import partial
from threading import Event
from typing import NamedTuple, TypeVar

import urllib3
import urllib3.exceptions

from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.live.connection import Connection
from kwhatif.sources.live.failures import TORN, explain, refusal, unreadable
from kwhatif.sources.network import within

T = TypeVar("T")

#: The number of attempts, with pauses (in seconds) that double: after eight seconds it is not a transient error.
MAX_TRIES = 6
_FIRST_PAUSE = 0.25
_MAX_PAUSE = 4.0
#: A server that asks to wait longer than this is not waited for.
MAX_RETRY_AFTER = 60.0
_TRY_AGAIN = frozenset({429, 500, 502, 503, 504})
#: Status codes that the reader of a list handles.
_TELLING = frozenset({403, 404, 410})
_CHUNK = 1 << 20
#: Bytes of one answer: a page has 500 objects, of which etcd stores none that is larger than 1.5 MB.
MAX_ANSWER = 512 << 20


class Cancelled(Exception):
    """The reading was given up meanwhile."""


class TooLong(Exception):
    """An answer is longer than any that makes sense."""


class RefusedRequest(NamedTuple):
    """The server answered, but not with what was asked for."""

    status: int
    body: bytes


class _Transient(Exception):
    """This try failed; the next one may not."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class Client:
    """Sends GETs over a connection, from any thread."""

    def __init__(self, connection: Connection, timeout: float | None, stop: Event) -> None:
        self._connection = connection
        self._timeout = timeout
        #: Set when answers are not needed any more.
        self._stop = stop
        #: Whether the server has ever answered: only then a refused connection may be a passing fault.
        self._answered = False

    def get(self, path: str, read: Callable[[bytes], T]) -> T | RefusedRequest:
        """What `read` makes of the body (it raises `DecodeError` where the body is not whole).

        Raises:
            ClusterUnreadable: there is no answer to be had.
            Cancelled: the answer is no longer wanted.
        """
        what = self.describe(path)
        pause = _FIRST_PAUSE
        for attempt in range(1, MAX_TRIES + 1):
            if self._stop.is_set():  # the connections are closed, or about to be: a new one would be left open
                raise Cancelled
            try:
                return self._try(what, path, read)
            except _Transient as failure:
                wait = pause if failure.pause is None else failure.pause
                if attempt == MAX_TRIES or wait > min(MAX_RETRY_AFTER, self._timeout or MAX_RETRY_AFTER):
                    tries = f", {attempt} tries" if attempt > 1 else ""
                    raise unreadable(what, f"{failure}{tries}") from failure
                if self._stop.wait(wait):
                    raise Cancelled from failure
                pause = min(pause * 2, _MAX_PAUSE)
        raise AssertionError

    def describe(self, path: str) -> str:
        """The request, for messages."""
        return f"GET {path.partition('?')[0]} of {self._connection.describe()}"

    def _try(self, what: str, path: str, read: Callable[[bytes], T]) -> T | RefusedRequest:
        try:
            status, headers, body = self._send(path)
        except TooLong:
            raise unreadable(what, f"the answer is longer than {MAX_ANSWER >> 20} MiB") from None
        except (urllib3.exceptions.HTTPError, OSError) as failure:
            reason = explain(failure, self._connection.proxy)
            if self._may_pass(failure):
                raise _Transient(reason) from failure
            raise unreadable(what, reason) from failure
        self._answered = True
        if status == 200:
            return _read_whole(what, headers, body, read)
        if status in _TELLING:
            return RefusedRequest(status, body)
        if status in _TRY_AGAIN:
            raise _Transient(refusal(status, body), retry_after(headers))
        raise unreadable(what, refusal(status, body), status)

    def _may_pass(self, failure: Exception) -> bool:
        if isinstance(failure, urllib3.exceptions.NameResolutionError):
            return False
        if isinstance(failure, urllib3.exceptions.NewConnectionError):
            return self._answered
        if isinstance(failure, urllib3.exceptions.SSLError):
            return any(alert in str(failure) for alert in TORN)
        return isinstance(failure, urllib3.exceptions.ProtocolError | urllib3.exceptions.DecodeError)

    def _send(self, path: str) -> tuple[int, Mapping[str, str], bytes]:
        """The answer; all of it takes no longer than the timeout, its headers included."""
        given_up = Event()
        try:
            return within(self._timeout, partial(self._exchange, path, given_up))
        finally:
            given_up.set()

    def _exchange(self, path: str, given_up: Event) -> tuple[int, Mapping[str, str], bytes]:
        response = self._connection.pool.request(
            "GET",
            self._connection.host + path,
            headers=self._connection.headers(),
            preload_content=False,
            retries=False,
            redirect=False,
            timeout=urllib3.Timeout(total=self._timeout),
        )
        try:
            return response.status, response.headers, b"".join(self._chunks(response, given_up))
        except BaseException:
            response.close()  # half read: this connection cannot be used again
            raise
        finally:
            if self._stop.is_set():
                response.close()  # the pool was closed, perhaps before this connection was made
            response.release_conn()

    def _chunks(self, response: urllib3.BaseHTTPResponse, given_up: Event) -> Iterator[bytes]:
        """The body, up to a size."""
        size = 0
        # A body that is not encoded would otherwise pass a decoder that does nothing, every few kilobytes.
        encoded = "Content-Encoding" in response.headers
        while chunk := response.read1(_CHUNK, decode_content=encoded):
            yield chunk
            size += len(chunk)
            if size > MAX_ANSWER:
                raise TooLong
            if self._stop.is_set() or given_up.is_set():
                raise Cancelled


def _read_whole(what: str, headers: Mapping[str, str], body: bytes, read: Callable[[bytes], T]) -> T:
    content = headers.get("Content-Type", "")
    if "json" not in content:
        kind = content or "of no known type"
        raise unreadable(what, f"the answer is {kind}, not JSON (is this a Kubernetes API server?)")
    try:
        return read(body)
    except FAILURES as failure:
        raise _Transient(f"the answer is not valid JSON: {failure}") from failure


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, if it does (`Retry-After`)."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except ValueError:
        return None
