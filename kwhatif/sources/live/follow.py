"""`Follower`: all lists of a live cluster, read and then watched at the same time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from queue import Empty, Full, Queue
from threading import Event

from kwhatif.errors import ClusterUnreadable
from kwhatif.sources.decoding.kinds import ASKED, Asked
from kwhatif.sources.live.kubeconfig import LiveOptions
from kwhatif.sources.live.lists import ListEnded, ListEvent
from kwhatif.sources.live.read import server_version
from kwhatif.sources.live.reflector import Happened, Link, Patience, Reflector, WatchLost, WatchOpened
from kwhatif.sources.live.request import Cancelled, Client
from kwhatif.sources.live.watches import WatchEvent

#: What happened and was not taken in yet: the server waits when it is more.
_WAITING = 4096
#: As much is taken in at once.
_BATCH = 2048
#: How often, in seconds, a producer at a full queue checks whether the consumer is still there.
_LOOK = 0.1


class Follower:
    """Follows a cluster: what happens in it, and how current that knowledge is."""

    def __init__(
        self,
        options: LiveOptions,
        patience: Patience | None = None,
        before: Follower | None = None,
        wanted: Sequence[Asked] = ASKED,
    ) -> None:
        """Connect; nothing is read yet. `before` has followed it until now: it uses its connection, and ends it.

        `wanted` are the lists that are followed.

        Raises:
            InputError: the kubeconfig is wrong, or what is asked for is not in it.
            ClusterUnreadable: there is no cluster to ask, or no credentials can be had.
        """
        self._link: Link = Link(options, len(wanted)) if before is None else before._link
        self._restarts = 0 if before is None else before.restarts
        #: `1.36`, as the server has said last; "" where it may not be known.
        self.version: str = "" if before is None else before.version
        self._options = options
        self._stop = Event()
        self._happened: Queue[Happened] = Queue(_WAITING)
        patience = patience or Patience()
        is_known = before is not None
        self._reflectors = [
            Reflector(self._link, asked, options, patience, self._put, is_known=is_known) for asked in wanted
        ]
        #: Lists that have not been read yet, or whose watch is behind -> why.
        self._behind: dict[Asked, str] = dict.fromkeys(wanted, "it is being read")
        #: Those, and since when.
        self._since: dict[Asked, float] = {} if before is None else dict.fromkeys(wanted, time.monotonic())
        #: When everything was taken in that had happened.
        self._up_to_date = time.monotonic()
        if before is not None:
            before.close()

    @property
    def name(self) -> str:
        """How reports call the cluster."""
        return self._link.connection.name

    @property
    def namespace(self) -> str:
        """Where objects belong that name no namespace."""
        return self._link.connection.namespace

    @property
    def server(self) -> str:
        """What messages call the cluster."""
        return self._link.connection.describe()

    def ask_version(self) -> None:
        """Asked first: whatever is wrong with the connection comes out here."""
        self.version = server_version(Client(self._link.connection, self._options.timeout, self._stop))

    def start(self) -> None:
        """Begin to read and to watch."""
        for reflector in self._reflectors:
            reflector.start()

    def take(self, timeout: float) -> list[ListEvent | WatchEvent]:
        """What has happened; waits up to `timeout` seconds for something.

        Raises:
            ClusterUnreadable: it cannot go on.
        """
        found: list[ListEvent | WatchEvent] = []
        try:
            self._note(self._happened.get(timeout=timeout), found)
            for _ in range(_BATCH):
                self._note(self._happened.get_nowait(), found)
        except Empty:
            self._up_to_date = time.monotonic()
        if not found:
            for reflector in self._reflectors:
                reflector.check(self._up_to_date)
        return found

    def _note(self, each: Happened, found: list[ListEvent | WatchEvent]) -> None:
        if isinstance(each, BaseException):
            raise each
        if isinstance(each, WatchLost):
            self._behind[each.asked] = each.reason or "it is being read again"
            self._since.setdefault(each.asked, time.monotonic())
            return
        if isinstance(each, WatchOpened):
            self.version = each.version or self.version
        if isinstance(each, WatchOpened) or (isinstance(each, ListEnded) and not each.version):
            self._behind.pop(each.asked, None)
            self._since.pop(each.asked, None)
        if not isinstance(each, WatchOpened):
            found.append(each)

    def _put(self, each: Happened) -> None:
        while not self._stop.is_set():
            try:
                self._happened.put(each, timeout=_LOOK)
            except Full:
                continue
            return
        raise Cancelled

    @property
    def behind(self) -> Mapping[str, str]:
        """Resources whose watch is behind -> why: the state would be inconsistent."""
        return {asked.plural: reason for asked, reason in self._behind.items()}

    def age(self) -> float:
        """The age of the state in seconds, at most: since the quietest watch sent something, or all was taken in."""
        now = time.monotonic()
        quiet = max((reflector.silence(now) for reflector in self._reflectors), default=0.0)
        return max([quiet, now - self._up_to_date, *(now - since for since in self._since.values())])

    @property
    def restarts(self) -> int:
        """How often a watch was begun again before its time, or a list was read again."""
        return self._restarts + sum(reflector.restarts for reflector in self._reflectors)

    def close(self) -> None:
        """End all of it."""
        self._stop.set()
        for reflector in self._reflectors:
            reflector.stop()
        self._link.connection.close()


__all__ = ["ClusterUnreadable", "Follower", "Patience"]
