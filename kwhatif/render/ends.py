"""What a story, a descheduling cycle, or a count of pods comes to: a few words about each thing that may differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwhatif.render.capacity import fit_number
from kwhatif.report import Report
from kwhatif.report.capacity import CapacityRow
from kwhatif.report.deschedule import Course, DescheduleRow, ReplacementRow


def ends(report: Report) -> Iterator[tuple[str, str]]:
    """What a story, a descheduling cycle, or a count of pods comes to; but for where pods are."""
    story = report.story
    if story is not None:
        yield from ((f"{row.workload}, new pods", f"refused: {row.message}") for row in story.refused)
        yield from ((row.workload, f"failed: {row.message}") for row in story.failed)
        for budget in story.budgets:
            yield f"PodDisruptionBudget {budget.budget}", f"{budget.lowest} allowed at the least"
        for command in story.commands:
            yield command.command, {True: "done", False: "failed", None: "not done"}[command.ok]
    if report.deschedule is not None:
        yield from _ends_of_cycles(report.deschedule)
    if report.capacity is not None:
        yield from _counts(report.capacity)


_LATER: Mapping[Course, str] = {"Settles": "settle", "Endless": "never settle", "Open": "are not known to settle"}


def _ends_of_cycles(row: DescheduleRow) -> Iterator[tuple[str, str]]:
    """What becomes of each pod that a descheduler wants to evict, and whether that ends."""
    yield "later runs", _LATER[row.course]
    for evicted in row.evicted:
        landed = evicted.replacement
        yield f"Pod {evicted.pod}", "evicted" if landed is None else f"evicted, {_landed(landed)}"
    for refused in row.refused:
        yield f"Pod {refused.pod}", f"stays ({refused.by})"


def _landed(row: ReplacementRow) -> str:
    match row.landing:
        case "Elsewhere":
            return f"lands on {row.node}"
        case "SameNode":
            return f"lands on {row.node} again"
        case "Preempts":
            return f"fits on {row.node} by evicting others"
        case "Pending":
            return "stays pending"
    return "is not replaced"


def _counts(row: CapacityRow) -> Iterator[tuple[str, str]]:
    """How many more pods fit, at what cost, where, and what stops the next one."""
    for shape in row.shapes:
        yield f"more like {shape.workloads[0]}", fit_number(shape.fit)
    if row.fit is not None:
        yield "without eviction", fit_number(row.fit)
    if row.preempting is not None:
        yield "with preemption", fit_number(row.preempting.fit)
        yield "evicted pods", f"{len(row.preempting.victims):,}"
        yield "violated budgets", ", ".join(row.preempting.violations) or "none"
    if row.added_nodes is not None:
        yield f"nodes like {row.added_nodes.like}", "not enough" if (n := row.added_nodes.nodes) is None else f"{n:,}"
    if row.target is not None:
        yield f"target {row.target.wanted:,}", "met" if row.target.met else f"{row.target.missing:,} missing"
    best = row.best
    if best is None:
        return
    if best.stop is not None:
        yield (
            "stopped by",
            ", ".join(f"{each.nodes:,} {each.reason}" for each in best.stop.reasons) or best.stop.message,
        )
    for what in ("zone", "node"):
        for counted in best.counted:
            of = f", {counted.workload}" if len(best.counted) > 1 else ""
            counts = counted.zones if what == "zone" else counted.nodes
            yield from ((f"{what} {name or '<none>'}{of}", f"{number:,}") for name, number in sorted(counts.items()))
