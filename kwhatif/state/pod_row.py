"""`PodRow`: pods in a certain order, with the running sums of what they request."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import cast

from kwhatif.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY
from kwhatif.state.pod_info import PodInfo

_PLACES = {name: place for place, name in enumerate((CPU, MEMORY, EPHEMERAL_STORAGE))}


class PodRow:
    """See the module. Sums are found when they are asked for, and kept."""

    __slots__ = ("_sums", "pods", "wide")

    def __init__(self, pods: Sequence[PodInfo]) -> None:
        self.pods = pods
        #: Whether amounts are so large that what is computed of them may leave 64 bits: then do not ask for sums.
        self.wide = any(pod.resources.wide for pod in pods)
        self._sums: dict[str, array[int]] = {}

    def sums(self, resource: str) -> array[int]:
        """What the first 0, 1, 2… of the pods request together of the resource: milli-CPU, bytes, or units."""
        found = self._sums.get(resource)
        if found is None:
            place = _PLACES.get(resource)
            requested = [pod.resources.requested for pod in self.pods]
            amounts = [each.scalar(resource) if place is None else each[place] for each in requested]
            found = self._sums[resource] = array("q", accumulate(cast("list[int]", amounts), initial=0))
        return found
