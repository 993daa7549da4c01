"""Evictions that have happened: what is left of the budgets, and where that matters."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kwhatif.preemption.budgets import Budgets
from kwhatif.preemption.candidate import Victim
from kwhatif.preemption.emptied import outdate
from kwhatif.snapshot.snapshot import Snapshot


class Spent(NamedTuple):
    """A budget that came to allow less."""

    name: str
    #: How many disruptions it allows now.
    allowed: int
    #: The nodes with pods that it may count.
    nodes: AbstractSet[str]


def disrupt(snapshot: Snapshot, victims: Iterable[Victim]) -> tuple[Spent, ...]:
    """The victims are gone from the snapshot: make it say what their budgets allow now, as the controller would."""
    # A pod that was on its way out already does not count as healthy any more.
    disruptions = [victim.budgets for victim in victims if victim.budgets and not victim.pod.terminating]
    if not disruptions:
        return ()
    budgets = Budgets(snapshot.cluster)
    spent = [Spent(name, allowed, _guarded_by(name, budgets, snapshot)) for name, allowed in budgets.spend(disruptions)]
    for _, _, nodes in spent:
        for name in nodes:
            outdate(snapshot.by_name[name])
    return tuple(spent)


def _guarded_by(name: str, budgets: Budgets, snapshot: Snapshot) -> AbstractSet[str]:
    selector = budgets.selector(name)
    groups = snapshot.index.groups(name.partition("/")[0])
    return set().union(*(group.pods for group in groups if selector.matches(group.labels)))
