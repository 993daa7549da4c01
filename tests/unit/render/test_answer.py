"""Whole reports as tables: what comes first, what is said once, and that no name is broken."""

import io
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from kwhatif.render.answer import answer, suited
from kwhatif.render.detail import Detail
from kwhatif.render.terminal import draw
from kwhatif.report import Report
from kwhatif.report.decision import (
    CandidateRow,
    Decision,
    FeasibleRow,
    FindingRow,
    ObjectionRow,
    PolicyRow,
    PreemptionRow,
    RejectedRow,
    VictimRow,
    WorkloadRow,
)
from kwhatif.report.inputs import SnapshotInfo, SourceRow
from kwhatif.scheduler.framework.evidence import InsufficientResource

CLOUD = ".eu-central-1.compute.internal"
SHORT = [f"ip-10-0-{number}-151" for number in (13, 50, 53, 95)]
MIXED = [*(f"{name}{CLOUD}" for name in SHORT), "worker-1"]
SCORES = {"NodeResourcesFit": 1, "NodeResourcesBalancedAllocation": 2, "TaintToleration": 3}
LADDER: dict[str, int | str | None] = {
    "pdbViolations": 1,
    "highestPriority": -1000,
    "prioritySum": -1000,
    "victims": 1,
    "earliestStart": "2026-11-20T20:35:00Z",
}


def shown(report: Report, width: int = 100, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=width)
    detail = suited(Detail(now=1795245600, **options), report)
    for part in draw(answer(report, detail), detail):
        console.print(part)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def evicting(nodes: Sequence[str], *, violates: bool = False, pod: str = "shop/evictor") -> Decision:
    """A pod that evicts on the first node; all of them are candidates, with their evidence."""
    broken = ("batch/pdb",) if violates else ()
    victim = VictimRow(pod="batch/etl-fe8927df76-5bbr6", priority=-1000, workload="Job batch/etl", violates=broken)
    candidates = tuple(
        CandidateRow(node=node, pdb_violations=1, victims=(victim,), ladder=dict(LADDER)) for node in nodes
    )
    short = ObjectionRow(
        plugin="NodeResourcesFit",
        code="Unschedulable",
        reasons=("Insufficient cpu",),
        evidence=(InsufficientResource("cpu", 4000, 3000, 4000),),
    )
    rejected = tuple(
        RejectedRow(node=node, code=short.code, plugin=short.plugin, reasons=short.reasons, objections=(short,))
        for node in nodes
    )
    preemption = PreemptionRow(eligible=True, node=nodes[0], ties=(nodes[0],), candidates=candidates)
    return Decision(
        pod=pod, outcome="Preempts", node=nodes[0], ties=(nodes[0],), rejected=rejected, preemption=preemption
    )


def placed(nodes: Sequence[str], pod: str = "shop/placed") -> Decision:
    feasible = tuple(FeasibleRow(node=node, score=6 + place, scores=SCORES) for place, node in enumerate(nodes))
    return Decision(pod=pod, outcome="Placed", node=nodes[0], ties=(nodes[0],), feasible=feasible)


def report(*decisions: Decision, command: str = "schedule", **fields: Any) -> Report:
    return Report(command=command, snapshot=SnapshotInfo(nodes=40), decisions=decisions, **fields)


@pytest.mark.parametrize("command", ["schedule", "preempt"])
@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("nodes", [MIXED, [f"{name}{CLOUD}" for name in SHORT]], ids=["whole", "cut"])
def test_no_name_is_broken(command: str, width: int, nodes: list[str]) -> None:
    text = shown(report(placed(nodes), evicting(nodes), command=command), width)
    words = text.replace(",", " ").split()
    expected = nodes if nodes is MIXED else SHORT
    assert not [word for word in words if word.startswith("ip-") and word not in expected]
    assert max(map(len, text.splitlines())) <= width
    assert text.count(CLOUD) == 1 or nodes is MIXED
    assert ("nodes: *" in text) is (nodes is not MIXED)


def test_a_quiet_line_has_the_whole_name() -> None:
    assert shown(report(placed(MIXED[:2])), quiet=True).startswith(f"✔ shop/placed lands on {MIXED[0]}")


def test_the_sum_of_priorities_is_shown_as_it_is_made() -> None:
    assert "1*2^31-1000" in shown(report(evicting(SHORT), command="preempt"))


