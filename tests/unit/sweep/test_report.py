"""The same question of every node alone: each answer is what the command says of that node."""

from __future__ import annotations

import pytest

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.errors import InputError
from kwhatif.questions.maintenance.drain import drain
from kwhatif.questions.maintenance.outage import outage
from kwhatif.questions.scenarios import Outages, drain_each, outage_each
from kwhatif.questions.session.session import Session
from kwhatif.sweep.processes import play_here
from tests.builders import cluster
from tests.unit.questions.test_drain import QUICK, bare, budget, web
from tests.unit.questions.test_outage import living

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
