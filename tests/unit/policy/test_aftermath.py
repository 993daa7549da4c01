"""Rules about what follows: pods pending in the end, loops, broken budgets."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.report.decision import FindingRow, PolicyRow
from kwhatif.report.story import CycleRow, PendingRow, RefusedRow, Story, StoryBudgetRow
from tests.unit.policy.test_rules import LABELS, TODAY, placed, policy, workload
from tests.worded_policy import judge


def story(settled: str = "settled", **fields: Any) -> Story:
    return Story(settled=settled, seconds=1.0, assumptions=(), parameters={}, **fields)  # type: ignore[arg-type]


def waiting(pod: str, owner: str | None, priority: int, *, initial: bool = False) -> PendingRow:
    return PendingRow(pod=pod, owner=owner, message="", nominated_node=None, priority=priority, initial=initial)


def verdict(said: Story | None, ignore: str = "", exceptions: Any = (), **rules: Any) -> PolicyRow:
    book = policy(aftermath=rules, exceptions=list(exceptions))
    return judge(book, [workload(placed("shop/web-0"), ignore=ignore)], LABELS, today=TODAY, story=said)


def findings(said: Story | None, **rules: Any) -> list[FindingRow]:
    return list(verdict(said, **rules).findings)


WEB = waiting("shop/web-1", "Deployment shop/web", 100)
LOOP = CycleRow(start=0, period=2, participants=("Pod a", "Pod b"), events=(1, 2), remedies=())
BROKEN = StoryBudgetRow(budget="shop/db", before=1, lowest=0, after=1, overrun=2)


@pytest.mark.parametrize(
    ("row", "least", "expected"),
    [
        pytest.param(WEB, 100, ["aftermath/pending"], id="of that priority"),
        pytest.param(WEB, 101, [], id="of a lower one"),
        pytest.param(waiting("shop/web-1", None, 100, initial=True), 0, [], id="was pending before"),
        pytest.param(waiting("shop/one", None, 5), 0, ["aftermath/pending"], id="a bare pod"),
    ],
)
def test_pods_that_are_pending_in_the_end(row: PendingRow, least: int, expected: list[str]) -> None:
    found = findings(story("pending", pending=(row,)), pending={"minPriority": least})
    assert [finding.rule for finding in found] == expected
    assert all(finding.pods == (row.pod,) for finding in found)


@pytest.mark.parametrize(("initial", "expected"), [(False, ["aftermath/pending"]), (True, [])])
def test_pods_that_are_refused_in_the_end(initial: bool, expected: list[str]) -> None:
    row = RefusedRow(workload="Job x/y", message="exceeded quota", initial=initial)
    found = findings(story("rollout-stuck", refused=(row,)), pending={"minPriority": 1000})
    assert [finding.rule for finding in found] == expected
    assert all("Job x/y are refused" in finding.message for finding in found)


def test_without_a_rule_pods_may_be_pending() -> None:
    assert findings(story("pending", pending=(WEB,))) == []


def test_a_finding_belongs_to_the_workload_that_it_is_about() -> None:
    rows = (WEB, waiting("shop/web-2", "Deployment shop/web", 100), waiting("x/y", "Job x/y", 100))
    said = story("pending", pending=rows)
    found = findings(said, pending={})
    assert [(finding.workload, finding.message[:33]) for finding in found] == [
        ("Deployment shop/web", "2 pods of Deployment shop/web are"),
        ("Job x/y", "a pod of Job x/y is pending once "),
    ]
    assert found[0].source is not None
    assert found[1].source is None  # it is not in the manifests


@pytest.mark.parametrize(
    ("rules", "verdict_"),
    [({}, "fail"), ({"loop": "warn"}, "warn"), ({"loop": "pass"}, "pass"), ({"loop": "ignore"}, "pass")],
)
def test_a_loop(rules: dict[str, str], verdict_: str) -> None:
    row = verdict(story("cycling", cycle=LOOP), **rules)
    assert row.verdict == verdict_
    assert [finding.message for finding in row.findings] == (
        ["it never settles: Pod a, Pod b replace each other"] if verdict_ != "pass" else []
    )


def test_a_budget_that_is_broken_on_the_way() -> None:
    row = verdict(story(budgets=(BROKEN,)))
    assert row.verdict == "fail"
    assert row.findings[0].message == "budget shop/db falls short of 2 healthy pods on the way"
    assert verdict(story(budgets=(BROKEN,)), budgetOverrun="pass").findings == ()


def test_suppressed_by_annotation_and_exception() -> None:
    said = story("pending", pending=(WEB,), budgets=(BROKEN,))
    exception = {
        "rules": ["aftermath/budgetOverrun"],
        "workloads": ["*"],
        "reason": "known",
        "expires": TODAY.isoformat(),
    }
    row = verdict(said, ignore="aftermath/pending: may wait", exceptions=[exception], pending={})
    assert {finding.rule: finding.suppressed_by for finding in row.findings} == {
        "aftermath/pending": "annotation",
        "aftermath/budgetOverrun": "exception",
    }
    assert row.verdict == "pass"


def test_nothing_is_said_where_nothing_was_played() -> None:
    assert findings(None) == []
