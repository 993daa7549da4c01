"""Tolerations (`staging/src/k8s.io/api/core/v1/toleration.go`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kwhatif.kube.matching.labels import parse_int64
from kwhatif.kube.model.affinity import Toleration
from kwhatif.kube.model.node import Node, Taint

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
_DECIMAL = re.compile(r"-?[1-9][0-9]*|0")
UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def tolerates(toleration: Toleration, taint: Taint, *, compares: bool = False) -> bool:
    """Whether the toleration tolerates the taint.

    `Lt` and `Gt` do only for who `compares`: the gate TaintTolerationComparisonOperators is off in 1.36.
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
        case "Lt" | "Gt" if compares:
            return _compares(toleration, taint)
        case _:
            return False


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Whether the taint's number is less, or greater, than the toleration's (`compareNumericValues`)."""
    bound, number = _integer(toleration.value), _integer(taint.value)
    if bound is None or number is None:
        return False
    return number < bound if toleration.operator == "Lt" else number > bound


def _integer(text: str) -> int | None:
    return parse_int64(text) if _DECIMAL.fullmatch(text) else None


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
