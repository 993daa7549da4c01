"""The answer of a report in blocks, whatever the command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kwhatif.render.qualifiers import descheduling_qualifier, qualifier

if TYPE_CHECKING:
    from kwhatif.render.blocks import Block
    from kwhatif.render.detail import Detail
    from kwhatif.report import Report


def answer(report: Report, detail: Detail) -> Iterator[Block] | None:
    """The verdict and what backs it; None for commands that are drawn by themselves.

    Each command's blocks are imported when they are drawn: most reports have none of them.
    """
    if report.deschedule is not None:
        from kwhatif.render.deschedule import deschedule

        return deschedule(report.deschedule, detail, descheduling_qualifier(report))
    if report.autoscaler is not None and report.command == "autoscale":
        from kwhatif.render.autoscale import autoscale

        return autoscale(report, report.autoscaler, detail, qualifier(report))
    if report.consolidate is not None:
        from kwhatif.render.autoscale import consolidate

        return consolidate(report.consolidate, detail, qualifier(report))
    if report.upgrade is not None:
        from kwhatif.render.upgrade import upgrade

        return upgrade(report.upgrade, detail, qualifier(report))
    if report.capacity is not None:
        from kwhatif.render.capacity import capacity

        return capacity(report, report.capacity, detail)
    return None


def growth(report: Report, detail: Detail) -> Iterator[Block]:
    """The nodes that an autoscaler has added on the way to the answer; nothing where none is asked for."""
    if report.autoscaler is not None and report.command != "autoscale" and not detail.quiet:
        from kwhatif.render.autoscale import growth as blocks

        yield from blocks(report.autoscaler)
