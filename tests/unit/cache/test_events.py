"""Which events the cache hears of, and as what."""

from __future__ import annotations

import pytest

from kwhatif.controllers.contract import Create, DeletePod, Update
from kwhatif.scheduler.cache.cache import Cache
from kwhatif.scheduler.cache.events import handle
from kwhatif.scheduler.cache.snapshot import Snapshot
from tests.builders import PodBuilder, node, pod, service
from tests.unit.simulation.test_engine import annotated, do, engine, new


def one(name: str = "a", where: str = "n1", phase: str = "Running") -> PodBuilder:
    return pod(name).meta(uid=name).on(where).status(phase=phase)


@pytest.mark.parametrize(
    ("old", "new", "there"),
    [
        (None, one(), True),
        (None, one(where=""), False),
        (None, one(phase="Failed"), False),
        (one(where=""), one(), True),
        (one(where=""), one(where="").priority(5), False),
        (one(where=""), None, False),
    ],
)
def test_pods_count_once_they_have_a_node(old: PodBuilder | None, new: PodBuilder | None, there: bool) -> None:
    cache = Cache()
    assert handle(cache, old.build() if old else None, new.build() if new else None) is None
    assert bool(cache.pods) == there


@pytest.mark.parametrize("after", [None, one(phase="Succeeded")])
def test_a_pod_that_ends_is_gone(after: PodBuilder | None) -> None:
    cache = Cache()
    handle(cache, None, one().build())
    assert handle(cache, one().build(), after.build() if after else None) is None
    assert not cache.pods
    assert not cache.nodes


def test_a_binding_confirms_what_was_assumed() -> None:
    cache = Cache()
    cache.assume_pod(one().build())
    assert handle(cache, one(where="").build(), one().build()) is None
    assert not cache.assumed
    assert handle(cache, None, one().build()) == "pod a(default/a) was already in added state"


def test_nodes_come_change_and_go_and_other_kinds_do_not_matter() -> None:
    cache = Cache()
    small, large = node("n1").allocatable(cpu="1").build(), node("n1").allocatable(cpu="2").build()
    handle(cache, None, small)
    handle(cache, small, large)
    assert cache.nodes["n1"].info.allocatable.cpu == 2000
    assert handle(cache, large, None) is None
    assert handle(cache, large, None) == "node n1 is not found"
    assert handle(cache, None, service("web", None)) is None
    assert not cache.nodes


def test_a_cache_that_hears_what_a_simulation_does_ends_like_its_state() -> None:
    made = engine(
        node("n1").allocatable(cpu="2"),
        node("n2").allocatable(cpu="2"),
        annotated("old").on("n1").status(phase="Running"),
        annotated("short", **{"stop-seconds": "3"}).on("n2").status(phase="Running"),
    )
    cache, taken, heard = Cache(made.world.state), Snapshot(), []
    made.world.watchers.append(lambda old, now, event: heard.append(handle(cache, old, now)))
    do(made, Create(new("late")), DeletePod("default/short", "Deleted"), Create(new("later")))
    do(made, Update(node("n1").allocatable(cpu="4").build()))
    made.settle()
    assert len(heard) > 5
    assert set(heard) == {None}
    assert cache.update_snapshot(taken) is None
    state = made.world.state
    assert [(info.name, info.cpu, {one.key for one in info.pods}) for info in taken.nodes] == [
        (info.name, info.cpu, {one.key for one in info.pods}) for info in state.nodes
    ]
    assert "default/late" in {one.key for one in cache.pods.values()}
