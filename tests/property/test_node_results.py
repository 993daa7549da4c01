"""Scores that one attempt leaves for the next are those of a new attempt, on whatever state of whatever cluster."""

from random import Random

from hypothesis import given, settings

from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.examples import examples
from tests.property.worlds import RANDOMS
from tests.watching import Watched, World


def _found(whole: Attempt) -> object:
    scores = whole.scores
    if scores is None:
        verdicts = {name: (found.status, found.plugin) for name, found in whole.cycle.verdicts.items()}
        return whole.message, verdicts
    return [node.name for node in scores.nodes], scores.by_plugin, scores.raw, scores.total


@given(RANDOMS)
@settings(max_examples=examples(100))
def test_node_results_are_right_on_any_state(random: Random) -> None:
    profile, states = default_profile(), list[State]()
    for _ in range(2):
        world = World()
        watched = Watched(world.all_listed())
        for _ in range(random.randrange(3, 8)):
            watched.take([event for event in (world.change(random) for _ in range(random.randrange(12))) if event])
            states.append(watched.session.state)
    for _ in range(20):
        state = random.choice(states)
        if not state.pods:
            continue
        pod = PodInfo(random.choice(list(state.pods.values())).pod)
        known = attempt(profile, pod, state, node_results=profile.node_results)
        assert _found(known) == _found(attempt(profile, pod, state))
