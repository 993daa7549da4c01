"""Inter-pod affinity terms, compiled (`staging/src/k8s.io/kube-scheduler/framework/types.go`, AffinityTerm)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeVar

import msgspec

from kwhatif.kube.matching.labels import Labels, SelectorError, compile_selector, selector_text
from kwhatif.kube.model.affinity import PodAffinity, PodAffinityTerm
from kwhatif.kube.model.pod import Pod

T = TypeVar("T")


class AffinityTerm:
    """Which pods a term matches, and within which topology domain."""

    __slots__ = ("namespace_selector", "namespaces", "selector", "selector_text", "topology_key")

    def __init__(self, term: PodAffinityTerm, owner_namespace: str) -> None:
        """Compile.

        Raises:
            SelectorError: one of its selectors is not valid.
        """
        self.selector = compile_selector(term.label_selector)
        self.namespace_selector = compile_selector(term.namespace_selector)
        said_nothing = not term.namespaces and term.namespace_selector is None
        self.namespaces = frozenset((owner_namespace,) if said_nothing else term.namespaces)
        self.topology_key = term.topology_key
        #: The label selector as text, for reports.
        self.selector_text = selector_text(term.label_selector)

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        """Whether the term matches a pod with that namespace and these labels."""
        if namespace in self.namespaces or self.namespace_selector.matches(namespace_labels):
            return self.selector.matches(labels)
        return False


WeightedTerms = tuple[tuple[int, AffinityTerm], ...]


class AffinityTerms(msgspec.Struct, frozen=True, eq=False):
    """All terms of a pod, by kind; replicas share one object, so it can be used as a cache key."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: WeightedTerms = ()
    preferred_anti: WeightedTerms = ()
    #: Which kinds do not parse, and why; a kind that does not parse has no terms here.
    problem: str = ""

    @property
    def namespaces(self) -> frozenset[str] | None:
        """The namespaces whose pods they may match; None if they select namespaces by labels."""
        terms = self._all
        if not all(term.namespace_selector.nothing for term in terms):
            return None
        return frozenset().union(*(term.namespaces for term in terms))

    @property
    def label_keys(self) -> frozenset[str]:
        """The pod labels that the selectors use."""
        return frozenset().union(*(term.selector.keys for term in self._all))

    @property
    def _all(self) -> tuple[AffinityTerm, ...]:
        weighted = (*self.preferred, *self.preferred_anti)
        return (*self.required, *self.required_anti, *(term for _, term in weighted))


NO_TERMS = AffinityTerms()

_Parts = tuple[PodAffinity | None, PodAffinity | None]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Parts).decode


def affinity_terms(pod: Pod) -> AffinityTerms:
    """The pod's terms, compiled."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    return _compile(pod.metadata.namespace, _encode((affinity.pod_affinity, affinity.pod_anti_affinity)))


@lru_cache(maxsize=16384)
def _compile(namespace: str, parts: bytes) -> AffinityTerms:
    """Compile once per content: replicas have equal bytes, but not the same objects."""
    affinity, anti = _decode(parts)
    problems: list[str] = []

    def valid(kind: str, terms: Iterator[T]) -> tuple[T, ...]:
        """All terms of a kind; no terms if one is not valid."""
        try:
            return tuple(terms)
        except SelectorError as error:
            problems.append(f"{kind}: {error}")
            return ()

    def required(part: PodAffinity | None) -> Iterator[AffinityTerm]:
        return (AffinityTerm(term, namespace) for term in (part.required if part else ()))

    def preferred(part: PodAffinity | None) -> Iterator[tuple[int, AffinityTerm]]:
        terms = part.preferred if part else ()
        return ((term.weight, AffinityTerm(term.pod_affinity_term, namespace)) for term in terms)

    return AffinityTerms(
        required=valid("requiredAffinityTerms", required(affinity)),
        required_anti=valid("requiredAntiAffinityTerms", required(anti)),
        preferred=valid("preferredAffinityTerms", preferred(affinity)),
        preferred_anti=valid("preferredAntiAffinityTerms", preferred(anti)),
        problem=problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else "",
    )
