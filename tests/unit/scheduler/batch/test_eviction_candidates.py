"""Nodes on which pods may be evicted for others, kept up to date."""

from collections.abc import Sequence
from typing import Any

import pytest

from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.scheduler.batch import ScheduleResult, result_of
from kwhatif.scheduler.batch.eviction_candidates import EvictionCandidates, candidates_after
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.state.change import Bind, Change, Delete, Upsert
from kwhatif.state.state import State
from tests.builders import NodeBuilder, PodBuilder, budget, node, pod, selector, snapshot

PROFILE = default_profile()
LOW = selector(app="low")


def worker(name: str) -> NodeBuilder:
    return node(name).allocatable(cpu="4", pods="9")


def low(name: str, where: str, priority: int, cpu: str = "2") -> PodBuilder:
    return pod(name).labels(app="low").priority(priority).cpu(cpu).on(where)


def high(number: int = 0) -> PodBuilder:
    return pod(f"high-{number}").priority(100).cpu("2")


def world() -> State:
    """On `a` the least important pod has to go, then on `b`; `c` and `d` are alike."""
    pods = [
        low(f"{name}-{number}", name, priority)
        for name, priority in zip("abcd", (1, 2, 3, 3), strict=True)
        for number in range(2)
    ]
    return snapshot(*map(worker, "abcd"), *pods, budget("guard", 2, LOW))


def preemption_of(whole: Attempt) -> Preemption:
    assert whole.post_filter is not None
    assert isinstance(whole.post_filter.outcome, Preemption)
    return whole.post_filter.outcome


def begun(state: State, asking: PodBuilder) -> EvictionCandidates:
    whole = attempt(PROFILE, asking.info(), state)
    found = candidates_after(whole.cycle, preemption_of(whole), Budgets(state.cluster))
    assert found is not None
    return found


def essence(found: ScheduleResult | None) -> Any:
    assert found is not None
    victims = [(victim.pod.key, victim.budgets, victim.violates) for victim in found.victims]
    uses = found.candidate.budgets if found.candidate else ()
    return found.outcome, found.node, found.message, found.ties, found.tied, victims, uses, found.rejectors


def wholly(asking: PodBuilder, state: State) -> Any:
    return essence(result_of(attempt(PROFILE, asking.info(), state)))


CHANGES: dict[str, tuple[Sequence[Change], Sequence[str], Sequence[str], str | None, Sequence[str]]] = {
    # name: changes, the nodes and budgets that they are about, the best node then, and those of equal rank
    "nothing happens": ((), (), (), "a", ("a",)),
    "an important pod comes": (
        (Delete(Pod, "default/a-0"), Bind(high(8).build(), "a")),
        ("a",),
        (),
        "a",
        ("a",),
    ),
    "the best node is filled with important pods": (
        (
            Delete(Pod, "default/a-0"),
            Delete(Pod, "default/a-1"),
            Bind(high(8).build(), "a"),
            Bind(high(9).build(), "a"),
        ),
        ("a",),
        (),
        "b",
        ("b",),
    ),
    "the two best are out": (
        (Upsert(worker("a").cordoned().build()), Upsert(worker("b").cordoned().build())),
        ("a", "b"),
        (),
        "c",
        ("c", "d"),
    ),
    "the budget allows nothing": ((Upsert(budget("guard", 0, LOW)),), (), ("default/guard",), "a", ("a",)),
    "the budget allows more": ((Upsert(budget("guard", 9, LOW)),), (), ("default/guard",), "a", ("a",)),
    "a less important pod comes elsewhere": (
        (Delete(Pod, "default/c-0"), Bind(low("least", "c", 0).build(), "c")),
        ("c",),
        (),
        "c",
        ("c",),
    ),
    "all are out": (
        tuple(Upsert(worker(name).cordoned().build()) for name in "abcd"),
        tuple("abcd"),
        (),
        None,
        (),
    ),
}


