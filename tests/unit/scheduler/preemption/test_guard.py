"""What a policy of your own raises is reported with plugin, pod and node."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.errors import PluginFailed
from kwhatif.scheduler.preemption.evaluator import Evaluator
from kwhatif.scheduler.preemption.policy import GuardedPolicy, Policy
from tests.builders import node, pod, snapshot
from tests.unit.scheduler.preemption.fakes import cycle_of

SNAPSHOT = snapshot(node("a"), pod("a1").on("a").cpu("4"))


def preempt(policy: Policy) -> Any:
    cycle = cycle_of(SNAPSHOT, pod("wants").priority(100).cpu("2"))
    return Evaluator(GuardedPolicy(policy, "Own")).preempt(cycle)


def failing(method: str, answer: Any = None) -> Policy:
    def fail(*_: object) -> Any:
        if answer is None:
            raise ZeroDivisionError("division by zero")
        return answer

    return type("Failing", (Policy,), {method: fail})()


FAILURES = {
    "why_not_eligible": (failing("why_not_eligible"), ": ZeroDivisionError: division by zero"),
    "potential_victims": (failing("potential_victims"), " on node a: ZeroDivisionError: division by zero"),
    "by_importance": (failing("by_importance"), " on node a: ZeroDivisionError: division by zero"),
    "rank": (failing("rank"), " on node a: ZeroDivisionError: division by zero"),
    "no reason": (failing("why_not_eligible", 3), ": it returned int, not str"),
    "no list of victims": (failing("potential_victims", "a1"), " on node a: it returned str, not list"),
    "a rank of its own, and no rungs": (
        failing("rank", (1, 2)),
        " on node a: it returned a rank of 2 numbers for 5 rungs",
    ),
}


@pytest.mark.parametrize(("policy", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_failures(policy: Policy, message: str) -> None:
    with pytest.raises(PluginFailed) as caught:
        preempt(policy)
    assert str(caught.value) == f"plugin Own failed in PostFilter for pod default/wants{message}"


def test_a_policy_that_behaves_is_not_changed() -> None:
    class Fewest(Policy):
        rungs = ("victims",)

        def rank(self, node: Any, victims: Any, pdb_violations: int) -> tuple[int, ...]:
            return (len(victims),)

    outcome = preempt(Fewest()).outcome
    assert (outcome.node, outcome.rungs, outcome.candidates[0].rank) == ("a", ("victims",), (1,))
