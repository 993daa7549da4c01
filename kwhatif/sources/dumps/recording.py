"""A recording: what a cluster was like at many moments, in a folder that `kwhatif snapshot save --record` writes.

It is made of parts, which follow each other. A part is a snapshot, `<time>.json.gz`, and beside it `<time>.changes`:
lines of JSON that are only ever appended, a first one about the part, and one for each later moment, with what is
different from the moment before. A last line that was cut short was being written when the recorder ended: it counts as
not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.saved import SavedSnapshot
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder
from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.text.documents import one_piece
from kwhatif.sources.text.files import read_bytes
from kwhatif.sources.text.inflate import Unreadable, inflate
from kwhatif.sources.text.problems import Origin, Place, Problems

SNAPSHOT, CHANGES = ".json.gz", ".changes"
RFC3339 = "%Y-%m-%dT%H:%M:%SZ"
_NAME = "%Y%m%dT%H%M%SZ"
_PART = re.compile(r"(\d{8}T\d{6}Z)(?:-(\d{1,6}))?")
#: Objects that are decoded together.
_PIECE = 2_000


class Named(NamedTuple):
    """An object that is gone."""

    api_version: str
    kind: str
    #: `namespace/name`, or `name`.
    key: str


class Head(msgspec.Struct, rename="camel", omit_defaults=True):
    """The first line of a part's changes."""

    recording: str
    #: The most seconds between two moments while the cluster is followed.
    every: float
    #: Whether the cluster was followed without a gap since the last moment of the part before.
    continues: bool = False


