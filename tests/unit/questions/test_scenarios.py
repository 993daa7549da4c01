"""The same question of every node alone: each answer is what the command says of that node; and the rule `survives`."""

from typing import Any

import pytest

import kwhatif
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.errors import InputError
from kwhatif.questions.maintenance.drain import drain
from kwhatif.questions.maintenance.outage import outage
from kwhatif.questions.scenarios import Outages, drain_each, outage_each
from kwhatif.questions.session.session import Session
from kwhatif.sweep.processes import play_here
from tests.builders import cluster
from tests.property.test_simulation import CLASSES, deployment, node
from tests.unit.questions.maintenance.test_drain import QUICK, bare, budget, web
from tests.unit.questions.maintenance.test_outage import living

OBJECTS = [
    living("n1").zone("a"),
    living("n2").zone("b"),
    living("n3").zone("b"),
    *web("n1", "n2"),
    budget(max_unavailable=1),
    bare("debug", "n3"),
]


def test_drains_are_what_they_are_alone_and_the_worst_is_first() -> None:
    session = Session.of(cluster(*OBJECTS))
    rows = drain_each(session, ("n1", "n2", "n3"), DrainOptions(), QUICK, play_here).scenarios
    assert [(row.scenario, row.verdict.ok) for row in rows] == [("n3", False), ("n1", True), ("n2", True)]
    for row in rows:
        story = drain(session, (row.scenario,), DrainOptions(), QUICK).story
        assert story is not None
        assert story.verdict == row.verdict


def test_outages_are_what_they_are_alone() -> None:
    session = Session.of(cluster(*OBJECTS))
    rows = outage_each(session, "topology.kubernetes.io/zone", Outages(deleted=True), QUICK, play_here).scenarios
    assert {row.scenario: row.verdict.nodes for row in rows} == {"a": ("n1",), "b": ("n2", "n3")}
    for row in rows:
        story = outage(session, row.verdict.nodes, QUICK, deleted=True).story
        assert story is not None
        assert story.verdict == row.verdict


def test_a_label_that_no_node_has() -> None:
    session = Session.of(cluster(*OBJECTS))
    with pytest.raises(InputError, match=r"no node has the label rack$"):
        outage_each(session, "rack", Outages(), QUICK, play_here)
    with pytest.raises(InputError, match=r"no node has the label zone \(did you mean topology.kubernetes.io/zone\?\)"):
        outage_each(session, "zone", Outages(), QUICK, play_here)


# --- The rule `survives` of a gate --------------------------------------------------------------------


Json = dict[str, Any]
HEAD = {"apiVersion": "kwhatif.dev/v1", "kind": "Policy", "caveats": {"*": "pass"}}


def sized(*cpus: int, zones: str = "") -> list[Json]:
    nodes = [node(f"n{number}", cpu) for number, cpu in enumerate(cpus)]
    for made, zone in zip(nodes, zones, strict=False):
        made["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone
    return [*CLASSES, *nodes]


def findings(objects: list[Json], manifest: Json, **policy: Any) -> list[tuple[str, str, str | None]]:
    report = kwhatif.gate(kwhatif.load(objects), [manifest], policy={**HEAD, **policy})
    assert report.policy is not None
    return [(row.rule, row.message, row.suppressed) for row in report.policy.findings if "survives" in row.rule]


def test_what_fits_after_a_loss_survives_it() -> None:
    assert findings(sized(4, 4), deployment("x", 2, 2, "low", 0), survives=["node"]) == []


def test_what_does_not_fit_after_a_loss() -> None:
    ((rule, message, _),) = findings(sized(4, 4), deployment("x", 3, 2, "low", 0), survives=["node"])
    assert rule == "survives/node"
    assert message.startswith("node n0 can no longer fail without harm: ")
    assert message.endswith("stays pending; the same for 1 more")


def test_harm_that_there_was_before_is_not_the_manifests() -> None:
    there = [*sized(4, 4, 4, zones="aab"), deployment("old", 5, 2, "mid", 0)]
    assert findings(there, deployment("x", 0, 1, "low", 0), survives=["node", "zone"]) == []
    ((rule, message, _),) = findings(there, deployment("x", 1, 2, "low", 0), survives=["zone"])
    assert (rule, message) == (
        "survives/zone",
        "zone a can no longer fail without harm: 4 pods stay pending; the same for 1 more",
    )


def test_what_cannot_be_judged_fails() -> None:
    ((rule, message, _),) = findings(sized(4), deployment("x", 1, 1, "low", 0), survives=["zone"])
    assert (rule, message) == (
        "survives/zone",
        "cannot be judged: no node has the label topology.kubernetes.io/zone",
    )


def test_an_exception_for_all() -> None:
    excuse = {"rules": ["survives/node"], "workloads": ["*"], "reason": "one node only", "expires": "2999-01-01"}
    ((_, _, suppressed),) = findings(sized(4), deployment("x", 1, 1, "low", 0), survives=["node"], exceptions=[excuse])
    assert suppressed == "one node only"


@pytest.mark.parametrize("survives", [["rack"], ["node", "node"], "node"])
def test_mistakes(survives: Any) -> None:
    with pytest.raises(kwhatif.InputError, match="survives"):
        findings(sized(4), deployment("x", 1, 1, "low", 0), survives=survives)
