"""`Nominator`: which pods are nominated to which nodes (`backend/queue/nominator.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.state.pod_info import PodInfo

#: The pod of a key as the API has it, or None.
PodLister = Callable[[str], Pod | None]


class PodRef(NamedTuple):
    """A nominated pod; its object is looked up when it is needed."""

    key: str
    uid: str


class Nominator:
    """The scheduler's own record of nominations; it may be ahead of the pods' status."""

    def __init__(self, lister: PodLister) -> None:
        self._lister = lister
        self._pods: dict[str, list[PodRef]] = {}
        #: UID -> node.
        self._nodes: dict[str, str] = {}

    def fork(self, lister: PodLister) -> Nominator:
        """An independent one with the same nominations."""
        other = Nominator(lister)
        other._pods = {node: refs.copy() for node, refs in self._pods.items()}
        other._nodes = self._nodes.copy()
        return other

    @property
    def nominated(self) -> Mapping[str, Sequence[PodRef]]:
        """Node -> pods nominated to it, the oldest nomination first; nodes without any are left out."""
        return self._pods

    def node_of(self, uid: str) -> str | None:
        """The node that the pod is nominated to."""
        return self._nodes.get(uid)

    def add(self, pod: PodInfo, node_name: str | None = None) -> None:
        """Nominate the pod to the node, "" for none; None: to the one in its status, if any.

        Always removes an earlier nomination. A pod that no longer exists, or that has a node, gets none.
        """
        self.delete(pod.uid)
        wanted = pod.pod.status.nominated_node_name if node_name is None else node_name
        listed = self._lister(pod.key) if wanted else None
        if not wanted or listed is None or listed.spec.node_name:
            return
        self._nodes[pod.uid] = wanted
        self._pods.setdefault(wanted, []).append(PodRef(pod.key, pod.uid))

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """The pod changed: if its status has never named a node, it keeps the scheduler's own nomination."""
        node_name = None
        if not old.pod.status.nominated_node_name and not new.pod.status.nominated_node_name:
            node_name = self._nodes.get(old.uid)
        self.delete(old.uid)
        self.add(new, node_name)

    def delete(self, uid: str) -> None:
        """The pod is no longer nominated."""
        node_name = self._nodes.pop(uid, None)
        if node_name is None:
            return
        refs = [ref for ref in self._pods[node_name] if ref.uid != uid]
        if refs:
            self._pods[node_name] = refs
        else:
            del self._pods[node_name]


def pod_lister(cluster: Cluster) -> PodLister:
    """The pods in the scheduler's informer, which leaves out pods that have ended."""

    def lister(key: str) -> Pod | None:
        pod = cluster.get(Pod, key)
        return None if pod is None or is_terminal(pod) else pod

    return lister
