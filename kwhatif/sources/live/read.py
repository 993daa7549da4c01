"""`read_live`: all lists at once; some threads decode while others wait for the network."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from queue import Empty, Full, Queue
from threading import Event, Thread

import msgspec

from kwhatif.admission.defaults import DEFAULT_NAMESPACE
from kwhatif.errors import InputError
from kwhatif.garbage import no_garbage_collection
from kwhatif.kube.model.caveat.reading import TwoMoments
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.originals import Originals
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.sources.decoding.asked import ASKED, Asked
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.progress import Progress, ProgressReporter
from kwhatif.sources.dumps.unread import CUT
from kwhatif.sources.live import lists
from kwhatif.sources.live.connection import PARALLEL, connect
from kwhatif.sources.live.failures import refusal, unreadable
from kwhatif.sources.live.lists import ListEnded, ListRestarted, Page, entries, read_list
from kwhatif.sources.live.options import LiveOptions
from kwhatif.sources.live.request import Cancelled, Client
from kwhatif.sources.text.listing import NotPiecesError, one_piece
from kwhatif.sources.text.origin import Origin, Place
from kwhatif.sources.text.problems import Problems
from kwhatif.sources.validation.objects import STORED, validate_batch

#: Pages that wait to be taken in: enough to keep that busy, too few to fill the memory.
_WAITING = 16


def read_live(options: LiveOptions, progress: Progress | None = None, originals: Originals | None = None) -> Collected:
    """Read the cluster that kubeconfig names; `originals` keeps the JSON of pods and nodes.

    Raises:
        InputError: the kubeconfig is wrong, or what is asked for is not in it.
        ClusterUnreadable: some of what nothing goes without could not be read; the message says what to do.
    """
    stop = Event()
    with closing(connect(options)) as connection:
        client = Client(connection, options.timeout, stop)
        collected = Collected(sources=[connection.name], namespace=connection.namespace, live=True)
        try:
            collected.server_version = _server_version(client)
            with no_garbage_collection():
                _Reader(client, collected, progress, originals).read(_events(client, stop))
            collected.cluster.taken_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        finally:
            stop.set()
    return collected


class _Version(msgspec.Struct):
    major: str = ""
    minor: str = ""


def _server_version(client: Client) -> str:
    """`1.36`; "" where it may not be known. Asked first: whatever is wrong with the connection comes out here."""
    answer = client.get("/version", lambda body: msgspec.json.decode(body, type=_Version))
    if isinstance(answer, _Version):
        return f"{answer.major}.{answer.minor.rstrip('+')}" if answer.major else ""
    if answer.status != 403:
        raise unreadable(client.describe("/version"), refusal(answer.status, answer.body))
    return ""


def _events(client: Client, stop: Event) -> Iterator[lists.ListEvent]:
    """What happens to all lists, as it happens; the first failure of any of them is raised."""
    todo: Queue[Asked] = Queue()
    for asked in ASKED:
        todo.put(asked)
    happened: Queue[lists.ListEvent | BaseException] = Queue(_WAITING)
    for _ in range(PARALLEL):
        # Daemons: a server that hangs must not keep the process from ending.
        Thread(target=_work, args=(client, todo, happened, stop), daemon=True).start()
    open_lists = len(ASKED)
    while open_lists:
        event = happened.get()
        if isinstance(event, BaseException):
            raise event
        open_lists -= isinstance(event, ListEnded)
        yield event


def _work(client: Client, todo: Queue[Asked], happened: Queue[lists.ListEvent | BaseException], stop: Event) -> None:
    try:
        while True:
            for event in read_list(client, todo.get_nowait()):
                _put(event, happened, stop)
    except (Empty, Cancelled):
        pass
    except BaseException as failure:  # noqa: BLE001 - it is raised again where somebody listens
        with suppress(Cancelled):  # nobody listens any more: another list has failed before
            _put(failure, happened, stop)


def _put(event: lists.ListEvent | BaseException, happened: Queue[lists.ListEvent | BaseException], stop: Event) -> None:
    while not stop.is_set():
        try:
            happened.put(event, timeout=0.1)
        except Full:
            continue
        return
    raise Cancelled


class _Reader:
    """Takes in pages, and keeps the books."""

    def __init__(
        self, client: Client, collected: Collected, progress: Progress | None, originals: Originals | None
    ) -> None:
        self._client = client
        self._collected = collected
        self._reporter = ProgressReporter(progress)
        self._objects: dict[Asked, dict[str, KubernetesObject]] = {asked: {} for asked in ASKED if asked.type}
        #: Pages of bystanders wait for the end of their list: what is counted cannot be taken back if it begins again.
        self._aside: dict[Asked, list[Page]] = {asked: [] for asked in ASKED if not asked.type}
        self._problems = Problems()
        self._keeps_json = originals is not None
        self._decoder = ObjectDecoder(self._problems, DEFAULT_NAMESPACE, originals)

    def read(self, events: Iterator[lists.ListEvent]) -> None:
        """Take in everything that happens."""
        for event in events:
            match event:
                case Page():
                    self._page(event)
                case ListRestarted():
                    self._read_so_far(event.asked).clear()
                    self._report(event.asked)
                case ListEnded():
                    self._end(event)
        self._collected.take_note(self._decoder)
        unread = self._collected.cluster.unread
        if unread.get("Event") == CUT and not any(map(_waits, self._collected.cluster.all(Pod).values())):
            del unread["Event"]  # they are read for pods that wait, and none does

    def _read_so_far(self, asked: Asked) -> dict[str, KubernetesObject] | list[Page]:
        return self._objects[asked] if asked.type else self._aside[asked]

    def _page(self, page: Page) -> None:
        if page.asked.type is None:
            self._aside[page.asked].append(page)
        else:
            with self._sense(page):
                for batch in self._batches(page):
                    self._add(batch, self._objects[page.asked])
        total = None if page.remaining is None else self._count(page.asked) + page.remaining
        self._report(page.asked, total)

    @contextmanager
    def _sense(self, page: Page) -> Iterator[None]:
        """Says of a page whose objects cannot be read where it is from."""
        try:
            yield
            self._problems.raise_if_any()
        except (InputError, NotPiecesError) as wrong:
            raise unreadable(self._client.describe(_path(page)), f"the answer makes no sense: {wrong}") from wrong

    def _batches(self, page: Page) -> Iterator[DecodedBatch]:
        """Its objects; what could not be decoded in one go is taken apart, to find out why."""
        place = Place(Origin(f"GET {_path(page)}"))
        if page.objects is None or page.asked.type is None or self._keeps_json:
            listing = one_piece(page.api_version, f"{page.asked.kind}List", entries(page.body))
            yield from self._decoder.listing(listing, place)
        else:
            yield self._decoder.accept(page.objects, page.api_version, place)

    def _add(self, batch: DecodedBatch, objects: dict[str, KubernetesObject]) -> None:
        validate_batch(batch, self._problems, STORED)
        # A list that is continued in a later state can bring an object twice: then the newer one counts.
        objects.update((key_of(obj), obj) for obj in batch.objects if obj is not None)

    def _end(self, end: ListEnded) -> None:
        asked = end.asked
        if asked.type is not None:
            self._collected.cluster.add_all(asked.type, self._objects[asked])
        if end.unread:
            self._collected.cluster.unread[asked.kind] = end.unread
        if end.mixed:
            self._collected.caveats.append(TwoMoments(resources=asked.plural))
        self._report(asked, done=True)
        for page in self._aside.pop(asked, ()):
            with self._sense(page):
                deque(self._batches(page), maxlen=0)  # they are seen by the decoder, and none is an object to keep

    def _count(self, asked: Asked) -> int:
        if asked.type:
            return len(self._objects[asked])
        return sum(len(page.objects or ()) for page in self._aside[asked])

    def _report(self, asked: Asked, total: int | None = None, *, done: bool = False) -> None:
        self._reporter.report(asked.name, self._count(asked), total, done=done)


def _waits(pod: Pod) -> bool:
    return not pod.spec.node_name and not is_terminal(pod)


def _path(page: Page) -> str:
    return page.asked.path(page.api_version.rpartition("/")[2])
