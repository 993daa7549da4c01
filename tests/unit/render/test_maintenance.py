"""The first line of `drain --each` and `outage --each`."""

import io
from typing import Literal

import pytest
from rich.console import Console

from kwhatif.render.detail import Detail
from kwhatif.render.maintenance import scenarios
from kwhatif.render.terminal import draw
from kwhatif.report import Report
from kwhatif.report.story import ScenarioRow, VerdictRow


def scenario(name: str, of: Literal["drain", "outage"], *, ok: bool) -> ScenarioRow:
    verdict = VerdictRow(of=of, ok=ok, nodes=(name,), why="", moved=0, waves=0, preempted=0, pending=(), seconds=0.0)
    return ScenarioRow(scenario=name, verdict=verdict)


@pytest.mark.parametrize(
    ("command", "good", "bad", "expected"),
    [
        ("outage", "abc", "", "✔ any one of the 3 can fail safely"),
        ("outage", "", "abc", "✘ none of the 3 can fail safely: a, b, c; at worst (a), it does harm"),
        ("outage", "ab", "c", "✘ 2 of the 3 can fail safely, all but c: it does harm"),
        ("outage", "", "a", "✘ a cannot fail safely: it does harm"),
        ("outage", "a", "", "✔ a can fail safely"),
        ("drain", "abc", "", "✔ any one of the 3 can be drained"),
        ("drain", "", "abc", "✘ none of the 3 can be drained: a, b, c; at worst (a), it does harm"),
        ("drain", "a", "bc", "✘ 1 of the 3 can be drained, all but b, c: at worst (b), it does harm"),
        ("drain", "", "a", "✘ a cannot be drained: it does harm"),
        ("drain", "a", "", "✔ a can be drained"),
    ],
)
def test_the_first_line_says_which_may_go(
    command: Literal["drain", "outage"], good: str, bad: str, expected: str
) -> None:
    rows = (*(scenario(name, command, ok=False) for name in bad), *(scenario(name, command, ok=True) for name in good))
    console = Console(file=io.StringIO(), width=100)
    detail = Detail(quiet=True)
    for part in draw(scenarios(Report(command=command, scenarios=rows), rows, detail), detail):
        console.print(part)
    assert console.file.getvalue() == f"{expected}\n"  # type: ignore[attr-defined]
