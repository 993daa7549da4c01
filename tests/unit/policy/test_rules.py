"""Every rule: what it finds, on whom, in which words."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import NoImages
from kwhatif.kube.model.caveat.scheduling import OtherVersion
from kwhatif.policy.build import Rulebook, build_rulebook
from kwhatif.render.caveats import sentence
from kwhatif.report.decision import (
    CandidateRow,
    Decision,
    FindingRow,
    JudgedWorkload,
    PolicyRow,
    PreemptionRow,
    VictimRow,
    WorkloadRow,
)
from kwhatif.report.inputs import SourceRow
from tests.worded_policy import judge

TODAY = date(2026, 6, 1)
LABELS = {"n1": {"pool": "general"}, "gpu1": {"pool": "gpu"}}


def policy(**rules: Any) -> Rulebook:
    return build_rulebook({"apiVersion": "kwhatif.dev/v1", "kind": "Policy", **rules}, "kwhatif.yaml")


def placed(pod: str = "shop/web-0", node: str = "n1", **fields: Any) -> Decision:
    return Decision(pod=pod, outcome="Placed", node=node, ties=(node,), **fields)


def evicts(*victims: VictimRow, pod: str = "shop/web-0", node: str = "n1", **fields: Any) -> Decision:
    candidate = CandidateRow(node=node, pdb_violations=0, victims=victims, ladder={})
    return Decision(
        pod=pod,
        outcome="Preempts",
        node=node,
        ties=(node,),
        preemption=PreemptionRow(eligible=True, node=node, ties=(node,), candidates=(candidate,)),
        **fields,
    )


def victim(pod: str, priority: int = 0, violates: tuple[str, ...] = ()) -> VictimRow:
    return VictimRow(pod=pod, priority=priority, budgets=violates, violates=violates)


def workload(*decisions: Decision, name: str = "Deployment shop/web", ignore: str = "") -> JudgedWorkload:
    row = WorkloadRow(name=name, source=SourceRow(file="web.yaml", line=3, object=name), replicas=len(decisions))
    return JudgedWorkload(row, decisions, ignore)


def verdict(
    book: Rulebook, *workloads: JudgedWorkload, today: date = TODAY, caveats: tuple[Caveat, ...] = ()
) -> PolicyRow:
    return judge(book, workloads, LABELS, today=today, caveats=caveats, strict=True)


def findings(book: Rulebook, *workloads: JudgedWorkload) -> list[tuple[str, str, str]]:
    return [(found.rule, found.level, found.message) for found in verdict(book, *workloads).findings]


def test_what_is_found_only_once_all_have_reacted_is_said_so() -> None:
    first = workload(evicts(victim("batch/a")), placed("shop/web-1"))
    last = workload(evicts(victim("batch/a")), evicts(victim("batch/b", violates=("batch/b",)), pod="shop/web-1"))
    row = judge(policy(), [first], LABELS, today=TODAY, reacted=[last])
    assert [(found.rule, found.message) for found in row.findings] == [
        ("budgetViolation", "once all have reacted, evicting pod batch/b (priority 0) violates batch/b"),
        ("preemption", "1 of 2 pods would evict pod batch/a (priority 0)"),
        ("preemption", "once all have reacted, 2 of 2 pods would evict 2 pods without an owner (priority 0)"),
    ]
    assert len(judge(policy(), [first], LABELS, today=TODAY, reacted=[first]).findings) == 1


STUCK = Decision(pod="shop/web-0", outcome="Unschedulable", message="0/2 nodes are available.")


def test_where_pods_land_that_stay_pending_at_first_is_said() -> None:
    other = Decision(pod="shop/web-1", outcome="Unschedulable", message="0/2 nodes are available.")
    cases = [
        ([STUCK], [placed()], "stays pending at first, but gets n1 once all have reacted: 0/2 nodes are available."),
        ([STUCK], [STUCK], "stays pending: 0/2 nodes are available."),
        (
            [STUCK, other],
            [STUCK, placed("shop/web-1")],
            "2 of 2 pods stay pending at first, but 1 of them gets a node once all have reacted: 0/2 nodes are available.",
        ),
    ]
    for first, last, message in cases:
        row = judge(policy(), [workload(*first)], LABELS, today=TODAY, reacted=[workload(*last)])
        found = row.findings[0]
        assert (found.rule, found.level, found.message) == ("unschedulable", "fail", message)


DEFAULTS = {
    "a placed pod is fine": (placed(), []),
    "a pod that stays pending fails": (
        STUCK,
        [("unschedulable", "fail", "stays pending: 0/2 nodes are available.")],
    ),
    "a refused pod fails": (
        Decision(pod="shop/web-0", outcome="Denied", message="exceeded quota"),
        [("denied", "fail", "is refused: exceeded quota")],
    ),
    "a gated pod is a warning": (
        Decision(pod="shop/web-0", outcome="Gated", message="waiting"),
        [("gated", "warn", "is not queued: waiting")],
    ),
    "another scheduler's pod is a warning": (
        Decision(pod="shop/web-0", outcome="Ignored", message="no profile"),
        [("ignored", "warn", "is not judged: no profile")],
    ),
    "an eviction is a warning": (
        evicts(victim("batch/etl")),
        [("preemption", "warn", "would evict pod batch/etl (priority 0)")],
    ),
    "a broken budget fails beside the warning": (
        evicts(victim("batch/etl", violates=("batch/pdb",))),
        [
            ("budgetViolation", "fail", "evicting pod batch/etl (priority 0) violates batch/pdb"),
            ("preemption", "warn", "would evict pod batch/etl (priority 0)"),
        ],
    ),
}


@pytest.mark.parametrize(("decision", "expected"), DEFAULTS.values(), ids=DEFAULTS)
def test_the_default_policy(decision: Decision, expected: list[tuple[str, str, str]]) -> None:
    assert findings(Rulebook(policy().policy), workload(decision)) == expected


RULES = {
    "any rule can be ignored": ({"unschedulable": "ignore"}, [STUCK], []),
    "any rule can be a warning": (
        {"unschedulable": "warn"},
        [STUCK],
        [("unschedulable", "warn", "stays pending: 0/2 nodes are available.")],
    ),
    "of many pods it says how many": (
        {},
        [placed(), STUCK],
        [("unschedulable", "fail", "1 of 2 pods stays pending: 0/2 nodes are available.")],
    ),
    "victims up to the limit are fine": (
        {"preemption": "ignore", "maxVictims": {"count": 2}},
        [evicts(victim("a/1"), victim("a/2"))],
        [],
    ),
    "victims beyond the limit are not": (
        {"preemption": "ignore", "maxVictims": {"count": 1}},
        [evicts(victim("a/1")), evicts(victim("a/2"))],
        [("maxVictims", "fail", "brings the number of victims to 2; 1 is allowed")],
    ),
    "no victims are allowed with a limit of zero": (
        {"preemption": "ignore", "maxVictims": {"count": 0, "level": "warn"}},
        [evicts(victim("a/1"))],
        [("maxVictims", "warn", "brings the number of victims to 1; 0 are allowed")],
    ),
    "victims in a protected namespace": (
        {"preemption": "ignore", "protectedVictims": [{"namespaces": ["kube-*"]}]},
        [evicts(victim("kube-system/dns"), victim("batch/etl"))],
        [("protectedVictims", "fail", "would evict pod kube-system/dns (priority 0), in a protected namespace")],
    ),
    "victims of a protected priority": (
        {"preemption": "ignore", "protectedVictims": [{"name": "high", "minPriority": 10, "level": "warn"}]},
        [evicts(victim("a/1", 9), victim("a/2", 10))],
        [("protectedVictims/high", "warn", "would evict pod a/2 (priority 10), of priority 10 or more")],
    ),
    "a forbidden priority class": (
        {"priorityClasses": [{"namespaces": ["shop"], "forbidden": ["system-*"]}]},
        [placed(priority_class_name="system-node-critical")],
        [
            (
                "priorityClasses",
                "fail",
                "uses priority class system-node-critical, which namespace shop may not use",
            )
        ],
    ),
    "a class that is not among the allowed ones": (
        {"priorityClasses": [{"allowed": ["low"]}]},
        [placed(priority_class_name="high")],
        [("priorityClasses", "fail", "uses priority class high, which namespace shop may not use")],
    ),
    "no class is always allowed": ({"priorityClasses": [{"allowed": []}]}, [placed()], []),
    "the class of another namespace is nobody's business": (
        {"priorityClasses": [{"namespaces": ["lab"], "forbidden": ["*"]}]},
        [placed(priority_class_name="high")],
        [],
    ),
    "a node by label": (
        {"placement": [{"name": "no-gpu", "nodes": {"matchLabels": {"pool": "gpu"}}}]},
        [placed(node="n1"), placed(node="gpu1")],
        [("placement/no-gpu", "fail", "1 of 2 pods may land on gpu1")],
    ),
    "a node where it might as well land": (
        {"placement": [{"nodes": {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu"]}]}}]},
        [Decision(pod="shop/web", outcome="Placed", node="a", ties=("a", "gpu1"))],
        [("placement", "fail", "may land on gpu1")],
    ),
    "a node of other namespaces": (
        {"placement": [{"namespaces": ["ml"], "nodes": {"matchLabels": {"pool": "gpu"}}}]},
        [placed(node="gpu1")],
        [],
    ),
    "an expression that holds": (
        {"expressions": [{"name": "low", "expression": "decision.priority < 10 && node.labels.pool == 'general'"}]},
        [placed(priority=9)],
        [],
    ),
    "an expression that does not hold": (
        {"expressions": [{"name": "low", "expression": "decision.priority < 10", "level": "warn"}]},
        [placed(priority=10)],
        [("expressions/low", "warn", "does not hold: decision.priority < 10")],
    ),
    "an expression in the policy's own words": (
        {"expressions": [{"name": "few", "expression": "workload.replicas < 2", "message": "one is enough"}]},
        [placed(), placed()],
        [("expressions/few", "fail", "one is enough")],
    ),
    "an expression that cannot be evaluated does not hold": (
        {"expressions": [{"name": "typo", "expression": "node.labels.zone == 'a'"}]},
        [placed()],
        [("expressions/typo", "fail", "cannot be evaluated: no such key: zone")],
    ),
    "an expression about pods without a node": (
        {"unschedulable": "ignore", "expressions": [{"name": "n", "expression": "node == null"}]},
        [STUCK],
        [],
    ),
}


@pytest.mark.parametrize(("rules", "decisions", "expected"), RULES.values(), ids=RULES)
def test_rules(rules: dict[str, Any], decisions: list[Decision], expected: list[tuple[str, str, str]]) -> None:
    assert findings(policy(**rules), workload(*decisions)) == expected


def test_the_limit_counts_over_all_workloads() -> None:
    book = policy(preemption="ignore", maxVictims={"count": 1})
    first = workload(evicts(victim("a/1")), name="Deployment shop/a")
    second = workload(evicts(victim("a/2"), pod="shop/b-0"), name="Deployment shop/b")
    found = verdict(book, first, second).findings
    assert [(row.workload, row.pods) for row in found] == [("Deployment shop/b", ("shop/b-0",))]


@pytest.mark.parametrize(
    ("decision", "expected"),
    [(placed(), "pass"), (evicts(victim("a/1")), "warn"), (STUCK, "fail")],
    ids=["nothing found", "only warnings", "a failure"],
)
def test_the_verdict_is_the_worst_finding(decision: Decision, expected: str) -> None:
    assert verdict(policy(), workload(decision)).verdict == expected


def test_failures_come_first_and_then_the_order_of_the_manifests() -> None:
    book = policy(unschedulable="warn")
    first = workload(STUCK, name="Pod a/a")
    second = workload(evicts(victim("x/y", violates=("x/pdb",))), name="Pod a/b")
    found = verdict(book, first, second).findings
    assert [(row.level, row.workload) for row in found] == [
        ("fail", "Pod a/b"),
        ("warn", "Pod a/a"),
        ("warn", "Pod a/b"),
    ]


def test_a_finding_points_at_the_workload_in_its_file() -> None:
    (found,) = verdict(policy(), workload(STUCK)).findings
    assert found.source == SourceRow(file="web.yaml", line=3, object="Deployment shop/web")


def test_what_is_not_known_fails_a_strict_gate() -> None:
    made = verdict(policy(), workload(placed()), caveats=(NoImages(), OtherVersion(version="1.35")))
    text = sentence(NoImages())
    caveat = NoImages(message=text)
    assert made == PolicyRow(
        verdict="fail",
        source="kwhatif.yaml",
        findings=(FindingRow(rule="caveats/no-images", level="fail", message=text, caveat=caveat),),
    )
