"""`kwhatif serve --metrics`: a page for Prometheus about a cluster that is watched."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.errors import InputError, Problem

if TYPE_CHECKING:
    from prometheus_client.core import CollectorRegistry, Metric

    from kwhatif.api.live import LiveCluster
    from kwhatif.report.measured import Measured
    from kwhatif.sources.manifests.given import Source

#: Seconds in which it looks whether something has changed.
_LOOK = 1.0
#: A state that is older than this, in seconds, is not ready to be relied on.
_TOO_OLD = 180.0


@reads_cluster
def serve(
    *,
    cluster: SchedulerSource,
    metrics: Annotated[bool, typer.Option("--metrics", help="Serve metrics for Prometheus at /metrics.")] = False,
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDRESS:PORT", help="Where to listen; only this machine gets there.")
    ] = "127.0.0.1:9095",
    capacity_of: Annotated[
        list[str] | None,
        typer.Option("--capacity-of", metavar="FILE", help="Count how many more of this fit. Repeatable."),
    ] = None,
    pool_label: Annotated[
        str, typer.Option("--pool-label", metavar="LABEL", help="The label that says of which pool a node is.")
    ] = "",
    min_interval: Annotated[
        str, typer.Option("--min-interval", metavar="TIME", help="Measure again after so long at the earliest.")
    ] = "15s",
    sweep_interval: Annotated[
        str,
        typer.Option(
            "--sweep-interval", metavar="TIME", help="The same for drains and losses of nodes, which cost more."
        ),
    ] = "5m",
) -> None:
    """Watch the live cluster, and serve what people alert on: who waits, what cannot be drained, the worst loss, room.

    \b
    Examples:
      kwhatif serve --metrics
      kwhatif serve --metrics --listen 0.0.0.0:9095 --capacity-of web.yaml
    """
    if not metrics:
        raise typer.BadParameter("say what to serve: --metrics", param_hint="--metrics")
    _require_client()
    address = _address(listen)
    intervals = _seconds(min_interval, "--min-interval"), _seconds(sweep_interval, "--sweep-interval")
    templates = _read(capacity_of or ())
    page = _Page()
    with _serving(address, page), cluster.watch() as live:
        live.settle()
        page.live = live
        _measure(live, page, templates, pool_label, intervals)


def _require_client() -> None:
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        message = "it needs prometheus-client: pip install 'kwhatif[metrics]'"
        raise typer.BadParameter(message, param_hint="--metrics") from None


def _seconds(text: str, option: str) -> float:
    from kwhatif.sources.timeout import parse_timeout

    try:
        return parse_timeout(text) or 0.0
    except ValueError as wrong:
        raise typer.BadParameter(str(wrong), param_hint=option) from wrong


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise typer.BadParameter(
            f"{text!r} is not an address and a port, such as 127.0.0.1:9095", param_hint="--listen"
        )
    return host.strip("[]"), int(port)


def _read(files: Sequence[str]) -> Mapping[str, Source]:
    """The templates, read once: what is asked later reads no file."""
    import kwhatif
    from kwhatif.sources.text.files import read_bytes
    from kwhatif.sources.text.inflate import Unreadable

    found: dict[str, Source] = {}
    for file in files:
        try:
            found[file] = kwhatif.text(read_bytes(file).decode(), file)
        except (OSError, Unreadable, UnicodeDecodeError) as failure:
            raise InputError(
                [Problem(file, f"cannot be read: {getattr(failure, 'strerror', None) or failure}")]
            ) from failure
    return found


def _measure(
    live: LiveCluster, page: _Page, templates: Mapping[str, Source], pool_label: str, intervals: tuple[float, float]
) -> None:
    """Measure again whenever something has changed, but not too often; until it is interrupted."""
    from msgspec.structs import replace

    from kwhatif.api.metrics import measure, measure_losses

    measured_at = swept_at = float("-inf")
    has_changed = is_unswept = True
    while True:
        now = time.monotonic()
        if has_changed and not live.behind and now - measured_at >= intervals[0]:
            measured, before = measure(live.session, templates, pool_label), page.measured
            if before is not None:
                seconds = {**before.seconds, **measured.seconds}
                measured = replace(measured, blocked=before.blocked, losses=before.losses, seconds=seconds)
            page.measured = measured
            measured_at, has_changed, is_unswept = now, False, True
        elif is_unswept and page.measured is not None and not live.behind and now - swept_at >= intervals[1]:
            page.measured = measure_losses(live.session, page.measured)
            swept_at, is_unswept = now, False
        has_changed |= live.wait(_LOOK)


# --- the page ----------------------------------------------------------------------------------------------------


class _Page:
    """What is served: the last round of measuring, and how well the cluster is known at the moment."""

    def __init__(self) -> None:
        self.measured: Measured | None = None
        self.live: LiveCluster | None = None

    def collect(self) -> Iterator[Metric]:
        """The metrics, for `prometheus_client`."""
        from kwhatif.render.metrics import families, state_families

        if self.live is not None:
            yield from state_families(self.live.age, len(self.live.behind), self.live.follower.restarts)
        if self.measured is not None:
            yield from families(self.measured)

    @property
    def trouble(self) -> str:
        """Why what is served cannot be relied on; "" if it can."""
        if self.live is None or self.measured is None:
            return "the cluster is being read"
        if self.live.age > _TOO_OLD:
            return f"the cluster is known as of {self.live.age:.0f} s ago"
        return ""


class _Handler(BaseHTTPRequestHandler):
    """Answers GET for three paths, and nothing else."""

    server: _Server

    def do_GET(self) -> None:
        """One of the three pages."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            from prometheus_client.exposition import choose_encoder

            encode, content_type = choose_encoder(self.headers.get("Accept", ""))
            self._answer(200, encode(self.server.registry), content_type)
        elif path == "/healthz":
            self._answer(200, b"ok\n")
        elif path == "/readyz":
            trouble = self.server.page.trouble
            self._answer(503 if trouble else 200, f"{trouble or 'ok'}\n".encode())
        else:
            self._answer(404, b"/metrics, /healthz, /readyz\n")

    def _answer(self, code: int, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: a scrape is not news."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], page: _Page, registry: CollectorRegistry) -> None:
        self.page = page
        self.registry = registry
        super().__init__(address, _Handler)


@contextmanager
def _serving(address: tuple[str, int], page: _Page) -> Iterator[None]:
    from prometheus_client.core import CollectorRegistry

    registry = CollectorRegistry(auto_describe=False)
    registry.register(page)
    try:
        server = _Server(address, page, registry)
    except OSError as failure:
        where = f"{address[0]}:{address[1]}"
        raise InputError(
            [Problem("--listen", f"{where} cannot be listened at: {failure.strerror or failure}")]
        ) from failure
    typer.echo(f"serving http://{server.server_address[0]!s}:{server.server_port}/metrics", err=True)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
