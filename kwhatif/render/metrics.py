"""The measurements as Prometheus metrics; `prometheus_client` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kwhatif.report.measured import Measured

if TYPE_CHECKING:
    from prometheus_client.core import Metric


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
    """How well the cluster is known: its age in seconds, lists without news at present, restarted watches."""
    from prometheus_client.core import CounterMetricFamily

    about = "Seconds since the quietest watch has said anything: the state is at most so old."
    yield _gauge("state_age_seconds", about, (), [((), age)])
    yield _gauge("state_lists_missing", "Lists of which it is not known at present what happens.", (), [((), behind)])
    yield CounterMetricFamily("kwhatif_watch_restarts", "Watches that broke off, and lists read again.", value=restarts)


def _gauge(name: str, about: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"kwhatif_{name}", about, labels=labels)
    for values, amount in rows:
        family.add_metric(values, amount)
    return family
