"""The story of a report: all events until the cluster has settled. Times are seconds since the start."""

from __future__ import annotations

from typing import Literal

import msgspec

from kwhatif.admission.outcome import Refusal
from kwhatif.controllers.contract import How
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.kube.model.meta import Row
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.simulation.history import Verb

# --- of drains and outages -------------------------------------------------------------------------------------------


class WaveRow(Row):
    """The pods whose eviction was granted at one moment."""

    at: float
    pods: tuple[str, ...]


#: Why a drain does not evict a pod, or why a pod does not come back after an outage.
BlockedCause = Literal[
    "timeout",
    "endless-drain",
    "came-late",
    "refused-by-kubectl",
    "kubelet-silent",
    "finalizer",
    "slow",
    "many-budgets",
    "sync-failed",
    "unready-itself",
    "demands-all",
    "pending-member",
    "unready-member",
    "allowed-late",
    "bare-members",
    "no-maker",
    "bare",
    "zone-lost",
    "tolerates",
    "toleration-unknown",
    "node-silent",
    "node-deleted",
]


class BlockedRow(Row, kw_only=True):
    """A pod that a drain does not evict, or that does not come back after an outage; `why` is the reason in words.

    `budgets` are those in the way: the first one needs `needed` healthy pods and has `healthy`. `about` is the subject
    of the cause: another pod, a node, a time, or a message. `nowhere`: its replacement would find no node.
    """

    pod: str
    class_: str = msgspec.field(name="class")
    #: None in a report of an earlier kwhatif, which only has the words.
    cause: BlockedCause | None = None
    about: str = ""
    budgets: tuple[str, ...] = ()
    needed: int = 0
    healthy: int = 0
    nowhere: bool = False
    why: str = ""
    remedy: str = ""


#: The kinds of the worst harm: kubectl refuses to evict pods, blocked pods, a command that does not end, pods that
#: replace each other without end, something unfinished at the horizon, pending pods, refused new pods, failed Jobs,
#: fewer ready pods.
Harm = Literal[
    "refused-by-kubectl", "blocked", "endless", "unsettled", "horizon", "pending", "refused", "failed", "unready"
]


class WorstRow(Row):
    """The worst harm of a drain or an outage.

    `subject` is the affected workload, or what is unfinished at the horizon. `messages` are kubectl's, the API server's
    or a controller's; of a story without an end the workloads that replace each other. `count`: how many pods are
    blocked, how many pods the subject has fewer, how many Jobs fail, or how many of its `of` pods are ready. `blocked`
    is the first pod that is.
    """

    what: Harm
    subject: str = ""
    messages: tuple[str, ...] = ()
    count: int = 0
    of: int = 0
    blocked: BlockedRow | None = None


class VerdictRow(Row, kw_only=True):
    """The verdict about a drain or an outage: whether it does no harm, and its effects.

    What also happens without it is left out. `why` is the worst harm in words, and `worst` as data. `moved`: the pods
    that leave the nodes; `preempted`: those elsewhere that are evicted for them in turn; `pending`: those without a
    node at the end, as many of each workload as would not be without it. `gone`: of the pods that a drain evicts, those
    in whose place none is made. `seconds` count from the command.

    `priority` is the highest of a pending pod, null without one; `critical`: how many have that of
    system-cluster-critical or a higher one. `broken`: the budgets that had fewer healthy pods than they demand at any
    moment.
    """

    of: Literal["drain", "outage"]
    ok: bool
    nodes: tuple[str, ...]
    why: str = ""
    moved: int
    waves: int
    preempted: int
    pending: tuple[str, ...]
    seconds: float
    priority: int | None = None
    critical: int = 0
    broken: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    #: None without harm, and in a report of an earlier kwhatif.
    worst: WorstRow | None = None


# --- the story -------------------------------------------------------------------------------------------------------


#: The outcome of a story: the worst one that is true.
Settled = Literal["settled", "pending", "terminating", "stalled", "rollout-stuck", "cycling", "horizon"]


class StoryWorkloadRow(Row):
    """Where the pods of a workload are, before and after: node -> how many; terminating pods do not count.

    A bare pod is its own workload: "Pod shop/debug". `anyway`: the same happens without what was asked.
    """

    workload: str
    before: dict[str, int]
    after: dict[str, int]
    pending: int
    #: The minimum number of ready pods at any moment.
    ready_lowest: int
    ready_before: int
    ready_after: int
    terminating: int = 0
    anyway: bool = False


class PendingRow(Row):
    """A pod that has no node at the end; `message` is the scheduler's last message."""

    pod: str
    #: None for a bare pod.
    owner: str | None
    message: str
    nominated_node: str | None
    priority: int = 0
    #: Whether it was already pending at the start.
    initial: bool = False
    #: The number of pods: more than one if a workload wants more pods than were simulated. Then `pod` is the beginning
    #: of their names.
    count: int = 1
    #: Whether the same number of its owner's pods is pending without the question.
    anyway: bool = False


