"""The report: everything that a renderer may know, and what `-o json` prints.

A contract: fields are added, never renamed or removed (`apiVersion` would change). `schema/report.json` is made from
these types by `make generated`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from kwhatif.capacity_rows import CapacityRow
from kwhatif.descheduler.attempt import ExtensionPoint, NodeClass, RefusedBy, Stage, Why
from kwhatif.framework.evidence import Evidence
from kwhatif.gates import BASE
from kwhatif.model.caveat import Caveat
from kwhatif.model.meta import FrozenMeta
from kwhatif.queue.wakeup import Cause
from kwhatif.story import ScenarioRow, Story

API_VERSION = "kwhatif.dev/v1"

Outcome = Literal["Placed", "Preempts", "Unschedulable", "Gated", "Denied", "Ignored", "Waits"]
#: How the cluster's version is known: it was given, its API server or a snapshot of it said so, or it is that of the
#: newest kubelet. `assumed`: nothing says it, and the newest release was taken.
VersionSource = Literal["asked", "server", "snapshot", "kubelets", "assumed"]
QueueState = Literal["Active", "BackingOff", "Unschedulable", "Gated", "OtherScheduler", "New"]
QueueFate = Literal["Woken", "Active", "Asleep", "Gated", "OtherScheduler", "Gone"]
UpgradeDifference = Literal["flipped", "victims", "moved"]
FindingLevel = Literal["fail", "warn"]
PolicyVerdict = Literal["pass", "warn", "fail"]
#: `restarted`: an object of the cluster that was asked for by name; all its pods start anew.
UpdateKind = Literal["new", "unchanged", "scaled", "changed", "restarted"]
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


class _Row(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all parts of a report."""


class SchedulerInfo(_Row):
    """Whose decisions these are."""

    version: str = f"1.{BASE}"
    profile: str = "default-scheduler"
    version_source: VersionSource = "asked"
    #: Feature gates that were set by hand.
    feature_gates: dict[str, bool] = {}


class SnapshotInfo(_Row):
    """What the decisions were made on."""

    sources: tuple[str, ...] = ()
    nodes: int = 0
    pods: int = 0
    #: None: they could not be read, so whether an eviction violates one is unknown.
    pod_disruption_budgets: int | None = 0
    #: When the dump was taken, as far as it shows that; null for a live cluster.
    taken_at: str | None = None


class PreEnqueueRow(_Row):
    """What keeps the pod out of the queue."""

    plugin: str
    message: str


class FeasibleRow(_Row):
    """A node that the pod fits on; scores are normalised and weighted, `score` is their sum with extenders."""

    node: str
    score: int
    scores: dict[str, int]


class ObjectionRow(_Row):
    """One plugin's objection to a node."""

    plugin: str
    code: str
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()


class RejectedRow(_Row):
    """A node that the pod does not fit on, the plugin that said so first, its reasons and evidence.

    kube-scheduler stops at the first objection. `objections` are all of them, that one first; they are empty in
    `preemption.rejected`, where nodes without their evictable pods are meant. `alike` is how many other nodes are left
    out of the report because the same plugins give the same reasons for them.
    """

    node: str
    code: str
    plugin: str
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()
    objections: tuple[ObjectionRow, ...] = ()
    alike: int = 0


class ObstacleRow(_Row):
    """One thing that keeps nodes away; the evidence is that of `node`, the one which comes closest.

    `evictable`: evicting pods of lower priority would free enough, were it not for the other obstacles. `differs`: the
    pods that are counted are elsewhere for other nodes, as in other zones.
    """

    plugin: str
    code: str
    reason: str
    node: str
    evidence: Evidence | None = None
    evictable: bool = False
    differs: bool = False


class MissRow(_Row):
    """So many nodes, that fail by the same obstacles; `examples` are the first of them by name."""

    nodes: int
    obstacles: tuple[ObstacleRow, ...]
    examples: tuple[str, ...] = ()


class NearNameRow(_Row):
    """A name that does exist, and on how many nodes; null for what is not on nodes."""

    name: str
    nodes: int | None = None


