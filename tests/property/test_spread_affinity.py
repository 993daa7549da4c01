"""PodTopologySpread and InterPodAffinity against their plain versions, and the laws of their incremental state."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import PodAffinityTerm
from kwhatif.kube.model.workload import ReplicaSet, ReplicaSetMeta, ReplicaSetSpec
from kwhatif.scheduler.framework.filters import ask_each
from kwhatif.scheduler.framework.incremental import apply_added_node, apply_pod_change, possibly_rejected
from kwhatif.scheduler.framework.plugin import FilterPlugin, NodeFilter, NodeScorer
from kwhatif.scheduler.framework.status import SKIP, Code, Status
from kwhatif.scheduler.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from kwhatif.scheduler.plugins.pod_topology_spread import PodTopologySpread
from kwhatif.scheduler.plugins.pod_topology_spread.filtering import SpreadFilter
from kwhatif.state.change import Bind, Delete, Evict, Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import NodeRow, State
from tests.builders import (
    HOSTNAME,
    ZONE,
    PodBuilder,
    affinity_term,
    cluster,
    namespace,
    node,
    pod,
    requirement,
    selector,
    service,
    snapshot,
)
from tests.examples import examples
from tests.reference import inter_pod_affinity as plain_affinity
from tests.reference import pod_topology_spread as plain_spread

NAMESPACES = ["default", "shop"]
KEYS = [HOSTNAME, ZONE, "rack"]
OBJECTIONS = {
    "": None,
    "missing label": (
        Code.UNRESOLVABLE,
        "node(s) didn't match pod topology spread constraints (missing required label)",
    ),
    "skew": (Code.UNSCHEDULABLE, "node(s) didn't match pod topology spread constraints"),
    "affinity": (Code.UNRESOLVABLE, "node(s) didn't match pod affinity rules"),
    "anti-affinity": (Code.UNSCHEDULABLE, "node(s) didn't match pod anti-affinity rules"),
    "existing": (Code.UNSCHEDULABLE, "node(s) didn't satisfy existing pods anti-affinity rules"),
}


class World(NamedTuple):
    objects: list[Any]
    candidate: PodBuilder

    def snapshot(self) -> State:
        return snapshot(*self.objects)


# --- random worlds ------------------------------------------------------------------------------------


expressions = st.sampled_from(
    [
        requirement("app", "In", "web", "db"),
        requirement("app", "NotIn", "db"),
        requirement("tier", "Exists"),
        requirement("tier", "DoesNotExist"),
    ]
)


@st.composite
def selectors(draw: st.DrawFn) -> LabelSelector | None:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return None
    if kind == 1:
        return selector()
    labels = {"app": draw(st.sampled_from(["web", "web", "db"]))} if kind < 8 else {}
    return selector(*draw(st.lists(expressions, min_size=0 if labels else 1, max_size=1)), **labels)


namespace_selectors = st.sampled_from(
    [
        None,
        None,
        selector(),
        selector(team="b"),
        selector(requirement("team", "NotIn", "b")),
        selector(requirement("team", "Exists")),
    ]
)


@st.composite
def terms(draw: st.DrawFn) -> PodAffinityTerm:
    return affinity_term(
        draw(st.sampled_from(KEYS)),
        draw(selectors()),
        namespaces=draw(st.sampled_from([(), (), ("default",), ("shop",)])),
        namespace_selector=draw(namespace_selectors),
    )


def add_affinity(draw: st.DrawFn, built: PodBuilder, rarity: int) -> None:
    if draw(st.integers(0, rarity)) == 0:
        built.pod_affinity(*draw(st.lists(terms(), min_size=1, max_size=2)))
    if draw(st.integers(0, rarity)) == 0:
        built.pod_anti_affinity(*draw(st.lists(terms(), min_size=1, max_size=2)))
    if draw(st.integers(0, rarity)) == 0:
        built.prefer_pods(draw(st.integers(1, 100)), draw(terms()))
    if draw(st.integers(0, rarity)) == 0:
        built.prefer_not_pods(draw(st.integers(1, 100)), draw(terms()))


def add_spread(draw: st.DrawFn, built: PodBuilder) -> None:
    built.spread(
        draw(st.sampled_from(KEYS)),
        draw(selectors()),
        draw(st.integers(1, 3)),
        soft=draw(st.booleans()),
        min_domains=draw(st.sampled_from([None, None, 1, 2, 4])),
        node_affinity_policy=draw(st.sampled_from([None, "Honor", "Ignore"])),
        node_taints_policy=draw(st.sampled_from([None, "Honor", "Ignore"])),
        match_label_keys=draw(st.sampled_from([(), (), ("tier", "absent")])),
    )


@st.composite
def pods(draw: st.DrawFn, name: str) -> PodBuilder:
    built = pod(name, draw(st.sampled_from(NAMESPACES)))
    built.labels(draw(st.sampled_from([{}, {"app": "web"}, {"app": "web"}, {"app": "db"}])))
    return built.labels(draw(st.sampled_from([{}, {}, {"tier": "front"}])))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    objects: list[Any] = [namespace("default", team="a"), namespace("shop", team="b")]
    for index in range(draw(st.integers(1, 6))):
        name = f"n{index}"
        built = node(name).labels({key: draw(st.sampled_from(["x", "y", "z", ""])) for key in (ZONE, "rack")})
        built.without_label(*draw(st.lists(st.sampled_from(KEYS), max_size=1)))
        built.labels(draw(st.sampled_from([{}, {"disk": "ssd"}])))
        if draw(st.integers(0, 4)) == 0:
            built.taint("dedicated")
        objects.append(built.build())
        for number in range(draw(st.integers(0, 4))):
            running = draw(pods(f"{name}-{number}")).on(name)
            add_affinity(draw, running, 6)
            if draw(st.integers(0, 7)) == 0:
                running.terminating()
            objects.append(running.build())
    if draw(st.booleans()):
        objects.append(service("web", draw(st.sampled_from([{"app": "web"}, {}, None]))))
    if draw(st.booleans()):
        spec = ReplicaSetSpec(selector=draw(selectors()))
        objects.append(ReplicaSet(metadata=ReplicaSetMeta(name="web", namespace="default"), spec=spec))
    candidate = draw(pods("candidate")).owner("ReplicaSet", "web")
    add_affinity(draw, candidate, 2)
    for _ in range(draw(st.integers(0, 3))):
        add_spread(draw, candidate)
    if draw(st.integers(0, 3)) == 0:
        candidate.node_selector(disk="ssd")
    if draw(st.integers(0, 3)) == 0:
        candidate.toleration("dedicated", "Exists")
    return World(objects, candidate)


def rows(snap: State) -> st.SearchStrategy[Sequence[NodeInfo]]:
    """Some of the nodes: in the state's order, or in any."""
    places = st.lists(st.integers(0, len(snap.nodes) - 1), min_size=1, unique=True)
    in_order = places.map(lambda each: NodeRow.at(snap, sorted(each)))
    return in_order | st.lists(st.sampled_from(snap.nodes), min_size=1, unique=True)


