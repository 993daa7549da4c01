"""Budgets that are broken by what happens, and not those that were broken before."""

import pytest

from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import SettledCluster, Simulation, harm_of
from kwhatif.simulation.tally import BudgetStanding
from tests.builders import cluster, node
from tests.unit.questions.maintenance.test_drain import QUICK


def standings(**overruns: int) -> dict[str, BudgetStanding]:
    """By how many pods each budget was below what it asks for, at the worst moment."""
    return {
        f"shop/{name}": BudgetStanding(allowed=0, lowest=0, overrun=overrun, short=0, most_healthy=3)
        for name, overrun in overruns.items()
    }


#: Before it, at its end, and which budgets it has broken.
CASES: dict[str, tuple[dict[str, int], dict[str, int], tuple[str, ...]]] = {
    "none": ({"a": 0}, {"a": 0}, ()),
    "one": ({"a": 0}, {"a": 1}, ("shop/a",)),
    "it was so before": ({"a": 1}, {"a": 1}, ()),
    "it is worse than before": ({"a": 1}, {"a": 2}, ("shop/a",)),
    "one of two": ({"a": 2, "b": 0}, {"a": 2, "b": 2}, ("shop/b",)),
    "by their names": ({"b": 0, "a": 0}, {"b": 1, "a": 1}, ("shop/a", "shop/b")),
    "one that is new": ({}, {"a": 1}, ("shop/a",)),
    "one that is new and holds": ({}, {"a": 0}, ()),
}


@pytest.mark.parametrize(("before", "after", "broken"), CASES.values(), ids=CASES.keys())
def test_only_what_is_worse_than_before_is_broken(
    before: dict[str, int], after: dict[str, int], broken: tuple[str, ...]
) -> None:
    base = SettledCluster(Session.of(cluster(node("n1"))), QUICK)
    played = Simulation(base)
    base.engine.tally.budgets = standings(**before)
    played.engine.tally.budgets = standings(**after)
    assert played.broken == broken


def test_harm_counts_what_is_worse_than_before() -> None:
    base = SettledCluster(Session.of(cluster(node("n1"))), QUICK)
    played = Simulation(base)
    base.engine.tally.budgets = standings(a=1, b=0)
    played.engine.tally.budgets = standings(a=2, b=2)
    assert harm_of(played.engine, base.engine) == (0, 0, 3, 0)
