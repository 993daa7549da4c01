"""`WorkloadUpdate`: what applying a workload changes, and helpers that all kinds share."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from kwhatif.admission.outcome import Denied
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.pod import Pod
from kwhatif.workloads.expansion import Expansion

#: `end`: step by step until it is done, or hangs. `final`: the end state. `surge`: the moment with the most pods,
#: while old ones are still there.
Rollout = Literal["end", "final", "surge"]
Kind = Literal["new", "unchanged", "scaled", "changed", "restarted"]

_PERCENT = re.compile(r"(\d{1,18})%")


class WorkloadUpdate(msgspec.Struct, frozen=True):
    """Pods that go, and pods that come: the difference that applying the workload makes."""

    kind: Kind
    removed: tuple[Pod, ...] = ()
    added: Expansion = Expansion()
    #: The API server would not take the change.
    denied: Denied | None = None
    #: What had to be assumed.
    caveat: Caveat | None = None
    #: Whether pods are replaced step by step, as only a simulation can say; nothing else is given here.
    rolls: bool = False


UNCHANGED, ROLLS = WorkloadUpdate("unchanged"), WorkloadUpdate("changed", rolls=True)


def resolved(bound: int | str | None, total: int, *, default: int | str, round_up: bool) -> int:
    """A number as it is, a percentage of the total (`GetScaledValueFromIntOrPercent`).

    What is neither the API server would refuse; it counts as nothing.
    """
    value = default if bound is None else bound
    if isinstance(value, int):
        return value
    percent = _PERCENT.fullmatch(value)
    if percent is None:
        return 0
    parts = int(percent[1]) * total
    return -(-parts // 100) if round_up else parts // 100
