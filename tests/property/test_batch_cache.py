"""A cache of attempts follows a state that anybody changes, and forks with it: it says what whole attempts say."""

from random import Random

from hypothesis import given, settings
from msgspec.structs import replace

from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.scheduler.batch import BatchCache, ScheduleResult
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.scheduler.release import find_release
from kwhatif.state.change import Bind, Delete, Evict, Nominate, Upsert
from kwhatif.state.pod_index import PodIndex
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.builders import budget, cluster, node, pod, selector, service
from tests.examples import examples
from tests.property import test_placing_numbered as numbered
from tests.property.test_placing import PROFILE, as_plain
from tests.property.worlds import RANDOMS, World, one_in, running, worlds
from tests.reference.placing import plain_of
from tests.valid_state import validate

Line = tuple[State, BatchCache]
NEWEST = find_release(37).default_profile()


def whole(pod: PodInfo, state: State, profile: Profile) -> object:
    """The pod's attempt with all fast paths off, and with indexes of its own."""
    fork = state.fork()
    fork._pods.index, fork._pods._owns_index = PodIndex(fork.pods), True
    use_reference(on=True)
    try:
        return plain_of(attempt(profile, pod, fork))
    finally:
        use_reference(on=False)


def settle(result: ScheduleResult, state: State) -> None:
    """The pod goes to its node, in place of its victims."""
    if result.node is None:
        return
    state.apply(*(Evict(victim.pod.key) for victim in result.victims))
    info = state.node(result.node)
    assert info is not None
    pod = result.pod.key if result.pod.key in state.pending else result.pod.pod
    state.apply(Bind(pod, result.node, result.reserve(info)))


def disturb(random: Random, state: State, number: int) -> None:
    """Somebody else changes the state."""
    on_nodes = sorted(key for key, pod in state.pods.items() if state.node(pod.pod.spec.node_name) is not None)
    node = random.choice(state.nodes)
    match random.randrange(9):
        case 0 if on_nodes:
            state.apply(Evict(random.choice(on_nodes)))
        case 1 if on_nodes:
            state.apply(Delete(Pod, random.choice(on_nodes)))
        case 2:
            state.apply(Bind(running(random, f"new-{number}").build(), node.name))
        case 3 if on_nodes:
            pod = state.pods[random.choice(on_nodes)].pod
            labels = {**pod.metadata.labels, "app": random.choice(["web", "db"])}
            state.apply(Upsert(replace(pod, metadata=replace(pod.metadata, labels=labels))))
        case 4:
            nominated = running(random, f"waits-{number}").priority(random.choice([0, 10])).build()
            state.apply(Upsert(nominated), Nominate(f"{nominated.metadata.namespace}/waits-{number}", node.name))
        case 5:
            budgets = [*state.cluster.all(PodDisruptionBudget).values(), budget("b9", 1, selector(app="web"))]
            chosen = random.choice(budgets)
            if chosen.status is not None:
                status = replace(chosen.status, disruptions_allowed=random.randrange(4))
                state.apply(Upsert(replace(chosen, status=status)))
        case 6 if one_in(random, 3):
            state.apply(Upsert(cordoned(random, node.node)))
        case 7 if one_in(random, 3) and len(state.nodes) > 1:
            state.apply(Delete(Node, node.name))
        case _:
            pass


def cordoned(random: Random, node: Node) -> Node:
    """The node with something else about it."""
    if one_in(random, 2):
        return replace(node, spec=replace(node.spec, unschedulable=not node.spec.unschedulable))
    return replace(node, spec=replace(node.spec, taints=(Taint(key="hard", effect="NoSchedule"),)))


def nominated(random: Random, pod: PodInfo, state: State) -> PodInfo:
    """The pod waits for a node, perhaps because somebody whom it has evicted is still there."""
    node = random.choice(state.nodes)
    going = [other for other in node.pods if not other.terminating]
    if going and one_in(random, 2):
        other = random.choice(going).pod
        condition = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
        status = replace(other.status, conditions=(*other.status.conditions, condition))
        meta = replace(other.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
        state.apply(Upsert(replace(other, metadata=meta, status=status)))
    given = pod.pod
    state.apply(Upsert(replace(given, status=replace(given.status, nominated_node_name=node.name))))
    return state.pods[pod.key]


def play(random: Random, world: World, profile: Profile = PROFILE) -> None:
    state = State(world.cluster).fork()
    lines: list[Line] = [(state, BatchCache(profile, state))]
    pods = [pod for pod in world.pods if pod.key not in state.pods]
    for number in range(random.choice([6, 12, 20])):
        if not pods:
            break
        state, cache = random.choice(lines)
        if one_in(random, 3):
            disturb(random, state, number)
        if one_in(random, 5) and len(lines) < 4:
            fork = state.fork()
            lines.append((fork, cache.fork(fork)))
        pod = pods[number % len(pods)] if one_in(random, 2) else random.choice(pods)
        state.apply(Delete(Pod, pod.key))
        if one_in(random, 3) and not pod.pod.spec.node_name:
            pod = nominated(random, pod, state)
        result = cache.attempt(pod)
        assert as_plain(result) == whole(pod, state, profile)
        if not one_in(random, 4):
            settle(result, state)
    for each, _ in lines:
        validate(each)


@given(worlds(), RANDOMS)
@settings(max_examples=examples(150))
def test_it_says_what_whole_attempts_say(world: World, random: Random) -> None:
    play(random, world)


@given(numbered.worlds(), RANDOMS)
@settings(max_examples=examples(100))
def test_numbered_pods(world: World, random: Random) -> None:
    play(random, world)


def crowded(random: Random) -> World:
    """Full nodes, and pods of many workloads that ask for few different things: they share what is known of nodes."""
    names = [f"n{index}" for index in range(random.choice([2, 4, 7]))]
    nodes = [
        node(name).allocatable(cpu="3", pods=random.choice(["4", "9"])).zone(random.choice("ab")) for name in names
    ]
    there = [
        pod(f"old-{name}-{number}").labels(app="old").cpu("1").priority(random.choice([-5, 0, 20])).on(name)
        for name in names
        for number in range(3)
    ]
    asking = [
        pod(f"asks-{number}").labels(app=f"app-{number}").cpu(random.choice(["2", "2", "1"])).priority(10)
        for number in range(6)
    ]
    for each in asking:
        if one_in(random, 6):
            each.toleration("hard", "Exists")
        if one_in(random, 6):
            each.node_selector(**{"topology.kubernetes.io/zone": "a"})
    read = service("old", {"app": "old"})  # a rule reads this label: so the signatures differ
    return World(cluster(*nodes, *there, read, budget("b1", 1, selector(app="old"))), [each.info() for each in asking])


@given(RANDOMS)
@settings(max_examples=examples(40))
def test_workloads_that_ask_for_the_same(random: Random) -> None:
    world = crowded(random)
    state = State(world.cluster).fork()
    cache = BatchCache(PROFILE, state)
    for number in range(8):
        disturb(random, state, number)
        if number == 4:
            state = state.fork()
            cache = cache.fork(state)
        for asking in random.sample(world.pods, 5):
            if asking.key in state.pods:
                continue
            result = cache.attempt(asking)
            assert as_plain(result) == whole(asking, state, PROFILE)
            if one_in(random, 8):
                settle(result, state)


@given(worlds(), RANDOMS)
@settings(max_examples=examples(50))
def test_the_newest_release(world: World, random: Random) -> None:
    play(random, world, NEWEST)
