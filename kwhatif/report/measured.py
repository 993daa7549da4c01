"""The measurements of `kwhatif serve --metrics`: numbers for alerts."""

from __future__ import annotations

from kwhatif.kube.model.meta import Row


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
