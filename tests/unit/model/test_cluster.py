"""The collection of objects, and what is derived from it."""

from __future__ import annotations

from kwhatif.model.cluster import Cluster
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
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
    found.remove(node("a").build())
    assert found.derived(names_of_nodes, Node) == []
    assert found.derived(count_of_pods, Pod, Node) is not count


def test_an_assumed_object_is_found_and_what_is_derived_stays() -> None:
    found = cluster(node("a"))
    names = found.derived(names_of_nodes, Node)
    labelled = node("a").labels(tier="x").build()
    found.assume(labelled)
    assert found.get(Node, "a") is labelled
    assert found.derived(names_of_nodes, Node) is names


def test_a_fork_shares_what_is_derived_until_either_changes() -> None:
    found = cluster(node("a"))
    names = found.derived(names_of_nodes, Node)
    fork = found.fork()
    assert fork.derived(names_of_nodes, Node) is names
    fork.add(node("b").build())
    assert fork.derived(names_of_nodes, Node) == ["a", "b"]
    assert found.derived(names_of_nodes, Node) is names
    assert found.get(Node, "b") is None