class RefusedRow(Row):
    """A workload that lacks pods in the end because the API server refuses them: its message, and the cause."""

    workload: str
    message: str
    refusal: Refusal | None = None
    #: Whether it was like this at the start.
    initial: bool = False
    #: Whether it lacks as many pods without the question.
    anyway: bool = False


class FailedRow(Row):
    """A Job that has failed; `message` is the Job controller's, `anyway`: it also fails without what was asked."""

    workload: str
    message: str
    anyway: bool = False


class EventRow(Row):
    """An event, and the event that caused it."""

    id: int
    #: Seconds since the start.
    at: float
    #: None for actions of a user, and for what was due from the start.
    because: int | None
    #: Who did it: "scheduler", "kubelet a1", "user", "ReplicaSet shop/web-6d4".
    actor: str
    verb: Verb
    #: Kind and key, see `ref`.
    object: str
    #: The workload of a pod, as known in the end.
    workload: str | None = None
    node: str | None = None
    #: For a preempted pod, the preemptor: `for shop/web-0`.
    detail: str = ""

    @property
    def ref(self) -> ObjectRef:
        """The object."""
        return ObjectRef.parse(self.object)


class GoneRow(Row):
    """A pod that is gone, or terminating for good."""

    pod: str
    owner: str | None
    #: Whether it existed at the start.
    initial: bool
    node: str | None
    #: If it was terminating at the start: the reason in its condition DisruptionTarget.
    how: How
    #: The client that requested it, or the pod that preempts it; "" if none.
    by: str
    at: float
    #: Whether the pod is also gone without the question.
    anyway: bool = False


class StoryBudgetRow(Row):
    """How many disruptions a budget allows: before, the minimum, after.

    `overrun`: how many more healthy pods it lacks than at the start; `overrun_anyway`: how many of these without what
    was asked. `anyway`: all these numbers are the same without it.
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

    Its state is "cordoned", "not ready" and its other taints; null if it does not exist. If both states are equal, its
    labels, resources or other fields changed. `anyway`: the same change happens without what was asked.
    """

    node: str
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None
    anyway: bool = False


class CommandRow(Row):
    """A command of the scenario. `ok` is null if it has not ended; `why` is the reason of a failure."""

    command: str
    ok: bool | None
    seconds: float
    why: str = ""
    output: tuple[str, ...] = ()


class ScenarioRow(Row):
    """One of many drains or outages, each alone: the name of the node, or the value of the label.

    Only the worst ones have a `story`. `command` plays this one alone, without the options about the source of the
    cluster.
    """

    scenario: str
    verdict: VerdictRow
    story: Story | None = None
    command: str = ""


#: Why pods that evict others still find no room: replacements meet their anti-affinity or spread constraint.
LoopCause = Literal["anti-affinity", "spread"]


class CycleRow(Row):
    """One round of something that repeats forever; `events` are the ids of its first and its last event."""

    start: float
    period: float
    participants: tuple[str, ...]
    events: tuple[int, int]
    remedies: tuple[str, ...]
    #: Whether the simulation was cut off, so that it is not proven that the cycle repeats.
    suspected: bool = False
    causes: tuple[LoopCause, ...] = ()
    #: Whether they also replace each other without the question.
    anyway: bool = False


#: A result of a run: its class (`settled`), or something about a workload, a command or a budget.
What = Literal["settled", "failed", "placed", "pending", "preempted", "evicted", "overrun"]


class FactRow(Row):
    """Something that is true at the end of some runs, or happened in them.

    `placed` means that none of its pods is pending.
    """

    what: What
    subject: str
    #: The number of these runs.
    runs: int


class RunsRow(Row):
    """More runs, with other choices between equals and other termination times."""

    runs: int
    seed: int
    seconds_least: float
    seconds_most: float
    facts: tuple[FactRow, ...]


class Story(Row):
    """What follows.

    What is marked `anyway` also happens without the question: the question does not cause it, and it does not change
    the exit code.
    """

    settled: Settled
    #: The simulated time at the end.
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
    #: The groups of pods that were tried or wait; null if there are none.
    pod_groups: PodGroupsRow | None = None
    blocked: tuple[BlockedRow, ...] = ()
    cycle: CycleRow | None = None
    #: The decisions between equals, and how often: `nodes` that were equally good, which pods to evict (`evictions`),
    #: the order of the pods of `drains`, and `stopTimes`, which are the longest.
    conventions: dict[str, int] = {}
    runs: RunsRow | None = None
    #: The verdict of a drain or an outage.
    verdict: VerdictRow | None = None
    #: The worst that can be said of what was asked; null if nothing was asked except what follows: then `settled`
    #: counts.
    caused: Settled | None = None
    #: The second at which the edits of the question begin: before it, the cluster settles by itself.
    asked: float | None = None
    #: The id of the first event after this time.
    first_event: int = 0
    #: What is unfinished at the horizon; "" if it has settled.
    under_way: str = ""

    @property
    def took(self) -> float:
        """The seconds from the start of the question until the cluster settles."""
        return round(max(self.seconds - (self.asked or 0.0), 0.0), 3)

    @property
    def outcome(self) -> Settled:
        """The outcome of the answer: the worst one that is true."""
        return self.settled if self.caused is None else self.caused
