"""Victims by owner and count, and how their budgets run down."""

from __future__ import annotations

from kwhatif.render.evidence import victim_groups
from kwhatif.report.decision import BudgetRow, CandidateRow, VictimRow


def victim(pod: str, *, violates: bool = False, workload: str | None = "Deployment ml/trainer") -> VictimRow:
    broken = ("ml/trainer",) if violates else ()
    return VictimRow(pod=pod, priority=-5, owner=workload, workload=workload, budgets=("ml/trainer",), violates=broken)


def candidate(before: int, *victims: VictimRow) -> CandidateRow:
    after = before - len(victims)
    budgets = (BudgetRow(budget="ml/trainer", before=before, after=after),)
    return CandidateRow(node="n1", pdb_violations=0, victims=victims, ladder={}, budgets=budgets)


def shown(row: CandidateRow, *, each: bool = False) -> list[tuple[str, str, list[str]]]:
    return [(group.name, group.owner, group.budgets) for group in victim_groups(row, each=each)]


def test_pods_of_one_owner_are_together() -> None:
    assert shown(candidate(1, victim("ml/a", violates=True), victim("ml/b"))) == [
        ("2 pods", "Deployment ml/trainer", ["ml/trainer 1 → 0 → -1 VIOLATED"])
    ]


def test_each_pod_has_its_own_step_and_those_that_violate_come_last() -> None:
    assert shown(candidate(1, victim("ml/a", violates=True), victim("ml/b")), each=True) == [
        ("ml/a", "Deployment ml/trainer", ["ml/trainer 0 → -1 VIOLATED"]),
        ("ml/b", "Deployment ml/trainer", ["ml/trainer 1 → 0"]),
    ]


def test_a_long_run_is_shortened() -> None:
    victims = [victim(f"ml/{number}") for number in range(7)]
    assert shown(candidate(9, *victims))[0][2] == ["ml/trainer 9 → 8 → … → 2"]


def test_pods_without_an_owner_stand_for_themselves() -> None:
    row = candidate(5, victim("ml/a", workload=None), victim("ml/b", workload=None))
    assert [name for name, _, _ in shown(row)] == ["ml/a", "ml/b"]
