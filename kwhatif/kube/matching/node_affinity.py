"""A pod's node selector and node affinity, compiled (`component-helpers/scheduling/corev1/nodeaffinity`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.kube.matching.node_selector import (
    Mismatch,
    SelectedNode,
    Term,
    TermError,
    any_matches,
    compile_terms,
    mismatch,
)
from kwhatif.kube.model.affinity import PreferredSchedulingTerm
from kwhatif.kube.model.pod import PodSpec, node_affinity_of


class RequiredNodeAffinity:
    """`nodeSelector` and required node affinity of a pod (`GetRequiredNodeAffinity`)."""

    __slots__ = ("_selector", "is_broken", "keys", "reads_name", "terms")

    def __init__(self, spec: PodSpec) -> None:
        self._selector = tuple((spec.node_selector or {}).items())
        required = node_affinity_of(spec).required
        #: None: no required affinity; an empty tuple matches nothing.
        self.terms = None if required is None else compile_terms(required.node_selector_terms)
        terms = self.terms or ()
        #: Whether some term does not parse.
        self.is_broken = required is not None and len(terms) < len(required.node_selector_terms)
        #: The label keys that the result can depend on.
        self.keys = frozenset(key for key, _ in self._selector).union(*(term.keys for term in terms))
        self.reads_name = any(term.reads_name for term in terms)

    def matches(self, node: SelectedNode) -> bool:
        """Whether the node matches the pod's selector and required affinity."""
        labels = node.labels
        for key, value in self._selector:
            if labels.get(key) != value:
                return False
        return self.terms is None or any_matches(self.terms, node)

    def fails_on(self, node: SelectedNode) -> bool:
        """Whether `matches` is false, and upstream reports a term that does not parse."""
        return self.is_broken and all(node.labels.get(key) == value for key, value in self._selector)

    def mismatch(self, node: SelectedNode) -> Mismatch:
        """Why `matches` is false."""
        return mismatch(self._selector, self.terms, node)


class PreferredTerms:
    """Weighted terms (`PreferredSchedulingTerms`); a weight of 0 or an empty preference does not count."""

    __slots__ = ("_terms", "keys", "reads_name")

    def __init__(self, terms: Sequence[PreferredSchedulingTerm]) -> None:
        """Compile.

        Raises:
            TermError: a term does not parse; upstream's PreScore fails on it.
        """
        compiled: list[tuple[int, Term]] = []
        problems: list[str] = []
        for index, term in enumerate(terms):
            preference = term.preference
            if not term.weight or not (preference.match_expressions or preference.match_fields):
                continue
            try:
                parsed = Term(preference.match_expressions, preference.match_fields, f"[{index}].")
                compiled.append((term.weight, parsed))
            except TermError as error:
                problems.extend(error.problems)
        if problems:
            raise TermError(problems)
        self._terms = tuple(compiled)
        self.keys = frozenset[str]().union(*(term.keys for _, term in self._terms))
        self.reads_name = any(term.reads_name for _, term in self._terms)

    def score(self, node: SelectedNode) -> int:
        """The sum of the weights of all matching terms."""
        name, labels = node.name, node.labels
        return sum([weight for weight, term in self._terms if term.matches(name, labels)])
