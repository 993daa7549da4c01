"""`Reflector`: one list of a live cluster, and then what happens to it (`client-go/tools/cache/reflector.go`)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Semaphore, Thread
from typing import NamedTuple

from kwhatif.errors import ClusterUnreadable
from kwhatif.sources.decoding.kinds import Asked
from kwhatif.sources.live.connection import PARALLEL, Connection, connect
from kwhatif.sources.live.failures import ReadRefused
from kwhatif.sources.live.kubeconfig import LiveOptions
from kwhatif.sources.live.lists import ListEnded, ListEvent, ListRestarted, read_list
from kwhatif.sources.live.read import server_version
from kwhatif.sources.live.request import Cancelled, Client
from kwhatif.sources.live.watches import Watch, WatchBrokenError, WatchEvent, WatchExpiredError

#: The most times in a row that the server may refuse what it gave before, or a watch of what it lists.
_MAX_REFUSALS = 5
#: A watch that ends sooner, and without an event, is not begun again at once.
_VERY_SHORT = 1.0


class WatchOpened(NamedTuple):
    """The watch of this list is open."""

    asked: Asked
    #: Of the server, as of a new connection; "" of the first one, and where it may not be known.
    version: str = ""


class WatchLost(NamedTuple):
    """The watch of this list was lost; "" as reason: the list is read again."""

    asked: Asked
    reason: str = ""


Happened = ListEvent | WatchEvent | WatchOpened | WatchLost | BaseException


class Patience(NamedTuple):
    """In seconds: client-go's for everything but `silence`, for which it has HTTP/2's pings, and `unserved`."""

    first_pause: float = 0.8
    longest_pause: float = 30.0
    #: After this long without trouble, pauses begin with the first one again.
    reset: float = 120.0
    #: A watch that says nothing for so long is dead: bookmarks come every minute.
    silence: float = 90.0
    #: How often it is asked again for what is not served, or may not be read.
    unserved: float = 300.0


class Backoff:
    """Pauses that double, each with up to as much again by chance (`wait.NewExponentialBackoffManager`)."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._pause = patience.first_pause
        self._last = time.monotonic()

    def next(self) -> float:
        """How long to wait this time."""
        now = time.monotonic()
        if now - self._last > self._patience.reset:
            self._pause = self._patience.first_pause
        self._last = now
        pause, self._pause = self._pause, min(self._pause * 2, self._patience.longest_pause)
        return pause * (1 + random.random())  # noqa: S311


class Link:
    """The connection that all reflectors share; it is made again when the server does not accept its credentials."""

    def __init__(self, options: LiveOptions, watches: int) -> None:
        """`watches`: how many there are at the same time."""
        self._options, self._watches = options, watches
        self._lock = Lock()
        self.connection = self._connect()

    def renew(self, refused: Connection) -> None:
        """Get new credentials, unless another list already did: plugins run again, files are read again.

        Raises:
            ClusterUnreadable: there are none to be had.
            InputError: the kubeconfig cannot be read any more.
        """
        with self._lock:
            if self.connection is refused:
                self.connection = self._connect()

    def _connect(self) -> Connection:
        return connect(self._options, watches=self._watches)


