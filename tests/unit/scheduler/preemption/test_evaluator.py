"""Preemption as a whole, and the extenders that take part in it."""

from typing import Any

import pytest

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.questions.decisions.decide import preemption_row
from kwhatif.scheduler.framework.extender import ExtenderVictims
from kwhatif.scheduler.framework.plugin import PostFilterResult, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status, Verdict, error, unresolvable, unschedulable
from kwhatif.scheduler.preemption.candidate import Candidate, Preemption
from kwhatif.scheduler.preemption.evaluator import Evaluator
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.scheduler.preemption.victims import NO_VICTIMS
from tests.builders import NodeBuilder, PodBuilder, budget, node, pod, selector, snapshot
from tests.unit.scheduler.preemption.fakes import Asked, FakeExtender, broken, cycle_of, essence

Objects = KubernetesObject | PodBuilder | NodeBuilder


def wants(cpu: str = "4") -> PodBuilder:
    return pod("wants").priority(100).cpu(cpu)


def full(name: str, victim_priority: int = 0, *, cpu: str = "4") -> list[Objects]:
    """A node, full of one pod."""
    return [node(name), pod(f"on-{name}").on(name).cpu(cpu).priority(victim_priority).started("2026-01-01T00:00:00Z")]


def evaluate(
    preemptor: PodBuilder, *objects: Objects, plugins: tuple[Any, ...] = (), policy: Policy | None = None
) -> tuple[PostFilterResult, Preemption]:
    cycle = cycle_of(snapshot(*objects), preemptor, *plugins)
    result = Evaluator(policy or Policy()).preempt(cycle)
    assert isinstance(result.outcome, Preemption)
    return result, result.outcome


def test_the_best_candidate_is_nominated_and_all_are_ranked() -> None:
    result, outcome = evaluate(wants(), *full("a", 5), *full("b", 1), *full("c", 3))
    assert (result.status.code, result.nominated, outcome.message) == (Code.SUCCESS, "b", "")
    assert [candidate.node for candidate in outcome.candidates] == ["b", "c", "a"]
    assert outcome.ties == ("b",)
    best, second, _ = outcome.candidates
    assert outcome.deciding_rung(best, second) == "highestPriority"


def test_of_equal_candidates_the_lowest_name_is_taken() -> None:
    result, outcome = evaluate(wants(), *full("z"), *full("b"), *full("worse", 1), *full("m"))
    assert result.nominated == outcome.node == "b"
    assert outcome.ties == ("b", "m", "z")
    assert [candidate.node for candidate in outcome.candidates] == ["b", "m", "z", "worse"]
    assert outcome.deciding_rung(*outcome.candidates[:2]) == ""


def test_a_candidate_that_breaks_no_budget_wins_over_a_lower_priority() -> None:
    guarded = pod("guarded").on("a").cpu("4").priority(-5).labels(app="db")
    _, outcome = evaluate(wants(), node("a"), guarded, *full("b", 9), budget("db", 0, selector(app="db")))
    assert [candidate.node for candidate in outcome.candidates] == ["b", "a"]


