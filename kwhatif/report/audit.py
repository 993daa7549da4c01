"""What will hurt: what the command `audit` adds to a report."""

from __future__ import annotations

from typing import Literal

from kwhatif.admission.outcome import Refusal
from kwhatif.kube.model.meta import Row
from kwhatif.report.story import Story

#: The what-ifs of an audit, in the order in which they are asked.
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

#: What happens to a cluster, the worst first. This is the order of findings (`questions/audit/ranking.py`).
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

#: Why it happens.
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
    #: How many changes were tried, including the one that helps; null: none was looked for.
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
    #: Why not everything was asked: the time was over, or it was interrupted.
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