class Line(msgspec.Struct, rename="camel", omit_defaults=True):
    """A moment."""

    at: str
    #: Whether there is a gap since the moment before, in which the cluster was not followed.
    gap: bool = False
    #: The snapshot's word about itself, where more of it is different than the time.
    about: SavedSnapshot | None = None
    put: list[msgspec.Raw] = []
    gone: list[Named] = []


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Object(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    metadata: _Meta = _Meta()


class _List(msgspec.Struct):
    items: list[msgspec.Raw]


_HEAD, _LINE = msgspec.json.Decoder(Head), msgspec.json.Decoder(Line)
_LIST, _OBJECT = msgspec.json.Decoder(_List), msgspec.json.Decoder(_Object)
_ABOUT = msgspec.json.Decoder(SavedSnapshot)


def name_of(raw: msgspec.Raw) -> Named:
    """The object by which this JSON is known."""
    found = _OBJECT.decode(raw)
    meta = found.metadata
    return Named(found.api_version, found.kind, f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name)


class Part:
    """A part of a recording."""

    def __init__(self, stem: Path) -> None:
        """`stem`: its files, without what their names end with."""
        self.stem = stem
        self.snapshot = stem.with_name(stem.name + SNAPSHOT)
        self.changes = stem.with_name(stem.name + CHANGES)
        #: The time of its first moment, RFC 3339.
        self.begins = _parsed(stem.name.partition("-")[0], _NAME).strftime(RFC3339)

    @classmethod
    def all_in(cls, folder: Path) -> list[Part]:
        """Those of the recording in the folder, in the order of time."""
        names = [path.name.removesuffix(SNAPSHOT) for path in folder.iterdir() if path.name.endswith(SNAPSHOT)]
        found = [(match[1], int(match[2] or 0), name) for name in names if (match := _PART.fullmatch(name))]
        return [cls(folder / name) for _, _, name in sorted(found)]

    @classmethod
    def new_in(cls, folder: Path, begins: str) -> Part:
        """A new one that begins at this RFC 3339 time."""
        name = _parsed(begins, RFC3339).strftime(_NAME)
        same = [part for part in cls.all_in(folder) if part.begins == begins]
        return cls(folder / (f"{name}-{len(same)}" if same else name))

    def objects(self) -> tuple[SavedSnapshot, dict[Named, msgspec.Raw]]:
        """The snapshot's word about itself, and its objects.

        Raises:
            InputError: the file cannot be read, or is damaged.
        """
        text = _read(self.snapshot)
        try:
            about, *others = _LIST.decode(text).items
            return _ABOUT.decode(about), {name_of(raw): raw for raw in others}
        except (*FAILURES, ValueError) as failure:
            raise _damaged(self.snapshot, str(failure)) from failure

    def lines(self) -> tuple[Head | None, list[Line]]:
        """What came after the snapshot; None where the recorder ended before it could write that line.

        Raises:
            InputError: the file is damaged elsewhere than at its end.
        """
        if not self.changes.exists():
            return None, []
        *whole, torn = _read(self.changes).split(b"\n")
        del torn  # "" where it is not
        head: Head | None = None
        lines: list[Line] = []
        for number, text in enumerate(whole, 1):
            try:
                if head is None:
                    head = _HEAD.decode(text)
                else:
                    lines.append(_LINE.decode(text))
                    _parsed(lines[-1].at, RFC3339)
            except (*FAILURES, ValueError) as failure:
                raise _damaged(self.changes, f"line {number}: {failure}") from failure
        return head, lines


def _read(path: Path) -> bytes:
    try:
        return inflate(read_bytes(str(path)))
    except (OSError, Unreadable) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        raise InputError([Problem(str(path), f"cannot be read: {reason}")]) from failure


def _damaged(path: Path, reason: str) -> InputError:
    hint = "moments before this part, and from the next one on, can still be asked for with --at"
    return InputError([Problem(str(path), f"this part of a recording is damaged: {reason}", hint=hint)])


def _parsed(time: str, form: str) -> datetime:
    return datetime.strptime(time, form).replace(tzinfo=UTC)


def is_recording(path: str) -> bool:
    """Whether the path is a folder with a recording in it."""
    folder = Path(path)
    try:
        names = (name for name in folder.iterdir() if name.suffix == CHANGES) if folder.is_dir() else ()
        return any(_PART.fullmatch(name.stem) for name in names)
    except (OSError, ValueError):
        return False


class Recording(NamedTuple):
    """A recording, and the moment that is asked for."""

    folder: str
    #: RFC 3339, in UTC and whole seconds; "": the last one.
    at: str = ""

    @property
    def path(self) -> str:
        """What it is called as a source."""
        return f"{self.folder} at {self.at}" if self.at else self.folder

    def read(self, decoder: ObjectDecoder, problems: Problems, collected: Collected) -> Iterator[DecodedBatch]:
        """The objects of the last moment that is not after the one that is asked for."""
        del collected  # the snapshot has all caveats
        try:
            objects = self.objects()
        except InputError as wrong:
            problems.extend(wrong.problems)
            return
        place = Place(Origin(self.path))
        for start in range(0, len(objects), _PIECE):
            json = b"[" + b",".join(objects[start : start + _PIECE]) + b"]"
            yield from decoder.listing(one_piece("v1", "List", json), place)

    def objects(self) -> Sequence[bytes]:
        """Those of the moment as JSON: the snapshot's word about itself, then the others, in no particular order.

        Raises:
            InputError: it is not known what the cluster was like then, or a file cannot be read.
        """
        part, following = self._part()
        head, lines = part.lines()
        past = [line for line in lines if not self.at or line.at <= self.at]
        last = past[-1].at if past else part.begins
        if self.at:
            self._require_known(last, head, lines[len(past) :], following)
        about, found = part.objects()
        for line in past:
            about = line.about or about
            for gone in line.gone:
                found.pop(gone, None)
            for raw in line.put:
                found[name_of(raw)] = raw
        about = replace(about, taken_at=last, metadata=ObjectMeta(name=last))
        return [msgspec.json.encode(about), *map(bytes, found.values())]

    def _part(self) -> tuple[Part, Part | None]:
        """The part that the moment is in, and the one after it."""
        parts = Part.all_in(Path(self.folder))
        if not parts:
            raise InputError([Problem(self.folder, "the recording has lost its snapshots", hint="restore them")])
        if not self.at:
            return parts[-1], None
        earlier = [part for part in parts if part.begins <= self.at]
        if not earlier:
            message = f"the recording begins at {parts[0].begins}: what was at {self.at} is not known"
            raise InputError([Problem(self.folder, message, hint="ask for a later time with --at")])
        number = len(earlier)
        return earlier[-1], parts[number] if number < len(parts) else None

    def _require_known(self, last: str, head: Head | None, rest: Sequence[Line], following: Part | None) -> None:
        """Whether the cluster was still followed: another moment came soon, or it was followed until the next one."""
        every = 0.0 if head is None else head.every
        asked = _parsed(self.at, RFC3339)
        if (asked - _parsed(last, RFC3339)).total_seconds() <= every:
            return
        then = ""
        if rest:
            then, is_known = rest[0].at, not rest[0].gap
        elif following is not None:
            next_head, _ = following.lines()
            then, is_known = following.begins, next_head is not None and next_head.continues
        if then and is_known:
            return
        if then:
            message = f"nothing was recorded between {last} and {then}: what was at {self.at} is not known"
            hint = "ask for one of these two times with --at"
        else:
            message = f"the recording ends at {last}: what was at {self.at} is not known"
            hint = "ask for that time with --at, or leave --at out"
        raise InputError([Problem(self.folder, message, hint=hint)])
