"""Placing many pods: the fast way equals a whole attempt for each, on random clusters with random workloads."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kwhatif.batch import ScheduleResult
from kwhatif.catalog import default_profile
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.model.affinity import PodAffinityTerm
from kwhatif.model.caveat.scheduling import Batching
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import LabelSelector
from kwhatif.model.pod import Pod
from kwhatif.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.whatif.placing.placer import Placer
from tests.builders import (
    HOSTNAME,
    ZONE,
    PodBuilder,
    affinity_term,
    budget,
    cluster,
    node,
    pod,
    requirement,
    selector,
    service,
    term,
)
from tests.examples import examples
from tests.profiles import replaced
from tests.reference import placing as plain
from tests.reference.placing import Plain

PROFILE = default_profile()
#: Without spreading by default, pods have signatures: OpportunisticBatching has an effect.
NOT_SPREADING = replaced(PROFILE, PodTopologySpread(PodTopologySpreadArgs(defaulting_type="List")))
RACK = "rack"
APPS = ["web", "db"]


class World(NamedTuple):
    cluster: Cluster
    pods: list[PodInfo]


# --- random worlds ------------------------------------------------------------------------------------


def one_in(random: Random, number: int) -> bool:
    return random.randrange(number) == 0


def some_selector(random: Random) -> LabelSelector | None:
    if one_in(random, 8):
        return random.choice([None, selector(), selector(requirement("app", "NotIn", "db"))])
    return selector(app=random.choice(APPS))


def some_term(random: Random) -> PodAffinityTerm:
    return affinity_term(random.choice([HOSTNAME, HOSTNAME, ZONE, RACK]), some_selector(random))


def decorate(random: Random, built: PodBuilder, rarity: int) -> PodBuilder:
    """Now and then something that a filter or a scorer looks at."""
    if one_in(random, rarity):
        built.pod_anti_affinity(some_term(random))
    if one_in(random, rarity * 2):
        built.pod_affinity(some_term(random))
    if one_in(random, rarity):
        built.prefer_pods(random.randint(1, 100), some_term(random))
    if one_in(random, rarity):
        built.prefer_not_pods(random.randint(1, 100), some_term(random))
    if one_in(random, rarity * 2):
        built.host_port(random.choice([80, 443]))
    return built


def running(random: Random, name: str) -> PodBuilder:
    built = pod(name, random.choice(["default", "default", "shop"])).cpu(random.choice(["0", "300m", "500m", "1"]))
    built.labels(app=random.choice(APPS)).priority(random.choice([-5, 0, 0, 0, 5]))
    if one_in(random, 2):
        built.started(f"2026-01-01T00:0{random.randrange(4)}:00Z")
    if one_in(random, 10):
        built.terminating()
    if one_in(random, 2):
        built.labels(tier=random.choice("ab"))
    return decorate(random, built, 12)


def some_nodes(random: Random) -> list[Any]:
    objects: list[Any] = []
    for index in range(random.choice([1, 2, 3, 4, 9, 10])):
        name = f"n{index}"
        built = node(name).allocatable(cpu=random.choice(["2", "2", "4"]), pods="8")
        built.zone(random.choice("abc")).labels({RACK: random.choice([name, name, "x"])})
        if one_in(random, 6):
            built.without_label(random.choice([HOSTNAME, ZONE, RACK]))
        if one_in(random, 4):
            built.taint("soft", effect="PreferNoSchedule")
        if one_in(random, 6):
            built.taint("hard")
        if one_in(random, 3):
            built.labels(disk="ssd")
        if one_in(random, 3):
            built.image(500 * 1024 * 1024, "app:1")
        objects.append(built.build())
    return objects


def surroundings(random: Random, names: Sequence[str], most: int) -> list[Any]:
    objects: list[Any] = []
    for name in names:
        pods_there = random.randrange(most // 2, most)
        objects += [running(random, f"{name}-{number}").on(name).build() for number in range(pods_there)]
    for number in range(random.randrange(4)):
        labels = random.choice([{"app": "web"}, {"app": "db"}, {"tier": "a"}, {}])
        disrupted = [random.choice(["n0-0", "n1-1"])] if one_in(random, 4) else []
        namespace = random.choice(["default", "default", "shop"])
        objects.append(budget(f"b{number}", random.randrange(6), selector(**labels), namespace, disrupted))
    if one_in(random, 2):
        objects.append(service("web", {"app": "web"}))
    for number in range(random.choice([0, 0, 1, 2])):
        nominated = running(random, f"nominated-{number}").nominated(random.choice(names))
        objects.append(nominated.priority(random.choice([0, 5, 10])).build())
    return objects


def workload(random: Random, name: str, priority: int) -> list[PodBuilder]:
    """Replicas of one workload; they differ in their names alone."""
    state = random.getrandbits(32)
    return [
        replica(Random(state), f"{name}-{number}", priority) for number in range(random.choice([1, 2, 3, 5, 7, 14]))
    ]


def replica(random: Random, name: str, priority: int) -> PodBuilder:
    built = pod(name).cpu(random.choice(["0", "300m", "500m", "1", "1500m"])).labels(app=random.choice(APPS))
    built.priority(priority).image("app:1")
    return built if one_in(random, 3) else demanding(random, built)


def demanding(random: Random, built: PodBuilder) -> PodBuilder:
    decorate(random, built, 4)
    if one_in(random, 3):
        key = random.choice([HOSTNAME, ZONE, ZONE, RACK])
        built.spread(key, some_selector(random), random.randint(1, 2), min_domains=random.choice([None, None, 2]))
    if one_in(random, 3):
        key = random.choice([HOSTNAME, ZONE, RACK])
        built.spread(key, some_selector(random), random.randint(1, 3), soft=True)
    if one_in(random, 3):
        built.prefer_nodes(random.randint(1, 50), term(requirement("disk", "In", "ssd")))
    if one_in(random, 5):
        built.node_selector(disk="ssd")
    if one_in(random, 4):
        built.toleration("hard", "Exists")
    if one_in(random, 12):
        built.spec(preemption_policy="Never")
    if one_in(random, 12):
        built.claim("data")
    if one_in(random, 20):
        built.gates("later")
    return built


def some_world(random: Random) -> World:
    objects = some_nodes(random)
    names = [each.metadata.name for each in objects]
    is_full = one_in(random, 2)
    objects += surroundings(random, names, 12 if is_full else 4)
    priorities = [random.choice([10, 20]) if is_full else random.choice([0, 10, 20]) for _ in range(2)]
    pods = [built for index, priority in enumerate(priorities) for built in workload(random, f"w{index}", priority)]
    if one_in(random, 6):
        pods.append(pod("nominated-0").cpu("500m").nominated(random.choice(names)))
    if one_in(random, 6):
        pods.append(pod("n0-0").cpu("500m"))
    return World(cluster(*objects), [built.info() for built in pods])


# --- the fast way and the plain one -------------------------------------------------------------------


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
    placer = Placer({DEFAULT_SCHEDULER: profile}, session.fork())
    expected = plain.place(profile, by_itself, world.pods)
    placed = list(placer.place_all(world.pods))
    for outcome in {each.outcome for each in expected}:
        event(outcome)
    assert [as_plain(each.result) for each in placed] == expected
    assert contents(placer.snapshot) == contents(by_itself)
    assert contents(session) == before
    if any(isinstance(caveat, Batching) for caveat in placer.caveats):
        event("hinted")


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(300))
def test_the_fast_way_equals_the_plain_one(random: Random) -> None:
    compare(some_world(random))


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(100))
def test_equal_pods_go_by_one_ranking_where_nothing_spreads_them(random: Random) -> None:
    compare(some_world(random), NOT_SPREADING)


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(60))
def test_pods_that_leave_in_between_make_no_difference(random: Random) -> None:
    """As in a rollout: nothing is kept from replica to replica that no longer holds."""
    world = some_world(random)
    placer = Placer({DEFAULT_SCHEDULER: PROFILE}, State(world.cluster).fork())
    by_itself = State(world.cluster.fork())
    for info in sorted(world.pods, key=lambda each: -each.priority):
        on_nodes = sorted(key for key, each in by_itself.pods.items() if each.pod.spec.node_name)
        for key in random.sample(on_nodes, min(len(on_nodes), random.choice([0, 0, 1, 2]))):
            placer.withdraw(key)
            by_itself.apply(Delete(Pod, key))
        (expected,) = plain.place(PROFILE, by_itself, [info])
        assert as_plain(placer.place(info).result) == expected
    assert contents(placer.snapshot) == contents(by_itself)
