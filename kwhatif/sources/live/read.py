"""`read_live`: all lists at once; some threads decode while others wait for the network."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from queue import Empty, Full, Queue
from threading import Event, Thread

import msgspec

from kwhatif.admission.defaults import DEFAULT_NAMESPACE
from kwhatif.garbage import no_garbage_collection
from kwhatif.kube.model.caveat.reading import TwoMoments
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.saved import Originals
from kwhatif.sources.decoding.kinds import Asked
from kwhatif.sources.decoding.stand_ins import stand_in
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.dumps.collected import Collected, Progress
from kwhatif.sources.dumps.left_out import CUT
from kwhatif.sources.live import lists
from kwhatif.sources.live.connection import PARALLEL, connect
from kwhatif.sources.live.failures import refusal, unreadable
from kwhatif.sources.live.intake import Intake
from kwhatif.sources.live.lists import ListEnded, ListRestarted, Page, read_list
from kwhatif.sources.live.options import LiveOptions
from kwhatif.sources.live.request import Cancelled, Client

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
            collected.cluster.taken_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
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
    forgive_events(cluster, is_waiting=any(map(_waits, cluster.all(Pod).values())))


def note_end(end: ListEnded, collected: Collected) -> None:
    """Keep caveats about how a list was read."""
    if end.unread:
        collected.cluster.unread[end.asked.subject] = end.unread
    if end.mixed:
        collected.caveats.append(TwoMoments(resources=end.asked.plural))


def forgive_events(cluster: Cluster, *, is_waiting: bool) -> None:
    """Events are read for pods that wait: where none does, nothing is missing."""
    if cluster.unread.get("Event") == CUT and not is_waiting:
        del cluster.unread["Event"]


def _waits(pod: Pod) -> bool:
    return not pod.spec.node_name and not is_terminal(pod)
