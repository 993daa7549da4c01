"""What becomes of many pods, in one sentence."""

from __future__ import annotations

import pytest

from kwhatif.report import CandidateRow, Decision, Outcome, PreemptionRow, VictimRow
from kwhatif.whatif.workload_rows import ordinal, sentence

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
        ("p", "placed on n1"),
        ("e", "evicts batch/v1"),
        ("ppp", "all 3 placed on 2 nodes"),
        ("pppppe", "5 of 6 placed; the 6th evicts batch/v6"),
        ("ppeeu", "2 of 5 placed; the 3rd and 4th evict batch/v3, batch/v4; the 5th stays pending"),
        ("eppeu", "2 of 5 placed; the 1st evicts batch/v1; the 4th evicts batch/v4; the 5th stays pending"),
        ("eeeee", "all 5 evict batch/v1, batch/v2, batch/v3 and 2 more"),
        (
            "eeeeu",
            "none of 5 placed; the 1st to 4th evict batch/v1, batch/v2, batch/v3, batch/v4; the 5th stays pending",
        ),
        ("pupupupe", "4 of 8 placed; 3 stay pending; 1 evicts batch/v8"),
        ("pd", "1 of 2 placed; the 2nd is refused"),
        ("gg", "all 2 are not queued"),
        ("pi", "1 of 2 placed; the 2nd is not judged"),
    ],
)
def test_sentences(letters: str, expected: str) -> None:
    assert sentence("new", 0, decisions(letters)) == expected


@pytest.mark.parametrize(
    ("update", "removed", "letters", "expected"),
    [
        ("unchanged", 0, "", "unchanged"),
        ("scaled", 3, "", "3 removed"),
        ("changed", 2, "pp", "2 removed; all 2 placed on 2 nodes"),
        ("new", 0, "", "makes no pods"),
    ],
)
def test_updates(update: str, removed: int, letters: str, expected: str) -> None:
    assert sentence(update, removed, decisions(letters)) == expected


def test_ordinals() -> None:
    told = [ordinal(number) for number in (1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 23, 101, 111, 112)]
    assert told == "1st 2nd 3rd 4th 10th 11th 12th 13th 21st 22nd 23rd 101st 111th 112th".split()
