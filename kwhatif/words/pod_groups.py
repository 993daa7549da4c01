"""Sentences about groups of pods."""

from __future__ import annotations

from kwhatif.report.pod_groups import GroupRow
from kwhatif.scheduler.framework.evidence import InsufficientResource
from kwhatif.words.amounts import amount, plural, some


def group_name(row: GroupRow) -> str:
    """`gang ml/train (needs 8 of 8)`; a group without a minimum is just a group."""
    if row.policy == "basic":
        return f"group {row.group}"
    return f"gang {row.group} (needs {row.min_count} of {row.pods})"


def group_line(row: GroupRow) -> str:
    """Which group, and its result."""
    return f"{group_name(row)} {group_sentence(row)}"


def group_sentence(row: GroupRow) -> str:
    """The result of the group, in a few words."""
    if row.outcome == "waiting":
        return f"is not tried: {row.waits_for}" if row.waits_for else "is not tried"
    if row.outcome == "unscheduled":
        return f"does not fit{': ' if row.fitting else '; '}{why_not(row)}"
    found = f"{_of(row.placed, row)}{_where(row)}"
    if row.victims:
        return f"fits only by preemption: {found}; {_cost(row)}"
    return f"fits: {found}"


def why_not(row: GroupRow) -> str:
    """How many pods of a failing group fit, and what is missing."""
    came = _of(row.fitting, row) if row.fitting else ""
    return "; ".join(filter(None, [came, ", ".join(_why(row)), _other_order(row)]))


def _of(count: int, row: GroupRow) -> str:
    return f"{count:,} of {row.pods:,}"


def _where(row: GroupRow) -> str:
    return f" in {row.topology_key} {row.placement}" if row.topology_key and row.placement else ""


def _why(row: GroupRow) -> list[str]:
    found = []
    if row.topology_key and row.placement and row.placements:
        found.append(f"{row.topology_key} {row.placement} is nearest")
    if row.shortages:
        shortage = row.shortages[0]
        lack = next(
            (
                f"{amount(each.resource, each.requested + each.used - each.allocatable)} {each.resource} short"
                f" on {shortage.node}"
                for each in shortage.evidence
                if isinstance(each, InsufficientResource)
            ),
            "",
        )
        on = f"on {plural(shortage.nodes, 'node')}"
        found.append(f"{lack}, the nearest of {plural(shortage.nodes, 'node')}" if lack else f"{shortage.reason} {on}")
    elif not row.placements:
        found.append(row.message)
    return found


def _other_order(row: GroupRow) -> str:
    first = next(iter(row.fits_in_order), "").partition("/")[2]
    return f"it would fit if {first} were tried first" if first else ""


def _cost(row: GroupRow) -> str:
    groups = f", {plural(len(row.victim_groups), 'gang')} as a whole" if row.victim_groups else ""
    broken = f"violating {some(row.violations)}" if row.violations else "no budget violated"
    return f"evicts {plural(len(row.victims), 'pod')}{groups}, {broken}"
