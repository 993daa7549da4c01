"""`PodIndex`: counts of pods by node, grouped by their labels and affinity terms.

Upstream matches every pod of the cluster in every cycle, on 16 threads. Here replicas are matched together: a cluster
of 110,000 pods has a few thousand groups.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.state.claim_index import ClaimIndex
from kwhatif.state.label_index import LabelIndex
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.term_index import TermIndex


class PodIndex:
    """Each part is built when it is first needed, and then updated by `change`. Forks share what is built."""

    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        """Set up.

        Args:
            pods: the live pods of a state. They are read when a part is first needed. Until `look_in` names another
                mapping they may change; every change must be passed to `change`.
        """
        self.labels = LabelIndex(pods)
        self.terms = TermIndex(pods)
        self.claims = ClaimIndex()

    def fork(self, pods: Mapping[str, PodInfo]) -> PodIndex:
        """An independent index of the same pods, in this mapping."""
        other = PodIndex.__new__(PodIndex)
        other.labels, other.terms, other.claims = self.labels.fork(pods), self.terms.fork(pods), self.claims.fork()
        return other

    def look_in(self, pods: Mapping[str, PodInfo]) -> None:
        """From now on read the pods from this mapping, which has the same content."""
        self.labels.pods = self.terms.pods = pods

    def change(self, pod: PodInfo, amount: int) -> None:
        """Count the pod on its node (`amount` 1), or uncount it (-1); `claims` counts pods on existing nodes only."""
        self.labels.change(pod, amount)
        self.terms.change(pod, amount)

    def build(self) -> None:
        """Group the pods of all namespaces, and find all terms."""
        for namespace in self.labels.namespaces():
            self.labels.groups(namespace)
            self.terms.label_keys(namespace)
