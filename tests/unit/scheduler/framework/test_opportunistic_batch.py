"""OpportunisticBatching: the next of equal pods takes the second best node of the one before, where that one is full."""

import pytest

from kwhatif.kube.model.caveat.scheduling import Batching
from kwhatif.scheduler.batch import BatchCache, ScheduleResult
from kwhatif.scheduler.batch.cache import Cycles
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.scheduler.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from kwhatif.state.change import Bind, Evict
from kwhatif.state.state import State
from tests.builders import HOSTNAME, NodeBuilder, PodBuilder, affinity_term, node, pod, selector, snapshot
from tests.placing import Placing
from tests.profiles import replaced

BARE = replaced(default_profile(), PodTopologySpread(PodTopologySpreadArgs(defaulting_type="List")))


def web(number: int, cpu: str = "1") -> PodBuilder:
    return pod(f"web-{number}").labels(app="web").priority(10).cpu(cpu)


def place(cache: BatchCache, state: State, built: PodBuilder) -> ScheduleResult:
    result = cache.attempt(built.info())
    if result.node is not None:
        state.apply(Bind(result.pod.pod, result.node))
    return result


def rooms(cpu: str = "1500m") -> list[NodeBuilder | PodBuilder]:
    """Nodes that are alike, and one that would be better were it not for a pod there."""
    alike = [node(name).allocatable(cpu=cpu, pods="9") for name in ("a", "b", "c")]
    return [*alike, node("z").allocatable(cpu="9", pods="9"), pod("big").cpu("8500m").on("z")]


@pytest.mark.parametrize(
    ("profile", "made", "room", "hinted"),
    [
        pytest.param(BARE, [web(0), web(1), web(2)], "1500m", [False, True, True], id="one to a node"),
        pytest.param(BARE, [web(0), web(1), web(2)], "4", [False] * 3, id="the node has room for the next"),
        pytest.param(
            BARE, [web(n).spread(HOSTNAME, selector(app="web"), 5) for n in range(3)], "1500m", [False] * 3,
            id="pods with constraints",
        ),
        pytest.param(
            BARE, [web(n).pod_anti_affinity(affinity_term(HOSTNAME, selector(app="web"))) for n in range(3)],
            "1500m", [False] * 3, id="pods with affinity",
        ),
        pytest.param(default_profile(), [web(0), web(1), web(2)], "1500m", [False] * 3, id="default spreading"),
        pytest.param(BARE, [web(0), web(1, "1100m"), web(2)], "1500m", [False] * 3, id="another one in between"),
        pytest.param(BARE, [web(0), pod("low").cpu("9"), web(2)], "1500m", [False] * 3, id="a failure in between"),
        pytest.param(BARE, [web(0), pod("low").gates("later"), web(2)], "1500m", [False, False, True],
            id="a gated pod in between, which is not tried",
        ),
    ],
)  # fmt: skip
def test_which_pods_are_hinted(profile: Profile, made: list[PodBuilder], room: str, hinted: list[bool]) -> None:
    state = snapshot(*rooms(room))
    cache = BatchCache(profile, state)
    results = [place(cache, state, made[0])]
    state.apply(Evict("default/big"))
    results += [place(cache, state, built) for built in made[1:]]
    assert [result.hinted for result in results] == hinted
    assert [result.node != "z" for result in results if result.hinted] == [True] * sum(hinted)


def test_where_the_nodes_would_rank_as_before_nothing_is_said() -> None:
    state = snapshot(*rooms())
    cache = BatchCache(BARE, state)
    results = [place(cache, state, web(number)) for number in range(3)]
    assert [(result.node, result.ties, result.hinted) for result in results] == [
        ("a", ("a", "b", "c"), False),
        ("b", ("b", "c"), False),
        ("c", ("c",), False),
    ]


def test_a_hinted_node_that_is_full_by_now_is_not_taken() -> None:
    state = snapshot(*rooms())
    cache = BatchCache(BARE, state)
    assert place(cache, state, web(0)).node == "a"
    state.apply(Bind(pod("other").cpu("1").build(), "b"))
    result = place(cache, state, web(1))
    assert (result.node, result.hinted) == ("c", False)


def test_a_cycle_of_another_profile_ends_it() -> None:
    state, cycles = snapshot(*rooms()), Cycles()
    cache, other = BatchCache(BARE, state, cycles), BatchCache(default_profile(), state, cycles)
    place(cache, state, web(0))
    state.apply(Evict("default/big"))
    place(other, state, pod("other").cpu("1100m"))
    assert not place(cache, state, web(1)).hinted


def test_a_fork_goes_on_with_the_ranking() -> None:
    state = snapshot(*rooms())
    cache = BatchCache(BARE, state)
    place(cache, state, web(0))
    state.apply(Evict("default/big"))
    fork = state.fork()
    there = cache.fork(fork)
    for known, where in ((there, fork), (cache, state)):
        result = place(known, where, web(1))
        assert (result.node, result.ties, result.hinted) == ("b", ("b", "c"), True)


def test_it_is_said_where_pods_are_hinted() -> None:
    said = []
    for profile in (BARE, default_profile()):
        state = snapshot(*rooms())
        placer = Placing({DEFAULT_SCHEDULER: profile}, state)
        placer.place(web(0).info())
        state.apply(Evict("default/big"))
        assert placer.place(web(1).info()).outcome == "Placed"
        said.append(any(isinstance(caveat, Batching) for caveat in placer.caveats))
    assert said == [True, False]
