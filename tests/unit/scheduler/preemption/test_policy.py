"""Who may evict, and whom; and what is said of a policy of your own that raises."""

from typing import Any

import pytest

from kwhatif.errors import PluginFailed
from kwhatif.kube.model.pod import PodCondition
from kwhatif.scheduler.framework.status import Status, unresolvable, unschedulable
from kwhatif.scheduler.preemption.evaluator import Evaluator
from kwhatif.scheduler.preemption.guard import GuardedPolicy
from kwhatif.scheduler.preemption.policy import NEVER, TERMINATING, Policy
from tests.builders import PodBuilder, node, pod, snapshot
from tests.unit.scheduler.preemption.fakes import Asked, cycle_of

EVICTED = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
DRAINED = PodCondition(type="DisruptionTarget", status="True", reason="EvictionByEvictionAPI")
UNTRUE = PodCondition(type="DisruptionTarget", status="False", reason="PreemptionByScheduler")


def victim(*conditions: PodCondition) -> PodBuilder:
    return pod("victim").on("n1").terminating().status(conditions=conditions)


FULL = unschedulable("full")
TAINTED = unresolvable("tainted")


def wants() -> PodBuilder:
    return pod("wants").priority(10)


CASES = {
    "a pod without nomination may": (wants(), victim(EVICTED), FULL, ""),
    "preemptionPolicy Never may not": (pod("wants").spec(preemption_policy="Never"), victim(EVICTED), FULL, NEVER),
    "not while its victims leave the nominated node": (wants().nominated("n1"), victim(EVICTED), FULL, TERMINATING),
    "again when the nominated node became unresolvable": (wants().nominated("n1"), victim(EVICTED), TAINTED, ""),
    "when the nominated node is gone": (wants().nominated("gone"), victim(EVICTED), FULL, ""),
    "when the leaving pod was not evicted for preemption": (wants().nominated("n1"), victim(DRAINED), FULL, ""),
    "when the condition is not true": (wants().nominated("n1"), victim(UNTRUE), FULL, ""),
    "only the first condition of the type counts": (wants().nominated("n1"), victim(DRAINED, EVICTED), FULL, ""),
    "when no condition says why the pod is leaving": (wants().nominated("n1"), victim(), FULL, ""),
    "when the evicted pod is not being deleted yet": (
        wants().nominated("n1"),
        pod("victim").on("n1").status(conditions=(EVICTED,)),
        FULL,
        "",
    ),
    "when the leaving pod has the same priority": (
        wants().nominated("n1"),
        victim(EVICTED).priority(10),
        FULL,
        "",
    ),
}


@pytest.mark.parametrize(("preemptor", "victim", "answer", "expected"), CASES.values(), ids=CASES.keys())
def test_may_the_pod_evict(preemptor: PodBuilder, victim: PodBuilder, answer: Status, expected: str) -> None:
    cycle = cycle_of(snapshot(node("n1"), victim), preemptor, Asked(lambda _: answer))
    assert Policy().why_not_eligible(cycle) == expected


def test_a_nominated_node_outside_the_node_set_counts_by_the_status_of_the_set() -> None:
    plugin = Asked(lambda _: FULL)
    plugin.filter.only_nodes = frozenset(["n2"])
    cycle = cycle_of(snapshot(node("n1"), node("n2"), victim(EVICTED)), wants().nominated("n1"), plugin)
    cycle.verdicts.pop("n1")  # the fast path looked at it; without that only the node set speaks
    assert Policy().why_not_eligible(cycle) == ""


def test_victims_have_a_lower_priority_whatever_else_they_are() -> None:
    snap = snapshot(
        node("n1"),
        pod("a").on("n1").priority(9),
        pod("b").on("n1").priority(10),
        pod("c", "other").on("n1").spec(scheduler_name="mine"),
        pod("d").on("n1").terminating(),
        pod("e").on("n1").priority(11),
    )
    found = Policy().potential_victims(wants().info(), snap.by_name["n1"])
    assert [each.key for each in found] == ["default/a", "default/d", "other/c"]


# --- What a policy of your own raises is reported with plugin, pod and node ---------------------------


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
