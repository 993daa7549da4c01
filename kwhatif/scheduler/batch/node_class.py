"""`NodeClass`: nodes that all filters that read more than a node treat the same, and cached results for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from copy import copy
from typing import cast

from kwhatif.kube.model.overlay import Overlay
from kwhatif.scheduler.batch.feasible_nodes import RankedNodes
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.preemption.candidate import Candidate, Rank

#: The number of filter states to cache results for, because states recur: a pod is added or not, and a victim of it is
#: removed or not. Each further one needs a verdict for every node of the class.
_KEPT = 4

Reasons = tuple[str, ...]
#: The plugin, and its reasons.
Said = tuple[str, Reasons]


class ClassVerdicts:
    """The results for the nodes of one class, in one state of the filters."""

    def __init__(self, names: Iterable[str]) -> None:
        #: Nodes that must be evaluated.
        self.outdated = set(names)
        self.feasible: set[str] = set()
        self.candidates: Overlay[str, Candidate] = Overlay()
        #: The candidates by rank.
        self.order: RankedNodes[Rank] = RankedNodes({})
        #: Why the pod does not fit, by node.
        self.objections: Overlay[str, Said] = Overlay()
        #: The number of nodes by plugin and reasons.
        self._counts = Counter[Said]()
        #: Why evicting pods does not help, by node, if it was tried.
        self._refusals: Overlay[str, Reasons] = Overlay()
        #: The number of nodes where it does not help, by reasons.
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
        """Record for all nodes why the pod does not fit, and the victims on some: as `record` for each of them."""
        self.outdated.clear()
        said = {name: _said(verdict) for name, verdict in verdicts.items()}
        self._counts = Counter(said.values())
        once = {each: each for each in self._counts}
        self.objections = Overlay({name: once[each] for name, each in said.items()})
        found = {name: candidates[name] for name in verdicts if name in candidates} if candidates else {}
        self.candidates = Overlay(found)
        self.order = RankedNodes({name: candidate.rank for name, candidate in found.items()})
        self._refusals = Overlay({name: rejected[name].status.reasons for name in verdicts if name in rejected})
        self._refused = Counter(self._refusals.values())

    def record(self, name: str, objection: Verdict | None, found: Candidate | Verdict | None) -> None:
        """Record why the pod does not fit on the node, if it does not, and its candidate, or why there is none."""
        said = None if objection is None else _said(objection)
        candidate = found if isinstance(found, Candidate) else None
        reasons = None if found is None or isinstance(found, Candidate) else found.status.reasons
        if (
            said is not None
            and candidate is None
            and (said, reasons) == (self.objections.get(name), self._refusals.get(name))
            and name not in self.candidates
        ):  # as mostly
            self.outdated.discard(name)
            return
        self._clear(name)
        if said is None:
            self.feasible.add(name)
        else:
            self.objections.put(name, said)
            self._counts[said] += 1
        if candidate is not None:
            self.candidates.put(name, candidate)
        elif reasons is not None:
            self._refusals.put(name, reasons)
            self._refused[reasons] += 1
        self.order.put(name, None if candidate is None else candidate.rank)

    def count_reasons(self, counts: Counter[str]) -> None:
        """Add the numbers of nodes by reason."""
        for (_, reasons), number in self._counts.items():
            for reason in reasons:
                counts[reason] += number

    def count_refusals(self, counts: Counter[str]) -> int:
        """Add the numbers of nodes where evicting pods does not help, by reason; returns the number of such nodes."""
        for reasons, number in self._refused.items():
            for reason in reasons if number else ():
                counts[reason] += number
        return len(self._refusals)

    @property
    def plugins(self) -> Iterator[str]:
        """The plugins that reject any of the nodes."""
        return (plugin for (plugin, _), number in self._counts.items() if number and plugin)

    def forget(self, name: str) -> None:
        """Remove the node."""
        self._clear(name)
        self.order.put(name, None)

    def _clear(self, name: str) -> None:
        self.outdated.discard(name)
        self.feasible.discard(name)
        said = self.objections.pop(name)
        if said is not None:
            self._counts[said] -= 1
        self.candidates.pop(name)
        refused = self._refusals.pop(name)
        if refused is not None:
            self._refused[refused] -= 1


def _said(verdict: Verdict) -> Said:
    return verdict.plugin, verdict.status.reasons


class NodeClass:
    """Nodes of one class, with the verdicts for the current state of the filters, and for earlier ones."""

    def __init__(self, key: Hashable, names: Iterable[str] = ()) -> None:
        self.key = key
        self.names: AbstractSet[str] = set(names)
        self._by_state: dict[Hashable, ClassVerdicts] = {}
        self.verdicts = ClassVerdicts(())
        #: Whether the set is shared with a copy.
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
        """Start with complete verdicts for this state of the filters."""
        self._by_state[state] = self.verdicts = verdicts

    def set_state(self, state: Hashable) -> None:
        """Set the current state of the filters for the class (`Incremental.class_state`)."""
        verdicts = self._by_state.pop(state, None) or ClassVerdicts(self.names)
        self._by_state[state] = self.verdicts = verdicts
        if len(self._by_state) > _KEPT:
            del self._by_state[next(iter(self._by_state))]

    def add(self, name: str) -> None:
        """Add the node to the class."""
        self._own_names().add(name)
        self.invalidate(name)

    def _own_names(self) -> set[str]:
        if self._shares_names:
            self.names, self._shares_names = set(self.names), False
        return cast("set[str]", self.names)

    def invalidate(self, name: str) -> None:
        """Drop all results for the node."""
        for verdicts in self._by_state.values():
            verdicts.outdated.add(name)

    @property
    def has_candidates(self) -> bool:
        """Whether there is a candidate on any node, in any known state."""
        return any(verdicts.candidates for verdicts in self._by_state.values())

    def has_candidate(self, name: str) -> bool:
        """Whether the node is a candidate in any known state: only then budgets matter."""
        return any(name in verdicts.candidates for verdicts in self._by_state.values())

    def remove(self, name: str) -> None:
        """Remove the node from the class."""
        self._own_names().discard(name)
        for verdicts in self._by_state.values():
            verdicts.forget(name)
