"""The nodes from which a volume, storage pool or provisioner can be used: compiled predicates on node labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from typing import Generic, NamedTuple, TypeVar

from kwhatif.kube.matching.labels import Labels, SelectorError, compile_selector
from kwhatif.kube.matching.node_selector import Term, TermError
from kwhatif.kube.model.affinity import NodeSelectorTerm
from kwhatif.kube.model.meta import LabelSelector, Requirement
from kwhatif.kube.model.storage import TopologySelectorTerm, VolumeNodeAffinity

T = TypeVar("T")


class Reach(NamedTuple):
    """The nodes whose labels satisfy `matches`."""

    matches: Callable[[Labels], bool]
    #: The label keys that the result can depend on.
    keys: frozenset[str] = frozenset()
    #: A label that a node must have, and its possible values: this rules out most nodes without calling `matches`.
    pin: tuple[str, tuple[str, ...]] | None = None


EVERYWHERE = Reach(lambda _labels: True)
NOWHERE = Reach(lambda _labels: False)


def _pin(requirements: Iterable[Requirement]) -> tuple[str, tuple[str, ...]] | None:
    for requirement in requirements:
        if requirement.operator == "In":
            return requirement.key, requirement.values
    return None


def affinity_reach(affinity: VolumeNodeAffinity | None) -> Reach:
    """The nodes that a volume's node affinity allows (`CheckNodeAffinity` in `component-helpers/storage/volume`)."""
    if affinity is None or affinity.required is None:
        return EVERYWHERE
    return _terms_reach(affinity.required.node_selector_terms)


def _terms_reach(listed: Sequence[NodeSelectorTerm]) -> Reach:
    terms: list[tuple[Term, NodeSelectorTerm]] = []
    for term in listed:
        try:
            terms.append((Term(term.match_expressions, term.match_fields), term))
        except TermError:  # the term matches no node
            continue
    if not terms:
        return NOWHERE
    keys = frozenset[str]().union(*(term.keys for term, _ in terms))
    if len(terms) == 1:
        return Reach(terms[0][0].matches_labels, keys, _pin(terms[0][1].match_expressions))
    return Reach(lambda labels: any(term.matches_labels(labels) for term, _ in terms), keys)


def selector_reach(selector: LabelSelector | None) -> Reach:
    """The nodes with access to a storage pool (`nodeHasAccess` in the volume binder); none without a selector."""
    try:
        compiled = compile_selector(selector)
    except SelectorError:  # upstream logs it and grants no access
        return NOWHERE
    if selector is None:
        return NOWHERE
    labels = tuple(selector.match_labels.items())
    pin = (labels[0][0], (labels[0][1],)) if labels else _pin(selector.match_expressions)
    return Reach(compiled.matches, compiled.keys, pin)


def topologies_reach(terms: Sequence[TopologySelectorTerm]) -> Reach:
    """The nodes that a storage class provisions for (`MatchTopologySelectorTerms` in `pkg/apis/core/v1/helper`).

    Without terms these are all nodes; a term without expressions, or an expression without values, matches nothing.
    """
    if not terms:
        return EVERYWHERE
    compiled = [
        tuple((expression.key, frozenset(expression.values)) for expression in term.match_label_expressions)
        for term in terms
        if term.match_label_expressions
    ]

    def matches(labels: Labels) -> bool:
        return any(all(labels.get(key) in values for key, values in term) for term in compiled)

    return Reach(matches, frozenset(key for term in compiled for key, _ in term))


class Reachable(Generic[T]):
    """Things in order of preference, looked up by a node's labels without testing each of them.

    A cluster with local disks has a volume per disk, each for one node: the label that pins it finds it quickly.
    """

    def __init__(self, things: Iterable[tuple[Reach, T]]) -> None:
        self._pinned: dict[str, dict[str | None, list[tuple[int, Callable[[Labels], bool], T]]]] = {}
        self._others: list[tuple[int, Callable[[Labels], bool], T]] = []
        keys: set[str] = set()
        for rank, (reach, thing) in enumerate(things):
            keys |= reach.keys
            entry = (rank, reach.matches, thing)
            if reach.pin is None:
                self._others.append(entry)
                continue
            key, values = reach.pin
            by_value = self._pinned.setdefault(key, {})
            for value in dict.fromkeys(values):
                by_value.setdefault(value, []).append(entry)
        #: The label keys that a result can depend on.
        self.keys = frozenset(keys)

    def of(self, labels: Labels) -> Iterator[T]:
        """The things that a node with these labels can use, the preferred first."""
        found = [entries for key, by_value in self._pinned.items() if (entries := by_value.get(labels.get(key)))]
        if self._others:
            found.append(self._others)
        # Ranks are unique, so the rest of two entries is never compared.
        for _, matches, thing in found[0] if len(found) == 1 else merge(*found):
            if matches(labels):
                yield thing
