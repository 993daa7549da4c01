"""Updates budgets after evictions.

Follows `countHealthyPods` in `pkg/controller/disruption/disruption.go`. The dry run of preemption itself counts every
pod that a budget selects, ready or not: see `budgets`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.kube.model.pod import Pod, pod_condition
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Victim
from kwhatif.state.change import Upsert
from kwhatif.state.state import State


def disrupt(state: State, victims: Iterable[Victim]) -> None:
    """Update the budgets of victims that were removed from the state, as the controller would."""
    disruptions = counted(victims)
    if disruptions:
        state.apply(*map(Upsert, Budgets(state.cluster).spent_by(disruptions)))


def counted(victims: Iterable[Victim]) -> list[tuple[str, ...]]:
    """For each victim that budgets count, the budgets (`namespace/name`)."""
    return [victim.budgets for victim in victims if victim.budgets and _counts_as_healthy(victim.pod.pod)]


def _counts_as_healthy(pod: Pod) -> bool:
    """Whether a budget allows less once the pod is gone: it must be ready, and not already terminating.

    A kubelet sets the condition Ready on every pod that it runs. A pod without it was written by hand, as was its
    budget's status: it counts as ready if it is running.
    """
    if pod.metadata.deletion_timestamp is not None:
        return False
    ready = pod_condition(pod, "Ready")
    if ready is None:
        return pod.status.phase != "Pending"
    return ready.status == "True"
