"""The rows of the command `advise`: changes that would help."""

from __future__ import annotations

from typing import Any, Literal

from kwhatif.kube.model.meta import Row
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.inputs import SourceRow
from kwhatif.scheduler.framework.evidence import Evidence

#: Possible changes: first those of the manifest, then of the cluster, then waiting.
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
    "claim-class",
    "priority-class",
    "preemption-policy",
    "scheduler-name",
    "min-count",
    "drop-topology",
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
    "raise-group",
    "raise-limit",
    "label-group",
    "wait",
    "job-done",
    "node-ready",
    "claim-bound",
]


AdviceBy = Literal["manifest", "cluster", "waiting"]


class PatchRow(Row):
    """One operation of a JSON patch (RFC 6902); `value` is null for `remove`."""

    op: Literal["add", "remove", "replace"]
    path: str
    value: Any = None


class Advised(Row, kw_only=True):
    """A possible change: `target` is the object to change in the cluster, as `namespace/name` if it has a namespace.

    `about` is the resource, taint, label or topology key, `count` how many nodes or pods.
    """

    kind: AdviceKind
    by: AdviceBy
    target: str = ""
    about: str = ""
    before: str = ""
    after: str = ""
    count: int = 0


class KubectlRow(Row):
    """One call of kubectl: its arguments, and the manifests that it reads from standard input."""

    args: tuple[str, ...]
    manifests: tuple[dict[str, Any], ...] = ()


class AdvisedChangeRow(Advised, kw_only=True):
    """One change of the advice: a patch of `object`, or edits of the cluster as `--if` and `--edits` take them."""

    #: `Deployment shop/web`; null for changes of the cluster.
    object: str | None = None
    #: Whether that object is in the cluster, so that kubectl can patch it; else the file, if it contains only this
    #: object.
    in_cluster: bool = False
    file: str | None = None
    patch: tuple[PatchRow, ...] = ()
    edits: tuple[str | dict[str, Any], ...] = ()
    #: For a change of the cluster: the calls that make it; none if kubectl cannot make it.
    kubectl: tuple[KubectlRow, ...] = ()


class AdviceRow(Row, kw_only=True):
    """Changes that help together; none of them can be left out, or made smaller.

    `outcome` is that of the worst of the workload's pods with them, `node` the node of the first pod that did not fit
    before; `fit` of `of` pods find a node. `decisions` are those of the workload's pods, in short: the proof.
    """

    changes: tuple[AdvisedChangeRow, ...]
    cost: int
    outcome: Outcome
    node: str | None = None
    fit: int
    of: int
    #: The pods that it evicts, if it helps only by eviction.
    victims: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()


class LeftRow(Row, kw_only=True):
    """The obstacles that are left in the nearest case: on this node, after these changes."""

    node: str
    changes: tuple[AdvisedChangeRow, ...] = ()
    plugin: str
    reason: str
    evidence: Evidence | None = None


class GoingRow(Row, kw_only=True):
    """Pods that could make room on a node: those that the scheduler evicts, or others that cost less.

    `priority` is their highest priority, `violates` the budgets that do not allow their eviction; `cost` is as in
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


class AdvisedRow(Row, kw_only=True):
    """What would help one workload, or one pod: `pod` is the first one that does not fit, or evicts others.

    `tried` is how many sets of changes were asked about. Without advice, `left` are the obstacles that remain, and
    `refusal` is the API server's message if it refuses the pod. `going`: the scheduler's victims, then the pods that
    cost less if chosen by hand; empty where there are none.
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
    refusal: str = ""
    going: tuple[GoingRow, ...] = ()
    tried: int = 0


class AdviseRow(Row):
    """What would help each workload that does not fit, or evicts others; `left_out` workloads get no advice."""

    workloads: tuple[AdvisedRow, ...] = ()
    left_out: int = 0
