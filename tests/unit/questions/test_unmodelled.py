"""Caveats about what is there and is not modelled."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.caveat.scheduling import HugeAmounts
from kwhatif.questions.session.completeness import huge_amounts
from tests.builders import PodBuilder, node, pod, snapshot


@pytest.mark.parametrize(
    ("memory", "running", "huge"),
    [
        ("8Pi", [], True),
        ("8191Ti", [], False),
        ("1Gi", [pod("a").on("n1").memory("5Pi"), pod("b").on("n1").memory("3Pi")], True),
        ("1Gi", [pod("a").on("n1").memory("5Pi")], False),
        ("1Gi", [pod("a").on("n1").requests({"example.com/units": "9Pi"})], True),
    ],
)
def test_huge_amounts_are_said_of_what_a_node_has_and_what_its_pods_request(
    memory: str, running: list[PodBuilder], huge: bool
) -> None:
    made = snapshot(node("n1").allocatable(memory=memory), node("n2"), *running)
    assert list(huge_amounts(made.nodes)) == ([HugeAmounts(nodes=("n1",))] if huge else [])
