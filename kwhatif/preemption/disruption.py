"""Evictions that have happened: what is left of the budgets, and where that matters."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kwhatif.model.cluster import key_of
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
    # A pod that was on its way out already does not count as healthy any more.
    disruptions = [victim.budgets for victim in victims if victim.budgets and not victim.pod.terminating]
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


def _guarded_by(name: str, budgets: Budgets, snapshot: State) -> AbstractSet[str]:
    selector = budgets.selector(name)
    groups = snapshot.index.groups(name.partition("/")[0])
    return set().union(*(group.pods for group in groups if selector.matches(group.labels)))
