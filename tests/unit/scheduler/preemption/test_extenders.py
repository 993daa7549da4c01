"""Extenders that take part in preemption."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.questions.decisions.decide import preemption_row
from kwhatif.scheduler.framework.extender import ExtenderVictims
from kwhatif.scheduler.framework.plugin import PostFilterResult
from kwhatif.scheduler.framework.status import SUCCESS, error, unschedulable
from kwhatif.scheduler.preemption.candidate import Candidate, Preemption
from kwhatif.scheduler.preemption.evaluator import Evaluator
from kwhatif.scheduler.preemption.policy import Policy
from tests.builders import budget, node, pod, selector, snapshot
from tests.unit.scheduler.preemption.fakes import FakeExtender, broken, cycle_of, essence

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


def evaluate(*extenders: FakeExtender) -> tuple[PostFilterResult, Preemption]:
    """A pod of 2 cpu: without extenders the candidates are `a` (evict a2) and `b` (evict b1)."""
    cycle = cycle_of(SNAPSHOT, pod("wants").priority(100).cpu("2"), extenders=extenders)
    result = Evaluator(Policy()).preempt(cycle)
    assert isinstance(result.outcome, Preemption)
    return result, result.outcome


WITHOUT = preemption_row(evaluate()[1])


def candidates(outcome: Preemption) -> dict[str, Candidate]:
    return {candidate.node: candidate for candidate in outcome.candidates}


def test_an_extender_sees_the_candidates_and_may_drop_one() -> None:
    extender = FakeExtender(lambda proposals: {"b": proposals["b"]})
    result, outcome = evaluate(extender)
    assert extender.seen is not None
    seen = {
        name: ([p.name for p in proposal.pods], proposal.pdb_violations) for name, proposal in extender.seen.items()
    }
    assert seen == {"a": (["a2"], 0), "b": (["b1"], 0)}
    assert (result.status, result.nominated) == (SUCCESS, "b")
    assert list(map(essence, outcome.candidates)) == [essence(candidates(evaluate()[1])["b"])]


def test_an_extender_may_choose_other_victims() -> None:
    _, outcome = evaluate(FakeExtender(lambda proposals: {**proposals, "a": ExtenderVictims((A1,), 1)}))
    changed = candidates(outcome)["a"]
    assert [(victim.pod.name, victim.violates) for victim in changed.victims] == [("a1", ("default/db",))]
    assert (changed.pdb_violations, changed.rank[0]) == (1, 1)
    assert [each.pod.name for each in changed.reprieves] == ["a1", "a2"]
    assert outcome.node == "b"


def test_an_extender_may_bring_in_a_node() -> None:
    _, outcome = evaluate(FakeExtender(lambda _: {"c": ExtenderVictims((C1,), 0)}))
    assert (outcome.node, outcome.candidates[0].pods, outcome.candidates[0].reprieves) == ("c", (C1,), ())


def test_each_extender_sees_what_the_one_before_left() -> None:
    second = FakeExtender(lambda proposals: proposals)
    evaluate(FakeExtender(lambda proposals: {"a": proposals["a"]}), second)
    assert second.seen is not None
    assert list(second.seen) == ["a"]


def test_when_nothing_is_left_nobody_else_is_asked() -> None:
    second = FakeExtender(lambda proposals: proposals)
    result, outcome = evaluate(FakeExtender(lambda _: {}), second)
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
    result, outcome = evaluate(FakeExtender(reply))
    assert (result.status, result.nominated) == (error(message), None)
    assert (outcome.message, outcome.node) == (message, None)


def test_of_an_ignorable_extender_an_error_is_skipped() -> None:
    assert preemption_row(evaluate(FakeExtender(broken("no answer"), ignorable=True))[1]) == WITHOUT


def test_of_an_ignorable_extender_a_node_without_victims_is_dropped() -> None:
    _, outcome = evaluate(FakeExtender(lambda proposals: {**proposals, "a": EMPTY}, ignorable=True))
    assert list(candidates(outcome)) == ["b"]


def test_an_extender_without_preempt_verb_is_not_asked() -> None:
    extender = FakeExtender(lambda _: {}, preempts=False)
    assert preemption_row(evaluate(extender)[1]) == WITHOUT
