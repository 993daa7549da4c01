"""The pages of `kwhatif serve --metrics` over HTTP: metrics, and whether they can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

from kwhatif.errors import InputError, Problem

if TYPE_CHECKING:
    from prometheus_client.core import CollectorRegistry, Metric

    from kwhatif.api.live import LiveCluster
    from kwhatif.report.measured import Measured

#: The state is not ready if it is older than this, in seconds.
_TOO_OLD = 180.0


class Page:
    """What is served: the last measurements, and how well the cluster is known at the moment."""

    def __init__(self) -> None:
        self.measured: Measured | None = None
        self.live: LiveCluster | None = None

    def collect(self) -> Iterator[Metric]:
        """The metrics, for `prometheus_client`."""
        from kwhatif.render.metrics import families, state_families

        if self.live is not None:
            yield from state_families(self.live.age, len(self.live.behind), self.live.restarts)
        if self.measured is not None:
            yield from families(self.measured)

    @property
    def trouble(self) -> str:
        """Why the metrics cannot be trusted; "" if they can."""
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
        """Do not log scrapes."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], page: Page, registry: CollectorRegistry) -> None:
        self.page = page
        self.registry = registry
        super().__init__(address, _Handler)


@contextmanager
def serving(address: tuple[str, int], page: Page) -> Iterator[str]:
    """Serve the page as long as the context lasts; yields its address.

    Raises:
        InputError: it is not possible to listen at the address.
    """
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
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{server.server_address[0]!s}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
