"""`PodIndex`: where pods are, by what label selectors and affinity terms can tell apart.

Upstream matches every pod of the cluster in every cycle, on 16 threads. Here replicas are matched together: a cluster
of 110,000 pods has a few thousand groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.state.assigned import Assigned
from kwhatif.state.claim_index import ClaimIndex
from kwhatif.state.label_index import LabelIndex
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.term_index import TermIndex


class PodIndex:
    """Built as far as it is asked, and then kept up by `change`. Forks share what is built."""

    def __init__(self, nodes: Sequence[NodeInfo], strays: Mapping[str, Sequence[PodInfo]]) -> None:
        self.assigned = Assigned(nodes, strays)
        self.labels = LabelIndex(self.assigned)
        self.terms = TermIndex(self.assigned)
        self.claims = ClaimIndex(self.assigned)

    def fork(self, nodes: Sequence[NodeInfo], strays: Mapping[str, Sequence[PodInfo]]) -> PodIndex:
        """An independent index of the same pods, which are here now."""
        other = PodIndex.__new__(PodIndex)
        other.assigned = Assigned(nodes, strays)
        other.labels, other.terms = self.labels.fork(other.assigned), self.terms.fork(other.assigned)
        other.claims = self.claims.fork(other.assigned)
        return other

    def change(self, pod: PodInfo, node_name: str, amount: int) -> None:
        """The pod was assigned to the node (`amount` 1), or taken off it (-1); `claims` only counts existing nodes."""
        self.labels.change(pod, node_name, amount)
        self.terms.change(pod, node_name, amount)

    def build(self) -> None:
        """Group the pods of all namespaces, and find all terms and claims."""
        self.claims.users_of("")
        for namespace in self.labels.namespaces():
            self.labels.groups(namespace)
            self.terms.label_keys(namespace)
