"""Filter on all nodes: few need a call if answers depend on shapes, or are known from earlier attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kwhatif.scheduler.framework.columns import Columns
from kwhatif.scheduler.framework.filters import KnownAnswers, NamedFilter, leading, run_filters, split_by_shape
from kwhatif.scheduler.framework.incremental import suspects_of
from kwhatif.scheduler.framework.plugin import NodeFilter
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State

#: `Cycle.check`.
NodeCheck = Callable[[NodeInfo, Sequence[NamedFilter]], Verdict | None]


class NodeSearch:
    """The nodes that PreFilter left (`findNodesThatPassFilters` in `pkg/scheduler/schedule_one.go`)."""

    def __init__(
        self,
        filters: Sequence[NamedFilter],
        state: State,
        node_set: frozenset[str] | None,
        columns: Columns | None,
    ) -> None:
        self._by_shape, self._filters = split_by_shape(filters)
        self._state = state
        self._node_set = node_set
        self._columns = columns
        #: The indexes of the nodes, ascending.
        self.left = self._places_left()

    def objections(self, check: NodeCheck) -> Iterator[tuple[int, Verdict]]:
        """The indexes of rejected nodes, ascending, and why; `check` is used for nodes with nominated pods."""
        known, rest = _split(self._known(*named) for named in self._filters)
        failing = self._failing_shapes()
        nominated, nodes = self._state.nominated, self._state.nodes
        names, shapes = self._state.names_and_shapes
        for place in self._doubtful(failing, known, rest):
            objection = failing.get(shapes[place])
            if objection is None:
                name = names[place]
                if nominated and name in nominated:
                    objection = check(nodes[place], self._filters)
                else:
                    objection = known.get(name) or (run_filters(rest, nodes[place]) if rest else None)
            if objection is not None:
                yield place, objection

    def _places_left(self) -> Sequence[int]:
        places, node_set = self._state.places, self._node_set
        if node_set is None:
            return range(len(places))
        return sorted(place for name in node_set if (place := places.get(name)) is not None)

    def _failing_shapes(self) -> Mapping[int, Verdict]:
        """The shapes of the remaining nodes that are rejected by filters that read only shapes."""
        if not self._by_shape:
            return {}
        nodes = self._state.nodes
        some = (
            self._state.of_shape if self._node_set is None else {nodes[at].shape: nodes[at] for at in self.left[::-1]}
        )
        found = ((shape, run_filters(self._by_shape, node)) for shape, node in some.items())
        return {shape: objection for shape, objection in found if objection is not None}

    def _doubtful(
        self, failing: Mapping[int, Verdict], known: Mapping[str, Verdict], rest: Sequence[NamedFilter]
    ) -> Sequence[int]:
        """The indexes of all nodes that a filter may reject, ascending: often known without checking each."""
        suspects = suspects_of([plugin for _, plugin in rest], self._state)
        if self._node_set is not None or suspects is None:
            return self.left
        places = self._state.places
        names = {*known, *suspects, *self._state.nominated}
        if len(names) >= len(places):
            return self.left
        doubtful = {place for name in names if (place := places.get(name)) is not None}
        if failing:
            shapes = self._state.names_and_shapes[1]
            doubtful.update([place for place, shape in enumerate(shapes) if shape in failing])
        return sorted(doubtful)

    def _known(self, name: str, filter_: NodeFilter) -> NamedFilter:
        """The filter, or its known answers from earlier attempts."""
        known = None if self._columns is None else self._columns.objections(name, filter_, self._state)
        return (name, filter_) if known is None else (name, KnownAnswers(known))


def _split(found: Iterable[NamedFilter]) -> tuple[Mapping[str, Verdict], Sequence[NamedFilter]]:
    """The first rejection of each node by the leading filters whose answers are known; and the other filters."""
    filters = list(found)
    number = leading(filters, KnownAnswers)
    known = [each.objections for _, each in filters[:number] if isinstance(each, KnownAnswers)]
    if len(known) == 1:
        return known[0], filters[number:]
    return {name: found for each in reversed(known) for name, found in each.items()}, filters[number:]
