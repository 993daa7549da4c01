"""`read_live`: all lists at once, whose pages `Intake` makes objects of; some threads decode while others wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
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
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.saved import Originals
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder
from kwhatif.sources.decoding.kinds import Asked
from kwhatif.sources.decoding.objects import STORED, validate_batch
from kwhatif.sources.decoding.stand_ins import stand_in
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.dumps.collected import Collected, Progress, ProgressReporter
from kwhatif.sources.dumps.left_out import CUT
from kwhatif.sources.live import lists
from kwhatif.sources.live.connection import PARALLEL, connect
from kwhatif.sources.live.failures import refusal, unreadable
from kwhatif.sources.live.kubeconfig import LiveOptions
from kwhatif.sources.live.lists import ListEnded, ListRestarted, Page, entries, read_list
from kwhatif.sources.live.request import Cancelled, Client
from kwhatif.sources.text.documents import NotPiecesError, one_piece
from kwhatif.sources.text.problems import Origin, Place, Problems


class Intake:
    """Takes in the pages of all lists, until each is asked for what it came to."""

    def __init__(
        self,
        server: str,
        progress: Progress | None = None,
        originals: Originals | None = None,
        *,
        kinds: KnownKinds | None = None,
    ) -> None:
        """Set up.

        Args:
            server: what messages call the cluster.
            progress: is shown how far each list is.
            originals: keeps the JSON of pods and nodes.
            kinds: the custom kinds of which pods are made.
        """
        kinds = kinds or KnownKinds()
        self._server = server
        self._reporter = ProgressReporter(progress)
        self._objects: dict[Asked, dict[str, KubernetesObject]] = {}
        #: Pages of bystanders wait for the end of their list: what is counted cannot be taken back if it begins again.
        self._aside: dict[Asked, list[Page]] = {}
        self._problems = Problems()
        self._keeps_json = originals is not None
        self.decoder = ObjectDecoder(self._problems, DEFAULT_NAMESPACE, originals, kinds)
        for asked in kinds.lists():
            self.restart(asked)

    def page(self, page: Page) -> None:
        """Take in a page.

        Raises:
            ClusterUnreadable: it makes no sense.
        """
        asked = page.asked
        if asked.type is None:
            self._aside[asked].append(page)
        else:
            with self.sense(asked.path(page.api_version.rpartition("/")[2])):
                for batch in self._batches(page):
                    self._objects[asked].update(self.checked(batch))
        self._report(asked, None if page.remaining is None else self._count(asked) + page.remaining)

    def restart(self, asked: Asked) -> None:
        """The list begins again."""
        if asked.type is None:
            self._aside[asked] = []
        else:
            self._objects[asked] = {}

    def objects(self, asked: Asked) -> dict[str, KubernetesObject]:
        """The objects of a list that has ended, by key; they are forgotten here."""
        self._report(asked, done=True)
        found = self._objects[asked]
        self.restart(asked)
        return found

    def bystanders(self, asked: Asked) -> list[Page]:
        """The pages of a list of bystanders that has ended; they are forgotten here."""
        self._report(asked, done=True)
        found = self._aside[asked]
        self.restart(asked)
        return found

    @contextmanager
    def sense(self, path: str) -> Iterator[None]:
        """Says of what cannot be read where it is from.

        Raises:
            ClusterUnreadable: with all that is wrong.
        """
        try:
            yield
            self._problems.raise_if_any()
        except (InputError, NotPiecesError) as wrong:
            raise unreadable(f"GET {path} of {self._server}", f"the answer makes no sense: {wrong}") from wrong

    def listing(self, page: Page) -> Iterator[DecodedBatch]:
        """The objects of a page that is taken apart; bystanders are seen by the decoder, and are none to keep."""
        place = Place(Origin(f"GET {page.asked.path(page.api_version.rpartition('/')[2])}"))
        kind = f"{page.asked.kind}List"
        yield from self.decoder.listing(one_piece(page.api_version, kind, entries(page.body)), place)

    def checked(self, batch: DecodedBatch) -> Iterator[tuple[str, KubernetesObject]]:
        """Its objects by key; what is wrong with them becomes a problem.

        A list that is continued in a later state can bring an object twice: then the newer one counts.
        """
        validate_batch(batch, self._problems, STORED)
        return ((key_of(obj), obj) for obj in batch.objects if obj is not None)

    def _batches(self, page: Page) -> Iterator[DecodedBatch]:
        """Its objects; what could not be decoded in one go is taken apart, to find out why."""
        if page.objects is None or self._keeps_json:
            yield from self.listing(page)
        else:
            place = Place(Origin(f"GET {page.asked.path(page.api_version.rpartition('/')[2])}"))
            yield self.decoder.accept(page.objects, page.api_version, place)

    def _count(self, asked: Asked) -> int:
        if asked.type is not None:
            return len(self._objects[asked])
        return sum(len(page.objects or ()) for page in self._aside[asked])

    def _report(self, asked: Asked, total: int | None = None, *, done: bool = False) -> None:
        self._reporter.report(asked.name, self._count(asked), total, done=done)


#: Pages that wait to be taken in: enough to keep that busy, too few to fill the memory.
_WAITING = 16


def read_live(
    options: LiveOptions,
    progress: Progress | None = None,
    originals: Originals | None = None,
    *,
    kinds: KnownKinds,
) -> Collected:
    """Read the cluster that kubeconfig names; `originals` keeps the JSON of pods and nodes.

    Of `kinds`, the custom kinds of which pods are made, the resources are read as well, and objects stand for them.

    Raises:
        InputError: the kubeconfig is wrong, or what is asked for is not in it.
        ClusterUnreadable: some of what nothing goes without could not be read; the message says what to do.
    """
    stop = Event()
    with closing(connect(options)) as connection:
        client = Client(connection, options.timeout, stop)
        collected = Collected(sources=[connection.name], namespace=connection.namespace, live=True)
        try:
            collected.server_version = server_version(client)
            with no_garbage_collection():
                intake = Intake(connection.describe(), progress, originals, kinds=kinds)
                take_in(_events(client, kinds.lists(), stop), intake, collected)
                found = intake.decoder.bystanders.workloads
                collected.caveats += stand_in(collected.cluster, found, kinds, DEFAULT_NAMESPACE)
            collected.cluster.update_facts(taken_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        finally:
            stop.set()
    return collected


class _Version(msgspec.Struct):
    major: str = ""
    minor: str = ""


def server_version(client: Client) -> str:
    """`1.36`; "" where it may not be known. Asked first: whatever is wrong with the connection comes out here."""
    answer = client.get("/version", lambda body: msgspec.json.decode(body, type=_Version))
    if isinstance(answer, _Version):
        return f"{answer.major}.{answer.minor.rstrip('+')}" if answer.major else ""
    if answer.status != 403:
        raise unreadable(client.describe("/version"), refusal(answer.status, answer.body))
    return ""


def _events(client: Client, wanted: Sequence[Asked], stop: Event) -> Iterator[lists.ListEvent]:
    """What happens to all lists, as it happens; the first failure of any of them is raised."""
    todo: Queue[Asked] = Queue()
    for asked in wanted:
        todo.put(asked)
    happened: Queue[lists.ListEvent | BaseException] = Queue(_WAITING)
    for _ in range(PARALLEL):
        # Daemons: a server that hangs must not keep the process from ending.
        Thread(target=_work, args=(client, todo, happened, stop), daemon=True).start()
    open_lists = len(wanted)
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
    except BaseException as failure:  # noqa: BLE001 - it is raised again by the consumer
        with suppress(Cancelled):  # the consumer is gone: another list has failed before
            _put(failure, happened, stop)


def _put(event: lists.ListEvent | BaseException, happened: Queue[lists.ListEvent | BaseException], stop: Event) -> None:
    while not stop.is_set():
        try:
            happened.put(event, timeout=0.1)
        except Full:
            continue
        return
    raise Cancelled


def take_in(events: Iterator[lists.ListEvent], intake: Intake, collected: Collected) -> None:
    """Keep everything that happens."""
    cluster = collected.cluster
    for event in events:
        match event:
            case Page():
                intake.page(event)
            case ListRestarted():
                intake.restart(event.asked)
            case ListEnded():
                note_end(event, collected)
                if event.asked.type is not None:
                    cluster.add_all(event.asked.type, intake.objects(event.asked))
                    continue
                for page in intake.bystanders(event.asked):
                    with intake.sense(event.asked.path(event.version)):
                        deque(intake.listing(page), maxlen=0)
    collected.take_note(intake.decoder)
    is_waiting = any(map(_waits, cluster.all(Pod).values()))
    cluster.update_facts(unread=without_needless_events(cluster.facts.unread, is_waiting=is_waiting))


def note_end(end: ListEnded, collected: Collected) -> None:
    """Keep caveats about how a list was read."""
    if end.unread:
        unread = collected.cluster.facts.unread
        collected.cluster.update_facts(unread={**unread, end.asked.subject: end.unread})
    if end.mixed:
        collected.caveats.append(TwoMoments(resources=end.asked.plural))


def without_needless_events(unread: Mapping[str, str], *, is_waiting: bool) -> Mapping[str, str]:
    """The kinds that could not be read. Events are read for pods that wait: if none waits, no event is missing."""
    if unread.get("Event") == CUT and not is_waiting:
        return {kind: reason for kind, reason in unread.items() if kind != "Event"}
    return unread


def _waits(pod: Pod) -> bool:
    return not pod.spec.node_name and not is_terminal(pod)
