"""`kwhatif serve --metrics` over HTTP: measurements as Prometheus metrics, and whether they can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

from kwhatif.api.metrics import Measured
from kwhatif.errors import InputError, Problem

if TYPE_CHECKING:
    from prometheus_client.core import CollectorRegistry, Metric

    from kwhatif.api.live import LiveCluster

#: The state is not ready if it is older than this, in seconds.
_TOO_OLD = 180.0


class Page:
    """The content of the page: the last measurements, and how complete the state of the cluster is."""

    def __init__(self) -> None:
        self.measured: Measured | None = None
        self.live: LiveCluster | None = None

    def collect(self) -> Iterator[Metric]:
        """The metrics, for `prometheus_client`."""
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


# --- the measurements as Prometheus metrics; `prometheus_client` writes them -----------------------------------------


def families(measured: Measured) -> Iterator[Metric]:
    """The metrics; those that were not measured yet are left out."""
    yield _gauge("nodes", "Nodes of the cluster.", (), [((), measured.nodes)])
    yield _gauge("pods", "Pods that have not ended.", (), [((), measured.pods)])
    yield _gauge("pods_pending", "Pods that wait for a node.", (), [((), sum(row.pods for row in measured.waiting))])
    waiting = [((row.outcome, row.plugin), row.pods) for row in measured.waiting]
    yield _gauge(
        "pods_waiting",
        "Pending pods: what becomes of them now, and the plugin that rejected them first.",
        ("reason", "plugin"),
        waiting,
    )
    yield _gauge("pool_nodes", "Nodes of the pool.", ("pool",), [((row.pool,), row.nodes) for row in measured.pools])
    for name, about, values in (
        ("pool_allocatable", "What the nodes of the pool have: cores, bytes, pods.", "allocatable"),
        ("pool_headroom", "What no pod requests, on nodes that are not cordoned: cores, bytes, pods.", "free"),
    ):
        rows = [((row.pool, what), amount) for row in measured.pools for what, amount in getattr(row, values).items()]
        yield _gauge(name, about, ("pool", "resource"), rows)
    fits = [((row.template,), row.fit) for row in measured.fits]
    yield _gauge("capacity_fit", "How many more of this template fit, as far as they are counted.", ("template",), fits)
    if measured.blocked is not None:
        yield _gauge("nodes_undrainable", "Nodes that cannot be drained.", (), [((), len(measured.blocked))])
        blocked = [((row.node, row.why), 1) for row in measured.blocked]
        yield _gauge("node_drain_blocked", "A node that cannot be drained, and why.", ("node", "why"), blocked)
    if measured.losses is not None:
        for name, about, field in (
            ("worst_loss_pods_pending", "Pods left pending by the worst loss of a node or zone.", "pending"),
            ("worst_loss_budgets_broken", "Budgets broken by the worst loss of a node or zone.", "broken"),
        ):
            losses = [((row.kind, row.name), getattr(row, field)) for row in measured.losses]
            yield _gauge(name, about, ("kind", "name"), losses)
    took = [((question,), seconds) for question, seconds in measured.seconds.items()]
    yield _gauge("answer_seconds", "How long the last answer took.", ("question",), took)


def state_families(age: float, behind: int, restarts: int) -> Iterator[Metric]:
    """How complete the cluster's state is: its age in seconds, lists without news at present, restarted watches."""
    from prometheus_client.core import CounterMetricFamily

    about = "Seconds since the quietest watch has sent anything: the state is not older than that."
    yield _gauge("state_age_seconds", about, (), [((), age)])
    yield _gauge("state_lists_missing", "Lists whose watch is behind.", (), [((), behind)])
    yield CounterMetricFamily("kwhatif_watch_restarts", "Watches that broke off, and lists read again.", value=restarts)


def _gauge(name: str, about: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"kwhatif_{name}", about, labels=labels)
    for values, amount in rows:
        family.add_metric(values, amount)
    return family
