"""One state: its changes, what was done since a generation, and rows of nodes and pods."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable
from inspect import unwrap

import pytest

from kwhatif.kube.gates import SPEC_ALONE
from kwhatif.kube.model.cluster import Cluster, ClusterFacts
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import ContainerStatus, Pod
from kwhatif.kube.model.pod_spec import ResourceRequirements
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.state.change import Bind, Change, Delete, Evict, Nominate, SetFacts, Touched, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import NodeRow, PodRow, State
from tests.builders import ZONE, affinity_term, budget, node, pod, selector, snapshot
from tests.valid_state import index_contents, validate


def on(state: State, name: str = "n1") -> list[str]:
    return [info.name for info in state.by_name[name].pods]


def nominated(state: State) -> dict[str, list[str]]:
    return {name: [info.name for info in pods] for name, pods in state.nominated.items()}


def about(touched: Touched) -> object:
    return touched.nodes, touched.objects


# --- pods ---------------------------------------------------------------------------------------------


def test_a_pod_that_is_bound_is_on_its_node_and_neither_pending_nor_nominated() -> None:
    state = snapshot(node("n1"), node("n2"), pod("a").cpu("1").nominated("n2"))
    touched = state.apply(Bind("default/a", "n1"))
    assert about(touched) == ({"n1", "n2"}, [(Pod, "default/a")])
    assert [(move.pod.key, move.node, move.amount) for move in touched.moves] == [("default/a", "n1", 1)]
    assert (on(state), state.by_name["n1"].cpu) == (["a"], 1000)
    assert (dict(state.pending), nominated(state)) == ({}, {})
    assert state.cluster.all(Pod)["default/a"].spec.node_name == "n1"


def test_what_is_reserved_for_a_bound_pod_is_in_the_cluster() -> None:
    state = snapshot(node("n1"), pod("a"), budget("db", 1, selector()))
    spent = budget("db", 0, selector())
    touched = state.apply(Bind("default/a", "n1", (spent,)))
    assert touched.objects == [(PodDisruptionBudget, "default/db"), (Pod, "default/a")]
    assert state.cluster.get(PodDisruptionBudget, "default/db") is spent


def test_a_new_pod_can_be_bound_at_once() -> None:
    state = snapshot(node("n1"))
    state.apply(Bind(pod("a").build(), "n1"))
    assert on(state) == ["a"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(Bind("default/no", "n1"), "no pending pod default/no", id="nobody to bind"),
        pytest.param(Bind("default/there", "n1"), "no pending pod default/there", id="bound already"),
        pytest.param(Bind(pod("there").build(), "n1"), "pod default/there is there already", id="not new"),
        pytest.param(Evict("default/no"), "default/no", id="nobody to evict"),
        pytest.param(Evict("default/waits"), "pod default/waits is not on a node", id="evicted while pending"),
        pytest.param(Nominate("default/there", "n1"), "no pending pod default/there", id="nominated, but bound"),
    ],
)
def test_a_change_that_cannot_be_is_refused_and_changes_nothing(change: Change, message: str) -> None:
    state = snapshot(node("n1"), node("n2"), pod("there").on("n1"), pod("waits"))
    before = contents(state)
    with pytest.raises(KeyError, match=message):
        state.apply(change)
    assert contents(state) == before


def test_changes_before_one_that_fails_have_been_made() -> None:
    state = snapshot(node("n1"))
    with pytest.raises(KeyError):
        state.apply(Upsert(node("n2").build()), Evict("default/no"))
    assert [info.name for info in state.nodes] == ["n1", "n2"]


def test_an_evicted_pod_leaves_a_gap_that_the_last_one_fills() -> None:
    state = snapshot(node("n1"), *(pod(name).on("n1") for name in "abcd"))
    state.apply(Evict("default/b", "PreemptionByScheduler"))
    assert on(state) == ["a", "d", "c"]
    assert state.cluster.get(Pod, "default/b") is None


def test_a_deleted_pod_leaves_the_others_in_their_order() -> None:
    state = snapshot(node("n1"), *(pod(name).cpu("1").on("n1") for name in "abcd"))
    assert about(state.apply(Delete(Pod, "default/b"))) == ({"n1"}, [(Pod, "default/b")])
    assert (on(state), state.by_name["n1"].cpu) == (["a", "c", "d"], 3000)


def test_of_a_deleted_pod_a_port_that_another_one_holds_stays_taken() -> None:
    state = snapshot(node("n1"), pod("a").host_port(80).on("n1"), pod("b").host_port(80).on("n1"))
    evicted = state.fork()
    state.apply(Delete(Pod, "default/a"))
    assert state.by_name["n1"].used_ports() == set(state.pods["default/b"].ports)
    evicted.apply(Evict("default/a"))
    assert evicted.by_name["n1"].used_ports() == set()


def test_what_is_absent_can_be_deleted() -> None:
    state = snapshot(node("n1"))
    assert about(state.apply(Delete(Pod, "default/no"), Delete(Node, "no"))) == (set(), [])


def test_a_pod_that_stays_where_it_is_keeps_its_place() -> None:
    state = snapshot(node("n1"), pod("a").cpu("1").on("n1"), pod("b").cpu("1").on("n1"))
    state.apply(Upsert(pod("a").cpu("3").labels(app="web").on("n1").build()))
    assert (on(state), state.by_name["n1"].cpu) == (["a", "b"], 4000)


def test_a_pod_on_another_node_comes_last_there() -> None:
    state = snapshot(node("n1"), node("n2"), pod("a").on("n1"), pod("b").on("n2"))
    state.apply(Upsert(pod("a").on("n2").build()))
    assert (on(state), on(state, "n2")) == ([], ["b", "a"])


def test_a_pod_that_has_finished_is_not_alive() -> None:
    state = snapshot(node("n1"), pod("a").on("n1"))
    done = pod("a").on("n1").status(phase="Succeeded").build()
    state.apply(Upsert(done))
    assert (on(state), dict(state.pods), state.cluster.get(Pod, "default/a")) == ([], {}, done)
    state.apply(Upsert(pod("a").on("n1").build()))
    assert on(state) == ["a"]


# --- nominations --------------------------------------------------------------------------------------


def test_a_nomination_takes_the_place_of_an_earlier_one() -> None:
    state = snapshot(node("n1"), node("n2"), pod("a").nominated("n1"), pod("b").nominated("n1"))
    assert nominated(state) == {"n1": ["a", "b"]}
    assert state.apply(Nominate("default/a", "n2")).nodes == {"n1", "n2"}
    assert nominated(state) == {"n1": ["b"], "n2": ["a"]}
    state.apply(Nominate("default/b", None))
    assert nominated(state) == {"n2": ["a"]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("", "", {"n2": ["a"]}, id="the status says nothing: remembered"),
        pytest.param("", "n1", {"n1": ["a"]}, id="the status says another node"),
        pytest.param("n1", "", {}, id="the status says no more"),
    ],
)
def test_a_pod_that_is_updated_keeps_its_nomination_unless_its_status_speaks(
    before: str, after: str, expected: dict[str, list[str]]
) -> None:
    state = snapshot(node("n1"), node("n2"), pod("a").nominated(before))
    state.apply(Nominate("default/a", "n2"), Upsert(pod("a").nominated(after).labels(app="x").build()))
    assert nominated(state) == expected


# --- nodes --------------------------------------------------------------------------------------------


def test_pods_of_a_node_that_goes_are_strays_until_it_comes_back() -> None:
    state = snapshot(node("n1"), node("n2"), pod("a").cpu("1").on("n1"), pod("b").claim("data").on("n1"))
    assert state.users_of("default/data") == 1
    touched = state.apply(Delete(Node, "n1"))
    assert (about(touched), touched.reordered) == (({"n1"}, [(Node, "n1")]), True)
    assert [info.name for info in state.nodes] == ["n2"]
    assert [info.name for info in state.strays["n1"]] == ["a", "b"]
    assert (state.node("n1"), state.users_of("default/data")) == (None, 0)
    state.apply(Delete(Pod, "default/b"), Upsert(pod("c").on("n1").build()), Upsert(node("n1").build()))
    assert (on(state), dict(state.strays)) == (["a", "c"], {})


def test_nodes_come_in_the_order_of_zones() -> None:
    state = snapshot(node("a1").zone("a"), node("b1").zone("b"))
    state.apply(*(Upsert(node(name).zone(name[0]).build()) for name in ("a2", "a3", "b2")))
    assert [info.name for info in state.nodes] == ["a1", "b1", "a2", "b2", "a3"]
    assert state.apply(Upsert(node("a1").zone("b").build())).reordered
    assert [info.name for info in state.nodes] == ["a2", "b1", "a3", "b2", "a1"]
    assert not state.apply(Upsert(node("a1").zone("b").cordoned().build())).reordered


def test_a_node_that_changes_keeps_its_pods() -> None:
    state = snapshot(node("n1").image(5, "web:1"), pod("a").cpu("1").on("n1"))
    state.apply(Upsert(node("n1").cordoned().labels(tier="x").allocatable(cpu="1").image(7, "db:1").build()))
    (info,) = state.nodes
    assert (info.unschedulable, info.labels["tier"], info.allocatable.cpu, info.cpu) == (True, "x", 1000, 1000)
    assert state.images == {"db:1": (7, 1)}


# --- forks and generations ----------------------------------------------------------------------------


def contents(state: State) -> object:
    """Everything that changes could have changed, with the generations of what is shared."""
    return (
        [(info.name, info.node, info.generation, [id(each) for each in info.pods], info.cpu) for info in state.nodes],
        nominated(state),
        list(state.pods),
        list(state.pending),
        {name: [info.key for info in pods] for name, pods in state.strays.items()},
        index_contents(state.index),
        {kind: dict(state.cluster.all(kind)) for kind in state.cluster.counts()},
        dict(state.images),
        state.cluster.facts,
    )


CHANGES = [
    pytest.param(Upsert(pod("new").on("n1").build()), id="a pod comes"),
    pytest.param(Upsert(pod("a").on("n1").terminating().build()), id="a pod is being deleted"),
    pytest.param(Delete(Pod, "default/a"), id="a pod is deleted"),
    pytest.param(Evict("default/a"), id="a pod is evicted"),
    pytest.param(Bind("default/waits", "n1"), id="a pod is bound"),
    pytest.param(Nominate("default/waits", "n2"), id="a pod is nominated"),
    pytest.param(Upsert(node("n1").cordoned().build()), id="a node is cordoned"),
    pytest.param(Upsert(node("n3").build()), id="a node comes"),
    pytest.param(Delete(Node, "n1"), id="a node goes"),
    pytest.param(Upsert(budget("db", 0, selector())), id="a budget"),
    pytest.param(SetFacts(ClusterFacts(taken_at="2026-01-01T00:00:00Z")), id="facts"),
]


def populated() -> State:
    refusing = pod("shy").labels(app="web").pod_anti_affinity(affinity_term(ZONE, selector(app="web"))).on("n2")
    pods = pod("a").cpu("1").labels(app="web").on("n1"), refusing, pod("waits").nominated("n1"), pod("x").on("gone")
    return snapshot(node("n1").zone("a").image(5, "web:1"), node("n2").zone("b"), *pods, budget("db", 1, selector()))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("prepared", [False, True])
def test_neither_fork_notices_what_the_other_does(change: Change, *, prepared: bool) -> None:
    state = populated()
    if prepared:
        state.prepare()
    fork = state.fork()
    before = contents(state)
    assert contents(fork) == before
    fork.apply(change)
    assert contents(state) == before
    assert contents(fork) != before
    changed, generation = contents(fork), fork.generation
    state.apply(change)
    assert contents(fork) == changed
    assert fork.generation == generation != state.generation


def test_caches_see_that_facts_have_changed() -> None:
    state = populated()
    since, known = state.generation, state.cluster.generation(ClusterFacts)
    state.apply(SetFacts.of(state.cluster, taken_at="2026-01-01T00:00:00Z"))
    touched = state.since(since)
    assert touched is not None
    assert (touched.objects, touched.nodes) == ([(ClusterFacts, "")], set())
    assert state.cluster.generation(ClusterFacts) > known
    state.apply(SetFacts.of(state.cluster, minor=37))
    assert (state.cluster.facts.taken_at, state.cluster.facts.minor) == ("2026-01-01T00:00:00Z", 37)


def test_pods_in_a_resize_count_by_the_rules_of_the_facts() -> None:
    granted = ContainerStatus(name="main", resources=ResourceRequirements(requests={"cpu": "3"}))
    resized = pod("a").cpu("1").status(container_statuses=(granted,)).on("n1").build()
    state = snapshot(node("n1"), resized)
    assert state.by_name["n1"].cpu == 3000
    state.apply(SetFacts.of(state.cluster, resizes=SPEC_ALONE))
    assert state.by_name["n1"].cpu == 1000
    validate(state)


def test_what_a_fork_does_not_change_it_shares() -> None:
    state = snapshot(node("n1"), node("n2"))
    fork = state.fork()
    assert fork.generation == state.generation
    fork.apply(Bind(pod("a").build(), "n1"))
    assert fork.by_name["n2"] is state.by_name["n2"]
    assert fork.by_name["n1"].generation > state.by_name["n1"].generation
    state.apply(Bind(pod("b").build(), "n2"))
    assert fork.by_name["n2"] is not state.by_name["n2"]


def test_what_a_fork_builds_others_have_as_well_as_long_as_they_are_the_same() -> None:
    """Every question is asked on a fork: what one builds must not be built for each."""
    state = populated()
    asked, untouched, changed = state.fork(), state.fork(), state.fork()
    changed.apply(Bind(pod("new").labels(app="web").on("n1").build(), "n1"))
    asked.apply(Upsert(budget("other", 1, selector())))
    asked.index.build()
    assert untouched.index is state.index is asked.index
    assert changed.index is not state.index
    asked.apply(Bind("default/waits", "n1"))
    assert asked.index is not state.index is untouched.index
    for one in (state, asked, untouched, changed):
        validate(one)


def test_what_is_derived_of_the_objects_of_the_origin_is_derived_once() -> None:
    def names(found: Cluster) -> list[str]:
        return list(found.all(Node))

    state = populated()
    fork, other, changed = state.fork(), state.fork(), state.fork()
    changed.apply(Upsert(node("n3").build()))
    assert changed.cluster.derived(names, Node) == ["n1", "n2", "n3"]
    once = fork.cluster.derived(names, Node)
    assert other.cluster.derived(names, Node) is once is state.cluster.derived(names, Node)
    assert state.fork().cluster.derived(names, Node) is once


def test_every_namespace_has_a_generation_of_each_kind() -> None:
    state = snapshot(node("n1"))
    fork = state.fork()
    fork.apply(Upsert(pod("a", "shop").build()), Upsert(pod("a").build()))
    shop, default = (fork.cluster.generation(Pod, namespace) for namespace in ("shop", "default"))
    assert 0 < shop < default == fork.cluster.generation(Pod)
    fork.apply(Delete(Pod, "shop/a"))
    assert fork.cluster.generation(Pod, "shop") > default == fork.cluster.generation(Pod, "default")
    assert state.cluster.generation(Pod, "shop") == 0


def test_a_fork_is_gone_as_soon_as_nobody_has_it() -> None:
    state = populated()
    state.prepare()
    gc.collect()
    gc.disable()
    try:
        fork = unwrap(State.fork)(state)
        fork.apply(Bind(pod("new").build(), "n1"), Upsert(node("n3").build()))
        gone = weakref.ref(fork)
        del fork
        assert gone() is None
    finally:
        gc.enable()


def test_the_cluster_that_a_state_is_made_of_stays_as_it_is() -> None:
    objects = Cluster([node("n1").build()])
    state = State(objects)
    state.apply(Upsert(node("n2").build()))
    assert list(objects.all(Node)) == ["n1"]


def test_its_objects_change_only_with_it() -> None:
    state = snapshot(node("n1"), pod("a").on("n1"))
    objects, other = state.cluster, node("n2").build()
    changes: list[Callable[[], object]] = [
        lambda: objects.add(other),
        lambda: objects.add_all(Node, {"n2": other}),
        lambda: objects.discard(Node, "n1"),
        objects.sort,
        lambda: objects.update_facts(minor=37),
    ]
    for change in changes:
        with pytest.raises(TypeError, match="only with the state"):
            change()
    assert (on(state), list(state.by_name)) == (["a"], ["n1"])


def test_a_state_can_be_pickled() -> None:
    state = populated()
    state.prepare()
    there: State = pickle.loads(pickle.dumps(state))
    assert list(there.pods) == list(state.pods)
    there.apply(Bind("default/waits", "n2"), Delete(Node, "n1"))
    validate(there)
    assert list(state.by_name) == ["n1", "n2"]
    assert there.nodes[0].generation > max(info.generation for info in state.nodes)


def test_validation_notices_what_went_wrong() -> None:
    state = populated().fork()
    validate(state)
    broken: State = pickle.loads(pickle.dumps(state))
    broken.nodes[0].cpu += 1
    with pytest.raises(AssertionError, match="cpu"):
        validate(broken)
    broken = pickle.loads(pickle.dumps(state))
    broken.nodes[0].add_pod(PodInfo(pod("unknown").on("n1").build()))
    with pytest.raises(AssertionError, match="unknown"):
        validate(broken)


def test_a_state_that_forgets_holds_on_to_nothing() -> None:
    state = snapshot(node("n1"), pod("a").on("n1"))
    generation = state.generation
    state.apply(Delete(Pod, "default/a"))
    assert state.since(generation) is not None
    state.forget_history()
    assert state.since(generation) is None
    assert state.since(state.generation) is not None


# --- What was done to a state since a generation of it ------------------------------------------------


def moves(state: State, generation: int) -> list[tuple[str, str, int]] | None:
    touched = state.since(generation)
    return None if touched is None else [(move.pod.name, move.node, move.amount) for move in touched.moves]


def test_it_tells_what_was_done_since_in_its_order() -> None:
    state = snapshot(node("n1"), node("n2"), pod("a").on("n1"))
    first = state.generation
    state.apply(Bind(pod("b").build(), "n2"))
    second = state.generation
    state.apply(Evict("default/a"), Delete(Pod, "default/b"))
    assert moves(state, first) == [("b", "n2", 1), ("a", "n1", -1), ("b", "n2", -1)]
    assert moves(state, second) == [("a", "n1", -1), ("b", "n2", -1)]
    assert moves(state, state.generation) == []
    since = state.since(first)
    assert since is not None
    assert (since.nodes, since.objects) == ({"n1", "n2"}, [(Pod, f"default/{name}") for name in "bab"])


def test_a_fork_knows_what_was_done_before_it() -> None:
    state = snapshot(node("n1"))
    first = state.generation
    state.apply(Bind(pod("a").build(), "n1"))
    fork, there = state.fork(), state.generation
    fork.apply(Bind(pod("b").build(), "n1"))
    state.apply(Bind(pod("c").build(), "n1"))
    assert moves(fork, first) == [("a", "n1", 1), ("b", "n1", 1)]
    assert moves(fork, there) == [("b", "n1", 1)]
    assert moves(state, there) == [("c", "n1", 1)]


def test_nothing_is_known_of_another_fork_or_another_state() -> None:
    state = snapshot(node("n1"))
    fork = state.fork()
    state.apply(Bind(pod("a").build(), "n1"))
    fork.apply(Bind(pod("b").build(), "n1"))
    assert state.since(fork.generation) is None
    assert fork.since(state.generation) is None
    assert snapshot(node("n1")).since(state.generation) is None


def test_a_pod_that_is_replaced_on_its_node_has_left_it_and_come() -> None:
    state = snapshot(node("n1"), pod("a").on("n1"))
    first = state.generation
    state.apply(Upsert(pod("a").on("n1").labels(app="web").build()))
    assert moves(state, first) == [("a", "n1", -1), ("a", "n1", 1)]


def test_of_a_long_history_only_the_last_steps_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.state.change._KEPT", 2)
    state = snapshot(node("n1"))
    generations = []
    for name in "abcde":
        generations.append(state.generation)
        state.apply(Bind(pod(name).build(), "n1"))
        known = [number for number, generation in enumerate(generations) if moves(state, generation) is not None]
        assert known == list(range(known[0], len(generations)))
        assert min(2, len(generations)) <= len(known) <= 4
    assert moves(state, generations[0]) is None
    assert moves(state, generations[2]) == [("c", "n1", 1), ("d", "n1", 1), ("e", "n1", 1)]
    fork = state.fork()
    fork.apply(Bind(pod("f").build(), "n1"))
    assert moves(fork, generations[3]) == [("d", "n1", 1), ("e", "n1", 1), ("f", "n1", 1)]


@pytest.mark.parametrize("step", [0, 1])
def test_nodes_are_in_another_order_if_any_step_has_changed_it(step: int) -> None:
    state = snapshot(node("n1"))
    first = state.generation
    changes = [Upsert(pod("a").build()), Upsert(pod("b").build())]
    changes.insert(step, Upsert(node("n2").build()))
    for each in changes:
        state.apply(each)
    since = state.since(first)
    assert since is not None
    assert since.reordered


# --- Some nodes of a state, in its order --------------------------------------------------------------


NAMES = "abcdefghij"


def state() -> State:
    """So many nodes that a host name makes no shape."""
    return snapshot(*(node(name).labels({"disk": "ssd" if name == "b" else "hdd"}) for name in NAMES))


def test_a_row_knows_where_its_nodes_are() -> None:
    row = NodeRow.at(state(), [0, 1, 3])
    assert [each.name for each in row] == ["a", "b", "d"]
    assert row.shapes == [each.shape for each in row]
    assert [row.index_of(name) for name in ("a", "b", "c", "d", "z")] == [0, 1, None, 2, None]


def test_a_row_counts_shapes_and_has_a_node_of_each() -> None:
    row = NodeRow.at(state(), range(10))
    assert list(row.sizes.values()) == [9, 1]
    assert [each.name for each in row.samples.values()] == ["j", "b"]
    assert row.shapes == [each.shape for each in row]


# --- Pods in an order, with running sums --------------------------------------------------------------


GPU = "example.com/gpu"


def test_sums_start_with_nobody_and_end_with_all() -> None:
    row = PodRow([pod("a").cpu("1").info(), pod("b").info(), pod("c").requests({"cpu": "250m", GPU: "2"}).info()])
    assert list(row.sums("cpu")) == [0, 1000, 1000, 1250]
    assert list(row.sums(GPU)) == [0, 0, 0, 2]
    assert list(row.sums("memory")) == [0, 0, 0, 0]


def test_nobody_requests_nothing() -> None:
    assert list(PodRow([]).sums("cpu")) == [0]