class UnknownNameRow(_Row):
    """A name in the pod that exists nowhere in the cluster, and those that it is spelled much like, nearest first.

    A `label` is written `key`, `key=value` or `key in (a,b)`; if some node has the key, `near` are values, else keys.
    A `toleration` is written as the taint that it would tolerate, and `near` are taints.
    """

    kind: NameKind
    name: str
    near: tuple[NearNameRow, ...] = ()


class TooLargeRow(_Row):
    """The pod asks for more than any node has in all; amounts as in `InsufficientResource`."""

    resource: str
    requested: int
    largest: int


class NearRow(_Row):
    """What would have to change for the pod to fit: null in a decision unless the outcome is Unschedulable.

    Also of a pod that is Denied, if it names what does not exist.

    `misses` are the first few groups: those with the fewest obstacles, evictable ones aside, come first.
    """

    misses: tuple[MissRow, ...] = ()
    unknown: tuple[UnknownNameRow, ...] = ()
    too_large: tuple[TooLargeRow, ...] = ()


class VictimRow(_Row):
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


class BudgetRow(_Row):
    """How many disruptions a budget allows before and after the eviction."""

    budget: str
    before: int
    after: int


class ReprieveRow(_Row):
    """One step of bringing pods back: the pod stays (`kept`), or what kept it out."""

    pod: str
    priority: int
    kept: bool
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class CandidateRow(_Row, kw_only=True):
    """A node where eviction makes room."""

    node: str
    pdb_violations: int
    victims: tuple[VictimRow, ...]
    #: What candidates are compared by, in turn: rung -> this candidate's value. kube-scheduler's rungs are
    #: `pdbViolations`, `highestPriority`, `prioritySum` (each raised by 2^31 when compared), `victims` (lower is
    #: better) and `earliestStart` (of the victims with the highest priority; later is better, null is now).
    ladder: dict[str, int | str | None]
    #: The first rung of the ladder on which the candidate before this one is better; "" when they tie.
    loses_by: str = ""
    budgets: tuple[BudgetRow, ...] = ()
    #: How the victims were found: every lower-priority pod was removed, then tried back in this order.
    reprieves: tuple[ReprieveRow, ...] = ()


class PreemptionRow(_Row):
    """Whom the pod would evict: null in a decision unless no node is feasible."""

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


class SourceRow(_Row):
    """Where the pod, or the workload that makes it, stands in the manifests; lines count from 1."""

    file: str
    line: int | None = None
    object: str = ""


class ChangeRow(_Row):
    """A change of an object by admission, or by an edit: which field, from what, to what, and who did it."""

    by: str
    field: str
    before: str | None = None
    after: str | None = None


class TouchedRow(_Row):
    """An object that an edit has created, changed or deleted: `Node a1`; and its fields that are different."""

    object: str
    change: Literal["created", "changed", "deleted"]
    fields: tuple[ChangeRow, ...] = ()


class EditRow(_Row):
    """An edit of the cluster that holds before the question is asked, what it touched, and what to know about it."""

    edit: str
    touched: tuple[TouchedRow, ...] = ()
    notes: tuple[str, ...] = ()


