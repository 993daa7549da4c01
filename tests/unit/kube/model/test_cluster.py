"""The collection of objects, and what is derived from it."""

from __future__ import annotations

from collections import Counter

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from tests.builders import cluster, node, pod


def names_of_nodes(found: Cluster) -> list[str]:
    return list(found.all(Node))


def count_of_pods(found: Cluster) -> list[int]:
    return [len(found.all(Pod))]


def test_what_is_derived_is_remembered_until_one_of_its_kinds_changes() -> None:
    found = cluster(node("a"), pod("p"))
    names, count = found.derived(names_of_nodes, Node), found.derived(count_of_pods, Pod, Node)
    found.add(pod("q").build())
    assert found.derived(names_of_nodes, Node) is names
    assert found.derived(count_of_pods, Pod, Node) == [2] != count
    count = found.derived(count_of_pods, Pod, Node)
    found.discard(Node, "a")
    assert found.derived(names_of_nodes, Node) == []
    assert found.derived(count_of_pods, Pod, Node) is not count


class Tiers:
    """How many nodes have each tier, kept up as long as no tier changes."""

    def __init__(self, found: Cluster) -> None:
        self.counts = Counter(one.metadata.labels.get("tier") for one in found.all(Node).values())

    def updated(self, before: Node | None, after: Node | None) -> Tiers | None:
        same = before and after and before.metadata.labels.get("tier") == after.metadata.labels.get("tier")
        return self if same else None


def test_an_index_is_kept_as_long_as_it_can_tell_what_becomes_of_it() -> None:
    found = cluster(node("a").labels(tier="x"))
    tiers = found.derived(Tiers, Node)
    found.add(node("a").labels(tier="x", disk="ssd").build())
    assert found.derived(Tiers, Node) is tiers
    fork = found.fork()
    fork.add(node("a").labels(tier="y").build())
    assert found.derived(Tiers, Node) is tiers
    fork.add(node("a").labels(tier="x").build())
    assert fork.derived(Tiers, Node).counts == {"x": 1}
    assert fork.derived(Tiers, Node) is not tiers


def test_every_change_of_a_kind_gives_it_another_generation() -> None:
    found = cluster(node("a"))
    seen = [found.generation(Node)]
    found.add(node("a").labels(tier="x").build())
    seen.append(found.generation(Node))
    found.discard(Node, "a")
    seen.append(found.generation(Node))
    assert seen == sorted(set(seen))
    assert found.generation(Pod) == 0
    fork = found.fork()
    assert fork.generation(Node) == found.generation(Node)
    fork.add(pod("p").build())
    assert (fork.generation(Pod) > 0, found.generation(Pod)) == (True, 0)


def test_a_fork_shares_what_is_derived_until_either_changes() -> None:
    found = cluster(node("a"))
    names = found.derived(names_of_nodes, Node)
    fork = found.fork()
    assert fork.derived(names_of_nodes, Node) is names
    fork.add(node("b").build())
    assert fork.derived(names_of_nodes, Node) == ["a", "b"]
    assert found.derived(names_of_nodes, Node) is names
    assert found.get(Node, "b") is None
