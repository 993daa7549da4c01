"""What was done to a state since a generation of it."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.pod import Pod
from kwhatif.state import change
from kwhatif.state.change import Bind, Delete, Evict, Upsert
from kwhatif.state.state import State
from tests.builders import node, pod, snapshot


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
    monkeypatch.setattr(change, "_KEPT", 2)
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
