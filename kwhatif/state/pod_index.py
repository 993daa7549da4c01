"""`PodIndex`: where pods are, by what label selectors and affinity terms can tell apart.

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
    """Built as far as it is asked, and then kept up by `change`. Forks share what is built."""

    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        """Set up.

        Args:
            pods: the live pods of a state. They are looked through when somebody first asks. Until `look_in` names
                others they may change; every change has to be given to `change`.
        """
        self.labels = LabelIndex(pods)
        self.terms = TermIndex(pods)
        self.claims = ClaimIndex()

    def fork(self, pods: Mapping[str, PodInfo]) -> PodIndex:
        """An independent index of the same pods, which are here now."""
        other = PodIndex.__new__(PodIndex)
        other.labels, other.terms, other.claims = self.labels.fork(pods), self.terms.fork(pods), self.claims.fork()
        return other

    def look_in(self, pods: Mapping[str, PodInfo]) -> None:
        """From now on the pods are here: another mapping with the same content."""
        self.labels.pods = self.terms.pods = pods

    def change(self, pod: PodInfo, amount: int) -> None:
        """The pod was assigned to its node (`amount` 1), or taken off it (-1); `claims` only counts existing nodes."""
        self.labels.change(pod, amount)
        self.terms.change(pod, amount)

    def build(self) -> None:
        """Group the pods of all namespaces, and find all terms."""
        for namespace in self.labels.namespaces():
            self.labels.groups(namespace)
            self.terms.label_keys(namespace)
