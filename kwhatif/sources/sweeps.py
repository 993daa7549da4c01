"""The file of `--resume`: what a sweep has found so far, so that one that was cut goes on where it was.

One JSON object a line: first what was asked of which cluster, then an outcome each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Generic, Self

import msgspec

from kwhatif._version import __version__
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.questions.story.settled_cluster import Outcome, ScenarioPlayer
from kwhatif.sources.text.files import read_bytes
from kwhatif.sources.text.inflate import Unreadable

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class _Head(msgspec.Struct, frozen=True):
    """What the outcomes are about."""

    kwhatif: str
    question: Any
    #: Of the cluster, how long things take, and the scheduler's configuration.
    digest: str


class SweepFile(Generic[Outcome]):
    """Outcomes by the names of their scenarios; new ones are written at once."""

    def __init__(self, path: str, player: ScenarioPlayer[Any, Outcome], kind: type[Outcome]) -> None:
        """Read what there is: outcomes of that kind.

        Raises:
            InputError: the file is of something else, or cannot be read or written.
        """
        self._path = Path(path)
        self._kind = kind
        self.outcomes: dict[str, Outcome] = {}
        head = _Head(__version__, msgspec.to_builtins(player.question), _digest(player))
        try:
            # A directory is refused when it is opened to be written to.
            lines = [] if not self._path.exists() or self._path.is_dir() else read_bytes(path).splitlines(keepends=True)
            self._file: IO[bytes] = self._path.open("ab")
        except Unreadable as wrong:
            raise InputError([Problem("--resume", f"{path}: {wrong}")]) from wrong
        except (OSError, ValueError) as wrong:
            raise InputError([Problem("--resume", f"{path}: {getattr(wrong, 'strerror', None) or wrong}")]) from wrong
        if lines:
            self._check(lines[0], head)
        else:
            self._write(head)
        whole = [line for line in lines[1:] if line.endswith(b"\n")]
        for number, line in enumerate(whole, 2):
            outcome = self._outcome(number, line)
            self.outcomes[outcome.name] = outcome
        if len(whole) < len(lines) - 1:  # it was cut in the middle of a line
            self._file.truncate(sum(map(len, (lines[0], *whole))))

    def _check(self, line: bytes, head: _Head) -> None:
        try:
            found = msgspec.json.decode(line, type=_Head)
        except msgspec.MsgspecError as wrong:
            raise self._refused("is not a file that --resume has written", "name a file that is not there") from wrong
        if found != head:
            is_old = found.kwhatif != head.kwhatif
            what = "of another release" if is_old else "about another cluster, or another question"
            raise self._refused(f"is {what}", "name another file, or remove this one")

    def _outcome(self, number: int, line: bytes) -> Outcome:
        try:
            return msgspec.json.decode(line, type=self._kind)
        except msgspec.MsgspecError as wrong:
            raise self._refused(f"line {number}: {wrong}", "name another file, or remove this one") from wrong

    def _refused(self, message: str, hint: str) -> InputError:
        self._file.close()
        return InputError([Problem("--resume", f"{self._path}: {message}", hint=hint)])

    def add(self, outcome: Outcome) -> None:
        """One more is done."""
        self.outcomes[outcome.name] = outcome
        self._write(outcome)

    def _write(self, line: object) -> None:
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()
        except OSError as wrong:
            raise self._unwritten(wrong) from wrong

    def _unwritten(self, wrong: OSError) -> InputError:
        with suppress(OSError):  # what was not written is written once more when the file is closed
            self._file.close()
        return InputError([Problem("--resume", f"{self._path}: cannot be written: {wrong.strerror}")])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _digest(player: ScenarioPlayer[Any, Any]) -> str:
    """Another one for every other cluster, configuration of the scheduler, or set of times."""
    session, digest = player.session, sha256()
    encoder = msgspec.json.Encoder(enc_hook=repr, order="deterministic")
    digest.update(encoder.encode(player.parameters))
    for name, profile in session.profiles.items():
        plugins = [(plugin.name, vars(plugin)) for plugin in profile.plugins]
        digest.update(_text((name, plugins, profile.weights)).encode())
    cluster = session.cluster
    for kind in sorted(cluster.counts(), key=lambda kind: kind.__name__):
        objects: Mapping[str, KubernetesObject] = cluster.all(kind)
        for key, obj in objects.items():
            digest.update(encoder.encode((kind.__name__, key, obj)))
    return digest.hexdigest()


def _text(value: object) -> str:
    """Its `repr`, but the same in every process: there, sets are in another order each time, and addresses change."""
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}{_text(msgspec.structs.asdict(value))}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{_text(key)}: {_text(inner)}' for key, inner in value.items()))}}}"
    if isinstance(value, AbstractSet):
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_text, value))})"
    return _ADDRESS.sub("", repr(value))
