"""What becomes of many pods, in one sentence."""

import pytest

from kwhatif.render.workloads import sentence, victims_by_owner
from kwhatif.report.decision import CandidateRow, Decision, Outcome, PreemptionRow, UpdateKind, VictimRow, evicted

_OUTCOMES: dict[str, Outcome] = {
    "p": "Placed",
    "e": "Preempts",
    "u": "Unschedulable",
    "g": "Gated",
    "d": "Denied",
    "i": "Ignored",
}


def decisions(letters: str) -> list[Decision]:
    """One decision per letter; those that evict, evict a pod of their number; placed ones land on two nodes."""
    return [_decision(number, letter) for number, letter in enumerate(letters, 1)]


def _decision(number: int, letter: str) -> Decision:
    node = f"n{number % 2}" if letter in "pe" else None
    preemption = None
    if letter == "e":
        victim = VictimRow(pod=f"batch/v{number}", priority=0)
        candidate = CandidateRow(node=str(node), pdb_violations=0, victims=(victim,), ladder={})
        preemption = PreemptionRow(eligible=True, node=node, candidates=(candidate,))
    return Decision(pod=f"a/{number}", outcome=_OUTCOMES[letter], node=node, preemption=preemption)


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("p", "fits on n1"),
        ("e", "would evict pod batch/v1 (priority 0)"),
        ("ppp", "all 3 pods fit on 2 nodes"),
        ("pppppe", "5 of 6 pods fit, 1 would evict pod batch/v6 (priority 0)"),
        ("ppeeu", "2 of 5 pods fit, 2 would evict 2 pods without an owner (priority 0), 1 stays pending"),
        ("puuuu", "1 of 5 pods fits, 4 stay pending"),
        ("eeeee", "all 5 pods would evict 5 pods without an owner (priority 0)"),
        ("eeu", "none of 3 pods fit, 2 would evict 2 pods without an owner (priority 0), 1 stays pending"),
        ("pupupupe", "4 of 8 pods fit, 3 stay pending, 1 would evict pod batch/v8 (priority 0)"),
        ("pd", "1 of 2 pods fits, 1 is refused"),
        ("gg", "all 2 pods are not queued"),
        ("pi", "1 of 2 pods fits, 1 is not judged"),
    ],
)
def test_sentences(letters: str, expected: str) -> None:
    assert sentence("new", 0, decisions(letters)) == expected


@pytest.mark.parametrize(
    ("update", "removed", "letters", "expected"),
    [
        ("unchanged", 0, "", "unchanged"),
        ("scaled", 3, "", "3 removed"),
        ("changed", 2, "pp", "2 removed; all 2 pods fit on 2 nodes"),
        ("restarted", 2, "pp", "all 2 pods fit on 2 nodes"),
        ("unchanged", 0, "pu", "unchanged, but not all of its pods run; 1 of 2 pods fits, 1 stays pending"),
        ("new", 0, "", "makes no pods"),
    ],
)
def test_updates(update: UpdateKind, removed: int, letters: str, expected: str) -> None:
    assert sentence(update, removed, decisions(letters)) == expected


def of(workload: str | None, number: int, priority: int = -10) -> VictimRow:
    return VictimRow(pod=f"batch/v{number}", priority=priority, owner=workload, workload=workload)


@pytest.mark.parametrize(
    ("victims", "expected"),
    [
        ([], ""),
        ([of("Job batch/etl", 1)], "1 pod of Job batch/etl (priority -10)"),
        ([of("Job batch/etl", 1), of("Job batch/etl", 2)], "2 pods of Job batch/etl (priority -10)"),
        ([of(None, 1)], "pod batch/v1 (priority -10)"),
        ([of(None, 1), of(None, 2)], "2 pods without an owner (priority -10)"),
        (
            [of("StatefulSet a/db", 1), of("StatefulSet a/db", 2, 5), of(None, 3)],
            "1 pod of StatefulSet a/db (priority -10), 1 pod of StatefulSet a/db (priority 5)"
            " and pod batch/v3 (priority -10)",
        ),
        (
            [of(f"Job a/j{number}", number) for number in range(5)],
            "1 pod of Job a/j0 (priority -10), 1 pod of Job a/j1 (priority -10), 1 pod of Job a/j2 (priority -10)"
            " and 2 more",
        ),
    ],
)
def test_victims_are_named_by_owner_and_count(victims: list[VictimRow], expected: str) -> None:
    assert victims_by_owner(evicted(victims)) == expected


def test_an_owner_stands_in_for_a_workload_that_is_not_known() -> None:
    victim = VictimRow(pod="a/b", priority=0, owner="Job a/j")
    assert victims_by_owner(evicted([victim])) == "1 pod of Job a/j (priority 0)"
