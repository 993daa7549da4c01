"""`FinishedPods`: finished pods by node. Their objects still exist, but the scheduler ignores them."""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.overlay import Overlay
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.state.state import State
from kwhatif.workloads.survey import survey_of


class FinishedPods:
    """Built once for a cluster, and updated when pods finish or are removed (`Cluster.derived`)."""

    def __init__(self, cluster: Cluster) -> None:
        by_node: dict[str, tuple[str, ...]] = {}
        for pod in survey_of(cluster).restless:  # they include finished pods
            if is_terminal(pod):
                by_node[pod.spec.node_name] = (*by_node.get(pod.spec.node_name, ()), key_of(pod))
        self._by_node: Overlay[str, tuple[str, ...]] = Overlay(by_node)
        #: The number of finished pods.
        self.count = sum(map(len, by_node.values()))

    def on(self, node: str) -> tuple[str, ...]:
        """The keys of finished pods on the node with that name; "" for pods that were never bound."""
        return self._by_node.get(node, ())

    def nodes(self) -> Iterable[str]:
        """The node names of finished pods, whether or not these nodes exist."""
        return self._by_node

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> FinishedPods | None:
        """See `Index`."""
        was = before if isinstance(before, Pod) and is_terminal(before) else None
        now = after if isinstance(after, Pod) and is_terminal(after) else None
        if was is None and now is None:
            return self
        other = FinishedPods.__new__(FinishedPods)
        other._by_node, other.count = self._by_node.fork(), self.count
        if was is not None:
            other._remove(was)
        if now is not None:
            other._by_node.put(now.spec.node_name, (*other.on(now.spec.node_name), key_of(now)))
            other.count += 1
        return other

    def _remove(self, pod: Pod) -> None:
        left = tuple(key for key in self.on(pod.spec.node_name) if key != key_of(pod))
        self.count -= 1
        if left:
            self._by_node.put(pod.spec.node_name, left)
        else:
            self._by_node.pop(pod.spec.node_name)


def finished_pods(cluster: Cluster) -> FinishedPods:
    """The finished pods of the cluster."""
    return cluster.derived(FinishedPods, Pod)


def pods_assigned_to(node: str, state: State) -> list[str]:
    """The keys of all pods on the node, including finished ones, by namespace and name."""
    info = state.node(node)
    live = state.strays.get(node, ()) if info is None else info.pods
    return sorted([*(pod.key for pod in live), *finished_pods(state.cluster).on(node)])
