"""The rows of the commands `audit`, `threats` and `who-fits`: risks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from kwhatif.admission.outcome import Refusal
from kwhatif.kube.model.meta import Row
from kwhatif.report.story import Story

# --- audit -----------------------------------------------------------------------------------------------------------


#: The kinds of what-ifs of an audit, in the order in which they are played.
ProbeName = Literal[
    "pending",
    "budgets",
    "outage",
    "drain",
    "restart",
    "zone",
    "peak",
    "replica",
    "arrival",
    "return",
    "upgrade",
    "usage",
]

#: The kinds of harm to a cluster, the worst first. This is the order of findings (`questions/audit/findings.py`).
AuditHarm = Literal[
    "service-lost",
    "data-blocked",
    "budget-broken",
    "pods-pending",
    "pods-refused",
    "restart-hangs",
    "drain-blocked",
    "peak-out-of-reach",
    "evictable",
    "budget-useless",
    "no-way-back",
    "no-growth",
    "upgrade-worse",
    "requests-far",
]

#: The causes of harm.
AuditCause = Literal[
    # pods that find no node
    "room",
    "anti-affinity",
    "affinity",
    "spread",
    "volume",
    "ports",
    "devices",
    "placement",
    "gates",
    "other",
    # pods that the API server refuses, and Jobs that fail
    "quota",
    "limits",
    "pod-security",
    "admission",
    "job",
    # pods that are evicted, stay or come back too late
    "one-node",
    "one-zone",
    "node-silent",
    "zone-lost",
    "tolerates",
    "toleration-unknown",
    "bare",
    "loop",
    # budgets
    "demands-all",
    "many-budgets",
    "sync-failed",
    "unready",
    "no-successor",
    "never-ends",
    "selects-nothing",
    "allows-all",
    # others
    "priority",
    "taint",
    "labels",
    "release",
    "asks-too-much",
    "asks-too-little",
]

AuditLevel = Literal["high", "medium", "low"]


class HarmRow(Row, kw_only=True):
    """The effect of one what-if on one workload or budget, for one cause.

    `about` is what the cause is about: resources, budgets, topology keys, taints. `pool` is the pods' node selector and
    required node affinity, in words. `pods` of `of` are affected, `priority` is their highest. `seconds`: for how long;
    null: until something else changes. `example` is one of the pods, `said` what the scheduler or the API server says.
    `cut`: the what-if was not over after this number of simulated seconds; what comes later is not judged.
    """

    probe: ProbeName
    #: The node, zone, workload, budget or class that the what-if is about.
    scenario: str
    harm: AuditHarm
    cause: AuditCause
    subject: str
    about: tuple[str, ...] = ()
    pool: str = ""
    pods: int = 0
    of: int = 0
    priority: int = 0
    seconds: float | None = None
    example: str = ""
    said: str = ""
    #: Why the API server refuses the pods, for `pods-refused`.
    refusal: Refusal | None = None
    #: Whether an autoscaler may add a node for these pods, which is not modelled.
    autoscaled: bool = False
    cut: float | None = None


class ShownByRow(Row):
    """The what-ifs of one kind that show a finding: `count` of them, `names` are examples."""

    probe: ProbeName
    names: tuple[str, ...]
    count: int


class AuditFixRow(Row, kw_only=True):
    """The smallest change that was found, in edits as `--then` takes them, or a flag of the command.

    A simulation with it no longer shows the finding. `played` of the `of` what-ifs that show the finding were played
    with it.
    """

    edits: tuple[str, ...]
    kind: Literal["edits", "flag"] = "edits"
    played: int = 0
    of: int = 0

    @property
    def is_proven(self) -> bool:
        """Whether all what-ifs were played with it."""
        return self.played >= self.of


class AcceptedRow(Row, kw_only=True):
    """That a finding is accepted: by whom, why, and until which day."""

    owner: str = ""
    reason: str
    until: str | None = None


class AuditFindingRow(Row, kw_only=True):
    """One cause, and all its effects.

    `id` is the same in each run: it does not depend on names of pods or on the order of the dump. `worst` is the worst
    of the `harms`; `subjects` are the affected workloads and budgets, the worst first.
    """

    id: str
    level: AuditLevel
    harm: AuditHarm
    cause: AuditCause
    about: tuple[str, ...] = ()
    subjects: tuple[str, ...]
    namespaces: tuple[str, ...]
    owner: str = ""
    worst: HarmRow
    harms: tuple[HarmRow, ...]
    shown_by: tuple[ShownByRow, ...]
    #: In words, once the report is complete.
    message: str = ""
    #: The command that shows it, without the options that say where the cluster is read from.
    command: str
    fix: AuditFixRow | None = None
    #: The number of changes that were tried, including the one that helps; null: no fix was looked for.
    tried: int | None = None
    #: The seconds that its worst what-if takes, if that is too long to look for a fix without `--explain`.
    takes: float | None = None
    accepted: AcceptedRow | None = None
    #: The story of its worst what-if, if it is to be explained.
    story: Story | None = None


class ProbeRow(Row, kw_only=True):
    """How much of one kind of what-ifs was asked: `judged` of `scenarios`; `skipped` says why none was asked."""

    probe: ProbeName
    scenarios: int = 0
    judged: int = 0
    skipped: str = ""


class BaselineRow(Row, kw_only=True):
    """About `--baseline`: accepted findings that no longer exist, and those that have expired."""

    source: str
    gone: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()


class AuditRow(Row, kw_only=True):
    """All findings, the worst first, and what was asked."""

    findings: tuple[AuditFindingRow, ...]
    probes: tuple[ProbeRow, ...]
    #: Why some what-ifs were not played: the time was over, or the audit was interrupted.
    stopped: Literal["", "budget", "interrupted"] = ""
    namespace: str = ""
    #: The identifier of the finding that is explained; "": none.
    explained: str = ""
    baseline: BaselineRow | None = None

    @property
    def counting(self) -> tuple[AuditFindingRow, ...]:
        """The findings that are not accepted."""
        return tuple(each for each in self.findings if each.accepted is None)

    @property
    def unjudged(self) -> tuple[ProbeRow, ...]:
        """The kinds of what-ifs that are not complete."""
        return tuple(each for each in self.probes if each.judged < each.scenarios)


# --- threats and who-fits --------------------------------------------------------------------------------------------


ThreatKind = Literal["pending", "template", "class", "taint", "outage", "drain", "descheduler"]
#: The kinds in which the scheduler evicts pods for another pod.
PREEMPTING: tuple[ThreatKind, ...] = ("pending", "template", "class")


class ThreatRow(Row, kw_only=True):
    """Something that evicts at least one of the pods; each was played.

    `pending`: a pod that waits already; `template`: one more pod of a workload; `class`: a new pod of a PriorityClass
    with these `requests`; `taint`: a NoExecute taint of the node; `outage` and `drain`: of a node; `descheduler`: a
    strategy of the policy.
    """

    kind: ThreatKind
    #: The pod, workload, class, taint, node or strategy: `Deployment shop/web`, `PriorityClass high`, `Node a1`.
    by: str
    #: The pods that it evicts, of those in question.
    pods: tuple[str, ...]
    #: For `pending`, `template` and `class`: the priority of the new pod.
    priority: int | None = None
    #: For `class`: the requests of the new pod, in the scheduler's units: milli-CPU, bytes.
    requests: Mapping[str, int] = {}
    #: For `class`: the only node that the new pod may use, whose taints it tolerates; "": any node.
    node: str = ""
    #: For `class`: the manifest of the new pod, to try it with `kwhatif preempt FILE`.
    manifest: Mapping[str, Any] | None = None
    #: For `outage` and `drain`: the workload whose pod takes the room; "": the pods are on the node itself.
    because: str = ""
    #: The seconds until the first of the pods is evicted; None: at once.
    seconds: float | None = None
    #: The command that shows it; "": see `manifest`.
    command: str = ""


class HarmlessRow(Row):
    """A PriorityClass whose pods never evict any of these pods.

    `priority`: its value is not higher than theirs; `never`: its preemptionPolicy is Never.
    """

    name: str
    value: int
    why: Literal["priority", "never"]


class ProtectionRow(Row, kw_only=True):
    """Something that protects the pods, and against which kinds of threats.

    `budget`: a PodDisruptionBudget, which `holds` drains back, and for preemption is only a preference; `critical`:
    kubelets do not evict such pods.
    """

    kind: Literal["budget", "critical"]
    name: str
    pods: tuple[str, ...]
    #: How many of the budget's pods may be disrupted now; None: not known, or it is not a budget.
    allowed: int | None = None


class PressureRow(Row, kw_only=True):
    """When a kubelet evicts the pod as its node runs out of memory, if each pod uses more than it asks for.

    Pods of a lower priority go before it, those of the same priority by how much more they use than they ask for. Pods
    that use no more than they ask for go after all these (`pkg/kubelet/eviction/helpers.go`).
    """

    pod: str
    node: str
    #: The first and the last possible place among the pods that the kubelet may evict.
    first: int
    last: int
    #: How many there are.
    of: int


class ShieldRow(Row):
    """The smallest priority with which no pending pod and no workload evicts the pods; this was tried.

    `name` is the PriorityClass that has it, "" where none has exactly this value.
    """

    value: int
    name: str = ""
    #: The edit that gives the workload this class; "": the workload is not known, or there is no such class.
    edit: str = ""


class ThreatsRow(Row, kw_only=True):
    """What could evict pods, and what protects them."""

    #: The subject of the question: `Pod shop/web-0`, `Deployment shop/web`, `Node a1`, `PriorityClass high`.
    subject: str
    #: Its running pods, by name.
    pods: tuple[str, ...]
    #: The highest and the lowest priority of these.
    lowest: int = 0
    highest: int = 0
    threats: tuple[ThreatRow, ...] = ()
    harmless: tuple[HarmlessRow, ...] = ()
    protections: tuple[ProtectionRow, ...] = ()
    pressure: tuple[PressureRow, ...] = ()
    shield: ShieldRow | None = None
    #: The number of workloads with one more pod, and of nodes that were lost and drained one by one.
    templates_asked: int = 0
    nodes_asked: int = 0
    #: Kinds of threats that were left out.
    skipped: tuple[ThreatKind, ...] = ()

    def of(self, *kinds: ThreatKind) -> tuple[ThreatRow, ...]:
        """The threats of these kinds."""
        return tuple(each for each in self.threats if each.kind in kinds)


FitVerdict = Literal["chosen", "fits", "evicts", "no"]


class TakerRow(Row, kw_only=True):
    """A pending pod, or one more pod of a workload, and whether the node takes it.

    `chosen`: it fits, and no node is better; `fits`: it fits, and the scheduler takes another node; `evicts`: the
    scheduler evicts `victims` there for it, as it fits nowhere; `no`: `message` says why it does not fit.
    """

    #: `Pod batch/trainer`, `Deployment shop/web`.
    subject: str
    pending: bool
    priority: int
    #: In the scheduler's units: milli-CPU, bytes.
    requests: Mapping[str, int]
    verdict: FitVerdict
    victims: tuple[str, ...] = ()
    message: str = ""
    #: The plugin that rejects it.
    plugin: str = ""
    #: Where the scheduler places it, or evicts pods for it, if that is another node.
    elsewhere: str | None = None


class WhoFitsRow(Row, kw_only=True):
    """Which pending pods, and which workloads' next pods, a node takes."""

    node: str
    #: The free amount of each resource of the node, in the scheduler's units; with `pods`.
    free: Mapping[str, int]
    pods: int
    takers: tuple[TakerRow, ...] = ()

    def fitting(self, *, pending: bool) -> tuple[TakerRow, ...]:
        """The pods that the node takes."""
        return tuple(each for each in self.takers if each.pending is pending and each.verdict != "no")
