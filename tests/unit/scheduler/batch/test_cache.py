"""How much is asked again from one pod of a signature to the next; the answers themselves are in the properties."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import cycle

import pytest
from msgspec.structs import replace

from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.scheduler.batch import BatchCache, ScheduleResult, cache, result_of
from kwhatif.scheduler.batch.signature import Signer
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.scheduler.framework.status import Status, Verdict, error
from kwhatif.scheduler.preemption.candidate import Candidate
from kwhatif.scheduler.preemption.victims import VictimSearch
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo
from kwhatif.simulation.pods import with_condition
from kwhatif.state.change import Bind, Change, Delete, Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.builders import (
    HOSTNAME,
    ZONE,
    NodeBuilder,
    PodBuilder,
    affinity_term,
    budget,
    node,
    on_name,
    pod,
    selector,
    service,
    snapshot,
)
from tests.placing import Placing

WEB = selector(app="web")
NAMES = [f"n{index:02}" for index in range(30)]


def nodes() -> list[NodeBuilder]:
    return [
        node(name).allocatable(cpu="4", pods="9").zone(zone) for name, zone in zip(NAMES, cycle("abc"), strict=False)
    ]


def low_pods() -> list[PodBuilder]:
    return [pod(f"{name}-{number}").labels(app="low").cpu("1").on(name) for name in NAMES for number in range(4)]


def web(number: int) -> PodBuilder:
    return pod(f"web-{number}").labels(app="web").priority(10).cpu("1")


def plain(number: int) -> PodBuilder:
    return web(number)


def spread(number: int) -> PodBuilder:
    return web(number).spread(ZONE, WEB, 1)


def softly_spread(number: int) -> PodBuilder:
    return web(number).spread(ZONE, WEB, 1, soft=True).spread(HOSTNAME, WEB, 1, soft=True)


def alone(number: int) -> PodBuilder:
    return web(number).pod_anti_affinity(affinity_term(HOSTNAME, WEB))


def honoring(number: int) -> PodBuilder:
    return web(number).spread(ZONE, WEB, 1, node_taints_policy="Honor")


def particular(number: int) -> PodBuilder:
    return web(number).node_affinity(*map(on_name, NAMES[3:7]))


KINDS = [plain, spread, softly_spread, particular, alone]


class Watched(Placing):
    """Counts whole attempts, and searches for victims by node."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *objects: object) -> None:
        super().__init__({DEFAULT_SCHEDULER: default_profile()}, snapshot(*objects))  # type: ignore[arg-type]
        self.attempts = 0
        self.searches: Counter[str] = Counter()
        whole, search = attempt, VictimSearch.on

        def counted(*arguments: object, **named: object) -> object:
            self.attempts += 1
            return whole(*arguments, **named)  # type: ignore[arg-type]

        def on(finder: VictimSearch, info: object) -> object:
            self.searches[info.name] += 1  # type: ignore[attr-defined]
            return search(finder, info)  # type: ignore[arg-type]

        monkeypatch.setattr(cache, "attempt", counted)
        monkeypatch.setattr(VictimSearch, "on", on)

    def place_many(self, kind: Callable[[int], PodBuilder], number: int) -> list[ScheduleResult]:
        return [self.place(kind(index).info()) for index in range(number)]


@pytest.mark.parametrize("kind", KINDS)
def test_replicas_that_find_room_cost_hardly_more_than_one_attempt(
    kind: Callable[[int], PodBuilder], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch, *nodes())
    placed = watched.place_many(kind, 10)
    assert {placement.outcome for placement in placed} == {"Placed"}
    assert watched.attempts == 1


@pytest.mark.parametrize("kind", [plain, spread, softly_spread, alone])
def test_replicas_that_evict_cost_few_searches_besides(
    kind: Callable[[int], PodBuilder], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch, *nodes(), *low_pods())
    placed = watched.place_many(kind, 24)
    assert {placement.outcome for placement in placed} == {"Preempts"}
    assert watched.attempts == 1
    # All nodes once, for each zone again where it has too many for the first time; then two for every replica.
    assert watched.searches.total() <= 2 * len(NAMES) + 2 * len(placed)


def test_a_budget_that_is_used_up_concerns_the_nodes_of_its_pods_only(monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = [each.labels(tier="gold") for each in low_pods()[:8]]
    watched = Watched(monkeypatch, *nodes(), *guarded, *low_pods()[8:], budget("gold", 1, selector(tier="gold")))
    placed = watched.place_many(plain, 20)
    assert [placement.victims[0].violates for placement in placed] == [()] * 20
    assert watched.searches.total() <= len(NAMES) + 2 * len(placed) + 2


def test_a_replica_with_a_claim_of_its_own_costs_an_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, *nodes())
    watched.place_many(lambda number: web(number).volume("tmp", ephemeral={}), 3)
    assert watched.attempts == 3


