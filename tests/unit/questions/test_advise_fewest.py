"""Of several pods that would have to go, the most important are spared."""

from __future__ import annotations

import pytest

import kwhatif
from tests.unit.questions.test_advise_ways import node, pod


def deletions(priorities: dict[str, int], cpu: str) -> set[str]:
    """Whose deletion is advised so that a pod gets room on a node that these fill; each has one CPU."""
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"p{value}"},
            "value": value,
        }
        for value in priorities.values()
    ]
    pods = [
        pod(name, on="n1", priority=value, priorityClassName=f"p{value}", preemptionPolicy="PreemptLowerPriority")
        for name, value in priorities.items()
    ]
    session = kwhatif.load([node("n1", str(len(pods))), *classes, *pods], kubernetes_version="1.36")
    (row,) = kwhatif.advise(session, pod("new", cpu=cpu), most=20).to_dict()["advise"]["workloads"]
    changes = (change for advice in row["advice"] for change in advice["changes"])
    return {change["target"] for change in changes if change["kind"] == "delete-pod"}


@pytest.mark.parametrize(
    ("priorities", "cpu", "gone"),
    [
        ({"a": 1, "b": 5, "c": 10}, "2", "shop/a, shop/b"),
        ({"a": 10, "b": 5, "c": 1}, "2", "shop/b, shop/c"),
        ({"a": 5, "b": 10, "c": 1, "d": 20}, "2", "shop/a, shop/c"),
        ({"a": 5, "b": 10, "c": 1, "d": 20}, "3", "shop/a, shop/b, shop/c"),
    ],
)
def test_the_least_important_go(priorities: dict[str, int], cpu: str, gone: str) -> None:
    assert deletions(priorities, cpu) == {gone}
