"""`read_cluster`: dumps (`kubectl get … -o yaml|json`, hand-written files) become a `Cluster`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from kwhatif.admission.defaults import DEFAULT_NAMESPACE
from kwhatif.admission.load import is_stored
from kwhatif.garbage import no_garbage_collection
from kwhatif.kube.model.caveat.reading import VersionNotRead
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.saved import Originals, SavedSnapshot
from kwhatif.sources.decoding.bystanders import BYSTANDERS
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder, Registry, open_list
from kwhatif.sources.decoding.objects import STORED, validate_batch
from kwhatif.sources.decoding.stand_ins import stand_in
from kwhatif.sources.decoding.templates import forget_templates
from kwhatif.sources.decoding.values import are_times
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.dumps.collected import Collected, LoadedCluster, Progress, ProgressReporter
from kwhatif.sources.dumps.exports import read_file
from kwhatif.sources.dumps.foreign import ForeignDump, find_foreign, find_piped
from kwhatif.sources.dumps.recording import Recording, is_recording
from kwhatif.sources.text.documents import NotPiecesError
from kwhatif.sources.text.files import READ_ONCE, STDIN, GivenText, Input, find_inputs, matches, read_inputs
from kwhatif.sources.text.inflate import MAX_TEXT, Unreadable
from kwhatif.sources.text.problems import Origin, Place, Problems
from kwhatif.workloads.adopted import stand_in_for_missing

_CHUNK = 1 << 20


def read_cluster(paths: Sequence[str], *, stdin: BinaryIO, originals: Originals | None = None) -> LoadedCluster:
    """Read files, directories or "-" into one cluster; `originals` keeps the JSON of pods and nodes.

    Raises:
        InputError: with every problem of every file.
    """
    return collect_dump(paths, stdin=stdin, originals=originals).admitted()


def collect_dump(
    paths: Sequence[str],
    *,
    stdin: BinaryIO,
    originals: Originals | None = None,
    progress: Progress | None = None,
    at: str | None = None,
    kinds: KnownKinds | None = None,
) -> Collected:
    """Read files, directories or "-" into one cluster, with nothing filled in yet.

    Args:
        paths: what to read.
        stdin: what "-" is.
        originals: keeps the JSON of pods and nodes.
        progress: is shown how far the reading is.
        at: the moment of recordings that is asked for (RFC 3339, in UTC and whole seconds); None: the last one.
        kinds: custom kinds of which pods are made.

    Raises:
        InputError: with every problem of every file.
    """
    problems = Problems()
    registry = Registry(problems)
    kinds = kinds or KnownKinds()
    decoder = ObjectDecoder(problems, DEFAULT_NAMESPACE, originals, kinds)
    collected = Collected()
    collected.cluster.update_facts(is_whole=False)
    piped = _read_whole(stdin, problems) if "-" in paths else b""
    foreign, others = _sort_out(paths, piped, problems, at, kinds)
    inputs = find_inputs(others, BytesIO(piped), problems)
    snapshots: set[str] = set()
    unfinished: list[str] = []
    with no_garbage_collection():
        for batch in _batches(inputs, foreign, decoder, problems, collected, ProgressReporter(progress)):
            _forget_what_was_left_out(batch, snapshots)
            registry.add(batch)
            validate_batch(batch, problems, STORED)
            # Here, where they are at hand: to look at a hundred thousand pods again later takes three times as long.
            unfinished += [key_of(obj) for obj in batch.objects if type(obj) is Pod and not is_stored(obj)]
    if registry.is_empty and not (problems or decoder.skipped or decoder.outdated):
        named = ", ".join(STDIN if path == "-" else path for path in paths)
        problems.add(named or "the input", "holds no Kubernetes objects")
    problems.raise_if_any()
    cluster = collected.cluster
    for kind, objects in registry.kinds.items():
        cluster.add_all(kind, objects)
    collected.sources = [*(source.name for source in inputs), *(dump.path for dump in foreign)]
    cluster.update_facts(listed=cluster.facts.listed | decoder.listed)
    collected.unfinished = unfinished
    collected.take_note(decoder)
    collected.caveats += stand_in(cluster, decoder.bystanders.workloads, kinds, DEFAULT_NAMESPACE)
    stand_in_for_missing(cluster, kinds.of_owner)
    collected.caveats += [VersionNotRead(kind=kind, count=count) for kind, count in sorted(decoder.outdated.items())]
    for saved in cluster.all(SavedSnapshot).values():
        _recall(saved, collected)
    found = {kind for kind, objects in registry.kinds.items() if objects} | {
        each for each in BYSTANDERS if cluster.all(each)
    }
    names = {kind.__name__ for kind in found}  # one of the dumps cannot hold a kind, another one does
    cluster.update_facts(unread={kind: why for kind, why in cluster.facts.unread.items() if kind not in names})
    return collected


def _forget_what_was_left_out(batch: DecodedBatch, snapshots: set[str]) -> None:
    """A saved snapshot holds templates without fields that scheduling does not read: they are not complete.

    `snapshots` are the files that have begun as one.
    """
    source = batch.place.origin.source
    if SavedSnapshot in map(type, batch.objects):
        snapshots.add(source)
    if source in snapshots:
        forget_templates(batch.objects)


def _read_whole(stdin: BinaryIO, problems: Problems) -> bytes:
    """What is piped in, in memory: archives are read more than once, and nothing of a cluster goes to disk."""
    read = BytesIO()
    try:
        while part := stdin.read(_CHUNK):
            read.write(part)
            if read.tell() > MAX_TEXT:
                problems.add(STDIN, f"is more than {MAX_TEXT:,} bytes", "save it to a file, and name that")
                return b""
    except OSError as failure:
        problems.add(STDIN, f"cannot be read: {failure.strerror or failure}")
        return b""
    return read.getvalue()


def _sort_out(
    paths: Sequence[str], piped: bytes, problems: Problems, at: str | None, kinds: KnownKinds
) -> tuple[list[ForeignDump | Recording], list[str]]:
    """Recordings and the dumps that are trees and archives of other tools, and the paths that are neither."""
    foreign: list[ForeignDump | Recording] = []
    others: list[str] = []
    for path in chain.from_iterable(matches(pattern, problems) for pattern in paths):
        if isinstance(path, GivenText):
            others.append(path)
            continue
        if is_recording(path):
            foreign.append(Recording(path, at or ""))
            continue
        if path == "-" and any(dump.path == STDIN for dump in foreign):
            problems.add(STDIN, *READ_ONCE)
            continue
        try:
            dump = find_piped(piped, kinds) if path == "-" else find_foreign(path, kinds)
        except Unreadable as reason:
            problems.add(STDIN if path == "-" else path, str(reason), reason.hint)
            continue
        except OSError:
            dump = None  # the reader reports why it cannot be read
        if dump is None:
            others.append(path)
        else:
            foreign.append(dump)
    if at is not None and not any(isinstance(each, Recording) for each in foreign):
        problems.add(
            f"--at {at}", "only a recording has several moments", "name with --from what `snapshot save --record` wrote"
        )
    return foreign, others


def _batches(
    inputs: Sequence[Input],
    foreign: Sequence[ForeignDump | Recording],
    decoder: ObjectDecoder,
    problems: Problems,
    collected: Collected,
    reporter: ProgressReporter,
) -> Iterator[DecodedBatch]:
    for source in inputs:
        if source.path and (yield from _streamed(Path(source.path), decoder, reporter)):
            continue
        for name, text in read_inputs([source], problems):
            yield from _watched(read_file(name, text, decoder, problems, collected), reporter, name, len(text))
    for dump in foreign:
        yield from _watched(dump.read(decoder, problems, collected), reporter, dump.path)


def _streamed(path: Path, decoder: ObjectDecoder, reporter: ProgressReporter) -> Generator[DecodedBatch, None, bool]:
    """The objects of a file, if it is a large list; returns whether it was.

    If it was not, some of its objects may have come already, and come again when it is read in the other way.
    """
    try:
        with open_list(path) as listing:
            if listing is None:
                return False
            batches = decoder.listing(listing, Place(Origin(str(path))))
            yield from _watched(batches, reporter, str(path), path.stat().st_size)
    except (OSError, NotPiecesError):  # the reader reports what is wrong
        return False
    return True


def _watched(
    batches: Iterator[DecodedBatch], reporter: ProgressReporter, name: str, size: int = 0
) -> Iterator[DecodedBatch]:
    """The batches as they come, and a report of each; `size` is that of the file that they come from."""
    objects = 0
    for batch in batches:
        yield batch
        objects += len(batch.objects)
        reporter.report(name, objects, read=batch.read, size=size)
    reporter.report(name, objects, done=True, read=size, size=size)


def _recall(saved: SavedSnapshot, collected: Collected) -> None:
    """What was known when the snapshot was saved, besides its objects."""
    collected.caveats.extend(saved.recalled())
    collected.server_version = saved.server_version
    collected.namespace = saved.namespace or collected.namespace
    cluster = collected.cluster
    known = cluster.facts
    events = saved.scheduling_events.items()
    timed = {key: seen for key, seen in events if not seen.last_attempt or are_times([seen.last_attempt])}
    collected.skipped += Counter(saved.skipped)
    is_timed = saved.noted and are_times([saved.taken_at])
    cluster.update_facts(
        unread={**known.unread, **saved.unread},
        scheduling_events={**known.scheduling_events, **timed},
        listed=known.listed.union(saved.listed),
        # Of several, the latest: no claim can have waited for longer than until then.
        taken_at=max(known.taken_at, saved.taken_at) if is_timed else known.taken_at,
        is_whole=known.is_whole or saved.whole,
    )
