"""`ClaimIndex`: how many pods use a PersistentVolumeClaim (`PVCRefCounts`)."""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.kube.model.overlay import Overlay
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class ClaimIndex:
    """Of pods on nodes that exist; counted when somebody asks, and kept up from then on."""

    def __init__(self) -> None:
        #: `namespace/claim` -> how many pods use it.
        self.used: Overlay[str, int] | None = None

    def fork(self) -> ClaimIndex:
        """An independent index of the same pods."""
        other = ClaimIndex()
        other.used = None if self.used is None else self.used.fork()
        return other

    def users_of(self, claim: str, nodes: Iterable[NodeInfo]) -> int:
        """How many pods on these nodes, which are all of the state, use the claim, `namespace/name`."""
        if self.used is None:
            self.used = Overlay()
            for node in nodes:
                self.count(node.pods, 1)
        return self.used.get(claim, 0)

    def count(self, pods: Iterable[PodInfo], amount: int) -> None:
        """So many more users of what the pods use, if anybody has asked for users yet."""
        if self.used is None:
            return
        for pod in pods:
            for name in pod.claim_names:
                claim = f"{pod.namespace}/{name}"
                number = self.used.get(claim, 0) + amount
                if number:
                    self.used.put(claim, number)
                else:
                    self.used.pop(claim)
