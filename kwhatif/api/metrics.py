"""The measurements of `kwhatif serve --metrics`, made with the questions of other commands."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kwhatif.api.capacity import capacity
from kwhatif.api.maintenance import drain, outage
from kwhatif.api.pages import POOL_LABELS
from kwhatif.api.questions import pending
from kwhatif.kube.model.meta import Row
from kwhatif.kube.model.node import HOSTNAME, ZONE
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.given import Source
from kwhatif.state.node_info import NodeInfo

T = TypeVar("T")
#: The maximum number of pods of a template that are counted.
LIMIT = 1_000
_CORE = 1_000


class Clock:
    """How long each question takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def ask(self, name: str, question: Callable[[], T]) -> T:
        """The result of the question."""
        started = time.perf_counter()
        found = question()
        self.seconds[name] = round(time.perf_counter() - started, 4)
        return found


def measure(session: Session, templates: Mapping[str, Source], pool_label: str = "") -> Measured:
    """The cheap measurements: pending pods and why, free resources by pool, how many more pods of each template fit."""
    clock = Clock()
    queue = clock.ask("queue", lambda: pending(session))
    fits = tuple(
        clock.ask("capacity", lambda name=name, source=source: _fits(session, name, source))  # type: ignore[misc]
        for name, source in templates.items()
    )
    return Measured(
        nodes=len(session.state.nodes),
        pods=len(session.state.pods),
        waiting=tuple(_waiting(queue)),
        pools=tuple(_pools(session.state.nodes, pool_label)),
        fits=fits,
        seconds=clock.seconds,
    )


def measure_losses(session: Session, measured: Measured) -> Measured:
    """Also the expensive ones: which nodes cannot be drained, and the worst loss of a node and of a zone."""
    clock, nodes = Clock(), [node.name for node in session.state.nodes]
    if not nodes:
        return replace(measured, blocked=(), losses=())
    drained = clock.ask(
        "drain",
        lambda: drain(session, *nodes, each=True, jobs=1, ignore_daemonsets=True, delete_emptydir_data=True),
    )
    blocked = [BlockedRow(node=row.scenario, why=row.verdict.why) for row in drained.scenarios if not row.verdict.ok]
    losses = [
        worst
        for kind, label in (("node", HOSTNAME), ("zone", ZONE))
        if any(label in node.labels for node in session.state.nodes)
        for worst in _worst(kind, clock.ask("outage", lambda label=label: outage(session, each=label, jobs=1)))  # type: ignore[misc]
    ]
    seconds = {**measured.seconds, **clock.seconds}
    return replace(measured, blocked=tuple(blocked), losses=tuple(losses), seconds=seconds)


def _waiting(report: Report) -> Sequence[WaitingRow]:
    counts: Counter[tuple[str, str]] = Counter()
    for pod in report.queue.pods if report.queue is not None else ():
        counts[pod.outcome, next(iter(pod.rejected_by), "")] += 1
    return [
        WaitingRow(outcome=outcome, plugin=plugin, pods=number) for (outcome, plugin), number in sorted(counts.items())
    ]


def _fits(session: Session, name: str, source: Source) -> FitsRow:
    row = capacity(session, source, limit=LIMIT).capacity
    return FitsRow(template=name, fit=0 if row is None or row.best is None else row.best.sets, limit=LIMIT)


def _worst(kind: str, report: Report) -> Sequence[LossRow]:
    losses = [
        LossRow(kind=kind, name=row.scenario, pending=len(row.verdict.pending), broken=len(row.verdict.broken))
        for row in report.scenarios
    ]
    return [max(losses, key=lambda row: (row.pending, row.broken))] if losses else []


def _pools(nodes: Sequence[NodeInfo], label: str) -> Sequence[PoolRow]:
    label = label or next((each for each in POOL_LABELS if any(each in node.labels for node in nodes)), "")
    pools: dict[str, list[NodeInfo]] = {}
    for node in nodes:
        pools.setdefault(node.labels.get(label, ""), []).append(node)
    return [_pool(name, members) for name, members in sorted(pools.items())]


def _pool(name: str, nodes: Sequence[NodeInfo]) -> PoolRow:
    """The resources that no pod requests, on nodes that take pods."""
    usable = [node for node in nodes if not node.unschedulable]
    allocatable = {
        "cpu": sum(node.allocatable.cpu for node in nodes) / _CORE,
        "memory": float(sum(node.allocatable.memory for node in nodes)),
        "pods": float(sum(node.allowed_pods for node in nodes)),
    }
    free = {
        "cpu": sum(max(node.allocatable.cpu - node.cpu, 0) for node in usable) / _CORE,
        "memory": float(sum(max(node.allocatable.memory - node.memory, 0) for node in usable)),
        "pods": float(sum(max(node.allowed_pods - len(node.pods), 0) for node in usable)),
    }
    return PoolRow(pool=name, nodes=len(nodes), allocatable=allocatable, free=free)


# --- measurements: numbers for alerts --------------------------------------------------------------------------------


class WaitingRow(Row):
    """How many pending pods have this outcome and were first rejected by this plugin; "" where none was."""

    outcome: str
    plugin: str
    pods: int


class LossRow(Row):
    """The worst loss of a node, or of all nodes of a zone: pods left pending, and budgets broken."""

    kind: str
    name: str
    pending: int
    broken: int


class BlockedRow(Row):
    """A node that cannot be drained, and why."""

    node: str
    why: str


class FitsRow(Row):
    """How many more pods of a manifest fit; `limit`: the count stopped there."""

    template: str
    fit: int
    limit: int


class PoolRow(Row):
    """The resources of a pool's nodes, and how much of them no pod requests; in whole units, cpu in cores."""

    pool: str
    nodes: int
    allocatable: dict[str, float]
    free: dict[str, float]


class Measured(Row):
    """One round of measuring; None: not measured yet."""

    nodes: int = 0
    pods: int = 0
    waiting: tuple[WaitingRow, ...] = ()
    pools: tuple[PoolRow, ...] = ()
    fits: tuple[FitsRow, ...] = ()
    blocked: tuple[BlockedRow, ...] | None = None
    losses: tuple[LossRow, ...] | None = None
    #: How long each question took, in seconds.
    seconds: dict[str, float] = {}
