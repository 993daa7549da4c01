"""`Batch`: with which changes of the state it keeps up, and that it then says what a whole attempt says."""

from collections.abc import Sequence
from typing import Any

import pytest

from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget, PriorityClass
from kwhatif.scheduler.batch import ScheduleResult, result_of
from kwhatif.scheduler.batch.batch import Batch, can_be_kept_up
from kwhatif.scheduler.batch.signature import SharedCandidates, Signature, Signer
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.state.change import Bind, Change, Delete, Evict, Upsert
from kwhatif.state.state import State
from tests.builders import (
    ZONE,
    NodeBuilder,
    PodBuilder,
    budget,
    namespace,
    node,
    pod,
    selector,
    service,
    snapshot,
)

PROFILE = default_profile()
WEB = selector(app="web")
GUARD = budget("guard", 1, selector(app="low"))


def worker(name: str) -> NodeBuilder:
    return node(name).allocatable(cpu="4", pods="9").zone(name)


def web(number: int = 0) -> PodBuilder:
    return pod(f"web-{number}").labels(app="web").cpu("2").priority(10)


def spread(number: int = 0) -> PodBuilder:
    return web(number).spread(ZONE, WEB, 1)


def small(name: str, where: str, cpu: str = "1") -> PodBuilder:
    return pod(name).labels(app="low").cpu(cpu).on(where)


def world(*, full: bool) -> State:
    """Three nodes; where they are full, pods have to be evicted."""
    load = [small(f"{name}-{number}", name) for name in "abc" for number in range(4 if full else 1)]
    return snapshot(worker("a"), worker("b"), worker("c"), *load, GUARD)


def begun(asking: PodBuilder, state: State) -> tuple[Batch, Signature]:
    whole = attempt(PROFILE, asking.info(), state)
    signature = Signer(PROFILE).sign(asking.info(), state)
    assert signature is not None
    assert can_be_kept_up(whole, signature)
    return Batch(whole, result_of(whole), object()), signature


def essence(found: ScheduleResult | None) -> Any:
    """What is to be the same as that of a whole attempt."""
    if found is None:
        return None
    victims = [(victim.pod.key, victim.violates) for victim in found.victims]
    return found.outcome, found.node, found.message, found.ties, found.score, dict(found.scores), victims, found.tied


def wholly(asking: PodBuilder, state: State) -> Any:
    return essence(result_of(attempt(PROFILE, asking.info(), state)))


KEPT: dict[str, Sequence[Change]] = {
    "nothing happens": (),
    "a pod comes": (Bind(web(8).build(), "a"),),
    "several pods come": (Bind(web(7).build(), "a"), Bind(web(8).build(), "c")),
    "a pod goes": (Delete(Pod, "default/b-0"),),
    "a pod is being deleted": (Upsert(small("a-0", "a").terminating().build()),),
    "a pod changes its labels": (Upsert(small("a-0", "a").labels(app="web").build()),),
    "a node is cordoned": (Upsert(worker("a").cordoned().build()),),
    "a node is tainted": (Upsert(worker("b").taint("broken").build()),),
    "a budget allows less": (Upsert(budget("guard", 0, selector(app="low"))),),
    "a pod is evicted": (Evict("default/a-0", "PreemptionByScheduler"),),
    "a class that nobody names comes": (Upsert(PriorityClass(metadata=ObjectMeta(name="x"), value=1)),),
    "services are in the signature": (Upsert(service("low", {"app": "low"})),),
}

#: The next pod needs a whole attempt.
OVER: dict[str, Sequence[Change]] = {
    "a node changes its labels": (Upsert(worker("a").zone("z").build()),),
    "a node gets more room": (Upsert(worker("a").allocatable(cpu="8", pods="9").build()),),
    "a node comes": (Upsert(worker("d").build()),),
}


