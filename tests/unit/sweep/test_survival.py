"""The rule `survives` of a gate."""

from __future__ import annotations

from typing import Any

import pytest

import kwhatif
from tests.property.test_simulation import CLASSES, deployment, node

Json = dict[str, Any]
HEAD = {"apiVersion": "kwhatif.dev/v1", "kind": "Policy", "caveats": {"*": "pass"}}


def cluster(*cpus: int, zones: str = "") -> list[Json]:
    nodes = [node(f"n{number}", cpu) for number, cpu in enumerate(cpus)]
    for made, zone in zip(nodes, zones, strict=False):
        made["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone
    return [*CLASSES, *nodes]


def findings(objects: list[Json], manifest: Json, **policy: Any) -> list[tuple[str, str, str | None]]:
    report = kwhatif.gate(kwhatif.load(objects), [manifest], policy={**HEAD, **policy})
    assert report.policy is not None
    return [(row.rule, row.message, row.suppressed) for row in report.policy.findings if "survives" in row.rule]


def test_what_fits_after_a_loss_survives_it() -> None:
    assert findings(cluster(4, 4), deployment("x", 2, 2, "low", 0), survives=["node"]) == []


def test_what_does_not_fit_after_a_loss() -> None:
    ((rule, message, _),) = findings(cluster(4, 4), deployment("x", 3, 2, "low", 0), survives=["node"])
    assert rule == "survives/node"
    assert message.startswith("node n0 can no longer fail without harm: ")
    assert message.endswith("stays pending; the same for 1 more")


def test_harm_that_there_was_before_is_not_the_manifests() -> None:
    there = [*cluster(4, 4, 4, zones="aab"), deployment("old", 5, 2, "mid", 0)]
    assert findings(there, deployment("x", 0, 1, "low", 0), survives=["node", "zone"]) == []
    ((rule, message, _),) = findings(there, deployment("x", 1, 2, "low", 0), survives=["zone"])
    assert (rule, message) == (
        "survives/zone",
        "zone a can no longer fail without harm: 4 pods stay pending; the same for 1 more",
    )


def test_what_cannot_be_judged_fails() -> None:
    ((rule, message, _),) = findings(cluster(4), deployment("x", 1, 1, "low", 0), survives=["zone"])
    assert (rule, message) == (
        "survives/zone",
        "cannot be judged: no node has the label topology.kubernetes.io/zone",
    )


def test_an_exception_for_all() -> None:
    excuse = {"rules": ["survives/node"], "workloads": ["*"], "reason": "one node only", "expires": "2999-01-01"}
    ((_, _, suppressed),) = findings(
        cluster(4), deployment("x", 1, 1, "low", 0), survives=["node"], exceptions=[excuse]
    )
    assert suppressed == "one node only"


@pytest.mark.parametrize("survives", [["rack"], ["node", "node"], "node"])
def test_mistakes(survives: Any) -> None:
    with pytest.raises(kwhatif.InputError, match="survives"):
        findings(cluster(4), deployment("x", 1, 1, "low", 0), survives=survives)
