"""Tolerations (`staging/src/k8s.io/api/core/v1/toleration.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.kube.model.affinity import Toleration
from kwhatif.kube.model.node import Node, Taint

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration tolerates the taint.

    `Lt` and `Gt` never do: the gate TaintTolerationComparisonOperators is off in 1.36.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            return False


def tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """Whether any of the tolerations tolerates the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def first_untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first taint that keeps pods away (NoSchedule, NoExecute) and is not tolerated."""
    for taint in taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, tolerations):
            return taint
    return None


def no_execute_taints(node: Node) -> tuple[Taint, ...]:
    """The taints of the node that evict pods."""
    return tuple([taint for taint in node.spec.taints if taint.effect == NO_EXECUTE])