@pytest.mark.parametrize("full", [False, True], ids=["there is room", "pods are evicted"])
@pytest.mark.parametrize("kind", [web, spread])
@pytest.mark.parametrize("changes", KEPT.values(), ids=KEPT)
def test_it_keeps_up(changes: Sequence[Change], kind: Any, full: bool) -> None:
    state = world(full=full)
    batch, signature = begun(kind(), state)
    state.apply(*changes)
    found = batch.attempt(kind(1).info(), signature, SharedCandidates())
    assert essence(found) == wholly(kind(1), state)
    assert not batch.is_over


@pytest.mark.parametrize("full", [False, True], ids=["there is room", "pods are evicted"])
@pytest.mark.parametrize("changes", OVER.values(), ids=OVER)
def test_it_is_over(changes: Sequence[Change], full: bool) -> None:
    state = world(full=full)
    batch, signature = begun(web(), state)
    state.apply(*changes)
    assert batch.attempt(web(1).info(), signature, SharedCandidates()) is None
    assert batch.is_over


@pytest.mark.parametrize(
    "change", [Delete(PodDisruptionBudget, "default/guard"), Upsert(budget("other", 0, selector(app="low")))]
)
def test_budgets_about_other_pods_end_what_is_known_of_evictions(change: Change) -> None:
    """Where nobody is evicted, they do not matter."""
    for full in (True, False):
        state = world(full=full)
        batch, signature = begun(web(), state)
        state.apply(change)
        found = batch.attempt(web(1).info(), signature, SharedCandidates())
        assert batch.is_over is full
        assert essence(found) == (None if full else wholly(web(1), state))


def test_the_room_that_evictions_leave_is_taken_by_the_next_one() -> None:
    state = snapshot(worker("a"), small("low", "a", "4"))
    batch, signature = begun(web(), state)
    state.apply(Evict("default/low", "PreemptionByScheduler"), Delete(Pod, "default/low"), Bind(web().build(), "a"))
    found = batch.attempt(web(1).info(), signature, SharedCandidates())
    assert found is not None
    assert (found.outcome, found.node) == ("Placed", "a")
    assert essence(found) == wholly(web(1), state)


def test_who_fits_nowhere_fails_as_the_first_one_did() -> None:
    state = snapshot(worker("a"), worker("b"), small("other", "a"))
    batch, signature = begun(web().cpu("9"), state)
    for changes in ((), (Bind(small("more", "b").build(), "b"),), (Delete(Pod, "default/other"),)):
        state.apply(*changes)
        found = batch.attempt(web(1).cpu("9").info(), signature, SharedCandidates())
        assert essence(found) == wholly(web(1).cpu("9"), state)


@pytest.mark.parametrize("full", [False, True], ids=["there is room", "pods are evicted"])
def test_a_fork_and_its_origin_go_their_own_ways(full: bool) -> None:
    state = world(full=full)
    batch, signature = begun(web(), state)
    fork_state = state.fork()
    fork = batch.fork(fork_state, object())
    state.apply(Bind(web(7).build(), "a"))
    fork_state.apply(Delete(Pod, "default/c-0"), Upsert(worker("b").cordoned().build()))
    for each, where in ((batch, state), (fork, fork_state)):
        assert essence(each.attempt(web(1).info(), signature, SharedCandidates())) == wholly(web(1), where)


def test_nodes_that_go() -> None:
    """Whether it keeps up or not: the node is not taken."""
    state = world(full=False)
    batch, signature = begun(web(), state)
    state.apply(Delete(Node, "a"))
    found = batch.attempt(web(1).info(), signature, SharedCandidates())
    assert batch.is_over is (found is None)
    assert found is None or essence(found) == wholly(web(1), state)


def test_namespaces_that_change_end_a_fork() -> None:
    """Filters look namespaces up where they were compiled."""
    state = world(full=False)
    batch, signature = begun(web(), state)
    fork_state = state.fork()
    fork = batch.fork(fork_state, object())
    fork_state.apply(Upsert(namespace("default", team="a")))
    assert fork.attempt(web(1).info(), signature, SharedCandidates()) is None
    assert fork.is_over
