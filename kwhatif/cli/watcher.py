"""Who takes part in a command when its question is asked again and again (`watching.py`)."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kwhatif.api.live import LiveCluster
    from kwhatif.cli.options import Printing
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report


class Watcher(Protocol):
    """Has the cluster, and shows the answers."""

    def session(self, watch: Callable[[], LiveCluster]) -> Session:
        """The cluster as it is now; `watch` says which it is, and it is read when this is first asked for."""

    def show(self, report: Report, output: str, printing: Printing, explain: bool) -> None:  # noqa: FBT001
        """Show the answer; see `cli.run.Style`."""


#: None: the cluster is read once, and the answer printed.
WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
