"""`Recorder`: writes what a cluster is like at one moment after another (`sources/dumps/recording.py` reads it)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.saved import SAVED_API_VERSION, SavedSnapshot
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.recording import RFC3339, Head, Line, Named, Part, name_of
from kwhatif.sources.saving.redact import redact
from kwhatif.sources.saving.save import Moment, about_snapshot, as_saved, by_kind, save

#: A part is followed by another one after this time in seconds, or when its changes have this many times the size of
#: its snapshot: to read a moment both have to be read.
_LONGEST, _LARGEST = 3600.0, 8
#: Bytes of changes that are never too many.
_FEW = 4 << 20


class Recorder:
    """Appends to the recording in a folder, or begins one."""

    def __init__(self, folder: str, *, every: float, keep: float, images: bool = False) -> None:
        """Set up.

        Args:
            folder: is made at the first moment if there is none.
            every: seconds between moments at most.
            keep: seconds for which every moment is kept; older parts are deleted.
            images: keep the names of images, as in a snapshot.

        Raises:
            InputError: it cannot be read, or holds something else.
        """
        self._folder = Path(folder)
        self._every, self._keep, self._images = every, keep, images
        self._part: Part | None = None
        #: The last moment: its time, its objects, and the snapshot's word about itself.
        self._last, self._cluster, self._about = "", Cluster(), SavedSnapshot()
        if not self._folder.exists():
            return
        try:
            known = Part.all_in(self._folder)
            others = {path.name for path in self._folder.iterdir()}
        except OSError as failure:
            raise _unwritable(self._folder, failure) from failure
        others -= {file.name for part in known for file in (part.snapshot, part.changes)}
        if any(not name.startswith(".") for name in others):
            hint = "name a folder that is empty, or that has a recording in it"
            raise InputError([Problem(folder, f"holds something else: {min(others)}", hint=hint)])
        if known:
            _, lines = known[-1].lines()
            self._last = lines[-1].at if lines else known[-1].begins

    def note(self, collected: Collected, now: str, *, is_known: bool) -> int:
        """Write what the cluster is like now; returns how many objects are different from the moment before.

        Args:
            collected: the cluster, with nothing filled in yet.
            now: RFC 3339, in UTC and whole seconds. If a clock was put back, the time of the last moment counts.
            is_known: whether what happened was known all the time since the last call.

        Raises:
            InputError: it cannot be written.
        """
        at = max(now, self._last)
        try:
            if self._part is None or self._is_full(self._part, at):
                number = self._begin(collected, at, continues=is_known and self._part is not None)
            else:
                number = self._append(self._part, collected, at, is_known=is_known)
        except OSError as failure:
            raise _unwritable(self._folder, failure) from failure
        self._last = at
        return number

    def _is_full(self, part: Part, at: str) -> bool:
        size = part.changes.stat().st_size
        if size > max(_LARGEST * part.snapshot.stat().st_size, _FEW):
            return True
        return _seconds(at) - _seconds(part.begins) >= _LONGEST

    def _begin(self, collected: Collected, at: str, *, continues: bool) -> int:
        """Begin a new part, and delete those that are too old."""
        self._folder.mkdir(parents=True, exist_ok=True)
        part, moment = Part.new_in(self._folder, at), Moment(at)
        saved = save(collected, str(part.snapshot), taken_at=moment, images=self._images)
        self._write(part, Head(SAVED_API_VERSION, self._every, continues))
        self._part = part
        self._cluster, self._about = collected.cluster.fork(), saved.objects[0]
        parts = Part.all_in(self._folder)
        for old, later in pairwise(parts):
            if _seconds(later.begins) <= _seconds(at) - self._keep:
                old.changes.unlink(missing_ok=True)
                old.snapshot.unlink()
        return saved.size

    def _append(self, part: Part, collected: Collected, at: str, *, is_known: bool) -> int:
        put: list[msgspec.Raw] = []
        gone: list[Named] = []
        for before, after in _between(self._cluster, collected.cluster):
            was, now = (None if each is None else self._saved(each) for each in (before, after))
            if was == now:  # only what is not kept is different
                continue
            if was is not None and (now is None or name_of(was) != name_of(now)):
                gone.append(name_of(was))
            if now is not None:
                put.append(now)
        about = about_snapshot(collected, taken_at=Moment(at), images=self._images)
        is_same = replace(about, taken_at=self._about.taken_at, metadata=self._about.metadata) == self._about
        self._write(part, Line(at, not is_known, None if is_same else about, put, gone))
        self._cluster, self._about = collected.cluster.fork(), about
        return len(put) + len(gone)

    def _saved(self, obj: Any) -> msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode(redact(obj, images=self._images)))

    def _write(self, part: Part, line: Head | Line) -> None:
        """Write all of it; if the machine fails meanwhile, the line has no end."""
        with part.changes.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _between(before: Cluster, after: Cluster) -> Iterator[tuple[Any | None, Any | None]]:
    """The objects that are not the same, as they were and as they are, in the version of their kind."""
    were, are = ({kind: (version, found) for kind, version, found in by_kind(each)} for each in (before, after))
    nothing: tuple[str, Mapping[str, Any]] = "", {}
    for kind in {**were, **are}:
        (was_version, was), (version, now) = were.get(kind, nothing), are.get(kind, nothing)
        for key, obj in now.items():
            known = was.get(key)
            if known is not obj:
                yield None if known is None else as_saved(known, was_version), as_saved(obj, version)
        for key in was.keys() - now.keys():
            yield as_saved(was[key], was_version), None


def _seconds(time: str) -> float:
    return datetime.strptime(time, RFC3339).replace(tzinfo=UTC).timestamp()


def _unwritable(folder: Path, failure: OSError) -> InputError:
    return InputError([Problem(str(folder), f"cannot be written: {failure.strerror or failure}")])
