"""What makes an answer a "no" for scripts: the conditions of `--fail-on`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kwhatif.report import Decision, Report, WorkloadRow


def _stays_pending(decision: Decision) -> bool:
    return decision.outcome in ("Unschedulable", "Gated", "Denied")


def _hangs(row: WorkloadRow) -> bool:
    return row.rollout is not None and not row.rollout.completed


def _breaks_budget(decision: Decision) -> bool:
    preemption = decision.preemption
    if preemption is None or decision.outcome != "Preempts":
        return False
    return any(row.pdb_violations for row in preemption.candidates if row.node == decision.node)


CONDITIONS: Mapping[str, Callable[[Report], bool]] = {
    "unschedulable": lambda report: any(map(_stays_pending, report.decisions)) or any(map(_hangs, report.workloads)),
    "preemption": lambda report: any(decision.outcome == "Preempts" for decision in report.decisions),
    "pdb-violation": lambda report: any(map(_breaks_budget, report.decisions)),
    "caveats": lambda report: bool(report.caveats),
}


def parse_fail_on(text: str) -> tuple[str, ...]:
    """The conditions named in a comma-separated list; `none` stands alone.

    Raises:
        ValueError: a name that is not a condition.
    """
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if names == ("none",):
        return ()
    for name in names:
        if name not in CONDITIONS:
            raise ValueError(f"{name!r} is not one of none, {', '.join(CONDITIONS)}")
    return names


def fails(report: Report, names: tuple[str, ...]) -> bool:
    """Whether the report holds any of the conditions."""
    return any(CONDITIONS[name](report) for name in names)
