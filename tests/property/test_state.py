"""A state after any changes equals one that is built of its objects, and no fork notices what another one does."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.state.change import Bind, Delete, Evict, Nominate, Upsert
from kwhatif.state.nodes import zone_of
from kwhatif.state.state import State
from tests.builders import HOSTNAME, ZONE, NodeBuilder, PodBuilder, affinity_term, budget, node, pod, selector, snapshot
from tests.examples import examples
from tests.valid_state import validate

PROFILE = default_profile()
NODES = ("n1", "n2", "n3", "n4")
APPS = ("web", "db")

node_names = st.sampled_from(NODES)
spreading = affinity_term(ZONE, selector(app="web"))
alone = affinity_term(HOSTNAME, selector(app="db"))


def builds_node(name: str, zone: str, image: str, cpu: str, *, cordoned: bool, tainted: bool) -> Node:
    built: NodeBuilder = node(name).zone(zone).allocatable(cpu=cpu, pods="6").spec(unschedulable=cordoned)
    if image:
        built.image(700 * 1024 * 1024, image)
    if tainted:
        built.taint("hard")
    return built.build()


nodes = st.builds(
    builds_node,
    node_names,
    st.sampled_from("ab"),
    st.sampled_from(["", "app:1", "app:2"]),
    st.sampled_from(["2", "4"]),
    cordoned=st.booleans(),
    tainted=st.booleans(),
)


def decorate(built: PodBuilder, extra: str) -> PodBuilder:
    match extra:
        case "port":
            built.host_port(80)
        case "claim":
            built.claim("data")
        case "anti":
            built.pod_anti_affinity(alone)
        case "prefers":
            built.prefer_pods(10, spreading)
        case "terminating":
            built.terminating()
        case "finished":
            built.status(phase="Succeeded")
        case "nominated":
            built.nominated("n2")
    return built


def builds_pod(name: str, namespace: str, app: str, where: str, cpu: str, extra: str) -> Pod:
    built = pod(name, namespace).labels(app=app).cpu(cpu).image("app:1")
    if where:
        built.on(where)
    return decorate(built, extra).build()


pods = st.builds(
    builds_pod,
    st.sampled_from("abcdefgh"),
    st.sampled_from(["default", "shop"]),
    st.sampled_from(APPS),
    st.sampled_from(["", *NODES]),
    st.sampled_from(["300m", "1", "1500m"]),
    st.sampled_from(["", "", "port", "claim", "claim", "anti", "prefers", "terminating", "finished", "nominated"]),
)
budgets = st.builds(
    lambda name, allowed, app: budget(name, allowed, selector(app=app)),
    st.sampled_from(["one", "two"]),
    st.integers(0, 2),
    st.sampled_from(APPS),
)

#: Asked of every state: one that looks at all that is indexed, and one that has to evict.
QUESTIONS = [
    pod("q1")
    .labels(app="web")
    .cpu("1")
    .image("app:1")
    .host_port(80)
    .pod_anti_affinity(alone)
    .prefer_pods(5, spreading),
    pod("q2").labels(app="db").cpu("2").priority(100),
]


def plain(result: Attempt, *, in_order: bool) -> object:
    """What comes of an attempt; victims only where pods stand in the order in which they came."""
    outcome = result.post_filter.outcome if result.post_filter else None
    victims: Any = None
    if isinstance(outcome, Preemption) and in_order:
        victims = [(found.node, found.rank, [each.key for each in found.pods]) for found in outcome.candidates]
    scores = result.scores
    total = dict(zip([info.name for info in scores.nodes], scores.total, strict=True)) if scores else None
    by_plugin = {name: sorted(column) for name, column in scores.by_plugin.items()} if scores else None
    return result.message, result.failed, total, by_plugin, victims


def contents(state: State) -> object:
    """The same for equal states, with what must not change in one that is not touched."""
    return (
        state.generation,
        [(info.generation, info.name, [id(each) for each in info.pods]) for info in state.nodes],
        {name: [each.key for each in found] for name, found in state.nominated.items()},
        [(key, id(each)) for key, each in state.pods.items()],
        list(state.pending),
        {name: [each.key for each in found] for name, found in state.strays.items()},
        [
            (kind.__name__, key, id(obj))
            for kind in state.cluster.counts()
            for key, obj in state.cluster.all(kind).items()
        ],
    )


class Known:
    """One state, and what a simple model knows of its history."""

    def __init__(self, state: State) -> None:
        self.state = state
        #: By zone, as upstream's node tree.
        self.zones: dict[tuple[str, str], list[str]] = {}
        self.nominated: dict[str, str] = {}
        #: Nodes that a pod has been evicted from: its last pod took that one's place, and ports may be free.
        self.evicted: set[str] = set()
        for name, one in state.cluster.all(Node).items():
            self.zones.setdefault(zone_of(one), []).append(name)

    def fork(self) -> Known:
        other = Known(self.state.fork())
        other.zones = {zone: names.copy() for zone, names in self.zones.items()}
        other.nominated = self.nominated.copy()
        other.evicted = self.evicted.copy()
        return other

    def leave(self, name: str) -> None:
        self.zones = {zone: left for zone, names in self.zones.items() if (left := [n for n in names if n != name])}

    def order(self) -> list[str]:
        turns = max(map(len, self.zones.values()), default=0)
        return [names[turn] for turn in range(turns) for names in self.zones.values() if turn < len(names)]


class Histories(RuleBasedStateMachine):
    """Changes on one of several states, each forked from another; all are checked after every step."""

    @initialize(some_nodes=st.lists(nodes, min_size=1, max_size=4), some_pods=st.lists(pods, max_size=8))
    def start(self, some_nodes: list[Node], some_pods: list[Pod]) -> None:
        self.now = Known(snapshot(*some_nodes, *some_pods))
        self.now.nominated = {
            key: each.pod.status.nominated_node_name
            for key, each in self.now.state.pending.items()
            if each.pod.status.nominated_node_name
        }
        self.others: list[tuple[Known, object]] = []

    def keys(self, *, pending: bool) -> list[str]:
        state = self.now.state
        return list(state.pending) if pending else [each.key for info in state.nodes for each in info.pods]

    # --- changes -------------------------------------------------------------------------------------

    @rule(one=pods)
    def upsert_pod(self, one: Pod) -> None:
        now, key = self.now, f"{one.metadata.namespace}/{one.metadata.name}"
        before = now.state.pending.get(key)
        said_before = before.pod.status.nominated_node_name if before else ""
        now.state.apply(Upsert(one))
        said = one.status.nominated_node_name
        if key not in now.state.pending or (said_before and not said):
            now.nominated.pop(key, None)
        elif said:
            now.nominated[key] = said

    @rule(data=st.data())
    def delete_pod(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([*self.now.state.pods, "default/nobody"]))
        self.now.state.apply(Delete(Pod, key))
        self.now.nominated.pop(key, None)

    @precondition(lambda self: self.keys(pending=True))
    @rule(data=st.data(), name=node_names)
    def bind(self, data: st.DataObject, name: str) -> None:
        key = data.draw(st.sampled_from(self.keys(pending=True)))
        self.now.state.apply(Bind(key, name))
        self.now.nominated.pop(key, None)

    @precondition(lambda self: self.keys(pending=False))
    @rule(data=st.data())
    def evict(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.keys(pending=False)))
        self.now.evicted.add(self.now.state.pods[key].pod.spec.node_name)
        self.now.state.apply(Evict(key))

    @precondition(lambda self: self.keys(pending=True))
    @rule(data=st.data(), name=st.none() | node_names)
    def nominate(self, data: st.DataObject, name: str | None) -> None:
        key = data.draw(st.sampled_from(self.keys(pending=True)))
        self.now.state.apply(Nominate(key, name))
        self.now.nominated.pop(key, None)
        if name:
            self.now.nominated[key] = name

    @rule(several=st.lists(nodes, min_size=1, max_size=2))
    def upsert_nodes(self, several: list[Node]) -> None:
        for one in several:
            name, zone = one.metadata.name, zone_of(one)
            if name not in self.now.zones.get(zone, ()):
                self.now.leave(name)
                self.now.zones.setdefault(zone, []).append(name)
        self.now.state.apply(*map(Upsert, several))

    @rule(name=node_names)
    def delete_node(self, name: str) -> None:
        self.now.state.apply(Delete(Node, name))
        self.now.leave(name)

    @rule(one=budgets)
    def upsert_budget(self, one: PodDisruptionBudget) -> None:
        self.now.state.apply(Upsert(one))

    # --- forks ---------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.others) < 3)
    @rule(asked=st.booleans())
    def fork(self, *, asked: bool) -> None:
        """Go on with a fork; what it was forked from must stay as it is."""
        if asked:
            self.now.state.prepare()
        fork = self.now.fork()
        self.others.append((self.now, contents(self.now.state)))
        self.now = fork

    @precondition(lambda self: self.others)
    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        """Go on with another one; this one must stay as it is."""
        place = data.draw(st.integers(0, len(self.others) - 1))
        before = self.others[place][0]
        self.others[place] = self.now, contents(self.now.state)
        self.now = before

    # --- laws ----------------------------------------------------------------------------------------

    @invariant()
    def others_notice_nothing(self) -> None:
        for other, before in getattr(self, "others", ()):
            assert contents(other.state) == before

    @invariant()
    def incremental_equals_rebuilt(self) -> None:
        now = getattr(self, "now", None)
        if now is None:
            return
        state, rebuilt = now.state, State(now.state.cluster)
        validate(state)
        assert [info.name for info in state.nodes] == now.order()
        for info in state.nodes:
            fresh = rebuilt.by_name[info.name]
            keys, expected = ([each.key for each in one.pods] for one in (info, fresh))
            assert sorted(keys) == sorted(expected)
            if info.name not in now.evicted:
                assert keys == expected
                assert info.used_ports() == fresh.used_ports()
        assert list(state.pending) == list(rebuilt.pending)
        assert {each.key: name for name, found in state.nominated.items() for each in found} == now.nominated
        self.same_answers(now, rebuilt)

    def same_answers(self, now: Known, rebuilt: State) -> None:
        for key, name in now.nominated.items():
            rebuilt.apply(Nominate(key, name))
        for key in rebuilt.pending.keys() - now.nominated.keys():
            rebuilt.apply(Nominate(key, None))
        in_order = not now.evicted
        for question in QUESTIONS:
            asked = question.info()
            ours, theirs = (plain(attempt(PROFILE, asked, one), in_order=in_order) for one in (now.state, rebuilt))
            assert ours == theirs or (now.evicted and asked.ports)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=examples(60), stateful_step_count=30)
