"""A survey that is brought up to date says what one says that has just been made; one that cannot be is made again."""

from random import Random
from typing import Any

import pytest

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.state.state import State
from kwhatif.workloads import survey
from kwhatif.workloads.survey import Survey, survey_of
from tests.watching import BY_NAME, Watched, World, read


def said(of: Survey) -> list[Any]:
    groups = [(place, each.in_order, each.restless, each.nodes, each.ready) for place, each in of.groups()]
    return [groups, of.restless, of.bare, of.latest, of.odd_times]


def newly(state: State) -> list[Any]:
    return said(Survey(state.cluster))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pods there were, each time that all were looked at."""
    found: list[int] = []
    look = Survey._look_at

    def looking(self: Survey, pods: Any, nodes: Any) -> None:
        found.append(len(pods))
        look(self, pods, nodes)

    monkeypatch.setattr(Survey, "_look_at", looking)
    return found


@pytest.mark.parametrize("newest", [1, 3, 64])
def test_it_is_brought_up_to_date(newest: int, monkeypatch: pytest.MonkeyPatch, looks: list[int]) -> None:
    monkeypatch.setattr(survey, "_NEWEST", newest)
    asked = 0
    for seed in range(20):
        random, world = Random(seed), World()
        watched = Watched(world.all_listed())
        for _ in range(30):
            events = [event for event in (world.change(random) for _ in range(random.randrange(4))) if event]
            watched.take(events)
            state = watched.session.state
            assert said(survey_of(state.cluster)) == newly(state), seed
            asked += 1
    again = len(looks) - asked
    assert 0 < again < asked / 2


def test_forks_share_what_was_taken_in(looks: list[int]) -> None:
    random, world = Random(1), World()
    for _ in range(30):
        world.change(random)
    watched = Watched(world.all_listed())
    survey_of(watched.session.cluster)
    pod = next(iter(world.objects[BY_NAME["Pod"]].values()))
    watched.take([world.put("Pod", pod | {"status": {"phase": "Failed"}})])
    one, other = watched.session, watched.session
    assert survey_of(one.cluster) is survey_of(other.cluster)
    assert len(looks) == 1


def test_too_many_changes_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "_MOST", 3)
    state = read(World().all_listed()).state
    known = survey_of(state.cluster)
    pod = Pod()
    for number in range(3):
        later = known.updated(None, pod)
        assert later is not None
        assert later._waiting == number + 1
        known = later
    assert known.updated(None, pod) is None


def test_the_reference_looks_at_everything() -> None:
    known = survey_of(read(World().all_listed()).cluster)
    assert known.updated(None, Node()) is not None
    use_reference(on=True)
    try:
        assert known.updated(None, Pod()) is None
    finally:
        use_reference(on=False)
