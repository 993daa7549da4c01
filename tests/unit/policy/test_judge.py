"""What a policy makes of caveats and of its own mistakes; and who is excused, by whom, until when."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.errors import InputError
from kwhatif.kube.model.caveat import CODES, Caveat
from kwhatif.kube.model.caveat.manifests import PodSecurityNotChecked
from kwhatif.kube.model.caveat.reading import NoBudgets, NoImages, StaleSnapshot
from kwhatif.kube.model.caveat.scheduling import Sampling
from kwhatif.kube.model.caveat.workloads import AutoscalerNotModelled
from kwhatif.policy.judge import KnownNames
from kwhatif.render.caveats import sentence
from kwhatif.report.decision import FindingRow
from tests.unit.policy.test_rules import LABELS, STUCK, TODAY, evicts, placed, policy, verdict, victim, workload
from tests.worded_policy import judge

BUDGETS = NoBudgets(kinds=("PodDisruptionBudget",))
SAMPLING = Sampling(looked_for=100, nodes=400)
STALE = StaleSnapshot(taken_at="2026-05-31T00:00:00Z", age=86_400)
SECURITY = PodSecurityNotChecked(namespaces=(("shop", "restricted"),), pods=("shop/web-0",))


def found(
    rules: dict[str, Any], *caveats: Caveat, strict: bool = False, ignore: str = "", known: KnownNames | None = None
) -> list[FindingRow]:
    row = judge(
        policy(**rules),
        [workload(placed(), ignore=ignore)],
        LABELS,
        today=TODAY,
        caveats=caveats,
        strict=strict,
        known=known or KnownNames(),
    )
    return list(row.findings)


LEVELS: dict[str, tuple[dict[str, Any], Caveat, bool, str | None]] = {
    "what is missing warns": ({}, BUDGETS, False, "warn"),
    "what is assumed passes": ({}, SAMPLING, False, None),
    "what is missing fails strictly": ({}, BUDGETS, True, "fail"),
    "what is assumed passes strictly, too": ({}, SAMPLING, True, None),
    "what changes scores only passes": ({}, NoImages(), False, None),
    "and fails strictly": ({}, NoImages(), True, "fail"),
    "a policy fails a code": ({"caveats": {"no-budgets": "fail"}}, BUDGETS, False, "fail"),
    "a policy lets a code pass": ({"caveats": {"no-budgets": "pass"}}, BUDGETS, False, None),
    "also strictly": ({"caveats": {"no-budgets": "pass"}}, BUDGETS, True, None),
    "ignore is the same": ({"caveats": {"no-budgets": "ignore"}}, BUDGETS, False, None),
    "a pattern": ({"caveats": {"no-*": "fail"}}, BUDGETS, False, "fail"),
    "a code comes before a pattern": ({"caveats": {"no-*": "fail", "no-budgets": "warn"}}, BUDGETS, False, "warn"),
    "a caveat that would pass": ({"caveats": {"sampling": "fail"}}, SAMPLING, False, "fail"),
    "an old cluster warns": ({}, STALE, False, "warn"),
    "older than the policy allows fails": ({"snapshot": {"maxAge": "6h"}}, STALE, False, "fail"),
    "unless it says so": ({"snapshot": {"maxAge": "6h"}, "caveats": {"stale-*": "warn"}}, STALE, False, "warn"),
}


@pytest.mark.parametrize(("rules", "caveat", "strict", "level"), LEVELS.values(), ids=LEVELS)
def test_levels(rules: dict[str, Any], caveat: Caveat, strict: bool, level: str | None) -> None:
    made = found(rules, caveat, strict=strict)
    text = sentence(caveat)
    assert [(row.rule, row.level, row.message, row.caveat) for row in made] == (
        [(f"caveats/{caveat.code}", level, text, replace(caveat, message=text))] if level else []
    )


@pytest.mark.parametrize(
    ("caveat", "pods"),
    [(SECURITY, ("shop/web-0",)), (AutoscalerNotModelled(name="shop/web", target="Deployment shop/web"), ())],
)
def test_a_caveat_about_a_workload_is_found_there(caveat: Caveat, pods: tuple[str, ...]) -> None:
    (row,) = found({"caveats": {"*": "warn"}}, caveat)
    assert (row.workload, row.pods, row.source and row.source.line) == ("Deployment shop/web", pods, 3)


SUPPRESSED: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "by its annotation": ({}, "pod-security: checked by hand", "checked by hand"),
    "by kind": ({}, "caveats: fine", "fine"),
    "by the whole name": ({}, "caveats/pod-security: fine", "fine"),
    "not by another code": ({}, "no-budgets: fine", None),
    "until a day": ({}, "pod-security: fine (until 2026-06-01)", "fine (until 2026-06-01)"),
    "not where the policy forbids it": ({"annotations": {"allow": ["preemption"]}}, "pod-security: fine", None),
    "where the policy allows it": ({"annotations": {"allow": ["pod-*"]}}, "pod-security: fine", "fine"),
}


@pytest.mark.parametrize(("rules", "ignore", "reason"), SUPPRESSED.values(), ids=SUPPRESSED)
def test_who_may_suppress_it(rules: dict[str, Any], ignore: str, reason: str | None) -> None:
    assert found(rules, SECURITY, ignore=ignore)[0].suppressed == reason


def test_an_exception_of_everything_suppresses_a_caveat_about_everything() -> None:
    exception = {"rules": ["no-budgets"], "workloads": ["*"], "reason": "a lab", "expires": "2026-12-31"}
    (row,) = found({"exceptions": [exception]}, BUDGETS)
    assert (row.suppressed, row.suppressed_by) == ("a lab", "exception")


def test_an_annotation_that_is_not_allowed_to_is_a_warning_beside_the_finding() -> None:
    book = policy(annotations={"allow": ["unschedulable"]})
    made = judge(book, [workload(evicts(victim("a/b")), ignore="*: trust me")], LABELS, today=TODAY)
    assert [(row.rule, row.suppressed, row.message) for row in made.findings] == [
        ("preemption", None, "would evict pod a/b (priority 0)"),
        ("annotation", None, "kwhatif.dev/ignore: the policy does not let an annotation suppress preemption"),
    ]


def test_an_annotation_that_has_expired_suppresses_nothing_and_that_is_said() -> None:
    ignored = workload(evicts(victim("a/b")), ignore="preemption: OPS-1 (until 2026-05-31)")
    made = judge(policy(), [ignored], LABELS, today=TODAY)
    assert [(row.rule, row.suppressed, row.message) for row in made.findings] == [
        ("preemption", None, "would evict pod a/b (priority 0)"),
        ("expiredException", None, "kwhatif.dev/ignore: expired on 2026-05-31: OPS-1 (until 2026-05-31)"),
    ]
    assert judge(policy(), [ignored], LABELS, today=date(2026, 5, 31)).verdict == "pass"


def test_a_day_that_is_none_is_a_mistake() -> None:
    made = judge(policy(), [workload(evicts(), ignore="preemption: x (until May)")], LABELS, today=TODAY)
    assert [row.message for row in made.findings if row.rule == "annotation"] == [
        "kwhatif.dev/ignore: 'x (until May)': write the last day as (until YYYY-MM-DD)"
    ]


def test_names_that_the_cluster_does_not_have_are_warnings() -> None:
    rules = {
        "protectedVictims": [{"name": "core", "namespaces": ["kube-sistem", "team-*"]}],
        "priorityClasses": [{"allowed": ["hihg"]}],
    }
    known = KnownNames(namespaces={"kube-system", "shop"}, priority_classes={"high"})
    assert [(row.rule, row.level, row.message) for row in found(rules, known=known)] == [
        (
            "unknownName",
            "warn",
            "protectedVictims/core names namespace kube-sistem, which the cluster does not have; did you mean"
            " kube-system?",
        ),
        (
            "unknownName",
            "warn",
            "priorityClasses names priority class hihg, which the cluster does not have; did you mean high?",
        ),
    ]
    assert found(rules) == []


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "a code that is none": (
        {"caveats": {"no-budget": "fail"}},
        "caveats.no-budget: there is no caveat 'no-budget'; did you mean no-budgets?",
    ),
    "a level that is none": (
        {"caveats": {"no-budgets": "error"}},
        "caveats[\"no-budgets\"]: must be one of fail, ignore, pass, warn; it is 'error'",
    ),
    "an age that is none": (
        {"snapshot": {"maxAge": "a day"}},
        "snapshot.maxAge: 'a day' is not a duration such as 6h or 90m",
    ),
    "no age": ({"snapshot": {"maxAge": "0s"}}, "snapshot.maxAge: must be more than 0"),
    "a rule that is none": (
        {"annotations": {"allow": ["premption"]}},
        "annotations.allow[0]: there is no rule 'premption'; did you mean preemption?",
    ),
    "workloads by their bare name": (
        {"exceptions": [{"rules": ["*"], "workloads": ["promo"], "reason": "x", "expires": "2026-12-31"}]},
        "exceptions[0].workloads[0]: 'promo' matches no workload: write its kind, namespace and name, such as"
        " `* */promo`",
    ),
    "nodes twice": (
        {"placement": [{"allowed": {}, "forbidden": {}}]},
        "placement[0]: expected either allowed or forbidden nodes",
    ),
    "no nodes": ({"placement": [{"name": "x"}]}, "placement[0]: expected either allowed or forbidden nodes"),
    "a field that no workload has": (
        {"expressions": [{"name": "x", "expression": "workload.replica <= 10"}]},
        "expressions[0].expression: workload has no field 'replica'; did you mean replicas?",
    ),
    "a field of a field": (
        {"expressions": [{"name": "x", "expression": "workload.source.fille == 'a'"}]},
        "expressions[0].expression: workload.source has no field 'fille'; did you mean file?",
    ),
    "a field that no node has": (
        {"expressions": [{"name": "x", "expression": "node.label == {}"}]},
        "expressions[0].expression: node has no field 'label'; did you mean labels?",
    ),
    "a number where a yes or no is wanted": (
        {"expressions": [{"name": "x", "expression": "workload.replicas"}]},
        "expressions[0].expression: must evaluate to bool, not int",
    ),
}


@pytest.mark.parametrize(("rules", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_errors_with_what_is_near(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        policy(**rules)
    (problem,) = caught.value.problems
    assert f"{problem.field}: {problem.message}" == message


EXPRESSIONS = [
    "workload.replicas <= 10",
    "decision.preemption == null || decision.preemption.eligible",
    "decision.feasible.all(row, row.score >= 0)",
    "workload.nodes['n1'] == 1 || true",
    "node == null || node.labels.zone == 'a' || true",
    "has(workload.message)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_fields_that_exist_are_no_mistakes(expression: str) -> None:
    assert policy(expressions=[{"name": "x", "expression": expression}]).issues == []


def test_nodes_that_are_allowed() -> None:
    rules = {"placement": [{"name": "general", "allowed": {"matchLabels": {"pool": "general"}}}]}
    judged = workload(placed(node="n1"), placed(node="gpu1"))
    made = judge(policy(**rules), [judged], LABELS, today=TODAY)
    assert [(row.rule, row.message) for row in made.findings] == [
        ("placement/general", "1 of 2 pods may land on gpu1"),
    ]


def test_every_code_can_be_set() -> None:
    book = policy(caveats=dict.fromkeys(CODES, "fail"))
    assert set(book.policy.caveats) == set(CODES)


# --- Who is excused, by whom, and until when ----------------------------------------------------------


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
