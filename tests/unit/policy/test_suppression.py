"""Who is excused, by whom, and until when."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from kwhatif.report.decision import FindingRow
from tests.unit.policy.test_rules import STUCK, TODAY, evicts, policy, verdict, victim, workload

EVICTS = evicts(victim("batch/etl"))


def exception(**fields: Any) -> dict[str, Any]:
    made = {"rules": ["unschedulable"], "workloads": ["Deployment shop/*"], "reason": "known", "expires": "2026-06-01"}
    return made | fields


def suppressed(found: FindingRow) -> tuple[str, str | None, str | None]:
    return found.rule, found.suppressed_by, found.suppressed


ANNOTATIONS = {
    "a rule and a reason": ("preemption: planned", "planned"),
    "a reason may hold colons": ("preemption: see OPS-1: fine", "see OPS-1: fine"),
    "several rules for one reason": ("unschedulable, preemption: planned", "planned"),
    "several entries on one line": ("unschedulable: no; preemption: yes", "yes"),
    "several entries on lines": ("unschedulable: no\npreemption: yes\n", "yes"),
    "a pattern": ("*: trust me", "trust me"),
    "another rule": ("unschedulable: no", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("annotation", "reason"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_annotations_suppress(annotation: str, reason: str | None) -> None:
    made = verdict(policy(), workload(EVICTS, ignore=annotation))
    by = "annotation" if reason else None
    assert [suppressed(found) for found in made.findings] == [("preemption", by, reason)]
    assert made.verdict == ("pass" if reason else "warn")


MISUNDERSTOOD = {
    "no reason": ("preemption", "kwhatif.dev/ignore: 'preemption' gives no reason: write RULE: REASON"),
    "an empty reason": ("preemption: ", "kwhatif.dev/ignore: 'preemption:' gives no reason: write RULE: REASON"),
    "no such rule": ("premption: typo", "kwhatif.dev/ignore: there is no rule 'premption'; did you mean preemption?"),
}


@pytest.mark.parametrize(("annotation", "message"), MISUNDERSTOOD.values(), ids=MISUNDERSTOOD)
def test_an_annotation_that_cannot_be_understood_suppresses_nothing(annotation: str, message: str) -> None:
    made = verdict(policy(), workload(EVICTS, ignore=annotation))
    assert [(found.rule, found.message, found.suppressed) for found in made.findings] == [
        ("preemption", "would evict pod batch/etl (priority 0)", None),
        ("annotation", message, None),
    ]


EXCEPTIONS = {
    "the rule and the workload": (exception(), True),
    "any rule": (exception(rules=["*"]), True),
    "any workload": (exception(workloads=["*"]), True),
    "another rule": (exception(rules=["preemption"]), False),
    "another workload": (exception(workloads=["Deployment lab/*"]), False),
    "the last day": (exception(expires=TODAY.isoformat()), True),
}


@pytest.mark.parametrize(("made", "excused"), EXCEPTIONS.values(), ids=EXCEPTIONS)
def test_exceptions_suppress(made: dict[str, Any], excused: bool) -> None:
    (found,) = verdict(policy(exceptions=[made]), workload(STUCK)).findings
    assert suppressed(found) == ("unschedulable", "exception" if excused else None, "known" if excused else None)


def test_an_exception_for_a_kind_of_rule_holds_for_every_rule_of_that_kind() -> None:
    rules = {"placement": [{"name": "no-gpu", "nodes": {}}], "preemption": "ignore"}
    book = policy(**rules, exceptions=[exception(rules=["placement"])])
    (found,) = verdict(book, workload(EVICTS)).findings
    assert suppressed(found) == ("placement/no-gpu", "exception", "known")


def test_an_expired_exception_suppresses_nothing_and_is_a_finding_itself() -> None:
    made = verdict(policy(exceptions=[exception()]), workload(STUCK), today=date(2026, 6, 2))
    assert [(found.rule, found.level, found.suppressed) for found in made.findings] == [
        ("unschedulable", "fail", None),
        ("expiredException", "warn", None),
    ]
    assert made.findings[1].message == (
        "the exception of Deployment shop/* from unschedulable expired on 2026-06-01: known"
    )
    assert made.verdict == "fail"


def test_the_annotation_is_named_where_both_excuse() -> None:
    book = policy(exceptions=[exception(rules=["preemption"])])
    (found,) = verdict(book, workload(EVICTS, ignore="preemption: mine")).findings
    assert suppressed(found) == ("preemption", "annotation", "mine")
