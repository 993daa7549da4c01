"""Tolerations as in the descheduler, which also supports the operators `Lt` and `Gt`.

kube-scheduler 1.36 supports these operators only if a feature gate is on; the descheduler always does
(`utils/predicates.go`, TolerationsTolerateTaint).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kwhatif.kube.matching.labels import parse_int64
from kwhatif.kube.matching.tolerations import NO_EXECUTE, NO_SCHEDULE, tolerates
from kwhatif.kube.model.affinity import Toleration
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod import Pod

_DECIMAL = re.compile(r"-?[1-9][0-9]*|0")


def keeps_away(taint: Taint) -> bool:
    """Whether the taint keeps new pods away."""
    return taint.effect in (NO_SCHEDULE, NO_EXECUTE)


def untolerated(pod: Pod, taints: Sequence[Taint], counts: Callable[[Taint], bool] = lambda _: True) -> Taint | None:
    """The first relevant taint that the pod does not tolerate."""
    for taint in taints:
        if counts(taint) and not any(_tolerates(toleration, taint) for toleration in pod.spec.tolerations):
            return taint
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.operator not in ("Lt", "Gt"):
        return tolerates(toleration, taint)
    if (toleration.effect or taint.effect) != taint.effect or (toleration.key or taint.key) != taint.key:
        return False
    bound, value = _integer(toleration.value), _integer(taint.value)
    if bound is None or value is None:
        return False
    return value < bound if toleration.operator == "Lt" else value > bound


def _integer(text: str) -> int | None:
    return parse_int64(text) if _DECIMAL.fullmatch(text) else None