@pytest.mark.parametrize("kind", KINDS)
def test_with_the_switch_on_every_pod_has_an_attempt_of_its_own(
    kind: Callable[[int], PodBuilder], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = Watched(monkeypatch, *nodes()[:4], *low_pods()[:16]).place_many(kind, 4)
    use_reference(on=True)
    try:
        watched = Watched(monkeypatch, *nodes()[:4], *low_pods()[:16])
        placed = watched.place_many(kind, 4)
    finally:
        use_reference(on=False)
    assert watched.attempts == len(placed)
    for one, other in zip(quick, placed, strict=True):
        assert (one.outcome, one.ties, one.message) == (other.outcome, other.ties, other.message)
        assert [each.pod.key for each in one.victims] == [each.pod.key for each in other.victims]


def test_the_switch_is_in_the_environment() -> None:
    asked = "from kwhatif.scheduler.framework.reference import is_reference; print(is_reference())"
    said = {
        value: subprocess.run(
            [sys.executable, "-c", asked],
            env=os.environ | {"KWHATIF_REFERENCE": value},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for value in ("", "0", "1")
    }
    assert said == {"": "False", "0": "False", "1": "True"}


def test_pods_of_other_signatures_in_between_do_not_end_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, *nodes())
    for number in range(8 * len(KINDS)):
        watched.place(KINDS[number % len(KINDS)](number).info())
    # Pods that shun others end what did not shun anybody yet, once.
    assert watched.attempts <= 2 * len(KINDS)


def test_a_fork_starts_from_what_is_known_and_leaves_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, *nodes(), *low_pods())
    state = watched.state
    known = BatchCache(default_profile(), state)
    asked = plain(0).info()
    first = known.attempt(asked)
    assert (first.outcome, watched.attempts) == ("Preempts", 1)
    found = []
    for _ in range(3):
        fork = state.fork()
        there = known.fork(fork)
        assert first.node is not None
        fork.apply(*(Delete(Pod, info.key) for info in fork.by_name[first.node].pods))
        found.append((there.attempt(asked).outcome, there.attempt(plain(1).info()).outcome))
    assert found == [("Placed", "Placed")] * 3
    assert known.attempt(asked).node == first.node
    assert watched.attempts == 1
    # All nodes for the first pod; nothing but the emptied node for others, and the best one anew.
    assert watched.searches.total() <= len(NAMES) + 6


@pytest.mark.parametrize(
    ("kind", "changed", "attempts"),
    [
        (plain, lambda builder: builder.cordoned(), 1),
        (plain, lambda builder: builder.taint("x"), 1),
        (spread, lambda builder: builder.taint("x"), 1),
        (alone, lambda builder: builder.cordoned(), 1),
        (honoring, lambda builder: builder.taint("x"), 2),
        (plain, lambda builder: builder.labels(disk="ssd"), 2),
        (plain, lambda builder: builder.allocatable(cpu="1"), 2),
    ],
)
def test_a_batch_follows_cordons_and_taints(
    kind: Callable[[int], PodBuilder],
    changed: Callable[[NodeBuilder], NodeBuilder],
    attempts: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builders = nodes()
    watched = Watched(monkeypatch, *builders)
    watched.place_many(kind, 2)
    watched.state.apply(Upsert(changed(builders[0]).build()))
    watched.place(kind(2).info())
    assert watched.attempts == attempts


def test_forks_find_out_together_what_a_first_attempt_comes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, *nodes())
    state, known = watched.state, BatchCache(default_profile(), watched.state)
    for number in range(3):
        fork = state.fork()
        there = known.fork(fork)
        fork.apply(Upsert(nodes()[number].cordoned().build()))
        found = there.attempt(plain(0).info())
        assert found.node not in (None, NAMES[number])
    assert watched.attempts == 1
    state.apply(Upsert(nodes()[0].cordoned().build()))
    assert there.attempt(spread(0).info()).node is not None
    assert watched.attempts == 2
    assert len(known._batches) == 1, "the state that it was forked from has moved on: it is asked no more"


def test_signatures_that_were_not_asked_for_longest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_KEPT_NODES", 0)
    watched = Watched(monkeypatch, *nodes())
    for kind in (plain, spread, alone, plain):
        watched.place(kind(watched.attempts).info())
    assert watched.attempts == 4


@pytest.mark.parametrize("kind", KINDS)
def test_replicas_that_find_no_node_are_signed_once_until_something_changes(
    kind: Callable[[int], PodBuilder], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch, *nodes())
    state, sign, signed = watched.state, Signer.sign, list[str]()

    def counted(signer: Signer, info: PodInfo, there: State) -> object:
        signed.append(info.key)
        return sign(signer, info, there)

    monkeypatch.setattr(Signer, "sign", counted)
    known, plainly = BatchCache(default_profile(), state), BatchCache(default_profile(), state)

    def both(number: int) -> ScheduleResult:
        info = kind(number).cpu("5").info()
        found, other = known.attempt(info, QueuedPodInfo(info, 0).template), plainly.attempt(info)
        same = ("pod", "outcome", "node", "message", "rejectors", "nominated", "failed")
        assert [getattr(found, name) for name in same] == [getattr(other, name) for name in same]
        return found

    for number in range(5):
        state.apply(Upsert(pod(f"other-{number}").cpu("9").build()))
        assert both(number).outcome == "Unschedulable"
    assert Counter(signed) == {"default/web-0": 2, "default/web-1": 2, **{f"default/web-{n}": 1 for n in (2, 3, 4)}}
    state.apply(Upsert(node(NAMES[4]).allocatable(cpu="9", pods="9").zone("b").build()))
    assert both(5).node == NAMES[4], "it has changed"