@pytest.mark.parametrize(("changes", "names", "budgets", "best", "ties"), CHANGES.values(), ids=CHANGES)
def test_the_next_pod_evicts_where_that_costs_least_then(
    changes: Sequence[Change], names: Sequence[str], budgets: Sequence[str], best: str | None, ties: Sequence[str]
) -> None:
    state = world()
    candidates = begun(state, high())
    state.apply(*changes)
    assert candidates.knows(budgets)
    candidates.refresh(names, budgets)
    assert candidates.feasible == []
    found = candidates.place(high(1).info())
    assert essence(found) == wholly(high(1), state)
    assert found is not None
    assert (found.node, found.ties) == (best, tuple(ties))


def test_a_node_that_has_room_is_named() -> None:
    """A whole attempt has to say how good it is."""
    state = world()
    candidates = begun(state, high())
    state.apply(Delete(Pod, "default/d-1"))
    candidates.refresh(["d"], ())
    assert candidates.feasible == ["d"]


@pytest.mark.parametrize("name", ["b", "d"])
def test_elsewhere_it_evicts_what_it_would_evict_there(name: str) -> None:
    state = world()
    found = begun(state, high()).place(high(1).info())
    assert found is not None
    there = found.elsewhere(name)
    assert there is not None
    assert (there.outcome, there.node, there.nominated) == ("Preempts", name, name)
    outcome = preemption_of(attempt(PROFILE, high(1).info(), state))
    (expected,) = (each for each in outcome.candidates if each.node == name)
    assert there.candidate is not None
    assert (there.victims, there.candidate.rank) == (expected.victims, expected.rank)
    assert found.elsewhere("a") is not None


def test_other_budgets_are_not_known() -> None:
    state = world()
    candidates = begun(state, high())
    state.apply(Upsert(budget("another", 0, LOW)), Delete(PodDisruptionBudget, "default/guard"))
    assert not candidates.knows(["default/another", "default/guard"])
    assert candidates.knows([])


def test_a_fork_goes_its_own_way() -> None:
    state = world()
    candidates = begun(state, high())
    there = state.fork()
    cycle = attempt(PROFILE, high().info(), there).cycle
    fork = candidates.fork(cycle)
    there.apply(Upsert(worker("a").cordoned().build()))
    fork.refresh(["a"], ())
    for each, where, best in ((fork, there, "b"), (candidates, state, "a")):
        found = each.place(high(1).info())
        assert essence(found) == wholly(high(1), where)
        assert found is not None
        assert found.node == best


def test_who_may_not_evict_is_refused_in_the_schedulers_words() -> None:
    """A pod whose victim is still on its way out waits for it."""
    state = world()
    candidates = begun(state, high())
    evicted = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    state.apply(Upsert(low("a-0", "a", 1).terminating().status(conditions=(evicted,)).build()))
    candidates.refresh(["a"], ())
    nominated = high(1).nominated("a")
    whole = attempt(PROFILE, nominated.info(), state)
    found = candidates.refuse(whole.cycle)
    assert found is not None
    expected = result_of(whole)
    assert (found.outcome, found.message, found.nominated) == (expected.outcome, expected.message, "a")
    assert candidates.refuse(attempt(PROFILE, high(2).info(), state).cycle) is None


# --- A node where a budget guards pods is searched again once the budget allows all of them to go, and not before ---


def guarded_world(guarded: int, allowed: int) -> State:
    """On `a` so many pods have to go that the budget guards; on `b` one that nothing guards, and that matters more."""
    cpu = str(4 // guarded)
    pods = [low(f"a-{number}", "a", 1, cpu) for number in range(guarded)]
    return snapshot(
        worker("a"),
        worker("b"),
        *pods,
        pod("b-0").priority(5).cpu("4").on("b"),
        budget("guard", allowed, LOW),
    )


@pytest.mark.parametrize("guarded", [1, 2, 4])
@pytest.mark.parametrize("before", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("after", [0, 1, 2, 3, 4])
def test_the_next_pod_evicts_as_the_budget_says_by_then(guarded: int, before: int, after: int) -> None:
    state, wanted = guarded_world(guarded, before), high().cpu("4")
    candidates = begun(state, wanted)
    state.apply(Upsert(budget("guard", after, LOW)))
    candidates.refresh((), ["default/guard"])
    found = candidates.place(high(1).cpu("4").info())
    assert found is not None
    assert found.node == ("a" if after >= guarded else "b")
    assert essence(found) == wholly(high(1).cpu("4"), state)
