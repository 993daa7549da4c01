"""What ends an endless loop."""

from __future__ import annotations

import pytest

from kwhatif.controllers.contract import How
from kwhatif.render.worded import _remedies
from kwhatif.report.story import CycleRow, GoneRow, LoopCause


def gone(owner: str, how: How) -> GoneRow:
    return GoneRow(pod="shop/a", owner=owner, initial=True, node="n1", how=how, by="", at=0.0)


@pytest.mark.parametrize(
    ("rows", "causes", "expected"),
    [
        ([gone("Deployment shop/web", "Preempted")], (), ["their own nodes", "preemptionPolicy: Never"]),
        (
            [gone("Deployment shop/web", "Preempted")],
            ("anti-affinity", "spread"),
            ["their own nodes", "preemptionPolicy: Never", "let the anti-affinity", "let the spread constraint"],
        ),
        ([gone("Deployment shop/web", "TaintEviction")], (), ["effect NoSchedule"]),
        # Others than those that take part do not count.
        ([gone("Deployment shop/other", "TaintEviction")], (), []),
    ],
)
def test_remedies_go_by_how_the_pods_go(
    rows: list[GoneRow], causes: tuple[LoopCause, ...], expected: list[str]
) -> None:
    taking_part = ("Deployment shop/web",)
    cycle = CycleRow(start=0.0, period=2.0, participants=taking_part, events=(1, 2), remedies=(), causes=causes)
    found = list(_remedies(cycle, rows))
    assert len(found) == len(expected)
    assert all(part in sentence for part, sentence in zip(expected, found, strict=True))
