"""Units: who is evicted together, who may stay first, and what budgets say of them."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Candidate
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.scheduler.preemption.victims import Unit, UnitSearch, by_importance, split_by_budgets, units_on
from kwhatif.state.change import Upsert
from kwhatif.state.state import State
from tests.builders import NodeBuilder, PodBuilder, budget, node, pod, selector, snapshot
from tests.unit.scheduler.groups import group, member
from tests.unit.scheduler.preemption.fakes import cycle_of


def running(name: str, of: str = "", on: str = "n1", priority: int = 0, minute: int = 0) -> PodBuilder:
    built = (member(name, of) if of else pod(name)).on(on).cpu("1").priority(priority)
    return built.started(f"2026-01-01T00:{minute:02}:00Z").labels(app=of or name)


def state(*objects: KubernetesObject | PodBuilder | NodeBuilder) -> State:
    return snapshot(node("n1"), node("n2"), *objects)


def names(units: list[Unit] | tuple[Unit, ...]) -> list[str]:
    return ["+".join(sorted(each.name for each in unit.pods)) for unit in units]


@pytest.mark.parametrize(("whole", "found"), [(False, ["g-0", "g-1", "single"]), (True, ["g-0+g-1+g-2", "single"])])
def test_a_group_goes_as_a_whole_if_it_says_so(whole: bool, found: list[str]) -> None:
    """With its pods on other nodes, and not those that wait."""
    pods = [running("g-0", "g"), running("g-1", "g"), running("g-2", "g", on="n2"), member("g-3", "g")]
    made = state(group("g", whole=whole, priority=7), running("single", priority=3), *pods)
    units = units_on((made.by_name["n1"],), made)
    assert sorted(names(units)) == found
    assert {unit.priority for unit in units if unit.is_of_group} == {7}
    assert [unit.group for unit in units if unit.group] == (["default/g"] if whole else [])


def test_pods_of_a_group_that_is_not_there_are_by_themselves() -> None:
    made = state(running("g-0", "g", priority=4), running("g-1", "g", priority=5))
    units = units_on(made.nodes, made)
    assert [(unit.priority, unit.is_of_group) for unit in units] == [(4, True), (5, True)]


def test_the_most_important_stays_first() -> None:
    """By priority, then groups before pods, then more pods, then who has started earlier."""
    units = {
        "low": Unit((running("low", priority=1).info(),), 1, is_of_group=False),
        "late": Unit((running("late", minute=9).info(),), 5, is_of_group=False),
        "early": Unit((running("early", minute=2).info(),), 5, is_of_group=False),
        "one": Unit((running("one", "g", minute=1).info(),), 5, is_of_group=True),
        "two": Unit((running("a", "h", minute=8).info(), running("b", "h", minute=9).info()), 5, is_of_group=True),
        "never": Unit((pod("never").info(),), 5, is_of_group=False),
        "top": Unit((running("top", minute=30).info(),), 6, is_of_group=False),
    }
    by_id = {id(unit): name for name, unit in units.items()}
    found = [by_id[id(unit)] for unit in by_importance(units.values())]
    assert found == ["top", "two", "one", "early", "late", "never", "low"]


@pytest.mark.parametrize(("allowed", "violating", "violations"), [(0, ["g-0+g-1"], 2), (1, ["g-0+g-1"], 1), (2, [], 0)])
def test_one_pod_that_breaks_a_budget_takes_the_unit_along(allowed: int, violating: list[str], violations: int) -> None:
    made = state(group("g", whole=True), running("g-0", "g"), running("g-1", "g", on="n2"), running("single"))
    made.apply(Upsert(budget("b", allowed, selector(app="g"))))
    units = by_importance(units_on(made.nodes, made))
    split = split_by_budgets(units, Budgets(made.cluster))
    assert names(list(split.violating)) == violating
    assert sorted(names([*split.violating, *split.others])) == ["g-0+g-1", "single"]
    assert split.violations(units) == violations


@pytest.mark.parametrize(
    ("wants", "allowed", "victims"),
    [
        ("1", 9, ["single"]),
        ("2", 9, ["g-0", "g-1"]),
        ("3", 9, ["g-0", "g-1", "single"]),
        ("1", 0, ["single"]),
    ],
    ids=["a pod is enough", "the gang goes, the pod stays", "both go", "the gang's budget is spared"],
)
def test_who_can_stay_stays_as_a_whole(wants: str, allowed: int, victims: list[str]) -> None:
    """The node has 4 cpu, of which one is not to be had."""
    made = state(
        group("g", whole=True),
        running("g-0", "g"),
        running("g-1", "g"),
        running("single"),
        running("kept", priority=200),
    )
    made.apply(Upsert(budget("b", allowed, selector(app="g"))))
    cycle = cycle_of(made, pod("wants").priority(100).cpu(wants))
    found = UnitSearch(cycle, Policy(), Budgets(made.cluster)).on(made.by_name["n1"])
    assert isinstance(found, Candidate)
    assert sorted(victim.pod.name for victim in found.victims) == victims
