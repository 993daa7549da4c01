"""`kwhatif mcp`: a server of questions for assistants and agents."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.options import Option, OptionError
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.option_groups import Without
from kwhatif.cli.options import listening_at
from kwhatif.cli.usage import UsageError

if TYPE_CHECKING:
    from kwhatif.api.live import LiveCluster
    from kwhatif.questions.session.session import Session

#: The maximum time in seconds for applying news of the live cluster before a question.
_NEWS = 0.01


def mcp(
    *,
    ctx: typer.Context,
    cluster: Annotated[SchedulerSource, Without("compare")],
    listen: Annotated[
        str | None,
        Option(
            "Serve over HTTP at this address of this machine, to those with the token in $KWHATIF_MCP_TOKEN; where"
            " there is none, a new one is printed. Without --listen, over standard input and output.",
            metavar="ADDRESS:PORT",
            check=listening_at,
        ),
    ] = None,
) -> None:
    """Let an assistant ask: each question is a tool of the Model Context Protocol (MCP).

    It only reads the cluster that it was started with, and no file or URL that a client names.

    \b
    Examples:
      kwhatif mcp --from cluster.yaml
      kwhatif mcp --context prod
      kwhatif mcp --context prod --listen 127.0.0.1:9096
    """
    _require_sdk()
    from kwhatif.cli.mcp.desk import Desk
    from kwhatif.cli.mcp.server import Cluster, Questions, http, stdio
    from kwhatif.cli.mcp.tools import tools

    if listen is None and "-" in (cluster.where.from_ or ()):
        raise OptionError("--from", "the client speaks on standard input: name a file")
    desk = Desk()
    with ExitStack() as stack:
        source = _Source(cluster, stack)
        asked = Cluster(source.session, tools(ctx.find_root().command.commands), _own())  # type: ignore[attr-defined]
        server = Questions(asked, desk).server()
        speak = stdio(server) if listen is None else http(server, listening_at(listen))
        failed: list[BaseException] = []
        # A daemon thread: it may wait for standard input without end.
        Thread(target=_speaking, args=(speak, desk.close, failed), daemon=True).start()
        source.read()
        desk.work(source.take_news, source.forget)
        if failed:
            raise failed[0]


def _speaking(speak: Callable[[], None], close: Callable[[], None], failed: list[BaseException]) -> None:
    try:
        speak()
    except BaseException as failure:  # noqa: BLE001 - the main thread reports it
        failed.append(failure)
    finally:
        close()


def _require_sdk() -> None:
    try:
        import mcp.server.lowlevel  # noqa: F401
    except ImportError:
        raise UsageError("kwhatif mcp needs the package mcp: pip install 'kwhatif[mcp]'") from None


def _own() -> dict[str, dict[str, str]]:
    """The text of the policy that the gate finds. It is read now, because questions must not read files."""
    import kwhatif
    from kwhatif.sources.text.files import read_bytes

    found = kwhatif.find_policy()
    return {} if found is None else {"gate": {"policy": kwhatif.text(read_bytes(found), found)}}


class _Source:
    """The cluster: a dump, read once, or a live one, which is watched."""

    def __init__(self, cluster: SchedulerSource, stack: ExitStack) -> None:
        self._cluster = cluster
        self._stack = stack
        self._live: LiveCluster | None = None
        self._read: Session | None = None
        #: Whether a question was stopped before its end.
        self._is_doubted = False

    def read(self) -> None:
        """Read the cluster, before the first question.

        Raises:
            InputError, ClusterUnreadable: it cannot be read.
        """
        if self._cluster.where.from_:
            self._read = self._cluster.load()
        else:
            self._live = self._stack.enter_context(self._cluster.watch())

    def session(self) -> Session:
        """The cluster as it is now.

        Raises:
            ClusterUnreadable: the live cluster cannot be followed any more.
        """
        if self._live is not None:
            self.take_news()
            self._live.settle()
            latest = self._live.session
            return self._cluster.edited(latest.without_caches() if self._is_doubted else latest)
        assert self._read is not None, "it is read before anything is asked"
        if self._is_doubted:
            self._read, self._is_doubted = self._read.without_caches(), False
        return self._read

    def take_news(self) -> None:
        """Apply the latest changes of a live cluster."""
        if self._live is not None:
            self._live.wait(_NEWS)

    def forget(self) -> None:
        """Drop the session after a question was stopped: its caches cannot be trusted."""
        self._is_doubted = True