# --- the plain version --------------------------------------------------------------------------------


def verdict(compiled: NodeFilter | Status, snap: State, name: str) -> tuple[Code, str] | None:
    """What the plugin says to a node; a skipped one says yes."""
    if isinstance(compiled, Status):
        assert compiled.code is Code.SKIP
        return None
    status = compiled.filter(snap.by_name[name])
    return (status.code, status.message) if status.rejected else None


Verdicts = dict[str, tuple[Code, str] | None]


def verdicts(compiled: NodeFilter | Status, snap: State) -> Verdicts:
    return {node.name: verdict(compiled, snap, node.name) for node in snap.nodes}


@given(worlds())
@settings(max_examples=examples(150))
def test_spread_filters_as_the_plain_version(world: World) -> None:
    snap, candidate = world.snapshot(), world.candidate.info()
    hard = plain_spread.rules(candidate.pod, snap, "DoNotSchedule")
    compiled = PodTopologySpread().pre_filter(candidate, snap)
    assert (compiled is SKIP) == (not hard)
    expected = {node.name: plain_spread.objection(candidate.pod, snap, node, hard) for node in snap.nodes}
    for objection in set(expected.values()):
        event(objection or "fits")
    assert verdicts(compiled, snap) == {name: OBJECTIONS[kind] for name, kind in expected.items()}


