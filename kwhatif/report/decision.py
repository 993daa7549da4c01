"""What the scheduler would do with pods, and what a policy says about that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from kwhatif.admission.outcome import ChangeRow, Refusal
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.meta import Row
from kwhatif.report.inputs import SourceRow
from kwhatif.scheduler.framework.evidence import Evidence

NameKind = Literal[
    "label",
    "toleration",
    "resource",
    "persistentVolumeClaim",
    "storageClass",
    "resourceClaim",
    "namespace",
    "priorityClass",
    "runtimeClass",
]


class FeasibleRow(Row):
    """A node on which the pod fits; scores are normalised and weighted, `score` is their sum with extenders."""

    node: str
    score: int
    scores: dict[str, int]


class ObjectionRow(Row):
    """One plugin's objection to a node."""

    plugin: str
    code: str
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()


class RejectedRow(Row):
    """A node on which the pod does not fit, the first plugin that rejects it, its reasons and evidence.

    kube-scheduler stops at the first objection. `objections` are all of them, that one first; they are empty in
    `preemption.rejected`, which is about nodes without their evictable pods. `alike` is how many other nodes are left
    out of the report because the same plugins give the same reasons for them.
    """

    node: str
    code: str
    plugin: str
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()
    objections: tuple[ObjectionRow, ...] = ()
    alike: int = 0


class ObstacleRow(Row):
    """One obstacle of nodes; the evidence is from `node`, which comes closest.

    `evictable`: evicting pods of lower priority would remove this obstacle. `differs`: it counts different pods for
    different nodes, such as those of a zone.
    """

    plugin: str
    code: str
    reason: str
    node: str
    evidence: Evidence | None = None
    evictable: bool = False
    differs: bool = False


class MissRow(Row):
    """The number of nodes that fail for the same obstacles; `examples` are the first of them by name."""

    nodes: int
    obstacles: tuple[ObstacleRow, ...]
    examples: tuple[str, ...] = ()


class NearNameRow(Row):
    """A similar name that exists, and on how many nodes; null if it is not about nodes."""

    name: str
    nodes: int | None = None


class UnknownNameRow(Row):
    """A name in the pod that does not exist in the cluster, and similar names, the most similar first.

    A `label` is written `key`, `key=value` or `key in (a,b)`; if some node has the key, `near` are values, else keys.
    A `toleration` is written as the taint that it would tolerate, and `near` are taints.
    """

    kind: NameKind
    name: str
    near: tuple[NearNameRow, ...] = ()


class TooLargeRow(Row):
    """The pod requests more than any node has in total; amounts as in `InsufficientResource`."""

    resource: str
    requested: int
    largest: int


class NearRow(Row):
    """What would have to change for the pod to fit: null in a decision unless the outcome is Unschedulable.

    Also for a pod that is Denied, if it names something that does not exist.

    `misses` are the first few groups: those with the fewest obstacles, without evictable ones, come first.
    """

    misses: tuple[MissRow, ...] = ()
    unknown: tuple[UnknownNameRow, ...] = ()
    too_large: tuple[TooLargeRow, ...] = ()


class VictimRow(Row):
    """A pod that would be evicted; `budgets` match it, and it breaks those in `violates`.

    `workload` is its owner; of a ReplicaSet that a Deployment has made, the Deployment.
    """

    pod: str
    priority: int
    start_time: str | None = None
    owner: str | None = None
    workload: str | None = None
    budgets: tuple[str, ...] = ()
    violates: tuple[str, ...] = ()
    terminating: bool = False


class BudgetRow(Row):
    """How many disruptions a budget allows before and after the eviction."""

    budget: str
    before: int
    after: int


class ReprieveRow(Row):
    """One step of bringing pods back: the pod stays (`kept`), or what kept it out."""

    pod: str
    priority: int
    kept: bool
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class CandidateRow(Row, kw_only=True):
    """A node where eviction makes room; candidates beyond the wanted number only have name and `pdb_violations`."""

    node: str
    pdb_violations: int
    victims: tuple[VictimRow, ...]
    #: The values by which candidates are compared, in this order: rung -> this candidate's value. kube-scheduler's
    #: rungs are `pdbViolations`, `highestPriority`, `prioritySum` (each raised by 2^31 when compared), `victims` (lower
    #: is better) and `earliestStart` (of the victims with the highest priority; later is better, null is now).
    ladder: dict[str, int | str | None]
    #: The first rung of the ladder on which the candidate before this one is better; "" when they tie.
    loses_by: str = ""
    budgets: tuple[BudgetRow, ...] = ()
    #: How the victims were found: every lower-priority pod was removed, then added back if possible, in this order.
    reprieves: tuple[ReprieveRow, ...] = ()