def test_the_worst_comes_first_but_pending_pods_stay_in_queue_order() -> None:
    stuck = Decision(pod="shop/stuck", outcome="Unschedulable", message="0/4 nodes")
    decisions = [placed(SHORT), evicting(SHORT), evicting(SHORT, violates=True, pod="shop/breaks"), stuck]

    def order(command: str) -> list[str]:
        lines = shown(report(*decisions, command=command), quiet=True).splitlines()
        return [line.split()[1] for line in lines if line[0] in "✔!✘"]

    assert order("schedule") == ["shop/stuck", "shop/breaks", "shop/evictor", "shop/placed"]
    assert order("preempt") == ["shop/placed", "shop/evictor", "shop/breaks", "shop/stuck"]


SOURCE = SourceRow(file="deploy.yaml", line=1, object="Deployment catalog/promo")


def test_a_workload_has_one_verdict_and_one_pod_per_outcome() -> None:
    full = [placed(SHORT, "catalog/promo-a"), evicting(SHORT, pod="catalog/promo-c")]
    like = [replace(full[0], pod="catalog/promo-b", detail="short"), replace(full[1], pod="d/e", detail="short")]
    decisions = [replace(each, source=SOURCE) for each in (full[0], like[0], full[1], like[1])]
    row = WorkloadRow(name=SOURCE.object, source=SOURCE, replicas=4, placed=2, preempting=2, message="2 of 4 pods fit")
    lines = shown(report(*decisions, workloads=(row,))).splitlines()
    assert lines[0] == "! Deployment catalog/promo: 2 of 4 pods fit"
    heads = [line for line in lines if line.startswith(("✔ ", "! "))]
    assert [head.split()[1] for head in heads] == ["Deployment", "catalog/promo-a", "catalog/promo-c"]
    assert "(the first of 2)" in heads[1]


def test_a_pod_by_itself_has_no_line_for_a_workload() -> None:
    source = SourceRow(file="pod.yaml", object="Pod shop/placed")
    row = WorkloadRow(name=source.object, source=source, replicas=1, placed=1, message="fits on n1")
    text = shown(report(replace(placed(SHORT), source=source), workloads=(row,)))
    assert text.startswith("✔ shop/placed lands on ip-10-0-13-151")
    assert "Pod shop/placed" not in text


def gate(count: int) -> Report:
    """Workloads of which every other one is stuck; all the findings are the same."""
    rows = tuple(
        WorkloadRow(
            name=f"Deployment a/w{number:03}",
            source=SourceRow(file="many.yaml", line=number, object=f"Deployment a/w{number:03}"),
            replicas=3,
            placed=3 * (number % 2),
            unschedulable=3 - 3 * (number % 2),
            message=f"all 3 pods fit on {number} nodes" if number % 2 else "all 3 pods stay pending",
        )
        for number in range(count)
    )
    findings = tuple(
        FindingRow(rule="unschedulable", level="fail", message="3 of 3 pods stay pending", workload=row.name)
        for row in rows
        if row.unschedulable
    )
    return Report(command="gate", workloads=rows, policy=PolicyRow(verdict="fail", findings=findings))


def test_many_equal_results_and_findings_are_one_row() -> None:
    text = shown(gate(200))
    assert len(text.splitlines()) < 20
    results = [line for line in text.splitlines() if "many.yaml" in line]
    assert [line.split()[0] for line in results] == ["✘", "✔"]
    assert "0/300" in results[0]
    assert "300/300" in results[1]
    assert "and 99 more" in " ".join(text.split())


def test_wide_shows_every_workload_the_worst_first() -> None:
    results = [line for line in shown(gate(20), wide=True).splitlines() if "many.yaml" in line]
    assert [line.split()[0] for line in results] == ["✘"] * 10 + ["✔"] * 10


def test_ages_are_as_of_the_dump() -> None:
    decision = evicting(SHORT)
    victim = replace(decision.victims[0], start_time="2026-11-20T20:35:00Z")
    preemption = decision.preemption
    assert preemption is not None
    candidates = tuple(replace(each, victims=(victim,)) for each in preemption.candidates)
    made = report(replace(decision, preemption=replace(preemption, candidates=candidates)))
    dated = replace(made, snapshot=replace(made.snapshot, taken_at="2026-11-20T21:05:00Z"))
    assert " 30m " in shown(dated)
    assert " 30m " not in shown(made)