@given(worlds(), st.data())
@settings(max_examples=examples(150))
def test_spread_scores_as_the_plain_version(world: World, data: st.DataObject) -> None:
    snap, candidate = world.snapshot(), world.candidate.info()
    feasible = data.draw(rows(snap))
    soft = plain_spread.rules(candidate.pod, snap, "ScheduleAnyway")
    compiled = PodTopologySpread().pre_score(candidate, snap, feasible)
    assert (compiled is SKIP) == (not soft)
    assume(compiled is not SKIP)
    assert isinstance(compiled, NodeScorer)
    require_all = bool(candidate.pod.spec.topology_spread_constraints)
    raw = ask_each(feasible, compiled, compiled.score)
    expected = plain_spread.scores(candidate.pod, snap, feasible, soft, require_all=require_all)
    assert (raw, compiled.normalize(raw, feasible)) == expected


@given(worlds())
@settings(max_examples=examples(150))
def test_affinity_filters_as_the_plain_version(world: World) -> None:
    snap, candidate = world.snapshot(), world.candidate.info()
    compiled = InterPodAffinity().pre_filter(candidate, snap)
    assert isinstance(compiled, Status) == plain_affinity.has_nothing_to_check(candidate.pod, snap)
    expected = {node.name: plain_affinity.objection(candidate.pod, snap, node) for node in snap.nodes}
    for objection in set(expected.values()):
        event(objection or "fits")
    assert verdicts(compiled, snap) == {name: OBJECTIONS[kind] for name, kind in expected.items()}
    suspects = possibly_rejected([compiled] if isinstance(compiled, NodeFilter) else [], snap)
    assert suspects is None or suspects == {name for name, kind in expected.items() if kind}


@given(worlds(), st.sampled_from([0, 1, 50]), st.booleans(), st.data())
@settings(max_examples=examples(150))
def test_affinity_scores_as_the_plain_version(world: World, weight: int, ignore: bool, data: st.DataObject) -> None:
    snap, candidate = world.snapshot(), world.candidate.info()
    feasible = data.draw(rows(snap))
    args = InterPodAffinityArgs(hard_pod_affinity_weight=weight, ignore_preferred_terms_of_existing_pods=ignore)
    preferences = plain_affinity.preferences(candidate.pod, snap, weight, ignore_others=ignore)
    compiled = InterPodAffinity(args).pre_score(candidate, snap, feasible)
    assert (isinstance(compiled, Status) and compiled.code is Code.SKIP) == (not preferences)
    assume(preferences)
    assert isinstance(compiled, NodeScorer)
    raw = ask_each(feasible, compiled, compiled.score)
    assert (raw, compiled.normalize(raw, feasible)) == plain_affinity.scores(preferences, feasible)


# --- forks --------------------------------------------------------------------------------------------


@st.composite
def moves(draw: st.DrawFn, snap: State) -> tuple[str, list[PodInfo], list[PodInfo]]:
    """A node, pods of it to be removed, and pods to be added to it."""
    name = draw(st.sampled_from([node.name for node in snap.nodes]))
    pods_there = snap.by_name[name].pods
    removed = draw(st.lists(st.sampled_from(pods_there), unique=True)) if pods_there else []
    added = []
    for number in range(draw(st.integers(0, 2))):
        built = draw(pods(f"added-{number}"))
        add_affinity(draw, built, 2)
        added.append(built.info())
    return name, removed, added


def counts_both_ways(candidate: PodInfo, removed: list[PodInfo]) -> bool:
    """Upstream counts terminating pods, and those an empty selector matches, only when they come or go."""
    constraints = candidate.pod.spec.topology_spread_constraints
    empty = any(constraint.label_selector == selector() for constraint in constraints)
    return not empty and not any(pod.terminating for pod in removed)


def forked_and_rebuilt(
    plugin: FilterPlugin, world: World, data: st.DataObject
) -> tuple[list[PodInfo], Verdicts, Verdicts]:
    """What a fork says after the moves, and what the plugin says of a world in which they are facts."""
    snap, candidate = world.snapshot(), world.candidate.info()
    compiled = plugin.pre_filter(candidate, snap)
    assume(not isinstance(compiled, Status))
    assert isinstance(compiled, NodeFilter)
    name, removed, added = data.draw(moves(snap))
    before = verdicts(compiled, snap)
    fork = compiled.fork()
    node = snap.by_name[name].clone()
    for each in removed:
        node.remove_pod(each)
        fork.remove_pod(each, node)
    halfway, halfway_says = fork, verdicts(fork, snap)
    fork = fork.fork()
    for each in added:
        node.add_pod(each)
        fork.add_pod(each, node)
    after = verdicts(fork, snap)
    assert verdicts(compiled, snap) == before
    assert verdicts(halfway, snap) == halfway_says
    gone = {each.key for each in removed}
    rebuilt = State(cluster(*world.objects))
    for key in gone:
        rebuilt.apply(Evict(key))
    for each in added:
        rebuilt.apply(Bind(each.pod, name))
    return removed, after, verdicts(plugin.pre_filter(candidate, rebuilt), rebuilt)