def test_nodes_that_were_tried_in_vain_say_why_and_others_are_not_helpful() -> None:
    result, outcome = evaluate(
        wants("2"),
        node("empty-handed"),
        pod("peer").on("empty-handed").cpu("4").priority(100),
        node("still-full"),
        pod("big").on("still-full").cpu("3").priority(100),
        pod("small").on("still-full").cpu("1"),
        node("tiny").allocatable(cpu="1"),
    )
    message = (
        "0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )
    assert result.status == unschedulable(message)
    assert (result.nominated, outcome.message, outcome.node) == ("", message, None)
    assert outcome.rejected == {
        "empty-handed": NO_VICTIMS,
        "still-full": Verdict(unschedulable("Insufficient cpu"), "NodeResourcesFit"),
    }


def test_when_no_node_can_be_helped_none_is_tried() -> None:
    result, outcome = evaluate(wants("9"), node("a"), node("b"), pod("low").on("a").cpu("1"))
    assert result.status.message == "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    assert (result.nominated, outcome.rejected) == ("", {})


def test_a_pod_that_may_not_evict_keeps_its_nomination() -> None:
    result, outcome = evaluate(wants().spec(preemption_policy="Never"), *full("a"))
    assert result.status == unschedulable("not eligible due to preemptionPolicy=Never.")
    assert result.nominated is None
    assert (outcome.eligible, outcome.message) == (False, "not eligible due to preemptionPolicy=Never.")


def test_errors_count_only_when_there_is_no_candidate() -> None:
    def fail_on_a(info: Any) -> Status:
        return error("boom") if info.name == "a" and not info.pods else unschedulable("full") if info.pods else Status()

    picky = Asked(fail_on_a, Reads.PODS)
    result, outcome = evaluate(wants(), *full("a"), *full("b"), plugins=(picky,))
    assert result.nominated == "b"
    assert outcome.rejected["a"].status.code is Code.ERROR
    result, _ = evaluate(wants(), *full("a"), plugins=(picky,))
    assert (result.status, result.nominated) == (error('running "Asked" filter plugin: boom'), None)


def test_several_errors_are_listed_once_each() -> None:
    def fail(info: Any) -> Status:
        return unschedulable("full") if info.pods else error("boom" if info.name != "c" else "bang")

    objects = [*full("a"), *full("b"), *full("c")]
    result, _ = evaluate(wants(), *objects, plugins=(Asked(fail, Reads.PODS),))
    assert result.status.message == '[running "Asked" filter plugin: boom, running "Asked" filter plugin: bang]'


LOWER = pod("lower").priority(99).nominated("a")
EQUAL = pod("equal").priority(100).nominated("b")
ELSEWHERE = pod("elsewhere").nominated("b")


def test_nominations_of_lower_priority_are_cleared() -> None:
    _, outcome = evaluate(wants(), *full("a"), LOWER, node("b").cordoned().allocatable(cpu="1"), EQUAL, ELSEWHERE)
    assert outcome.node == "a"
    assert [each.name for each in outcome.cleared_nominations] == ["lower"]


def test_nominations_stay_when_all_victims_are_dying_anyway() -> None:
    dying = pod("dying").on("a").cpu("4").terminating()
    _, outcome = evaluate(wants(), node("a"), dying, LOWER)
    assert (outcome.node, outcome.cleared_nominations) == ("a", ())


def test_a_rejection_by_pre_filter_that_eviction_may_help_makes_all_nodes_potential() -> None:
    class Rejects:
        name = "Rejects"

        def pre_filter(self, pod: object, snapshot: object) -> Status:
            return unschedulable("not now")

    full_up = Asked(lambda info: unschedulable("full") if info.pods else Status(), Reads.PODS)
    _, outcome = evaluate(wants(), *full("a"), node("b"), plugins=(Rejects(), full_up))
    assert [candidate.node for candidate in outcome.candidates] == ["a"]
    assert outcome.rejected == {"b": NO_VICTIMS}


@pytest.mark.parametrize("status", [unresolvable("never"), error("boom")], ids=["unresolvable", "error"])
def test_other_verdicts_than_unschedulable_rule_a_node_out(status: Status) -> None:
    cycle = cycle_of(snapshot(*full("a"), *full("b")), wants())
    cycle.verdicts["a"] = Verdict(status)
    outcome = Evaluator(Policy()).preempt(cycle).outcome
    assert isinstance(outcome, Preemption)
    assert [candidate.node for candidate in outcome.candidates] == ["b"]
    assert "a" not in outcome.rejected


def test_a_policy_may_rank_its_own_way() -> None:
    class ByZone(Policy):
        rungs = ("zone",)

        def rank(self, info, victims, pdb_violations):  # type: ignore[no-untyped-def]
            return (int(info.labels["zone"]),)

    zoned: list[Objects] = []
    for name, zone in ("a", "2"), ("b", "1"), ("c", "2"):
        zoned += [node(name).labels(zone=zone), pod(f"on-{name}").on(name).cpu("4")]
    result, outcome = evaluate(wants(), *zoned, policy=ByZone())
    assert result.nominated == "b"
    assert outcome.deciding_rung(*outcome.candidates[:2]) == "zone"
    assert outcome.deciding_rung(*outcome.candidates[1:]) == ""


# --- Extenders that take part in preemption -----------------------------------------------------------


SNAPSHOT = snapshot(
    node("a"),
    pod("a1").on("a").cpu("2").priority(1).labels(app="db"),
    pod("a2").on("a").cpu("2"),
    node("b"),
    pod("b1").on("b").cpu("4").priority(2),
    node("c"),
    pod("c1").on("c").cpu("4").priority(200),
    budget("db", 0, selector(app="db")),
)
A1, C1 = (SNAPSHOT.pods[f"default/{name}"] for name in ("a1", "c1"))


def evaluate_with(*extenders: FakeExtender) -> tuple[PostFilterResult, Preemption]:
    """A pod of 2 cpu: without extenders the candidates are `a` (evict a2) and `b` (evict b1)."""
    cycle = cycle_of(SNAPSHOT, pod("wants").priority(100).cpu("2"), extenders=extenders)
    result = Evaluator(Policy()).preempt(cycle)
    assert isinstance(result.outcome, Preemption)
    return result, result.outcome


WITHOUT = preemption_row(evaluate_with()[1])


def candidates(outcome: Preemption) -> dict[str, Candidate]:
    return {candidate.node: candidate for candidate in outcome.candidates}


def test_an_extender_sees_the_candidates_and_may_drop_one() -> None:
    extender = FakeExtender(lambda proposals: {"b": proposals["b"]})
    result, outcome = evaluate_with(extender)
    assert extender.seen is not None
    seen = {
        name: ([p.name for p in proposal.pods], proposal.pdb_violations) for name, proposal in extender.seen.items()
    }
    assert seen == {"a": (["a2"], 0), "b": (["b1"], 0)}
    assert (result.status, result.nominated) == (SUCCESS, "b")
    assert list(map(essence, outcome.candidates)) == [essence(candidates(evaluate_with()[1])["b"])]


def test_an_extender_may_choose_other_victims() -> None:
    _, outcome = evaluate_with(FakeExtender(lambda proposals: {**proposals, "a": ExtenderVictims((A1,), 1)}))
    changed = candidates(outcome)["a"]
    assert [(victim.pod.name, victim.violates) for victim in changed.victims] == [("a1", ("default/db",))]
    assert (changed.pdb_violations, changed.rank[0]) == (1, 1)
    assert [each.pod.name for each in changed.reprieves] == ["a1", "a2"]
    assert outcome.node == "b"


def test_an_extender_may_bring_in_a_node() -> None:
    _, outcome = evaluate_with(FakeExtender(lambda _: {"c": ExtenderVictims((C1,), 0)}))
    assert (outcome.node, outcome.candidates[0].pods, outcome.candidates[0].reprieves) == ("c", (C1,), ())


def test_each_extender_sees_what_the_one_before_left() -> None:
    second = FakeExtender(lambda proposals: proposals)
    evaluate_with(FakeExtender(lambda proposals: {"a": proposals["a"]}), second)
    assert second.seen is not None
    assert list(second.seen) == ["a"]


def test_when_nothing_is_left_nobody_else_is_asked() -> None:
    second = FakeExtender(lambda proposals: proposals)
    result, outcome = evaluate_with(FakeExtender(lambda _: {}), second)
    assert second.seen is None
    assert (result.status, result.nominated) == (unschedulable("no candidate node for preemption"), None)
    assert outcome.candidates == ()


EMPTY = ExtenderVictims((), 0)
FAILURES: dict[str, tuple[Any, str]] = {
    "an error": (broken("no answer"), "no answer"),
    "a node without victims": (
        lambda proposals: {**proposals, "b": EMPTY},
        'expected at least one victim pod on node "b"',
    ),
}


@pytest.mark.parametrize(("reply", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_ends_the_attempt(reply: Any, message: str) -> None:
    result, outcome = evaluate_with(FakeExtender(reply))
    assert (result.status, result.nominated) == (error(message), None)
    assert (outcome.message, outcome.node) == (message, None)


def test_of_an_ignorable_extender_an_error_is_skipped() -> None:
    assert preemption_row(evaluate_with(FakeExtender(broken("no answer"), ignorable=True))[1]) == WITHOUT


def test_of_an_ignorable_extender_a_node_without_victims_is_dropped() -> None:
    _, outcome = evaluate_with(FakeExtender(lambda proposals: {**proposals, "a": EMPTY}, ignorable=True))
    assert list(candidates(outcome)) == ["b"]


def test_an_extender_without_preempt_verb_is_not_asked() -> None:
    extender = FakeExtender(lambda _: {}, preempts=False)
    assert preemption_row(evaluate_with(extender)[1]) == WITHOUT
