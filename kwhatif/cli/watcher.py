"""Callers of a command other than the shell: they provide the cluster, and take the answer."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kwhatif.api.live import LiveCluster
    from kwhatif.cli.options import Printing
    from kwhatif.cli.reports import Answers
    from kwhatif.errors import ExitCode
    from kwhatif.questions.session.session import Session


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