class Decision(_Row, kw_only=True):
    """What the scheduler would do with one pod."""

    pod: str
    owner: str | None = None
    priority: int = 0
    priority_class_name: str = ""
    preemption_policy: str = "PreemptLowerPriority"
    scheduler_name: str = "default-scheduler"
    outcome: Outcome
    node: str | None = None
    ties: tuple[str, ...] = ()
    message: str = ""
    pre_enqueue: PreEnqueueRow | None = None
    #: Of a pod that is not even created (outcome `Waits`): the pod whose controller waits until it runs.
    waits_for: str | None = None
    #: Pods that were pending already and came first: without them it would fit, or fit by evicting others.
    after: tuple[str, ...] = ()
    feasible: tuple[FeasibleRow, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()
    near: NearRow | None = None
    unschedulable_plugins: tuple[str, ...] = ()
    preemption: PreemptionRow | None = None
    source: SourceRow | None = None
    changes: tuple[ChangeRow, ...] = ()
    #: How much of the evidence is here: all of it (`full`), of nodes and candidates that say the same a few (`few`), or
    #: only what becomes of the pod (`short`), since a pod of the same workload with the same outcome has the rest.
    detail: Literal["full", "few", "short"] = "full"

    @property
    def victims(self) -> tuple[VictimRow, ...]:
        """The pods that this decision evicts."""
        chosen = self.preemption.chosen if self.outcome == "Preempts" and self.preemption else None
        return chosen.victims if chosen else ()


class RolloutRow(_Row):
    """How far a rollout comes, and why not further: as a simulation of it ends."""

    #: At how many moments its controllers have made or deleted pods.
    steps: int
    completed: bool
    #: How many pods of the new template there are to be in the end, and how many run.
    wanted: int
    updated: int
    #: How many pods of the old one are left.
    old: int
    #: Of one that hangs: the pod that the next step waits for, as in `decisions`, where it has not been there before.
    waits_for: str | None = None
    #: What keeps its controller from going on all the same, such as `maxUnavailable 0`.
    limit: str = ""


class QueuedRow(_Row, kw_only=True):
    """A pod that was pending already and is taken before the last of the report's pods: what it takes is gone then."""

    pod: str
    priority: int = 0
    outcome: Outcome
    node: str | None = None
    victims: tuple[str, ...] = ()


class WorkloadRow(_Row):
    """What becomes of all pods of one object in the manifests; `nodes` counts them by node.

    The counts of outcomes add up to `replicas`, the pods that come; of an object that is in the cluster already, those
    by which it differs, and `removed` go; `rollout` says whether those of a changed template all come. `victims` and
    `violations` (budgets that break) are those of all its pods.
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


class WakeUpRow(_Row):
    """Something that would bring a pod back into the queue, or would help although the scheduler would not notice.

    `plugin` is the one that waits for it, "" for the queue itself. `enough`: the pod then fits, as far as can be said.
    `wakes`: no plugin's queueing hint leaves it out; otherwise only the flush after five minutes helps.
    """

    cause: Cause
    plugin: str = ""
    enough: bool = True
    wakes: bool = True


class WakingRow(_Row):
    """An event by which edits wake a pod, the object that it is about, and the plugin whose hint says so."""

    event: str
    object: str
    plugin: str


class AfterEditsRow(_Row, kw_only=True):
    """What edits mean for a pending pod.

    A pod that is `Woken` or `Active` is tried again, as number `turn`; an `Asleep` one is not, and `outcome` is what
    would become of it at the end: where that is a node, only the flush after five minutes helps. `behind` are pods in
    front of it without which it would get a node. `Gone`: the edits delete the pod.
    """

    fate: QueueFate
    woken_by: tuple[WakingRow, ...] = ()
    turn: int | None = None
    outcome: Outcome
    node: str | None = None
    message: str = ""
    rejected_by: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


class QueuedPodRow(_Row, kw_only=True):
    """A pending pod in the scheduling queue, as it is without edits; a pod that edits make is `New`.

    `position` counts from 1, in the order in which the scheduler takes them; null for pods that it does not take.
    `state` is what the dump shows: a pod without a verdict of the scheduler is `Active`. `since` is when the scheduler
    first rejected it, as its condition says. Events of a dump show how often it was tried in vain, at least
    (`attempts`), when that is known to have happened last (`lastAttempt`), and until when it has to wait even if it is
    woken (`backoffEnds`); each is null where it is not known, or over. `outcome`, `node`, `message` and `rejected_by`
    come of trying it now, after those before it; `wake_ups`, the most likely first, are null where they were not asked
    for.
    """

    position: int | None
    pod: str
    owner: str | None = None
    priority: int = 0
    created: str | None = None
    state: QueueState
    since: str | None = None
    attempts: int | None = None
    last_attempt: str | None = None
    backoff_ends: str | None = None
    #: Pods that it has evicted, as Events show.
    evicted: tuple[str, ...] = ()
    rejected_by: tuple[str, ...] = ()
    outcome: Outcome
    node: str | None = None
    message: str = ""
    wake_ups: tuple[WakeUpRow, ...] | None = None
    #: Null where there are no edits.
    after: AfterEditsRow | None = None


class QueueRow(_Row):
    """The scheduling queue: the pods that were asked for, of so many that are pending."""

    pending: int = 0
    pods: tuple[QueuedPodRow, ...] = ()


class FindingRow(_Row):
    """Something that a rule of the policy has to say about a workload: `pods` are those it concerns.

    A suppressed finding counts for nothing; `suppressed` is the reason that was given, `suppressed_by` where. `caveat`
    is the caveat that it is about, if any.
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


class PolicyRow(_Row):
    """What the policy says to all of it; `source` is its file, empty for the default policy."""

    verdict: PolicyVerdict
    source: str = ""
    findings: tuple[FindingRow, ...] = ()


Landing = Literal["SameNode", "Elsewhere", "Preempts", "Pending", "None"]
Course = Literal["Settles", "Endless", "Open"]


class ReplacementRow(_Row):
    """The pod that comes in the place of an evicted one, and where it lands.

    `landing` None: nothing makes it anew, which `message` explains. A pod on the same node was evicted for nothing.
    `pod` is the name that the simulation gives it, unless the controller keeps names.
    `message`: why it stays pending, or what becomes of it on its node.
    """

    landing: Landing
    pod: str | None = None
    node: str | None = None
    #: All equally good nodes, `node` included.
    ties: tuple[str, ...] = ()
    message: str = ""
    victims: tuple[str, ...] = ()


class EvictedRow(_Row):
    """A pod that the policy evicts; `order` is its place among all attempts."""

    order: int
    pod: str
    node: str
    profile: str
    plugin: str
    why: Why
    #: The pod's owner; of a ReplicaSet that a Deployment has made, the Deployment.
    workload: str | None = None
    replacement: ReplacementRow | None = None


class EvictionRefusedRow(_Row):
    """A pod that a plugin wants to evict, and what keeps it from that; `budgets` are those that do."""

    order: int
    pod: str
    node: str
    profile: str
    plugin: str
    why: Why
    by: RefusedBy
    message: str = ""
    workload: str | None = None
    budgets: tuple[str, ...] = ()


class SparedRow(_Row):
    """A pod that the evictor's filters protect before anything is evicted; `reasons` are upstream's words."""

    profile: str
    pod: str
    node: str
    stage: Stage
    reasons: tuple[str, ...]


class StrategyRow(_Row):
    """One plugin of one profile: how many pods it evicted, what it could not do, what it says to that."""

    profile: str
    plugin: str
    extension_point: ExtensionPoint
    evicted: int
    refused: int
    error: str | None = None
    notes: tuple[str, ...] = ()


class NodeClassRow(_Row):
    """What Low- or HighNodeUtilization takes a node for; `percent` is what is used of each resource."""

    profile: str
    plugin: str
    node: str
    node_class: NodeClass = msgspec.field(name="class")
    percent: dict[str, float]


class NodeUseRow(_Row):
    """How much of a node is requested, in percent of what it has, before the evictions and when all have landed."""

    node: str
    before: dict[str, float]
    after: dict[str, float]


class RoundRow(_Row):
    """One descheduling cycle; the next one begins where the replacements have landed."""

    round: int
    evicted: int
    refused: int
    same_node: int
    elsewhere: int
    preempting: int
    pending: int
    not_replaced: int


class DescheduleRow(_Row):
    """What a descheduler with this policy does in one cycle, and what comes of it.

    `course`: whether later cycles come to an end; they are `Open` where that was not found out in so many rounds.
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
    #: Other pods that stay pending because of the replacements, which they had to make room for.
    displaced: tuple[str, ...] = ()
    rounds: tuple[RoundRow, ...] = ()
    course: Course = "Settles"

    @property
    def landings(self) -> Mapping[Landing, int]:
        """How many replacements land how."""
        return Counter(row.replacement.landing for row in self.evicted if row.replacement is not None)


class LandingRow(_Row):
    """What becomes of a pod: every node that is equally good for it, and whom it evicts on the first of them."""

    outcome: Outcome
    nodes: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()


class UpgradeRuleRow(_Row):
    """A rule of the scheduler that is not the same in both releases."""

    name: str
    #: "" for a gate, which may be about several.
    plugin: str
    #: The first release that has it.
    since: str
    #: The feature gate that is on by default since then; "": it is a rule.
    gate: str = ""
    text: str = ""


class UpgradedRow(_Row):
    """A pending pod, or a workload that starts anew, of which the other release decides otherwise.

    `flipped`: it has another outcome; `victims`: it evicts other pods; `moved`: other nodes are the best for it.
    """

    workload: str
    #: The first pod that is decided otherwise.
    pod: str
    difference: UpgradeDifference
    before: LandingRow
    after: LandingRow
    #: Whose scores or verdicts differ.
    plugins: tuple[str, ...] = ()
    #: Names of `UpgradeRow.rules` that these plugins follow.
    rules: tuple[str, ...] = ()


class UpgradeRow(_Row):
    """What the scheduler of another release decides otherwise."""

    #: The release that the cluster runs, and the one that is asked about.
    before: str
    after: str
    pending: tuple[UpgradedRow, ...] = ()
    pending_judged: int = 0
    workloads: tuple[UpgradedRow, ...] = ()
    workloads_judged: int = 0
    rules: tuple[UpgradeRuleRow, ...] = ()

    @property
    def worse(self) -> tuple[UpgradedRow, ...]:
        """What gets no node any more, or evicts pods that it did not evict."""
        return tuple(filter(_is_worse, (*self.pending, *self.workloads)))


def _is_worse(row: UpgradedRow) -> bool:
    if row.after.outcome == "Preempts":
        return row.before.outcome == "Placed" or not set(row.after.victims) <= set(row.before.victims)
    return row.after.outcome != "Placed" and row.before.outcome in ("Placed", "Preempts")


#: What somebody could do, in the manifest (the first ones), in the cluster, or by waiting.
AdviceKind = Literal[
    "request-less",
    "tolerate",
    "change-selector",
    "drop-selector",
    "widen-node-affinity",
    "soften-node-affinity",
    "soften-pod-affinity",
    "soften-anti-affinity",
    "soften-spread",
    "widen-skew",
    "change-host-port",
    "drop-host-port",
    "drop-node-name",
    "drop-gates",
    "other-name",
    "priority-class",
    "preemption-policy",
    "scheduler-name",
    "uncordon",
    "untaint",
    "label-node",
    "add-nodes",
    "scale-down",
    "delete-pod",
    "move-pod",
    "bind-claim",
    "create-claim",
    "create-namespace",
    "raise-quota",
    "wait",
    "job-done",
    "node-ready",
    "claim-bound",
]
AdviceBy = Literal["manifest", "cluster", "waiting"]


class PatchRow(_Row):
    """One operation of a JSON patch (RFC 6902); `value` is null for `remove`."""

    op: Literal["add", "remove", "replace"]
    path: str
    value: Any = None


class Advised(_Row, kw_only=True):
    """What somebody could change: `target` is what is changed in the cluster, as `namespace/name` where it has one.

    `about` is the resource, taint, label or topology key, `count` how many nodes or pods.
    """

    kind: AdviceKind
    by: AdviceBy
    target: str = ""
    about: str = ""
    before: str = ""
    after: str = ""
    count: int = 0


class AdvisedChangeRow(Advised, kw_only=True):
    """One change of an advice: a patch of `object`, or edits of the cluster as `--if` and `--edits` take them."""

    #: `Deployment shop/web`; null for changes of the cluster.
    object: str | None = None
    #: Whether that object is in the cluster, where kubectl can patch it; else, the file if nothing but it is there.
    in_cluster: bool = False
    file: str | None = None
    patch: tuple[PatchRow, ...] = ()
    edits: tuple[str | dict[str, Any], ...] = ()


class AdviceRow(_Row, kw_only=True):
    """Changes that help together; none of them can be left out, or made smaller.

    `outcome` is that of the worst of the workload's pods then, `node` where the first of those lands that do not fit
    now; `fit` of `of` pods find a node. `decisions` are those of the workload's pods, in short: the proof.
    """

    changes: tuple[AdvisedChangeRow, ...]
    cost: int
    outcome: Outcome
    node: str | None = None
    fit: int
    of: int
    #: Whom it evicts, where it helps only by eviction.
    victims: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()


class LeftRow(_Row, kw_only=True):
    """What is in the way still, where it comes nearest: on this node, after these changes."""

    node: str
    changes: tuple[AdvisedChangeRow, ...] = ()
    plugin: str
    reason: str
    evidence: Evidence | None = None


class GoingRow(_Row, kw_only=True):
    """Pods that could make room on a node: those that the scheduler evicts, or others that cost less.

    `priority` is the highest of theirs, `violates` the budgets that allow none of them to go; `cost` counts as in
    `AdviceRow`.
    """

    by: Literal["scheduler", "hand"]
    pods: tuple[str, ...]
    node: str
    #: Where the controller's new pod fits, if there is one.
    lands: str | None = None
    priority: int
    violates: tuple[str, ...] = ()
    cost: int


class AdvisedRow(_Row, kw_only=True):
    """What would help one workload, or one pod: `pod` is the first that does not fit, or evicts others.

    `tried` is how many sets of changes were asked about. Without advice, `left` is what keeps the pod away in the end.
    `going`: the scheduler's victims, then the pods that cost less if chosen by hand; empty where there are none.
    """

    workload: str
    source: SourceRow | None = None
    pod: str
    outcome: Outcome
    fit: int
    of: int
    victims: tuple[str, ...] = ()
    advice: tuple[AdviceRow, ...] = ()
    left: tuple[LeftRow, ...] = ()
    going: tuple[GoingRow, ...] = ()
    tried: int = 0


class AdviseRow(_Row):
    """Of each workload that does not fit, or evicts others, what would help; `left_out` workloads are not advised."""

    workloads: tuple[AdvisedRow, ...] = ()
    left_out: int = 0


class ProblemRow(_Row):
    """A manifest that could not be read; the others were judged without it."""

    where: str
    message: str
    field: str = ""
    hint: str = ""
    source: SourceRow | None = None


class Report(_Row, kw_only=True, tag_field="kind", tag="Report"):
    """Decisions, and what they rest on."""

    api_version: str = API_VERSION
    command: str
    scheduler: SchedulerInfo = SchedulerInfo()
    snapshot: SnapshotInfo = SnapshotInfo()
    #: What-if edits, in the order in which they were made.
    changes: tuple[EditRow, ...] = ()
    #: The sentences of `caveat_details`, some of them taken together.
    caveats: tuple[str, ...] = ()
    caveat_details: tuple[Caveat, ...] = ()
    decisions: tuple[Decision, ...] = ()
    #: Every pod is judged as if it were the only one; else each sees what those before it have taken.
    alone: bool = False
    #: By the order of the manifests; none where every pod is judged alone.
    workloads: tuple[WorkloadRow, ...] = ()
    #: The cluster's own pending pods that come before the last of these, in the order of the queue.
    queued_before: tuple[QueuedRow, ...] = ()
    policy: PolicyRow | None = None
    #: Of the command `queue`: the pending pods, in the order of `decisions`.
    queue: QueueRow | None = None
    #: Of the command `deschedule`.
    deschedule: DescheduleRow | None = None
    #: Of the command `upgrade`.
    upgrade: UpgradeRow | None = None
    #: Of the command `advise`, and of `gate` where it was asked for.
    advise: AdviseRow | None = None
    #: Of the command `capacity`.
    capacity: CapacityRow | None = None
    problems: tuple[ProblemRow, ...] = ()
    #: What follows, of commands that play it forward.
    story: Story | None = None
    #: Of `drain --each` and `outage --each`, the worst first.
    scenarios: tuple[ScenarioRow, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Whether the answer is about pods, one by one: then the story is only what follows it."""
        return self.command in ("schedule", "preempt", "gate")

    def to_json(self, indent: int = 0) -> str:
        """What `-o json` prints: on one line, or with that many blanks for each level."""
        try:
            encoded = msgspec.json.encode(self)
        except UnicodeEncodeError:  # a file's name that is not UTF-8
            return json.dumps(msgspec.to_builtins(self), indent=indent or None)
        return (msgspec.json.format(encoded, indent=indent) if indent else encoded).decode()

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings, numbers, booleans and None."""
        made: dict[str, Any] = json.loads(self.to_json())
        return made


def report_schema() -> dict[str, object]:
    """The JSON Schema of a report."""
    schema = msgspec.json.schema(Report)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"https://{API_VERSION}/report.json"}
    return head | schema


def schema_text() -> str:
    """`schema/report.json`, as it is shipped."""
    return msgspec.json.format(msgspec.json.encode(report_schema()), indent=2).decode() + "\n"
