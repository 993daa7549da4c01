"""The answer of a report in blocks, whatever the command."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.autoscale import autoscale, consolidate
from kwhatif.render.blocks import Block
from kwhatif.render.capacity import capacity
from kwhatif.render.deschedule import deschedule
from kwhatif.render.detail import Detail
from kwhatif.render.qualifiers import descheduling_qualifier, qualifier
from kwhatif.render.upgrade import upgrade
from kwhatif.report import Report


def answer(report: Report, detail: Detail) -> Iterator[Block] | None:
    """The verdict and what backs it; None for commands that are drawn by themselves."""
    if report.deschedule is not None:
        return deschedule(report.deschedule, detail, descheduling_qualifier(report))
    if report.autoscaler is not None:
        return autoscale(report.autoscaler, detail, qualifier(report))
    if report.consolidate is not None:
        return consolidate(report.consolidate, detail, qualifier(report))
    if report.upgrade is not None:
        return upgrade(report.upgrade, detail, qualifier(report))
    if report.capacity is not None:
        return capacity(report, report.capacity, detail)
    return None
