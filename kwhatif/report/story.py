"""The story of a report: what follows, until nothing happens any more. Times are seconds since the start."""

from __future__ import annotations

from typing import Literal

from kwhatif.controllers.contract import How
from kwhatif.kube.model.meta import Row
from kwhatif.report.maintenance import BlockedRow, VerdictRow, WaveRow
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.simulation.history import EventRow

#: The worst that can be said of the end.
Settled = Literal["settled", "pending", "terminating", "stalled", "rollout-stuck", "cycling", "horizon"]


class StoryWorkloadRow(Row):
    """Where the pods of a workload are, before and after: node -> how many; terminating ones do not count.

    A bare pod is its own workload: "Pod shop/debug". `anyway`: it ends so without what was asked, too.
    """

    workload: str
    before: dict[str, int]
    after: dict[str, int]
    pending: int
    #: The fewest that were ready at any moment.
    ready_lowest: int
    ready_before: int
    ready_after: int
    terminating: int = 0
    anyway: bool = False


class PendingRow(Row):
    """A pod that has no node at the end; `message` is what the scheduler wrote last."""

    pod: str
    #: None for a bare pod.
    owner: str | None
    message: str
    nominated_node: str | None
    priority: int = 0
    #: Whether it was there at the start, pending.
    initial: bool = False
    #: How many pods this is about: more than one where a workload asks for more pods than are made. Then `pod` is
    #: what their names begin with.
    count: int = 1
    #: Whether this many pods of its owner are pending without what was asked, too.
    anyway: bool = False


class RefusedRow(Row):
    """A workload that lacks pods in the end, as the API server refuses them; `message` is what it says."""

    workload: str
    message: str
    #: Whether it was so at the start.
    initial: bool = False
    #: Whether it lacks as many without what was asked.
    anyway: bool = False


class FailedRow(Row):
    """A Job that has failed; `message` is the Job controller's, `anyway`: it fails without what was asked, too."""

    workload: str
    message: str
    anyway: bool = False


class GoneRow(Row):
    """A pod that is gone, or terminating for good."""

    pod: str
    owner: str | None
    #: Whether it was there at the start.
    initial: bool
    node: str | None
    #: Of a pod that was terminating at the start: as its condition DisruptionTarget says.
    how: How
    #: The client that asked for it, or the pod that gets its place; "" if none in particular.
    by: str
    at: float
    #: Whether it goes without what was asked, too.
    anyway: bool = False


class StoryBudgetRow(Row):
    """How many disruptions a budget allows: before, at the least, after.

    `overrun`: by how many healthy pods it fell short of what it asks for, more than at the start; `overrun_anyway`: so
    many of these without what was asked. `anyway`: all these numbers are so without it.
    """

    budget: str
    before: int
    lowest: int
    after: int
    overrun: int
    overrun_anyway: int = 0
    anyway: bool = False
    #: (Second, how many it allows from then on), in order, of each change after the start.
    steps: tuple[tuple[float, int], ...] = ()


class StoryNodeRow(Row):
    """A node that is different at the end.

    What is said of it is "cordoned", "not ready" and its other taints; null where it is not there. A row with twice the
    same is of a node whose labels, resources or other fields changed. `anyway`: it changes so without what was asked.
    """

    node: str
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None
    anyway: bool = False


class CommandRow(Row):
    """A command of the scenario. `ok` is null for one that has not come to its end; `why` says why one failed."""

    command: str
    ok: bool | None
    seconds: float
    why: str = ""
    output: tuple[str, ...] = ()


class ScenarioRow(Row):
    """One of many drains or outages, each alone: the name of the node, or the value of the label.

    `story` is there for the worst ones. `command` plays this one alone, without the options that say where the cluster
    is read from.
    """

    scenario: str
    verdict: VerdictRow
    story: Story | None = None
    command: str = ""


#: Why pods that evict others find no room all the same: who comes back meets their anti-affinity or spread constraint.
LoopCause = Literal["anti-affinity", "spread"]


class CycleRow(Row):
    """One round of what repeats forever; `events` are the ids of its first and its last event."""

    start: float
    period: float
    participants: tuple[str, ...]
    events: tuple[int, int]
    remedies: tuple[str, ...]
    #: It was cut off, not seen to come back.
    suspected: bool = False
    causes: tuple[LoopCause, ...] = ()
    #: Whether all of them replace each other without what was asked, too.
    anyway: bool = False


#: What a run may come to: its class (`settled`), or something about a workload, a command or a budget.
What = Literal["settled", "failed", "placed", "pending", "preempted", "evicted", "overrun"]


class FactRow(Row):
    """What is so at the end of some runs, or happened in them: `placed` means that none of its pods is pending."""

    what: What
    subject: str
    #: In how many.
    runs: int


class RunsRow(Row):
    """More runs, with other choices between equals and other durations of pods' termination."""

    runs: int
    seed: int
    seconds_least: float
    seconds_most: float
    facts: tuple[FactRow, ...]


class Story(Row):
    """What follows.

    What is marked `anyway` happens without what was asked, too: the question does not cause it, and it decides no exit
    code.
    """

    settled: Settled
    #: Simulated time until then.
    seconds: float
    assumptions: tuple[str, ...]
    parameters: dict[str, float | str]
    events: tuple[EventRow, ...] = ()
    workloads: tuple[StoryWorkloadRow, ...] = ()
    pending: tuple[PendingRow, ...] = ()
    refused: tuple[RefusedRow, ...] = ()
    failed: tuple[FailedRow, ...] = ()
    gone: tuple[GoneRow, ...] = ()
    budgets: tuple[StoryBudgetRow, ...] = ()
    nodes: tuple[StoryNodeRow, ...] = ()
    commands: tuple[CommandRow, ...] = ()
    waves: tuple[WaveRow, ...] = ()
    #: The groups of pods that were tried, or wait; null where there are none.
    pod_groups: PodGroupsRow | None = None
    blocked: tuple[BlockedRow, ...] = ()
    cycle: CycleRow | None = None
    #: What was decided by convention, and how often: `nodes` that were equally good, whom to evict (`evictions`), the
    #: order of the pods of `drains`, and `stopTimes`, which are the longest.
    conventions: dict[str, int] = {}
    runs: RunsRow | None = None
    #: Of a drain or an outage.
    verdict: VerdictRow | None = None
    #: The worst that can be said of what was asked; null where nothing was asked but what happens: then `settled` is.
    caused: Settled | None = None
    #: The second at which what was asked is done: before, the cluster has settled by itself.
    asked: float | None = None
    #: The id of the first event after that.
    first_event: int = 0
    #: What is not finished at the horizon; "" if it has settled.
    under_way: str = ""

    @property
    def took(self) -> float:
        """How many seconds after what was asked it has settled."""
        return round(max(self.seconds - (self.asked or 0.0), 0.0), 3)

    @property
    def outcome(self) -> Settled:
        """The worst that can be said of the answer."""
        return self.settled if self.caused is None else self.caused
