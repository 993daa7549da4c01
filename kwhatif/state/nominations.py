"""`Nominations`: the pending pods nominated to each node (`pkg/scheduler/backend/queue/nominator.go`)."""

from __future__ import annotations

from kwhatif.kube.model.cluster import list_order
from kwhatif.state.pod_info import PodInfo


class Nominations:
    """Forks share both mappings until one of them changes them."""

    def __init__(self) -> None:
        #: By node name, in the order of nomination; nodes without nominated pods are absent.
        self.by_node: dict[str, tuple[PodInfo, ...]] = {}
        #: Key of the pod -> name of the node.
        self.node_of: dict[str, str] = {}
        self._is_shared = False

    def fork(self) -> Nominations:
        """An independent copy."""
        self._is_shared = True
        other = Nominations.__new__(Nominations)
        other.by_node, other.node_of, other._is_shared = self.by_node, self.node_of, True
        return other

    def add(self, pod: PodInfo, node_name: str) -> None:
        """Nominate the pod, which must not be nominated yet."""
        self._own()
        self.by_node[node_name] = (*self.by_node.get(node_name, ()), pod)
        self.node_of[pod.key] = node_name

    def drop(self, key: str) -> list[str]:
        """Drop the pod's nomination; returns the nodes that it was nominated to (at most one)."""
        name = self.node_of.get(key)
        if name is None:
            return []
        self._own()
        del self.node_of[key]
        kept = tuple(pod for pod in self.by_node[name] if pod.key != key)
        if kept:
            self.by_node[name] = kept
        else:
            del self.by_node[name]
        return [name]

    def sort(self) -> None:
        """Have them in the API server's order of pods."""
        self._own()
        pods = {pod.key: pod for pods in self.by_node.values() for pod in pods}
        node_of, self.by_node, self.node_of = self.node_of, {}, {}
        for key in sorted(node_of, key=list_order):
            self.add(pods[key], node_of[key])

    def _own(self) -> None:
        if self._is_shared:
            self.by_node, self.node_of, self._is_shared = self.by_node.copy(), self.node_of.copy(), False
