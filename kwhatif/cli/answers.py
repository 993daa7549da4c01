"""The answers of a command: written to files (`--report FORMAT=FILE`), or passed to callers other than the shell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kwhatif.errors import InputError, Problem

if TYPE_CHECKING:
    from kwhatif.api.live import LiveCluster
    from kwhatif.cli.options import Printing
    from kwhatif.errors import ExitCode
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report


class Answers(NamedTuple):
    """The answer of a command; `before`: the answer without the edits, if it is wanted, too.

    `session`: the cluster, for pictures of it.
    """

    report: Report
    before: Report | None = None
    session: Session | None = None


def formatted(answers: Answers, name: str) -> str:
    """The report in that format; a page has the map of the cluster, too."""
    if name == "html":
        import kwhatif

        return kwhatif.html(answers.report, answers.session)
    from kwhatif.render.formats import FORMATS

    return FORMATS[name](answers.report)


def write_reports(answers: Answers, files: Sequence[tuple[str, Path]]) -> None:
    """Write every file, whole or not at all.

    Raises:
        InputError: with all files that cannot be written.
    """
    failures: list[Problem] = []
    for name, path in files:
        try:
            _write(path, formatted(answers, name).encode())
        except OSError as failure:
            failures.append(Problem(str(path), f"cannot be written: {failure.strerror or failure}"))
    if failures:
        raise InputError(failures)


def _write(path: Path, content: bytes) -> None:
    from kwhatif.sources.saving.formats import replacing

    is_stream = path.parts[:2] == ("/", "dev")  # /dev/stderr may be a file to which others also write
    if is_stream or (path.exists() and not path.is_file()):
        with path.open("ab", buffering=0) as stream:
            stream.write(content)
        return
    with replacing(path) as file:
        file.write(content)


# --- callers other than the shell: they provide the cluster, and take the answer -------------------------------------


class Watcher(Protocol):
    """Provides the cluster, and shows the answers."""

    def session(self, watch: Callable[[], LiveCluster]) -> Session:
        """The cluster as it is now; `watch` says which one, and it is read at the first call."""

    def show(self, answers: Answers, output: str, printing: Printing, explain: bool, code: ExitCode) -> None:  # noqa: FBT001
        """Take the answer; see `cli.run.Style`. `code`: the exit code of the command."""


#: None: the cluster is read once, and the answer printed.
WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


class Asking:
    """Provides a cluster for one command, and keeps its answer."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.answers: Answers | None = None
        self.explain = False
        self.code: ExitCode | None = None

    def session(self, watch: Callable[[], LiveCluster]) -> Session:
        """The cluster."""
        del watch
        return self._session

    def show(self, answers: Answers, output: str, printing: Printing, explain: bool, code: ExitCode) -> None:  # noqa: FBT001
        """Keep the answer."""
        del output, printing
        self.answers, self.explain, self.code = answers, explain, code

    def of(self, command: Callable[[], object]) -> None:
        """Run the command with this cluster.

        Raises:
            Exception: whatever the command raises.
        """
        token = WATCHER.set(self)
        try:
            command()
        finally:
            WATCHER.reset(token)
