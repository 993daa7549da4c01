"""A simulation that is forked: it goes on as one that was played from the start, and leaves the other as it was."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import kwhatif
from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.questions.maintenance.drain import DrainSimulation
from kwhatif.questions.maintenance.outage import OutageSimulation
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.outcome import Ending
from kwhatif.questions.story.rows import story_of
from kwhatif.questions.story.settled_cluster import SettledCluster
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Parameters
from tests.property.test_simulation import CLASSES, MANY, budget, deployment, node
from tests.valid_state import validate

Json = dict[str, Any]
NAMES = ("a", "b", "c", "d")
APPS = ("x", "y", "z")


def spread(draw: st.DrawFn, app: str) -> Json:
    """Rules that look beyond a node."""
    selector = {"matchLabels": {"app": app}}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    constraint = {
        "maxSkew": 1,
        "topologyKey": draw(st.sampled_from(("kubernetes.io/hostname", "zone"))),
        "whenUnsatisfiable": draw(st.sampled_from(("DoNotSchedule", "ScheduleAnyway"))),
        "labelSelector": selector,
        "nodeTaintsPolicy": draw(st.sampled_from(("Honor", "Ignore"))),
    }
    required = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    weighted = [{"weight": 10, "podAffinityTerm": {**term, "topologyKey": "zone"}}]
    preferred = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}
    return draw(
        st.sampled_from(
            ({}, {}, {"topologySpreadConstraints": [constraint]}, {"affinity": required}, {"affinity": preferred})
        )
    )


@st.composite
def clusters(draw: st.DrawFn) -> list[Json]:
    """Nodes of two zones, and Deployments whose pods come as the simulation begins."""
    objects: list[Json] = [*CLASSES]
    for number, name in enumerate(NAMES):
        made = node(name, draw(st.integers(2, 5)))
        made["metadata"]["labels"]["zone"] = "12"[number % 2]
        objects.append(made)
    for app in APPS:
        made = deployment(
            app,
            draw(st.integers(1, 5)),
            draw(st.integers(1, 2)),
            draw(st.sampled_from(("low", "mid", "high"))),
            draw(st.sampled_from((0, 3, 30))),
        )
        made["spec"]["template"]["spec"].update(spread(draw, app))
        objects.append(made)
        if draw(st.booleans()):
            objects.append(budget(app, draw(st.integers(0, 2))))
    return objects


@st.composite
def scenarios(draw: st.DrawFn) -> list[tuple[str, tuple[str, ...]]]:
    """What happens, and to which nodes."""
    kinds = st.sampled_from(("silent", "deleted", "drained", "deleted by a drain"))
    nodes = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True).map(tuple)
    return draw(st.lists(st.tuples(kinds, nodes), min_size=1, max_size=4))


def said(base: SettledCluster, kind: str, nodes: tuple[str, ...]) -> bytes:
    """The whole story of a scenario, and what it leaves out."""
    if kind in ("silent", "deleted"):
        lost = OutageSimulation(base, nodes, deleted=kind == "deleted")
        return msgspec.json.encode((lost.story(), repr(lost.caveats())))
    drained = DrainSimulation(base, nodes, DrainOptions(timeout=60.0, disable_eviction=kind != "drained"))
    return msgspec.json.encode((drained.story(drained.blocked), repr(drained.caveats())))


def text(engine: Engine) -> bytes:
    return msgspec.json.encode(story_of(Ending(engine)))


@MANY
@given(clusters(), scenarios())
def test_scenarios_on_forks_are_those_played_from_the_start(
    cluster: list[Json], asked: list[tuple[str, tuple[str, ...]]]
) -> None:
    session: Session = kwhatif.load(cluster)
    base = SettledCluster(session, Parameters())
    before = text(base.engine)
    found = [said(base, *scenario) for scenario in asked]
    assert text(base.engine) == before
    validate(base.engine.api_server.state)
    assert found == [said(SettledCluster(session, Parameters()), *scenario) for scenario in asked]
    use_reference(on=True)
    try:
        assert found == [said(base, *scenario) for scenario in asked]
    finally:
        use_reference(on=False)


@MANY
@given(clusters(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True), st.integers(0, 90))
def test_a_fork_under_way_goes_on_as_the_other_does(cluster: list[Json], nodes: list[str], seconds: int) -> None:
    engine = SettledCluster(kwhatif.load(cluster), Parameters()).engine
    engine.evict(KubectlDrain(tuple(nodes), DrainOptions(timeout=45.0)))
    engine.wait(seconds)
    fork, second = engine.fork(), engine.fork()
    fork.settle()
    was = text(second)
    engine.settle()
    assert text(second) == was
    second.settle()
    assert text(engine) == text(fork) == text(second)
    assert engine.evictors.names == fork.evictors.names
    validate(fork.api_server.state)