@given(worlds(), st.data())
@settings(max_examples=examples(150))
def test_a_fork_of_affinity_keeps_up_and_leaves_the_others_alone(world: World, data: st.DataObject) -> None:
    _, after, rebuilt = forked_and_rebuilt(InterPodAffinity(), world, data)
    assert after == rebuilt


@given(worlds(), st.data())
@settings(max_examples=examples(150))
def test_a_fork_of_spread_keeps_up_and_leaves_the_others_alone(world: World, data: st.DataObject) -> None:
    removed, after, rebuilt = forked_and_rebuilt(PodTopologySpread(), world, data)
    assume(counts_both_ways(world.candidate.info(), removed))
    assert after == rebuilt


# --- the index ----------------------------------------------------------------------------------------


@given(worlds(), st.data())
@settings(max_examples=examples(150))
def test_an_index_that_kept_up_gives_the_answers_of_a_new_one(world: World, data: st.DataObject) -> None:
    snap, candidate = world.snapshot(), world.candidate.info()
    plugins = PodTopologySpread(), InterPodAffinity()
    for plugin in plugins[: data.draw(st.integers(0, 2))]:  # asks for some of the index
        plugin.pre_filter(candidate, snap)
    name, removed, added = data.draw(moves(snap))
    for gone in removed:
        snap.apply(Evict(gone.key))
    for new in added:
        snap.apply(Bind(new.pod, name))
    if snap.pods:
        fork = snap.fork()
        fork.apply(Delete(Pod, data.draw(st.sampled_from(sorted(snap.pods)))))
        assert answers(fork, candidate) == answers(moved(world, fork), candidate)
    assert answers(snap, candidate) == answers(moved(world, snap), candidate)


@given(worlds())
@settings(max_examples=examples(200))
def test_spread_that_kept_up_with_an_added_node_is_one_compiled_again(world: World) -> None:
    """The node comes with its pods, after it or at once; what it was forked from keeps its answers."""
    *_, last = (each for each in world.objects if isinstance(each, Node))
    name = last.metadata.name
    come = [each for each in world.objects if isinstance(each, Pod) and each.spec.node_name == name]
    state = snapshot(*(each for each in world.objects if each is not last and each not in come))
    candidate, plugin = PodInfo(world.candidate.build()), PodTopologySpread()
    compiled = plugin.pre_filter(candidate, state)
    assume(isinstance(compiled, SpreadFilter))
    assert isinstance(compiled, SpreadFilter)
    before = [compiled.filter(node) for node in state.nodes]
    grown = state.fork()
    kept = compiled.fork_with(grown)
    grown.apply(Upsert(last))
    grown.apply(*map(Upsert, come))
    touched = grown.since(state.generation)
    assert touched is not None
    assert (touched.added_nodes, touched.rearranged) == ([name], False)
    assert apply_added_node(kept, grown.by_name[name])
    for move in touched.moves:
        assert apply_pod_change(kept, move.pod, grown.by_name[move.node], move.amount) is not None
    fresh = plugin.pre_filter(candidate, grown)
    assert isinstance(fresh, SpreadFilter)
    assert [kept.filter(node) for node in grown.nodes] == [fresh.filter(node) for node in grown.nodes]
    assert [compiled.filter(node) for node in state.nodes] == before


def moved(world: World, snap: State) -> State:
    """A snapshot with the same pods on the same nodes, and no index yet."""
    fresh = world.snapshot()
    for info in fresh.nodes:
        for old in list(info.pods):
            fresh.apply(Evict(old.key))
        for other in snap.by_name[info.name].pods:
            fresh.apply(Bind(other.pod, info.name))
    return fresh


def answers(snap: State, candidate: PodInfo) -> list[object]:
    said: list[object] = []
    for plugin in (PodTopologySpread(), InterPodAffinity()):
        said.append(verdicts(plugin.pre_filter(candidate, snap), snap))
        scorer = plugin.pre_score(candidate, snap, snap.nodes)
        said.append(None if isinstance(scorer, Status) else [scorer.score(node) for node in snap.nodes])
    return said
