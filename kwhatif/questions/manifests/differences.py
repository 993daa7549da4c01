"""`Differences`: what is not the same in a state as in the one that it was forked from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State


class Difference(NamedTuple):
    """An object that is not the one that it was; None: it was not there, or is not any more."""

    key: str
    before: Any
    after: Any


class Differences:
    """Found by what the state says was done since: so it takes as many steps as there are changes, not objects."""

    def __init__(self, before: State, after: State) -> None:
        """`after` was forked from `before`, or `before` from `after`, and only `after` has changed since."""
        self.before, self.after = before, after
        touched = None if is_reference() else after.since(before.generation)
        #: What may differ; None: it is not known any more.
        self._nodes: set[str] | None = None
        self._keys: dict[type, set[str]] | None = None
        if touched is not None:
            self._nodes, self._keys = touched.nodes, {}
            for kind, key in touched.objects:
                self._keys.setdefault(kind, set()).add(key)

    def kinds(self) -> list[type]:
        """The kinds with objects that may differ, by name."""
        before, after = self.before.cluster, self.after.cluster
        kinds: Iterable[type] = after.counts().keys() | before.counts().keys() if self._keys is None else self._keys
        return sorted(
            (kind for kind in kinds if after.generation(kind) != before.generation(kind)),
            key=lambda kind: kind.__name__,
        )

    def of(self, kind: type) -> Iterator[Difference]:
        """The objects of that kind: first those that were there before, both in the order of their cluster."""
        before, after = self.before.cluster, self.after.cluster
        if before.generation(kind) == after.generation(kind):
            return
        was: Mapping[str, Any] = before.all(kind)
        now: Mapping[str, Any] = after.all(kind)
        if self._keys is None:
            keys = [*was, *(key for key in now if key not in was)]
        else:
            touched = self._keys.get(kind, ())
            old, new = {key for key in touched if key in was}, {key for key in touched if key not in was and key in now}
            keys = [*before.in_order(kind, old), *after.in_order(kind, new)]
        for key in keys:
            one, other = was.get(key), now.get(key)
            if one is not other:
                yield Difference(key, one, other)

    def nodes(self) -> Iterator[NodeInfo]:
        """The nodes that, or whose pods, may differ, as they are now; in the scheduler's order."""
        infos = self.after.nodes
        if self._nodes is not None:
            places = self.after.places
            infos = [infos[place] for place in sorted(places[name] for name in self._nodes if name in places)]
        for info in infos:
            if self.before.node(info.name) is not info:
                yield info
