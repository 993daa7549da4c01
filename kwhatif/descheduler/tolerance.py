"""Tolerations as in the descheduler, which also supports the operators `Lt` and `Gt`.

kube-scheduler 1.36 supports these operators only if a feature gate is on; the descheduler always does
(`utils/predicates.go`, TolerationsTolerateTaint).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kwhatif.kube.matching.tolerations import NO_EXECUTE, NO_SCHEDULE, tolerates
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod import Pod


def keeps_away(taint: Taint) -> bool:
    """Whether the taint keeps new pods away."""
    return taint.effect in (NO_SCHEDULE, NO_EXECUTE)


def untolerated(pod: Pod, taints: Sequence[Taint], counts: Callable[[Taint], bool] = lambda _: True) -> Taint | None:
    """The first relevant taint that the pod does not tolerate."""
    for taint in taints:
        if counts(taint) and not any(
            tolerates(toleration, taint, compares=True) for toleration in pod.spec.tolerations
        ):
            return taint
    return None
