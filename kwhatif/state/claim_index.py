"""`ClaimIndex`: how many pods use a PersistentVolumeClaim (`PVCRefCounts`)."""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.kube.model.overlay import Overlay
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class ClaimIndex:
    """Counts pods on existing nodes; built at the first request and updated from then on."""

    def __init__(self) -> None:
        #: `namespace/claim` -> how many pods use it.
        self.used: Overlay[str, int] | None = None

    def fork(self) -> ClaimIndex:
        """An independent index of the same pods."""
        other = ClaimIndex()
        other.used = None if self.used is None else self.used.fork()
        return other

    def users_of(self, claim: str, nodes: Iterable[NodeInfo]) -> int:
        """How many pods use the claim, `namespace/name`; `nodes` are all nodes of the state."""
        if self.used is None:
            self.used = Overlay()
            for node in nodes:
                self.count(node.pods, 1)
        return self.used.get(claim, 0)

    def count(self, pods: Iterable[PodInfo], amount: int) -> None:
        """Add `amount` users to each claim that the pods use, if the index has been built."""
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