@pytest.mark.parametrize("kind", [plain, spread, softly_spread, particular, alone])
def test_a_failure_is_kept_up_until_there_is_room(
    kind: Callable[[int], PodBuilder], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = [pod(f"{name}-{number}").priority(10).cpu("2").on(name) for name in NAMES for number in range(2)]
    watched = Watched(monkeypatch, *nodes(), *full)
    state = watched.state
    known = BatchCache(default_profile(), state)
    small = pod("small").priority(1).cpu("100m").build()
    changes: list[list[Change]] = [
        [],
        [Delete(Pod, "default/n04-0")],
        [Bind(pod("other").priority(10).cpu("1500m").build(), "n04"), Bind(small, "n04")],
        [Delete(Pod, "default/small"), Delete(Pod, "default/n04-1")],
    ]
    outcomes = []
    for number, change in enumerate(changes):
        state.apply(*change)
        asked = kind(number).cpu("3").info()
        found = known.attempt(asked)
        outcomes.append(found.outcome)
        whole = result_of(attempt(default_profile(), asked, state))
        seen = [(each.outcome, each.node, each.message, each.rejectors, each.nominated) for each in (found, whole)]
        assert seen[0] == seen[1]
    assert outcomes == ["Unschedulable"] * 4
    state.apply(Delete(Pod, "default/other"))
    assert known.attempt(kind(9).cpu("3").info()).node == "n04"
    assert watched.attempts == 1


class Broken:
    """Fails for every pod."""

    name = "Broken"

    def pre_filter(self, pod: PodInfo, snapshot: State) -> Status:
        del pod, snapshot
        return error("broken")


def test_an_attempt_that_ended_with_an_error_is_not_made_again_while_only_what_is_said_of_pods_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = Watched(monkeypatch, *nodes())
    profile = default_profile()
    kept = BatchCache(replace(profile, pre_filter=(*profile.pre_filter, Broken())), watched.state)
    waiting = [web(number).build() for number in range(3)]
    watched.state.apply(*map(Upsert, waiting))
    first = [kept.attempt(PodInfo(each)) for each in waiting]
    assert [(each.failed, each.outcome, each.message) for each in first] == [
        (True, "Unschedulable", 'running PreFilter plugin "Broken": broken')
    ] * 3
    said = [with_condition(each, PodCondition(type="PodScheduled", status="False")) for each in waiting]
    watched.state.apply(*map(Upsert, said))
    again = [kept.attempt(PodInfo(each)) for each in said]
    assert [(each.failed, each.message) for each in again] == [(each.failed, each.message) for each in first]
    assert watched.attempts == 3

    other = replace(said[0], spec=replace(said[0].spec, priority=11))
    kept.attempt(PodInfo(other))
    assert watched.attempts == 4
    watched.state.apply(Bind(said[1].metadata.namespace + "/" + said[1].metadata.name, NAMES[0]))
    kept.attempt(PodInfo(said[2]))
    assert watched.attempts == 5


def other(number: int, cpu: str = "1") -> PodBuilder:
    """A pod of another workload that asks for the same as `web`."""
    return pod(f"other-{number}").labels(app="other").priority(10).cpu(cpu)


@pytest.mark.parametrize(
    ("second", "searched"),
    [(other(1), 0), (other(1, cpu="2"), 1), (other(1).priority(9), 1), (other(1).toleration("x", "Exists"), 1)],
    ids=["asks for the same", "asks for more", "is less important", "tolerates more"],
)
def test_a_changed_node_is_searched_once_for_all_that_ask_for_the_same(
    second: PodBuilder, searched: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where their labels differ, and so their signatures; and what they get is what whole attempts give."""
    state = snapshot(*nodes(), *low_pods(), service("web", {"app": "web"}))  # a rule reads the label
    signed = [Signer(default_profile()).sign(each.info(), state) for each in (web(0), second)]
    assert signed[0] != signed[1]
    placing = BatchCache(default_profile(), state)
    for each in (web(0), second):
        placing.attempt(each.info())
    asked: list[str] = []
    search = VictimSearch.on

    def counted(self: VictimSearch, node: NodeInfo) -> Candidate | Verdict:
        asked.append(node.name)
        return search(self, node)

    for round_ in range(3):
        came = pod(f"new-{round_}").cpu("1").priority(20).build()
        state.apply(Delete(Pod, f"default/n29-{round_}"), Bind(came, "n29"))
        monkeypatch.setattr(VictimSearch, "on", counted)
        placing.attempt(web(0).info())
        asked.clear()
        found = placing.attempt(second.info())
        monkeypatch.undo()
        assert asked.count("n29") == searched, round_
        whole = result_of(attempt(default_profile(), second.info(), state))
        assert (found.node, found.message, found.ties) == (whole.node, whole.message, whole.ties)
