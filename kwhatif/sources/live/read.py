"""`read_live`: all lists at once; some threads decode while others wait for the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from queue import Empty, Full, Queue
from threading import Event, Thread

import msgspec

from kwhatif.admission.defaults import DEFAULT_NAMESPACE
from kwhatif.errors import InputError
from kwhatif.garbage import no_garbage_collection
from kwhatif.model.caveat.reading import TwoMoments
from kwhatif.model.cluster import KubernetesObject, key_of
from kwhatif.model.kinds import Resource
from kwhatif.model.originals import Originals
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder
from kwhatif.sources.decoding.kinds import RESOURCES
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.progress import Progress, ProgressReporter
from kwhatif.sources.dumps.unread import FORBIDDEN
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
    todo: Queue[Resource] = Queue()
    for resource in RESOURCES:
        todo.put(resource)
    happened: Queue[lists.ListEvent | BaseException] = Queue(_WAITING)
    for _ in range(PARALLEL):
        # Daemons: a server that hangs must not keep the process from ending.
        Thread(target=_work, args=(client, todo, happened, stop), daemon=True).start()
    open_lists = len(RESOURCES)
    while open_lists:
        event = happened.get()
        if isinstance(event, BaseException):
            raise event
        open_lists -= isinstance(event, ListEnded)
        yield event


def _work(client: Client, todo: Queue[Resource], happened: Queue[lists.ListEvent | BaseException], stop: Event) -> None:
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
        self._objects: dict[str, dict[str, KubernetesObject]] = {resource.kind: {} for resource in RESOURCES}
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
                    self._objects[event.resource.kind].clear()
                    self._report(event.resource)
                case ListEnded():
                    self._end(event)

    def _page(self, page: Page) -> None:
        resource = page.resource
        objects = self._objects[resource.kind]
        try:
            for batch in self._batches(page):
                self._add(batch, objects)
            self._problems.raise_if_any()
        except (InputError, NotPiecesError) as wrong:
            raise unreadable(self._client.describe(resource.path), f"the answer makes no sense: {wrong}") from wrong
        total = None if page.remaining is None else len(objects) + page.remaining
        self._report(resource, total)

    def _batches(self, page: Page) -> Iterator[DecodedBatch]:
        """Its objects; what could not be decoded in one go is taken apart, to find out why."""
        resource = page.resource
        place = Place(Origin(f"GET {resource.path}"))
        if page.objects is None or self._keeps_json:
            listing = one_piece(resource.api_version, f"{resource.kind}List", entries(page.body))
            yield from self._decoder.listing(listing, place)
        else:
            yield self._decoder.accept(page.objects, resource.api_version, place)

    def _add(self, batch: DecodedBatch, objects: dict[str, KubernetesObject]) -> None:
        validate_batch(batch, self._problems, STORED)
        # A list that is continued in a later state can bring an object twice: then the newer one counts.
        objects.update((key_of(obj), obj) for obj in batch.objects if obj is not None)

    def _end(self, end: ListEnded) -> None:
        kind = end.resource.kind
        self._collected.cluster.add_all(end.resource.type, self._objects[kind])
        if end.forbidden:
            self._collected.cluster.unread[kind] = FORBIDDEN
        if end.mixed:
            self._collected.caveats.append(TwoMoments(resources=end.resource.plural))
        self._report(end.resource, done=True)

    def _report(self, resource: Resource, total: int | None = None, *, done: bool = False) -> None:
        self._reporter.report(resource.kind, len(self._objects[resource.kind]), total, done=done)
