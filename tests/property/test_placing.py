"""Placing many pods: the fast way equals a whole attempt for each, on random clusters with random workloads."""

from random import Random

from hypothesis import event, given, settings

from kwhatif.kube.model.caveat.scheduling import Batching
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.scheduler.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from kwhatif.state.change import Delete
from kwhatif.state.state import State
from tests.examples import examples
from tests.placing import Placing
from tests.profiles import replaced
from tests.property.worlds import RANDOMS, World, worlds
from tests.reference import placing as plain
from tests.reference.placing import Plain

PROFILE = default_profile()
#: Without spreading by default, pods have signatures: OpportunisticBatching has an effect.
NOT_SPREADING = replaced(PROFILE, PodTopologySpread(PodTopologySpreadArgs(defaulting_type="List")))


def as_plain(placement: ScheduleResult) -> Plain:
    candidate = placement.candidate
    return Plain(
        placement.pod.key,
        placement.outcome,
        placement.node,
        placement.ties,
        dict(placement.scores),
        placement.score,
        placement.message,
        tuple((victim.pod.key, victim.budgets, victim.violates) for victim in placement.victims),
        tuple((use.name, use.before, use.after) for use in candidate.budgets) if candidate else (),
        tuple(other.key for other in placement.cleared_nominations),
        tuple((reprieve.pod.key, reprieve.objection) for reprieve in candidate.reprieves) if candidate else (),
    )


def contents(snapshot: State) -> object:
    """Everything that placing could have changed."""
    return (
        {info.name: ([each.key for each in info.pods], info.cpu, set(info.used_ports())) for info in snapshot.nodes},
        {name: [each.key for each in pods] for name, pods in snapshot.nominated.items() if pods},
        sorted(snapshot.pods),
        sorted(snapshot.pending),
        {
            f"{pod.namespace}/{name}": snapshot.users_of(f"{pod.namespace}/{name}")
            for pod in snapshot.pods.values()
            for name in pod.claim_names
        },
    )


def compare(world: World, profile: Profile = PROFILE) -> None:
    """Place the pods of the world both ways."""
    session, by_itself = State(world.cluster), State(world.cluster.fork())
    before = contents(session)
    placer = Placing({DEFAULT_SCHEDULER: profile}, session.fork())
    expected = plain.place(profile, by_itself, world.pods)
    placed = placer.place_all(world.pods)
    for outcome in {each.outcome for each in expected}:
        event(outcome)
    assert [as_plain(each) for each in placed] == expected
    assert contents(placer.state) == contents(by_itself)
    assert contents(session) == before
    if any(isinstance(caveat, Batching) for caveat in placer.caveats):
        event("hinted")


@given(worlds())
@settings(max_examples=examples(300))
def test_the_fast_way_equals_the_plain_one(world: World) -> None:
    compare(world)


@given(worlds())
@settings(max_examples=examples(100))
def test_equal_pods_go_by_one_ranking_where_nothing_spreads_them(world: World) -> None:
    compare(world, NOT_SPREADING)


@given(worlds(), RANDOMS)
@settings(max_examples=examples(60))
def test_pods_that_leave_in_between_make_no_difference(world: World, random: Random) -> None:
    """As in a rollout: nothing is kept from replica to replica that no longer holds."""
    placer = Placing({DEFAULT_SCHEDULER: PROFILE}, State(world.cluster).fork())
    by_itself = State(world.cluster.fork())
    for info in sorted(world.pods, key=lambda each: -each.priority):
        on_nodes = sorted(key for key, each in by_itself.pods.items() if each.pod.spec.node_name)
        for key in random.sample(on_nodes, min(len(on_nodes), random.choice([0, 0, 1, 2]))):
            placer.withdraw(key)
            by_itself.apply(Delete(Pod, key))
        (expected,) = plain.place(PROFILE, by_itself, [info])
        assert as_plain(placer.place(info)) == expected
    assert contents(placer.state) == contents(by_itself)
