"""A node where a budget guards pods is searched again once the budget allows all of them to go, and not before."""

from __future__ import annotations

import pytest

from kwhatif.state.change import Upsert
from kwhatif.state.state import State
from tests.builders import budget, pod, snapshot
from tests.unit.scheduler.batch.test_eviction_candidates import LOW, begun, essence, high, low, wholly, worker


def world(guarded: int, allowed: int) -> State:
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
    state, wanted = world(guarded, before), high().cpu("4")
    candidates = begun(state, wanted)
    state.apply(Upsert(budget("guard", after, LOW)))
    candidates.refresh((), ["default/guard"])
    found = candidates.place(high(1).cpu("4").info())
    assert found is not None
    assert found.node == ("a" if after >= guarded else "b")
    assert essence(found) == wholly(high(1).cpu("4"), state)
