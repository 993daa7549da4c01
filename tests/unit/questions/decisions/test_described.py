"""`UncountedEvictions`: what is left of budgets while their controller has not counted yet."""

from kwhatif.questions.decisions.described import UncountedEvictions
from kwhatif.report.decision import BudgetRow, CandidateRow, Decision, PreemptionRow, VictimRow
from kwhatif.scheduler.preemption.candidate import Victim
from kwhatif.state.pod_info import PodInfo
from tests.builders import pod


def decision(budget: BudgetRow, *victims: VictimRow) -> Decision:
    chosen = CandidateRow(node="n1", pdb_violations=0, victims=victims, ladder={}, budgets=(budget,))
    other = CandidateRow(node="n2", pdb_violations=0, victims=victims, ladder={}, budgets=(budget,))
    preemption = PreemptionRow(eligible=True, node="n1", ties=("n1",), candidates=(chosen, other))
    return Decision(pod="a/high", outcome="Preempts", node="n1", preemption=preemption)


def web(name: str) -> VictimRow:
    return VictimRow(pod=f"a/{name}", priority=0, budgets=("a/web",))


def taken(*, ready: bool = True) -> Victim:
    there = pod("web-0").on("n1")
    return Victim(PodInfo((there if ready else there.terminating()).build()), ("a/web",))


def test_a_budget_is_broken_by_the_pods_for_which_nothing_is_left() -> None:
    burst = UncountedEvictions()
    first = decision(BudgetRow(budget="a/web", before=2, after=0), web("web-1"), web("web-2"))
    assert burst.as_left(first) == first
    burst.add([taken()])
    found = burst.as_left(first).preemption
    assert found is not None
    chosen, other = found.candidates
    assert chosen.budgets == (BudgetRow(budget="a/web", before=1, after=-1),)
    assert [victim.violates for victim in chosen.victims] == [(), ("a/web",)]
    assert chosen.pdb_violations == 0, "so the scheduler chose"
    assert other.budgets == (BudgetRow(budget="a/web", before=2, after=0),)


def test_what_the_controller_has_counted_and_what_does_not_count_is_not_taken_twice() -> None:
    burst = UncountedEvictions()
    row = decision(BudgetRow(budget="a/web", before=1, after=0), web("web-1"))
    burst.add([taken(ready=False)])
    assert burst.as_left(row) == row
    burst.add([taken()])
    burst.over("a/web")
    assert burst.as_left(row) == row
