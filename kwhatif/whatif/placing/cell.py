"""`Cell`: nodes that the filters which look beyond a node cannot tell apart, and what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping

from kwhatif.framework.status import Verdict
from kwhatif.preemption.candidate import Candidate
from kwhatif.preemption.ranking import Rank
from kwhatif.whatif.placing.order import Order

#: What was found in so many stances of the filters is kept: they may come back to it.
_KEPT = 4


class Findings:
    """What became of the nodes of one cell, in one stance of the filters."""

    def __init__(self, names: set[str]) -> None:
        #: Nodes that have to be looked at.
        self.outdated = names.copy()
        self.feasible: set[str] = set()
        self.candidates: dict[str, Candidate] = {}
        #: The candidates by rank.
        self.order: Order[Rank] = Order({})
        #: What keeps the pod out.
        self.objections: dict[str, Verdict] = {}
        #: Of how many nodes a plugin says so.
        self._counts: dict[tuple[str, tuple[str, ...]], int] = {}

    def begin(self, verdicts: Mapping[str, Verdict], candidates: Mapping[str, Candidate]) -> None:
        """What keeps the pod out of all of the nodes, and whom it would evict on some: as if recorded one by one."""
        self.outdated.clear()
        self.objections = dict(verdicts)
        self._counts = Counter([_said(verdict) for verdict in verdicts.values()])
        self.candidates = {name: candidates[name] for name in verdicts if name in candidates}
        self.order = Order({name: candidate.rank for name, candidate in self.candidates.items()})

    def record(self, name: str, objection: Verdict | None, candidate: Candidate | None) -> None:
        """What keeps the pod out of the node, if anything does, and whom it would evict there."""
        self._clear(name)
        if objection is None:
            self.feasible.add(name)
        else:
            self.objections[name] = objection
            said = _said(objection)
            self._counts[said] = self._counts.get(said, 0) + 1
        if candidate is not None:
            self.candidates[name] = candidate
        self.order.put(name, candidate.rank if candidate else None)

    def count_reasons(self, counts: Counter[str]) -> None:
        """Add how many nodes give a reason."""
        for (_, reasons), number in self._counts.items():
            for reason in reasons:
                counts[reason] += number

    @property
    def plugins(self) -> Iterator[str]:
        """Those that object to any of the nodes."""
        return (plugin for (plugin, _), number in self._counts.items() if number and plugin)

    def forget(self, name: str) -> None:
        """The node is not in the cell any more."""
        self._clear(name)
        self.order.put(name, None)

    def _clear(self, name: str) -> None:
        self.outdated.discard(name)
        self.feasible.discard(name)
        objection = self.objections.pop(name, None)
        if objection is not None:
            self._counts[_said(objection)] -= 1
        self.candidates.pop(name, None)


def _said(verdict: Verdict) -> tuple[str, tuple[str, ...]]:
    return verdict.plugin, verdict.status.reasons


class Cell:
    """Nodes of one cell, with the findings of the stance that the filters take now and of earlier ones."""

    def __init__(self, key: Hashable, names: Iterable[str] = ()) -> None:
        self.key = key
        self.names = set(names)
        self._by_stance: dict[Hashable, Findings] = {}
        self.findings = Findings(self.names)

    def take_stance(self, stance: Hashable) -> None:
        """The filters say this of the cell now."""
        findings = self._by_stance.pop(stance, None) or Findings(self.names)
        self._by_stance[stance] = self.findings = findings
        if len(self._by_stance) > _KEPT:
            del self._by_stance[next(iter(self._by_stance))]

    def add(self, name: str) -> None:
        """The node belongs to the cell."""
        self.names.add(name)
        self.outdate(name)

    def outdate(self, name: str) -> None:
        """What was found about the node does not hold any more."""
        for findings in self._by_stance.values():
            findings.outdated.add(name)

    def outdate_candidate(self, name: str) -> None:
        """As `outdate`, where it matters that a budget allows less: to those who would evict somebody there."""
        for findings in self._by_stance.values():
            if name in findings.candidates:
                findings.outdated.add(name)

    def remove(self, name: str) -> None:
        """The node belongs to another cell."""
        self.names.discard(name)
        for findings in self._by_stance.values():
            findings.forget(name)
