"""What the descheduler evicts: what the command `deschedule` adds to a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from kwhatif.descheduler.attempt import NodeClassRow, RefusedBy, SparedRow, StrategyRow, WantedRow
from kwhatif.kube.model.meta import Row
from kwhatif.report.story import Story

Landing = Literal["SameNode", "Elsewhere", "Preempts", "Pending", "None"]


Course = Literal["Settles", "Endless", "Open"]

#: Why a pod is not replaced, why its replacement stays pending, or what happens to it on its node.
ReplacementCause = Literal[
    "static",
    "bare",
    "controller-not-modelled",
    "counted-out",
    "gone-anyway",
    "refused",
    "owner-gone",
    "owner-not-read",
    "enough",
    "no-other",
    "unschedulable",
    "gated",
    "scheduler-not-modelled",
    "not-tried",
    "preempted",
]


class ReplacementRow(Row):
    """The replacement of an evicted pod, and where it lands.

    `landing` None: it is not replaced, which `message` explains. If it lands on the same node, the eviction was
    useless. `pod` is the name that the simulation gives it, unless the controller keeps names. `message`: why it stays
    pending, or what happens to it on its node. `cause` is the same as data, and `about` its subject: the kind of its
    controller, a scheduler, the pod that evicts it, or a message; `wanted` is how many pods its controller wants, where
    that is the cause.
    """

    landing: Landing
    pod: str | None = None
    node: str | None = None
    #: All equally good nodes, `node` included.
    ties: tuple[str, ...] = ()
    message: str = ""
    victims: tuple[str, ...] = ()
    #: None if there is nothing to explain, and in a report of an earlier kwhatif.
    cause: ReplacementCause | None = None
    about: str = ""
    wanted: int = 0


class EvictedRow(WantedRow):
    """A pod that the policy evicts; `order` is its place among all attempts."""

    #: The pod's owner; of a ReplicaSet that a Deployment has made, the Deployment.
    workload: str | None = None
    replacement: ReplacementRow | None = None


class EvictionRefusedRow(WantedRow):
    """A pod that a plugin wants to evict, and what prevents it; `budgets` are those that do."""

    by: RefusedBy
    message: str = ""
    workload: str | None = None
    budgets: tuple[str, ...] = ()


class NodeUseRow(Row):
    """How much of a node is requested, in percent, before the evictions and after all replacements have landed."""

    node: str
    before: dict[str, float]
    after: dict[str, float]


class RoundRow(Row):
    """One descheduling cycle; the next one begins after the replacements have landed."""

    round: int
    evicted: int
    refused: int
    same_node: int
    elsewhere: int
    preempting: int
    pending: int
    not_replaced: int


class DescheduleRow(Row):
    """What a descheduler with this policy does in one cycle, and the results.

    `course`: whether later cycles end; `Open` if that was not known after the last round.
    """

    #: A file, or `strategy NAME`.
    policy: str
    #: The moment that ages count to.
    at: str
    #: Why the descheduler does nothing at all.
    skipped: str | None = None
    evicted: tuple[EvictedRow, ...] = ()
    refused: tuple[EvictionRefusedRow, ...] = ()
    spared: tuple[SparedRow, ...] = ()
    plugins: tuple[StrategyRow, ...] = ()
    node_classes: tuple[NodeClassRow, ...] = ()
    nodes: tuple[NodeUseRow, ...] = ()
    #: Other pods that stay pending because the replacements evicted them.
    displaced: tuple[str, ...] = ()
    rounds: tuple[RoundRow, ...] = ()
    course: Course = "Settles"
    #: What happens in the first cycle; null where nothing is evicted.
    story: Story | None = None

    @property
    def landings(self) -> Mapping[Landing, int]:
        """How many replacements have each kind of landing."""
        return Counter(row.replacement.landing for row in self.evicted if row.replacement is not None)
