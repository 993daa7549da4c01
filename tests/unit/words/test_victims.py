"""Victims in few words."""

from __future__ import annotations

import pytest

from kwhatif.report.decision import VictimRow
from kwhatif.words.workload import victims_by_owner


def of(workload: str | None, number: int, priority: int = -10) -> VictimRow:
    return VictimRow(pod=f"batch/v{number}", priority=priority, owner=workload, workload=workload)


@pytest.mark.parametrize(
    ("victims", "expected"),
    [
        ([], ""),
        ([of("Job batch/etl", 1)], "1 pod of Job batch/etl (priority -10)"),
        ([of("Job batch/etl", 1), of("Job batch/etl", 2)], "2 pods of Job batch/etl (priority -10)"),
        ([of(None, 1)], "pod batch/v1 (priority -10)"),
        ([of(None, 1), of(None, 2)], "2 pods without an owner (priority -10)"),
        (
            [of("StatefulSet a/db", 1), of("StatefulSet a/db", 2, 5), of(None, 3)],
            "1 pod of StatefulSet a/db (priority -10), 1 pod of StatefulSet a/db (priority 5)"
            " and pod batch/v3 (priority -10)",
        ),
        (
            [of(f"Job a/j{number}", number) for number in range(5)],
            "1 pod of Job a/j0 (priority -10), 1 pod of Job a/j1 (priority -10), 1 pod of Job a/j2 (priority -10)"
            " and 2 more",
        ),
    ],
)
def test_victims_are_named_by_owner_and_count(victims: list[VictimRow], expected: str) -> None:
    assert victims_by_owner(victims) == expected


def test_an_owner_stands_in_for_a_workload_that_is_not_known() -> None:
    assert victims_by_owner([VictimRow(pod="a/b", priority=0, owner="Job a/j")]) == "1 pod of Job a/j (priority 0)"
