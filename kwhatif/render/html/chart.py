"""Budgets over time, as step lines: how many disruptions each allows, and when it allows none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from kwhatif.report.story import Story, StoryBudgetRow
from kwhatif.words.amounts import took

_WIDTH, _HEIGHT, _TOP = 560.0, 34.0, 3.0
#: The part of the line before the first event.
_BEFORE = 0.04
#: Further budgets are only in the table.
_MOST = 12


class Line(NamedTuple):
    """A budget's line, and what it says in words."""

    budget: str
    words: str
    tone: str
    svg: Markup


class Chart(NamedTuple):
    """The lines, and how many seconds they are about."""

    lines: Sequence[Line]
    seconds: str
    left_out: int


def chart_of(story: Story | None) -> Chart | None:
    """The budgets that change, the lowest first; None if none does."""
    changing = [] if story is None else [row for row in story.budgets if row.steps]
    if story is None or not changing:
        return None
    changing.sort(key=lambda row: (-row.overrun, row.lowest, row.budget))
    start = story.asked or 0.0
    end = max(story.seconds, start + 1.0)
    lines = [_line(row, start, end) for row in changing[:_MOST]]
    return Chart(lines, took(end - start), len(changing) - len(lines))


def _line(row: StoryBudgetRow, start: float, end: float) -> Line:
    first = [allowed for at, allowed in row.steps if at <= start]
    before = start - _BEFORE * (end - start)
    points = [(before, row.before), (start, first[-1] if first else row.before)]
    points += [each for each in row.steps if each[0] > start]
    most = max(1, *(allowed for _, allowed in points))
    x, y, path = 0.0, _y(points[0][1], most), ""
    zero: list[str] = []
    path = f"M0 {y:.1f}"
    for (at, allowed), (until, _) in zip(points, [*points[1:], (end, 0)], strict=True):
        x, y = _x(at, before, end), _y(allowed, most)
        path += f"H{x:.1f}V{y:.1f}"
        if allowed <= 0:
            width = _x(until, before, end) - x
            zero.append(f'<rect class="none" x="{x:.1f}" y="0" width="{width:.1f}" height="{_HEIGHT}"/>')
    path += f"H{_WIDTH}"
    said = f"allows {row.before} before, {row.lowest} at the least, {row.after} after"
    if row.overrun:
        said += f"; broken by {row.overrun}"
    svg = Markup(  # noqa: S704 - numbers alone
        f'<svg class="line" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'{"".join(zero)}<path class="axis" d="M0 {_HEIGHT - _TOP}H{_WIDTH}"/><path class="step" d="{path}"/></svg>'
    )
    return Line(row.budget, said, "bad" if row.overrun else "warn" if row.lowest <= 0 else "", svg)


def _x(at: float, start: float, end: float) -> float:
    return (at - start) / (end - start) * _WIDTH


def _y(allowed: int, most: int) -> float:
    return _HEIGHT - _TOP - max(allowed, 0) / most * (_HEIGHT - 2 * _TOP)
