"""`Built`: indexes of the pods on a state's nodes, built when somebody asks, and kept up from then on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwhatif.model.overlay import Overlay
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_index import PodIndex
from kwhatif.state.pod_info import PodInfo


class Built:
    """Of a state, and of its forks as long as their pods have not changed."""

    __slots__ = ("index", "used_claims")

    def __init__(self) -> None:
        self.index: PodIndex | None = None
        #: `namespace/claim` -> how many pods on nodes use it.
        self.used_claims: Overlay[str, int] | None = None

    def fork(self, nodes: Sequence[NodeInfo], strays: Mapping[str, Sequence[PodInfo]]) -> Built:
        """For a state that goes its own way."""
        other = Built()
        if self.index is not None:
            other.index = self.index.fork(nodes, strays)
        if self.used_claims is not None:
            other.used_claims = self.used_claims.fork()
        return other

    def users_of(self, claim: str, nodes: Iterable[NodeInfo]) -> int:
        """How many pods on the nodes, all of the state's, use the claim."""
        if self.used_claims is None:
            self.used_claims = Overlay()
            for node in nodes:
                self.count_claims(node.pods, 1)
        return self.used_claims.get(claim, 0)

    def count_claims(self, pods: Iterable[PodInfo], amount: int) -> None:
        """So many more users of what the pods use, if anybody has asked for users yet."""
        used = self.used_claims
        if used is None:
            return
        for pod in pods:
            for name in pod.claim_names:
                claim = f"{pod.namespace}/{name}"
                number = used.get(claim, 0) + amount
                if number:
                    used.put(claim, number)
                else:
                    used.pop(claim)
