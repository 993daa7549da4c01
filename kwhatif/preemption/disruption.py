"""Evictions that have happened: what is left of the budgets, and where that matters.

Follows `countHealthyPods` in `pkg/controller/disruption/disruption.go`. The dry run of preemption itself counts every
pod that a budget selects, ready or not: see `budgets`.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kwhatif.model.cluster import key_of
from kwhatif.model.pod import Pod, pod_condition
from kwhatif.model.policy import PodDisruptionBudget
from kwhatif.preemption.budgets import Budgets
from kwhatif.preemption.candidate import Victim
from kwhatif.state.change import Upsert
from kwhatif.state.state import State


class Spent(NamedTuple):
    """A budget that came to allow less."""

    name: str
    #: How many disruptions it allows now.
    allowed: int
    #: The nodes with pods that it may count.
    nodes: AbstractSet[str]


def disrupt(snapshot: State, victims: Iterable[Victim]) -> tuple[Spent, ...]:
    """The victims are gone from the state: make it say what their budgets allow now, as the controller would."""
    disruptions = [victim.budgets for victim in victims if victim.budgets and _counts_as_healthy(victim.pod.pod)]
    if not disruptions:
        return ()
    budgets = Budgets(snapshot.cluster)
    spent = list(budgets.spent_by(disruptions))
    snapshot.apply(*map(Upsert, spent))
    return tuple([_spent(pdb, budgets, snapshot) for pdb in spent])


def _spent(pdb: PodDisruptionBudget, budgets: Budgets, snapshot: State) -> Spent:
    name = key_of(pdb)
    assert pdb.status is not None, "it says what is allowed now"
    return Spent(name, pdb.status.disruptions_allowed, _guarded_by(name, budgets, snapshot))


def _counts_as_healthy(pod: Pod) -> bool:
    """Whether a budget allows less once the pod is gone: it must be ready, and not on its way out already.

    A kubelet writes the condition Ready into every pod that it runs. A pod without it was written by hand, as were its
    budget's numbers: it counts as ready if it runs.
    """
    if pod.metadata.deletion_timestamp is not None:
        return False
    ready = pod_condition(pod, "Ready")
    if ready is None:
        return pod.status.phase != "Pending"
    return ready.status == "True"


def _guarded_by(name: str, budgets: Budgets, snapshot: State) -> AbstractSet[str]:
    selector = budgets.selector(name)
    groups = snapshot.index.groups(name.partition("/")[0])
    return set().union(*(group.pods for group in groups if selector.matches(group.labels)))
