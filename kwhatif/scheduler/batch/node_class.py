"""`NodeClass`: nodes that the filters which look beyond a node cannot tell apart, and what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from copy import copy
from typing import cast

from kwhatif.kube.model.overlay import Overlay
from kwhatif.scheduler.batch.ranked_nodes import RankedNodes
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.preemption.candidate import Candidate
from kwhatif.scheduler.preemption.ranking import Rank

#: What was found in so many states of the filters is kept, as they come back to them: a pod that comes or not, times a
#: victim of it that goes or not. Each one more holds a verdict for every node of the class.
_KEPT = 4

Reasons = tuple[str, ...]


class ClassVerdicts:
    """What became of the nodes of one class, in one state of the filters."""

    def __init__(self, names: Iterable[str]) -> None:
        #: Nodes that have to be looked at.
        self.outdated = set(names)
        self.feasible: set[str] = set()
        self.candidates: Overlay[str, Candidate] = Overlay()
        #: The candidates by rank.
        self.order: RankedNodes[Rank] = RankedNodes({})
        #: What keeps the pod out.
        self.objections: Overlay[str, Verdict] = Overlay()
        #: Of how many nodes a plugin says so.
        self._counts = Counter[tuple[str, Reasons]]()
        #: Why evicting pods does not help, where that was tried.
        self._refusals: Overlay[str, Reasons] = Overlay()
        #: On how many nodes it does not help for these reasons.
        self._refused = Counter[Reasons]()

    def copy(self) -> ClassVerdicts:
        """An independent copy."""
        other = copy(self)
        other.outdated = self.outdated.copy()
        other.feasible, other.candidates = self.feasible.copy(), self.candidates.fork()
        other.order, other.objections = self.order.copy(), self.objections.fork()
        other._counts, other._refusals = self._counts.copy(), self._refusals.fork()
        other._refused = self._refused.copy()
        return other

    def begin(
        self, verdicts: Mapping[str, Verdict], candidates: Mapping[str, Candidate], rejected: Mapping[str, Verdict]
    ) -> None:
        """What keeps the pod out of all of the nodes, and whom it would evict on some: as if recorded one by one."""
        self.outdated.clear()
        self.objections = Overlay(dict(verdicts))
        self._counts = Counter([(verdict.plugin, verdict.status.reasons) for verdict in verdicts.values()])
        found = {name: candidates[name] for name in verdicts if name in candidates} if candidates else {}
        self.candidates = Overlay(found)
        self.order = RankedNodes({name: candidate.rank for name, candidate in found.items()})
        self._refusals = Overlay({name: rejected[name].status.reasons for name in verdicts if name in rejected})
        self._refused = Counter(self._refusals.values())

    def record(self, name: str, objection: Verdict | None, found: Candidate | Verdict | None) -> None:
        """What keeps the pod out of the node, if anything does, and whom it would evict there, or why nobody."""
        self._clear(name)
        if objection is None:
            self.feasible.add(name)
        else:
            self.objections.put(name, objection)
            self._counts[_said(objection)] += 1
        if isinstance(found, Candidate):
            self.candidates.put(name, found)
        elif found is not None:
            reasons = found.status.reasons
            self._refusals.put(name, reasons)
            self._refused[reasons] += 1
        self.order.put(name, found.rank if isinstance(found, Candidate) else None)

    def count_reasons(self, counts: Counter[str]) -> None:
        """Add how many nodes give a reason."""
        for (_, reasons), number in self._counts.items():
            for reason in reasons:
                counts[reason] += number

    def count_refusals(self, counts: Counter[str]) -> int:
        """Add on how many nodes evicting pods does not help, by reason; returns how many were tried in vain."""
        for reasons, number in self._refused.items():
            for reason in reasons if number else ():
                counts[reason] += number
        return len(self._refusals)

    @property
    def plugins(self) -> Iterator[str]:
        """The plugins that object to any of the nodes."""
        return (plugin for (plugin, _), number in self._counts.items() if number and plugin)

    def forget(self, name: str) -> None:
        """The node is not in the class any more."""
        self._clear(name)
        self.order.put(name, None)

    def _clear(self, name: str) -> None:
        self.outdated.discard(name)
        self.feasible.discard(name)
        objection = self.objections.pop(name)
        if objection is not None:
            self._counts[_said(objection)] -= 1
        self.candidates.pop(name)
        refused = self._refusals.pop(name)
        if refused is not None:
            self._refused[refused] -= 1


def _said(verdict: Verdict) -> tuple[str, Reasons]:
    return verdict.plugin, verdict.status.reasons


class NodeClass:
    """Nodes of one class, with the verdicts of the state that the filters are in now, and of earlier ones."""

    def __init__(self, key: Hashable, names: Iterable[str] = ()) -> None:
        self.key = key
        self.names: AbstractSet[str] = set(names)
        self._by_state: dict[Hashable, ClassVerdicts] = {}
        self.verdicts = ClassVerdicts(())
        #: Whether a copy has the same set.
        self._shares_names = False

    def copy(self) -> NodeClass:
        """An independent copy."""
        other = copy(self)
        self._shares_names = other._shares_names = True
        other._by_state = {state: verdicts.copy() for state, verdicts in self._by_state.items()}
        now = next((state for state, verdicts in self._by_state.items() if verdicts is self.verdicts), None)
        other.verdicts = self.verdicts.copy() if now is None else other._by_state[now]
        return other

    def begin(self, state: Hashable, verdicts: ClassVerdicts) -> None:
        """All is known about the nodes, with the filters in this state."""
        self._by_state[state] = self.verdicts = verdicts

    def set_state(self, state: Hashable) -> None:
        """The filters are in this state now, as seen from the class (`Incremental.class_state`)."""
        verdicts = self._by_state.pop(state, None) or ClassVerdicts(self.names)
        self._by_state[state] = self.verdicts = verdicts
        if len(self._by_state) > _KEPT:
            del self._by_state[next(iter(self._by_state))]

    def add(self, name: str) -> None:
        """The node belongs to the class."""
        self._own_names().add(name)
        self.invalidate(name)

    def _own_names(self) -> set[str]:
        if self._shares_names:
            self.names, self._shares_names = set(self.names), False
        return cast("set[str]", self.names)

    def invalidate(self, name: str) -> None:
        """What was found about the node does not hold any more."""
        for verdicts in self._by_state.values():
            verdicts.outdated.add(name)

    @property
    def has_candidates(self) -> bool:
        """Whether somebody would be evicted anywhere, in any known state."""
        return any(verdicts.candidates for verdicts in self._by_state.values())

    def has_candidate(self, name: str) -> bool:
        """Whether somebody would be evicted there in any known state: only then it matters what a budget allows."""
        return any(name in verdicts.candidates for verdicts in self._by_state.values())

    def remove(self, name: str) -> None:
        """The node belongs to another class."""
        self._own_names().discard(name)
        for verdicts in self._by_state.values():
            verdicts.forget(name)
