"""Single files that other tools export, in shapes of their own; all other files are read as they stand.

kube-scheduler-simulator (`simulator/snapshot/snapshot.go`) exports lists under names of its own: its API answers in
JSON, its web page saves the same as `export.yml`.

kwokctl exports a YAML document per object, with every time relative to the moment of the export
(`pkg/kwokctl/recording/time.go`): `$(time-offset-nanosecond -7200000000000)`. The export does not say when that moment
was, but which of two times is the earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import NoDates, RecordedChanges, SchedulerConfigLeftOut
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder, read_text
from kwhatif.sources.decoding.kinds import BY_KIND, RESOURCES
from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.text.documents import NotPiecesError, documents, one_piece
from kwhatif.sources.text.problems import Origin, Place, Problems

#: Texts of an export's fields.
Lists = Mapping[str, msgspec.Raw]

_KINDS = {
    "pods": "Pod",
    "nodes": "Node",
    "pvs": "PersistentVolume",
    "pvcs": "PersistentVolumeClaim",
    "storageClasses": "StorageClass",
    "priorityClasses": "PriorityClass",
    "namespaces": "Namespace",
}
_CONFIG = "schedulerConfig"
_FIELDS = "|".join((*_KINDS, _CONFIG)).encode()
_HEAD = re.compile(rb'\s*\{\s*"(?:' + _FIELDS + rb')"\s*:|(?:---\s*\n)?(?:' + _FIELDS + rb"):\s")


def lists_of(name: str, text: bytes) -> Lists | None:
    """The lists of an export; None if the text is none."""
    if not _HEAD.match(text):
        return None
    found = list(documents(name, text, Problems()))  # the reader of objects reports what is wrong with it
    if len(found) != 1:
        return None
    try:
        fields = msgspec.json.decode(found[0].json, type=dict[str, msgspec.Raw])
    except FAILURES:
        return None
    return fields if "kind" not in fields and fields.keys() & _KINDS.keys() else None


def read_lists(name: str, lists: Lists, decoder: ObjectDecoder, problems: Problems) -> Iterator[DecodedBatch]:
    """The objects of all lists."""
    for field, kind in _KINDS.items():
        text = bytes(lists.get(field, b"null"))
        if text == b"null":
            continue
        listing = one_piece(BY_KIND[kind].api_version, f"{kind}List", text)
        try:
            yield from decoder.listing(listing, Place(Origin(f"{name}: {field}")))
        except NotPiecesError:
            problems.add(f"{name}: {field}", "is not a list")


def kinds_of(lists: Lists) -> set[str]:
    """The kinds that the export holds, if only an empty list."""
    return {kind for field, kind in _KINDS.items() if field in lists}


def _simulator_caveats(lists: Lists) -> Iterator[Caveat]:
    """Caveats about an export besides the kinds that it does not hold."""
    if bytes(lists.get(_CONFIG, b"null")) != b"null":
        yield SchedulerConfigLeftOut()


#: Kinds that are exported unless --filter says otherwise (`pkg/kwokctl/snapshot/runtime.go`), of those that are read.
EXPORTED = frozenset(
    {
        "DaemonSet",
        "Deployment",
        "Job",
        "LimitRange",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PriorityClass",
        "ReplicaSet",
        "RuntimeClass",
        "Service",
        "StatefulSet",
    }
)

_MARK = b"$(time-offset-nanosecond "
#: The first object has a time in its metadata.
_WITHIN = 1 << 20
_TIME = re.compile(rb"\$\(time-offset-nanosecond (-?\d{1,18})\)")
_CHANGE = re.compile(rb"^kind: ResourcePatch$", re.MULTILINE)
_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
_NANOSECONDS = 1_000_000_000


def is_export(text: bytes) -> bool:
    """Whether kwokctl has written this."""
    return text.find(_MARK, 0, _WITHIN) >= 0


def with_dates(text: bytes) -> bytes:
    """The text with every time as the API writes it."""
    return _TIME.sub(lambda match: _date(int(match[1])), text)


def _date(nanoseconds: int) -> bytes:
    # Whole seconds, rounded the same way: times of the API are, so that equal ones stay equal.
    moment = _MOMENT + timedelta(seconds=nanoseconds // _NANOSECONDS)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").encode()


def _kwokctl_caveats(text: bytes) -> Iterator[Caveat]:
    """Caveats about an export."""
    yield NoDates()
    changes = len(_CHANGE.findall(text))
    if changes:
        yield RecordedChanges(count=changes)


#: How `kubectl cluster-info dump` begins the logs of a container, where it prints everything one after the other.
_LOGS = b"==== START logs for container "


def read_file(
    name: str, text: bytes, decoder: ObjectDecoder, problems: Problems, collected: Collected
) -> Iterator[DecodedBatch]:
    """The objects of a file, whatever has written it; caveats about it go to `collected`."""
    lists = lists_of(name, text)
    if lists is not None:
        yield from read_lists(name, lists, decoder, problems)
        collected.caveats += _simulator_caveats(lists)
        note_absent(collected, "a kube-scheduler-simulator export", kinds_of(lists))
    elif is_export(text):
        found = set()
        for batch in read_text(name, with_dates(text), decoder, problems):
            found |= {type(obj).__name__ for obj in batch.objects}
            yield batch
        collected.caveats += _kwokctl_caveats(text)
        note_absent(collected, "a kwokctl export", found | EXPORTED)
    else:
        before = len(problems)
        yield from read_text(name, text, decoder, problems)
        if len(problems) > before and _LOGS in text:
            problems.add(
                name, "has logs between its lists", "kubectl cluster-info dump writes files with --output-directory"
            )


def note_absent(collected: Collected, name: str, kinds: set[str]) -> None:
    """Note which kinds a dump of that sort cannot hold."""
    absent = {resource.kind for resource in RESOURCES} - kinds
    cluster = collected.cluster
    unread = {**cluster.facts.unread, **dict.fromkeys(sorted(absent), f"{name} has no")}
    cluster.update_facts(unread=unread, is_whole=True)