class Reflector:
    """Reads a list and watches it, on a thread of its own, for as long as it is wanted."""

    def __init__(
        self,
        link: Link,
        asked: Asked,
        options: LiveOptions,
        patience: Patience,
        put: Callable[[Happened], None],
        *,
        is_known: bool = False,
    ) -> None:
        """`is_known`: whether the list was read before, so that what goes wrong now may pass."""
        self.asked = asked
        #: How often the list was read again, or the watch was begun again before its time.
        self.restarts = 0
        self._link = link
        self._timeout = options.timeout
        self._patience = patience
        self._put = put
        self._stop = Event()
        self._backoff = Backoff(patience)
        self._watch: Watch | None = None
        self._is_known = is_known
        #: Whether it has been watched: then another connection may be one to another server.
        self._was_watched = False
        self._refusals = 0
        # A daemon: a server that hangs must not keep the process from ending.
        self._thread = Thread(target=self._run, daemon=True, name=f"watch {asked.name}")

    #: Lists that are read at the same time.
    _slots = Semaphore(PARALLEL)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; who waits for the server is woken."""
        self._stop.set()
        watch = self._watch
        if watch is not None:
            watch.end()

    def silence(self, now: float) -> float:
        """For how long the watch has said nothing; 0 where there is none."""
        watch = self._watch
        return 0.0 if watch is None else now - watch.last_sign

    def check(self, now: float) -> None:
        """End a watch that trickles, or is silent, for too long: no timeout of a socket sees every such case."""
        if self.silence(now) > self._patience.silence * 1.2:
            self.break_off()

    def break_off(self) -> None:
        """End the connection of the watch, which goes on with another one."""
        watch = self._watch
        if watch is not None:
            watch.end()

    def _run(self) -> None:
        with suppress(Cancelled):
            while not self._stop.is_set():
                connection = self._link.connection
                try:
                    self._list_and_watch()
                except ClusterUnreadable as failure:
                    self._fail(failure, connection)
                except Cancelled:
                    raise
                except BaseException as failure:  # noqa: BLE001 - it is raised again by the consumer
                    self._put(failure)
                    return

    def _fail(self, failure: ClusterUnreadable, connection: Connection) -> None:
        refused = isinstance(failure, ReadRefused)
        self._refusals = self._refusals + 1 if refused else 0
        is_over = self._refusals >= _MAX_REFUSALS
        if not self._is_known or is_over:
            self._put(failure)
            raise Cancelled
        self._lost(str(failure))
        self._pause(self._backoff.next())
        if refused:
            with suppress(ClusterUnreadable):
                self._link.renew(connection)

    def _lost(self, reason: str = "") -> None:
        self.restarts += 1
        self._put(WatchLost(self.asked, reason))

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Cancelled

    def _list_and_watch(self) -> None:
        ended = self._list()
        self._is_known, self._refusals = True, 0
        if not ended.version:
            self._pause(self._patience.unserved * (1 + random.random()))  # noqa: S311
            return
        resource_version: str | None = ended.resource_version
        while resource_version is not None and not self._stop.is_set():
            resource_version = self._follow(ended.version, resource_version)

    def _list(self) -> ListEnded:
        with self._slots:
            client = Client(self._link.connection, self._timeout, self._stop)
            if self._is_known:
                self._put(ListRestarted(self.asked))
            for event in read_list(client, self.asked, at_once=True):
                self._put(event)
        assert isinstance(event, ListEnded)
        return event

    def _follow(self, version: str, resource_version: str) -> str | None:
        """Watch until that ends; returns from where to go on, None: the list has to be read again."""
        connection = self._link.connection
        watch = Watch(connection, self.asked, version, resource_version)
        started, number = time.monotonic(), 0
        try:
            watch.open(self._timeout, self._patience.silence)
            opened = WatchOpened(self.asked, self._server_version() if self._was_watched else "")
            self._watch, self._was_watched = watch, True
            self._put(opened)
            for number, event in enumerate(watch.events(self._patience.silence), 1):  # noqa: B007
                self._put(event)
                watch.last_sign = time.monotonic()  # what takes the events in may be busy for long
        except WatchExpiredError:
            self._lost()
            return None
        except WatchBrokenError as broken:
            self._lost(str(broken))
            self._pause(max(self._backoff.next(), broken.pause))
        except Cancelled:
            if self._stop.is_set():
                raise
            self._lost("the connection said nothing for too long")
        else:
            if time.monotonic() - started < _VERY_SHORT and not number:
                self._lost("the server ended the watch at once")
                self._pause(self._backoff.next())
        finally:
            self._watch = None
            watch.end()
        return watch.resource_version

    def _server_version(self) -> str:
        """The server may have been upgraded meanwhile.

        Raises:
            WatchBrokenError: it does not say.
        """
        try:
            return server_version(Client(self._link.connection, self._timeout, self._stop))
        except ReadRefused:
            raise
        except ClusterUnreadable as failure:
            raise WatchBrokenError(str(failure)) from failure