class PreemptionRow(Row):
    """Which pods the pod would evict: null in a decision unless no node is feasible."""

    eligible: bool
    message: str = ""
    node: str | None = None
    ties: tuple[str, ...] = ()
    candidates: tuple[CandidateRow, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()
    cleared_nominations: tuple[str, ...] = ()

    @property
    def chosen(self) -> CandidateRow | None:
        """The candidate that the scheduler takes, if there is one."""
        return next((row for row in self.candidates if row.node == self.node), None) if self.node else None


Outcome = Literal["Placed", "Preempts", "Unschedulable", "Gated", "Denied", "Ignored", "Waits"]


class PreEnqueueRow(Row):
    """What keeps the pod out of the queue."""

    plugin: str
    message: str


class Decision(Row, kw_only=True):
    """What the scheduler would do with one pod."""

    pod: str
    owner: str | None = None
    priority: int = 0
    priority_class_name: str = ""
    preemption_policy: str = "PreemptLowerPriority"
    scheduler_name: str = "default-scheduler"
    #: Its requests: milli-units of cpu, bytes, units of all other resources; empty if it was not tried.
    requests: dict[str, int] = {}
    outcome: Outcome
    node: str | None = None
    #: For a pod of the cluster that was named in the question: its present node. It is judged as if it were started
    #: again.
    runs_on: str | None = None
    ties: tuple[str, ...] = ()
    message: str = ""
    #: Why the API server refuses it: null unless the outcome is Denied.
    refusal: Refusal | None = None
    pre_enqueue: PreEnqueueRow | None = None
    #: For a pod that is not even created (outcome `Waits`): the pod that must run first.
    waits_for: str | None = None
    #: Pods that were already pending and came first: without them it would fit, or fit by evicting others.
    after: tuple[str, ...] = ()
    feasible: tuple[FeasibleRow, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()
    near: NearRow | None = None
    unschedulable_plugins: tuple[str, ...] = ()
    preemption: PreemptionRow | None = None
    source: SourceRow | None = None
    changes: tuple[ChangeRow, ...] = ()
    #: How much of the evidence the decision has: all of it (`full`); only a few nodes and candidates with equal reasons
    #: (`few`); or only the outcome (`short`), because another pod of the same workload with the same outcome has the
    #: rest.
    detail: Literal["full", "few", "short"] = "full"

    @property
    def said(self) -> str:
        """The scheduler's message; for a pod that is not queued, the message of the plugin that rejects it."""
        return self.message or (self.pre_enqueue.message if self.pre_enqueue else "")

    @property
    def victims(self) -> tuple[VictimRow, ...]:
        """The pods that this decision evicts."""
        chosen = self.preemption.chosen if self.outcome == "Preempts" and self.preemption else None
        return chosen.victims if chosen else ()


#: `restarted`: an object of the cluster that was named in the question; all its pods are restarted.
UpdateKind = Literal["new", "unchanged", "scaled", "changed", "restarted"]


class RolloutRow(Row):
    """How far a rollout gets, and why not further, in a simulation of it."""

    #: The number of moments at which its controllers have created or deleted pods.
    steps: int
    completed: bool
    #: The wanted number of pods of the new template, and the number that run.
    wanted: int
    updated: int
    #: The number of remaining pods of the old template.
    old: int
    #: If it hangs: the pod that the next step waits for, as in `decisions`, unless it existed before.
    waits_for: str | None = None
    #: What stops its controller, such as `maxUnavailable 0`.
    limit: str = ""


class QueuedRow(Row, kw_only=True):
    """A pod that was already pending and is taken before the last of the report's pods: its room is gone then."""

    pod: str
    priority: int = 0
    outcome: Outcome
    node: str | None = None
    victims: tuple[str, ...] = ()


class WorkloadRow(Row):
    """The results of all pods of one object in the manifests; `nodes` counts them by node.

    The counts of outcomes add up to `replicas`, the new pods; for an object that is already in the cluster, only the
    additional ones, and `removed` pods are deleted; `rollout` says whether a changed template is rolled out completely.
    `victims` and `violations` (budgets that break) are those of all its pods.
    """

    name: str
    source: SourceRow
    update: UpdateKind = "new"
    removed: int = 0
    replicas: int = 0
    placed: int = 0
    preempting: int = 0
    unschedulable: int = 0
    gated: int = 0
    denied: int = 0
    ignored: int = 0
    waiting: int = 0
    nodes: dict[str, int] = {}
    victims: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    message: str = ""
    rollout: RolloutRow | None = None


# --- the policy ------------------------------------------------------------------------------------------------------


#: The annotation by which an object suppresses rules.
ANNOTATION = "kwhatif.dev/ignore"


class Evicted(NamedTuple):
    """Victims of one owner and priority; `pod` is the name of a single one without an owner."""

    owner: str
    priority: int
    pods: int
    pod: str = ""


def evicted(victims: Iterable[VictimRow]) -> tuple[Evicted, ...]:
    """The victims by owner and priority, in the order of their first pods."""
    groups: dict[tuple[str, int], list[str]] = {}
    for victim in victims:
        groups.setdefault((victim.workload or victim.owner or "", victim.priority), []).append(victim.pod)
    return tuple(
        Evicted(owner, priority, len(pods), "" if owner or len(pods) > 1 else pods[0])
        for (owner, priority), pods in groups.items()
    )


def after(decisions: Iterable[Decision]) -> tuple[str, ...]:
    """The pods that have taken the room first."""
    return tuple(dict.fromkeys(name for decision in decisions for name in decision.after))


class JudgedWorkload(NamedTuple):
    """The results of one object's pods, and its annotation `kwhatif.dev/ignore`."""

    row: WorkloadRow
    decisions: Sequence[Decision]
    ignore: str = ""


FindingLevel = Literal["fail", "warn"]


PolicyVerdict = Literal["pass", "warn", "fail"]


class FindingRow(Row):
    """The finding of a rule about a workload: `pods` are the affected ones.

    A suppressed finding does not count; `suppressed` is the reason that was given, `suppressed_by` where. `caveat` is
    the caveat that it is about, if any.
    """

    rule: str
    level: FindingLevel
    message: str
    workload: str = ""
    pods: tuple[str, ...] = ()
    source: SourceRow | None = None
    suppressed: str | None = None
    suppressed_by: Literal["annotation", "exception"] | None = None
    caveat: Caveat | None = None


class PolicyRow(Row):
    """The verdict of the policy; `source` is its file, empty for the default policy."""

    verdict: PolicyVerdict
    source: str = ""
    findings: tuple[FindingRow, ...] = ()
