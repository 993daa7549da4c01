"""Which changes decide: taken back one after another, by an answer that is a function of what is taken back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

import kwhatif
from kwhatif.questions.upgrade.blame import Blame
from kwhatif.scheduler.release.changes import ReleaseChange
from tests.unit.questions.test_upgrade import NODES

A, B = ReleaseChange(37, "", "A"), ReleaseChange(36, "", "B")
P35, P36, P37 = (ReleaseChange(since, "Plugin", f"since {since}") for since in (35, 36, 37))
ALL = (A, B, P37, P36, P35)
Answer = Callable[[frozenset[ReleaseChange]], object]


def decisive(answer: Answer, before: str = "1.34", after: str = "1.37") -> set[str]:
    sessions = [kwhatif.load(NODES, kubernetes_version=version) for version in (before, after)]
    blame = Blame(*sessions)
    asked: dict[frozenset[ReleaseChange], Any] = {}

    def without(taken_back: Collection[ReleaseChange]) -> Any:
        return asked.setdefault(frozenset(taken_back), frozenset(taken_back))

    blame._without = without  # type: ignore[method-assign]
    return {change.what for change in blame.decisive(ALL, answer(frozenset()), answer)}  # type: ignore[arg-type]


CASES: dict[str, tuple[Answer, set[str]]] = {
    "nothing": (lambda _gone: 1, set()),
    "one gate": (lambda gone: A in gone, {"A"}),
    "both gates are needed": (lambda gone: bool({A, B} & gone), {"A", "B"}),
    "either gate is enough: the last that is left": (lambda gone: {A, B} <= gone, {"B"}),
    "each makes a difference": (lambda gone: (A in gone, B in gone), {"A", "B"}),
    "the last step of a plugin": (lambda gone: P37 in gone, {"since 37"}),
    "a step in between": (lambda gone: P36 in gone, {"since 36"}),
    "the first step": (lambda gone: P35 in gone, {"since 35"}),
    "two steps": (lambda gone: (P37 in gone, P35 in gone), {"since 37", "since 35"}),
    "there and back again": (lambda gone: P37 in gone and P36 not in gone, set()),
    "there and back again, and a gate": (lambda gone: (P37 in gone and P36 not in gone, B in gone), {"B"}),
    "a gate and a plugin": (lambda gone: A in gone or P36 in gone, {"A", "since 36"}),
}


@pytest.mark.parametrize(("answer", "expected"), CASES.values(), ids=CASES.keys())
def test_what_decides(answer: Answer, expected: set[str]) -> None:
    assert decisive(answer) == expected


def test_to_an_older_release_steps_are_taken_back_from_its_end() -> None:
    assert decisive(lambda gone: P35 in gone, "1.37", "1.34") == {"since 35"}
    assert decisive(lambda gone: (P35 in gone, P37 in gone), "1.37", "1.34") == {"since 35", "since 37"}
