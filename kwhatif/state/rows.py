"""Rows of nodes and of pods, with columns and running sums that many plugins need for all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import Self

from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY, Resources
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_AMOUNTS: dict[str, Callable[[Resources], int]] = {
    CPU: attrgetter("cpu"),
    MEMORY: attrgetter("memory"),
    EPHEMERAL_STORAGE: attrgetter("ephemeral"),
}


class PodRow:
    """Pods in a certain order, with running sums of their requests, which are computed on demand and kept."""

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


class NodeRow(tuple[NodeInfo, ...]):  # noqa: SLOT001 - a tuple cannot have them
    """Some or all nodes of a state. `NodeInfo`s are scattered in memory: reading the lists here is faster."""

    #: The indexes of the nodes in the state's `nodes`, ascending.
    places: Sequence[int]
    _state_names: Sequence[str]
    _state_shapes: Sequence[int]
    _places_by_name: Mapping[str, int]

    @classmethod
    def at(cls, state: State, places: Sequence[int]) -> Self:
        """The nodes of the state at these places."""
        nodes = state.nodes
        row = cls(nodes if len(places) == len(nodes) else map(nodes.__getitem__, places))
        row.places, row._places_by_name = places, state.places
        row._state_names, row._state_shapes = state.names_and_shapes
        return row

    def place_of(self, name: str) -> int | None:
        """The index of the node with that name in this row; None if it is not in it."""
        place = self._places_by_name.get(name)
        if place is None:
            return None
        found = bisect_left(self.places, place)
        return found if found < len(self) and self.places[found] == place else None

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the nodes."""
        names = self._state_names
        return names if len(self) == len(names) else list(map(names.__getitem__, self.places))

    @cached_property
    def shapes(self) -> Sequence[int]:
        """The shapes of the nodes, one per node."""
        shapes = self._state_shapes
        return shapes if len(self) == len(shapes) else list(map(shapes.__getitem__, self.places))

    @cached_property
    def sizes(self) -> Mapping[int, int]:
        """How many of the nodes have each shape."""
        return Counter(self.shapes)

    @cached_property
    def samples(self) -> Mapping[int, NodeInfo]:
        """The last node of each shape."""
        return dict(zip(self.shapes, self, strict=True))
