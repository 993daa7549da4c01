"""What must hold of every state, checked against its objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.overlay import Overlay
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.nodes import ImageStates, add_images, images_on
from kwhatif.state.pod_index import PodIndex
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: What a NodeInfo sums up.
_SUMS = ("cpu", "memory", "ephemeral", "nonzero_cpu", "nonzero_memory")


def validate(state: State) -> None:
    """Check everything that is kept up against the objects.

    Raises:
        AssertionError: something is not as it would have to be.
    """
    _check_pods(state)
    _check_nodes(state)
    _check_nominations(state)
    for node in state.nodes:
        _check_node(node, state)
    _check_indexes(state)


def _keys(pods: Iterable[PodInfo]) -> list[str]:
    return sorted(pod.key for pod in pods)


def _check_pods(state: State) -> None:
    """Every live pod is known once: on its node, among the strays, or pending."""
    live = {key: pod for key, pod in state.cluster.all(Pod).items() if not is_terminal(pod)}
    assert {key: info.pod for key, info in state.pods.items()} == live
    assert all(state.pods[key].pod is pod for key, pod in live.items())
    assert list(state.pending) == [key for key in state.pods if not live[key].spec.node_name]
    assert all(state.pending[key] is state.pods[key] for key in state.pending)
    by_node: dict[str, list[PodInfo]] = {}
    for pod in state.pods.values():
        if pod.pod.spec.node_name:
            by_node.setdefault(pod.pod.spec.node_name, []).append(pod)
    for node in state.nodes:
        pods = by_node.pop(node.name, [])
        assert set(node.pods) == set(pods), f"{node}: {_keys(node.pods)}, not {_keys(pods)}"
        assert len(node.pods) == len(pods)
    assert {name: set(pods) for name, pods in state.strays.items()} == {
        name: set(pods) for name, pods in by_node.items()
    }


def _check_nodes(state: State) -> None:
    """Every node is known once, under its place and name, and in its zone's order."""
    nodes = state.cluster.all(Node)
    names = [node.name for node in state.nodes]
    assert sorted(names) == sorted(nodes)
    assert names == state._nodes._tree.names()
    assert [state.index_by_name[name] for name in names] == list(range(len(names)))
    assert len(state.index_by_name) == len(names)
    assert all(state.by_name[node.name] is node is state.node(node.name) for node in state.nodes)
    assert all(node.node is nodes[node.name] for node in state.nodes)
    generations = [node.generation for node in state.nodes]
    assert 0 not in generations
    assert len(set(generations)) == len(generations)
    images: ImageStates = Overlay()
    for node in nodes.values():
        add_images(images, node, set())
    assert {name: image.num_nodes for name, image in images.items()} == {
        name: image.num_nodes for name, image in state.images.items()
    }


def _check_node(node: NodeInfo, state: State) -> None:
    """The node is what its object and its pods come to."""
    fresh = NodeInfo(node.node, state.shapes.number(node.node)).with_pods(node.pods)
    for name in (*_SUMS, "allocatable", "allowed_pods", "labels", "taints", "unschedulable", "shape"):
        assert getattr(node, name) == getattr(fresh, name), f"{node}: {name}"
    assert node.images == images_on(node.node)
    assert {name: amount for name, amount in node.scalars.items() if amount} == {
        name: amount for name, amount in fresh.scalars.items() if amount
    }
    # QUIRK: (types.go) an evicted pod frees its ports, whoever else has them.
    assert node.used_ports() <= fresh.used_ports()
    for pod in node.pods:
        assert pod.pod.spec.node_name == node.name


def _check_nominations(state: State) -> None:
    """Nominated pods are pending, and nominated to one node."""
    pods = [pod for pods in state.nominated.values() for pod in pods]
    assert all(state.nominated.values())
    there = {pod.key: name for name, pods in state.nominated.items() for pod in pods}
    assert there == {key: state.nomination_of(key) for key in state.pods if state.nomination_of(key) is not None}
    assert len({pod.key for pod in pods}) == len(pods)
    assert all(pod.key in state.pending for pod in pods)


def _check_indexes(state: State) -> None:
    """What was kept up is what would be built now."""
    assert index_contents(state.index) == index_contents(PodIndex(state.pods))
    used = Counter(f"{pod.namespace}/{name}" for node in state.nodes for pod in node.pods for name in pod.claim_names)
    assert state.users_of("") == used[""]
    assert dict(state.index.claims.used or {}) == used


def index_contents(index: PodIndex) -> object:
    """What the index says, with everything built, in a form that can be compared."""
    index.build()
    groups = {
        (namespace, tuple(group.labels.items())): (group.pods, group.terminating)
        for namespace in index.labels.namespaces()
        for group in index.labels.groups(namespace)
        if group.pods
    }
    return groups, {terms: pods for terms, pods in index.terms.all().items() if pods}
