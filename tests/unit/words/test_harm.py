"""The line of a finding agrees in number, and says of whom it speaks."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.questions.audit.findings import findings_of
from kwhatif.report.risks import HarmRow
from kwhatif.words.harm import finding_message

WEB, API = "Deployment shop/web", "Deployment shop/api"


def line(subjects: list[str], **fields: Any) -> str:
    """Of one finding about these workloads."""
    given = {"probe": "outage", "scenario": "a1", "harm": "pods-pending", "pods": 1, **fields}
    (finding,) = findings_of([HarmRow(subject=each, **given) for each in subjects], lambda _: "")
    return finding_message(finding)


ROOM = {"cause": "room", "about": ("cpu",)}
STAYS = {"cause": "toleration-unknown"}
LOST = {"cause": "node-silent", "harm": "service-lost"}
TAINT = {"cause": "taint", "harm": "no-way-back", "probe": "return", "about": ("a=b:NoSchedule",)}
LABELS = {"cause": "labels", "harm": "no-way-back", "probe": "return"}


@pytest.mark.parametrize(
    ("subjects", "fields", "said"),
    [
        ([WEB], ROOM, f"1 pod of {WEB} stays pending if a1 is lost: no node has enough cpu free"),
        ([WEB], {**ROOM, "pods": 2}, f"2 pods of {WEB} stay pending if a1 is lost: no node has enough cpu free"),
        (
            [API, WEB],
            ROOM,
            f"pods of {API} and 1 other workload stay pending if a1 is lost: no node has enough cpu free",
        ),
        (
            [WEB],
            STAYS,
            f"1 pod of {WEB} stays on the lost node if a1 is lost: nothing says for how long its pods tolerate the"
            " loss of their node",
        ),
        (
            ["StatefulSet d/a", "StatefulSet d/b"],
            LOST,
            "StatefulSet d/a and 1 other workload have no ready pod if a1 is lost: their pods are not replaced until the"
            " lost node is back, or has the out-of-service taint",
        ),
        (
            [WEB],
            TAINT,
            f"1 pod of {WEB} could not be placed again where it runs: its node now has the taint a=b:NoSchedule",
        ),
        (
            [API, WEB],
            TAINT,
            f"pods of {API} and 1 other workload could not be placed again where they run: their node now has the taint"
            " a=b:NoSchedule",
        ),
        (
            [WEB],
            LABELS,
            f"1 pod of {WEB} could not be placed again where it runs: its node no longer has the labels that it asks"
            " for",
        ),
        (
            ["PodDisruptionBudget shop/web"],
            {"cause": "priority", "harm": "budget-broken", "probe": "drain"},
            "budget shop/web lacks 1 healthy pod if a1 is drained: pods of higher priority may evict its pods",
        ),
    ],
)
def test_the_line_of_a_finding(subjects: list[str], fields: dict[str, Any], said: str) -> None:
    assert line(subjects, **fields) == said
