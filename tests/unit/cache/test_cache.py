"""What the cache does with events and assumptions, and what it refuses."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.cache.cache import Cache, CacheCorruptedError
from kwhatif.scheduler.cache.snapshot import Snapshot
from kwhatif.state.change import Bind, Delete
from tests.builders import HOSTNAME, ZONE, PodBuilder, affinity_term, node, pod, selector, snapshot

ALONE = affinity_term(HOSTNAME, selector(app="db"))


def on(name: str, where: str = "n1", uid: str = "") -> PodBuilder:
    return pod(name).meta(uid=uid or f"uid-{name}").cpu("1").on(where)


def given(*pods: PodBuilder) -> tuple[Cache, Snapshot]:
    """Nodes n1 and n2 with these pods."""
    cache, taken = Cache(), Snapshot()
    for name in ("n1", "n2"):
        cache.add_node(node(name).build())
    for one in pods:
        assert cache.add_pod(one.build()) is None
    assert cache.update_snapshot(taken) is None
    return cache, taken


def names(cache: Cache, where: str = "n1") -> list[str]:
    return [one.name for one in cache.nodes[where].info.pods]


def update(cache: Cache, one: Pod) -> str | None:
    return cache.update_pod(one, one)


# --- pods ---------------------------------------------------------------------------------------------------


def test_an_assumed_pod_takes_room_until_it_is_forgotten() -> None:
    cache, _ = given()
    assert cache.assume_pod(on("a").build()) is None
    assert cache.nodes["n1"].info.cpu == 1000
    assert cache.assumed == {"uid-a"}
    assert cache.forget_pod(on("a").build()) is None
    assert cache.nodes["n1"].info.cpu == 0
    assert not cache.assumed
    assert not cache.pods


def test_confirmation_counts_a_pod_once() -> None:
    cache, _ = given()
    cache.assume_pod(on("a").build())
    assert cache.add_pod(on("a").build()) is None
    assert not cache.assumed
    assert names(cache) == ["a"]


def test_a_pod_may_be_confirmed_on_another_node_than_assumed() -> None:
    cache, _ = given()
    cache.assume_pod(on("a", "n1").build())
    assert cache.add_pod(on("a", "n2").build()) is None
    assert (names(cache, "n1"), names(cache, "n2")) == ([], ["a"])
    assert cache.pods["uid-a"].pod.spec.node_name == "n2"


def test_an_update_puts_a_pod_last_and_the_last_one_into_its_place() -> None:
    cache, _ = given(on("a"), on("b"), on("c"))
    assert cache.update_pod(on("a").build(), on("a").cpu("2").build()) is None
    assert names(cache) == ["c", "b", "a"]
    assert cache.nodes["n1"].info.cpu == 4000


def test_an_update_may_bring_another_pod_of_the_same_name() -> None:
    cache, _ = given(on("a", uid="1"))
    assert cache.update_pod(on("a", uid="1").build(), on("a", uid="2").build()) is None
    assert list(cache.pods) == ["2"]
    assert names(cache) == ["a"]


def test_a_port_is_free_when_one_of_two_pods_goes_and_stays_so_when_the_node_changes() -> None:
    cache, _ = given(on("a").host_port(80), on("b").host_port(80))
    cache.remove_pod(on("a").build())
    assert not cache.nodes["n1"].info.used_ports()
    cache.update_node(node("n1").build(), node("n1").labels(disk="ssd").build())
    assert not cache.nodes["n1"].info.used_ports()


def test_a_pod_may_be_removed_without_naming_its_node() -> None:
    cache, _ = given(on("a"))
    assert cache.remove_pod(on("a", "").build()) is None
    assert not cache.pods


def test_pods_of_one_name_are_two() -> None:
    cache, _ = given(on("a", uid="1"))
    assert cache.assume_pod(on("a", "n2", uid="2").build()) is None
    assert cache.remove_pod(on("a", uid="1").build()) is None
    assert [one.uid for one in cache.pods.values()] == ["2"]


@pytest.mark.parametrize(
    ("call", "who", "error"),
    [
        (Cache.assume_pod, on("added"), "pod uid-added(default/added) is in the cache, so can't be assumed"),
        (Cache.assume_pod, on("assumed"), "pod uid-assumed(default/assumed) is in the cache, so can't be assumed"),
        (Cache.add_pod, on("added"), "pod uid-added(default/added) was already in added state"),
        (Cache.forget_pod, on("added"), "pod uid-added(default/added) wasn't assumed so cannot be forgotten"),
        (
            Cache.forget_pod,
            on("assumed", "n2"),
            "pod uid-assumed(default/assumed) was assumed on n2 but assigned to n1",
        ),
        (Cache.forget_pod, on("unknown"), None),
        (update, on("assumed"), "assumed pod uid-assumed(default/assumed) should not be updated"),
        (
            update,
            on("unknown"),
            "pod uid-unknown(default/unknown) is not added to scheduler cache, so cannot be updated",
        ),
        (
            Cache.remove_pod,
            on("unknown"),
            "pod uid-unknown(default/unknown) is not found in scheduler cache, so cannot be removed from it",
        ),
    ],
)
def test_what_is_refused_changes_nothing(call: object, who: PodBuilder, error: str | None) -> None:
    cache, _ = given(on("added"))
    cache.assume_pod(on("assumed").build())
    generation = cache.nodes["n1"].generation
    assert callable(call)
    assert call(cache, who.build()) == error
    assert cache.nodes["n1"].generation == generation
    assert names(cache) == ["added", "assumed"]
    assert cache.assumed == {"uid-assumed"}


@pytest.mark.parametrize("call", [update, Cache.remove_pod])
def test_a_pod_that_moves_is_a_broken_cache(call: object) -> None:
    cache, _ = given(on("a"))
    assert callable(call)
    with pytest.raises(CacheCorruptedError, match=r"uid-a\(default/a\) is on n1, and now said to be on n2"):
        call(cache, on("a", "n2").build())


# --- nodes --------------------------------------------------------------------------------------------------


def test_pods_may_come_before_their_node() -> None:
    cache, taken = given(on("early", "n3"))
    assert not cache.nodes["n3"].real
    assert taken.node("n3") is None
    cache.add_node(node("n3").build())
    cache.update_snapshot(taken)
    there = taken.node("n3")
    assert there is not None
    assert (there.cpu, [one.name for one in there.pods]) == (1000, ["early"])


def test_a_node_that_is_gone_stays_until_its_last_pod_goes() -> None:
    cache, taken = given(on("a"))
    assert cache.remove_node(node("n1").build()) is None
    cache.update_snapshot(taken)
    assert [one.name for one in taken.nodes] == ["n2"]
    assert names(cache) == ["a"]
    cache.remove_pod(on("a").build())
    assert "n1" not in cache.nodes


def test_an_unknown_node_cannot_go() -> None:
    cache, _ = given(on("a", "n3"))
    assert cache.remove_node(node("n4").build()) == "node n4 is not found"
    gone = node("n3").labels({"topology.kubernetes.io/region": "r", ZONE: "z"}).build()
    assert cache.remove_node(gone) == r'node "n3" in group "r:\x00:z" was not found'
    assert cache.remove_node(node("n3").build()) == 'node "n3" in group "" was not found'


def test_the_size_of_an_image_is_the_first_nodes_until_no_node_has_it() -> None:
    cache = Cache()
    n1, n2, bare = node("n1").image(10, "app").build(), node("n2").image(20, "app").build(), node("n1").build()
    cache.add_node(n1)
    cache.add_node(n2)
    cache.update_node(n1, bare)
    assert cache.images.of(cache.nodes["n2"].info) == {"app": (10, 1)}
    cache.update_node(n2, n2)  # only node with the image: it goes, and comes
    assert cache.images.of(cache.nodes["n2"].info) == {"app": (20, 1)}


# --- snapshots ----------------------------------------------------------------------------------------------


def test_only_nodes_that_have_changed_are_copied() -> None:
    cache, taken = given(on("a", "n1"), on("b", "n2"))
    before = {one.name: one for one in taken.nodes}
    cache.assume_pod(on("c", "n2").build())
    assert before["n2"].cpu == 1000
    cache.update_snapshot(taken)
    assert taken.node("n1") is before["n1"]
    assert [one.cpu for one in taken.nodes] == [1000, 2000]


def test_lists_follow_the_pods() -> None:
    cache, taken = given()
    cache.add_pod(on("a", "n2").pod_anti_affinity(ALONE).claim("data").build())
    cache.update_snapshot(taken)
    assert [one.name for one in taken.with_affinity] == ["n2"]
    assert [one.name for one in taken.with_required_anti_affinity] == ["n2"]
    assert taken.used_claims == {"default/data"}
    cache.remove_pod(on("a", "n2").build())
    cache.update_snapshot(taken)
    assert not taken.with_affinity
    assert not taken.used_claims


def test_a_node_that_changes_its_zone_keeps_its_place_until_another_comes() -> None:
    cache, taken = Cache(), Snapshot()
    nodes = {name: node(name).zone(name[0]).build() for name in ("a1", "a2", "b1")}
    for one in nodes.values():
        cache.add_node(one)
    cache.update_snapshot(taken)
    cache.update_node(nodes["a1"], node("a1").zone("b").build())
    cache.update_snapshot(taken)
    assert [one.name for one in taken.nodes] == ["a1", "b1", "a2"]
    cache.add_node(node("c1").zone("c").build())
    cache.update_snapshot(taken)
    assert [one.name for one in taken.nodes] == ["a2", "b1", "c1", "a1"]


def test_how_many_nodes_have_an_image_is_as_of_the_last_copy() -> None:
    cache, taken = Cache(), Snapshot()
    for name in ("n1", "n2"):
        cache.add_node(node(name).image(10, "app").build())
        cache.update_snapshot(taken)
    assert {name: images["app"].num_nodes for name, images in taken.images.items()} == {"n1": 1, "n2": 2}


def test_a_snapshot_whose_size_does_not_match_the_tree_is_an_error_and_made_anew() -> None:
    cache, taken = given()
    cache.add_node(node("n1").zone("b").build())  # no informer says that: it is twice in the tree now
    assert cache.update_snapshot(taken) == (
        "snapshot state is not consistent, length of NodeInfoList=2 not equal to length of nodes in tree=3 , "
        "length of NodeInfoMap=2, length of nodes in cache=2, trying to recover"
    )
    assert [one.name for one in taken.nodes] == ["n1", "n1", "n2"]
    assert cache.update_snapshot(taken) is None


# --- from a state -------------------------------------------------------------------------------------------


def test_a_cache_of_a_state_has_its_nodes_and_changes_nothing_there() -> None:
    state = snapshot(
        node("a1").zone("a").image(10, "app"),
        node("a2").zone("a"),
        node("b1").zone("b"),
        on("a", "a2"),
        on("s", "gone"),
    )
    cache, taken = Cache(state), Snapshot()
    cache.update_snapshot(taken)
    assert list(taken.nodes) == state.nodes
    assert taken.images["a1"] == {"app": (10, 1)}
    assert not cache.nodes["gone"].real
    cache.assume_pod(on("b", "a2").build())
    cache.update_snapshot(taken)
    assert [one.name for one in state.by_name["a2"].pods] == ["a"]
    state.apply(Bind(pod("c").build(), "b1"), Delete.of(on("a", "a2").build()))
    assert [[one.name for one in info.pods] for info in taken.nodes] == [[], [], ["a", "b"]]
