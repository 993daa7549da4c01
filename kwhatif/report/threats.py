"""What could evict pods, and which pods a node takes: what the commands `threats` and `who-fits` add to a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from kwhatif.kube.model.meta import Row

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
    #: Of `pending`, `template` and `class`: the priority of the pod that comes.
    priority: int | None = None
    #: Of `class`: the requests of that pod, in the scheduler's units: milli-CPU, bytes.
    requests: Mapping[str, int] = {}
    #: Of `class`: the only node that such a pod may use, whose taints it tolerates; "": any node.
    node: str = ""
    #: Of `class`: the pod, to try it with `kwhatif preempt FILE`.
    manifest: Mapping[str, Any] | None = None
    #: Of `outage` and `drain`: the workload whose pod takes the room; "": the pods are on the node itself.
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

    #: What was asked about: `Pod shop/web-0`, `Deployment shop/web`, `Node a1`, `PriorityClass high`.
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
    #: For how many workloads one more pod was tried, and how many nodes were lost and drained, one by one.
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
    #: What is left on it of each of its resources, in the scheduler's units; with `pods`.
    free: Mapping[str, int]
    pods: int
    takers: tuple[TakerRow, ...] = ()

    def fitting(self, *, pending: bool) -> tuple[TakerRow, ...]:
        """Those that it takes."""
        return tuple(each for each in self.takers if each.pending is pending and each.verdict != "no")
