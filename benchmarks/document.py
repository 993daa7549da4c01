"""The figures of a run as docs/performance.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.rows import Row, Target


class Section(NamedTuple):
    """The figures of one benchmark."""

    title: str
    rows: Sequence[Row]
    #: What explains the figures; "" where they explain themselves.
    note: str = ""


def document(introduction: str, sections: Sequence[Section]) -> str:
    """The whole document."""
    return "\n".join([introduction.format(machine=machine(), targets=_targets(sections)), *map(_table, sections)])


def machine() -> str:
    """What the run depends on, and nothing about whose machine it is."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores, {platform.machine()}, {platform.python_implementation()} {platform.python_version()}"


def _targets(sections: Sequence[Section]) -> str:
    judged = [row for section in sections for row in section.rows if row.target]
    missed = [row.what for row in judged if not row.met]
    return f"{len(judged) - len(missed)} of {len(judged)}" + (f"; not met: {'; '.join(missed)}" if missed else "")


def _table(section: Section) -> str:
    note = [section.note, ""] if section.note else []
    return "\n".join([f"## {section.title}", "", *note, *_lines(section.rows), ""])


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    yield "| what | figure | ratio | compared with | target | met |"
    yield "|---|---:|---:|---|---|---|"
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        against = "" if row.reference is None else f"{row.against}: {amount(row.reference, row.unit)}"
        target = "" if row.target is None else _target(row.target, row.unit)
        met = {None: "", True: "yes", False: "**no**"}[row.met]
        yield f"| {row.what} | {amount(row.figure, row.unit)} | {ratio} | {against} | {target} | {met} |"


def _target(target: Target, unit: str) -> str:
    limit = f"{target.limit:.3g} times" if target.of_ratio else amount(target.limit, unit)
    return f"{'≥' if target.at_least else '≤'} {limit}"


def amount(value: float, unit: str) -> str:
    """A figure with its unit, to three digits."""
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"
