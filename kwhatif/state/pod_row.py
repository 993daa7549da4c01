"""`PodRow`: pods in a certain order, with running sums of their requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import attrgetter

from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY, Resources
from kwhatif.state.pod_info import PodInfo

_AMOUNTS: dict[str, Callable[[Resources], int]] = {
    CPU: attrgetter("cpu"),
    MEMORY: attrgetter("memory"),
    EPHEMERAL_STORAGE: attrgetter("ephemeral"),
}


class PodRow:
    """Pods in a certain order. Sums are computed on demand and kept."""

    __slots__ = ("_sums", "pods")

    def __init__(self, pods: Sequence[PodInfo]) -> None:
        self.pods = pods
        self._sums: dict[str, list[int]] = {}

    def sums(self, resource: str) -> list[int]:
        """The total requests of the first 0, 1, 2… pods for the resource: milli-CPU, bytes, or units."""
        found = self._sums.get(resource)
        if found is None:
            amount_of = _AMOUNTS.get(resource) or (lambda requested: requested.scalar(resource))
            amounts = (amount_of(pod.resources.requested) for pod in self.pods)
            found = self._sums[resource] = list(accumulate(amounts, initial=0))
        return found
