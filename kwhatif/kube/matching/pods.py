"""Selection of pods: by terms of inter-pod affinity, and by the selectors of kubectl.

Follows `staging/src/k8s.io/kube-scheduler/framework/types.go` (AffinityTerm), `pkg/apis/core/v1/conversion.go`
(`AddFieldLabelConversionsForPod`) and `apimachinery/pkg/fields/selector.go`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec

from kwhatif.kube.matching.field_errors import aggregate, did_you_mean, nearest
from kwhatif.kube.matching.labels import (
    EVERYTHING,
    Labels,
    Selector,
    SelectorError,
    compile_selector,
    parse_selector,
    selector_text,
)
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import PodAffinity, PodAffinityTerm

T = TypeVar("T")


class AffinityTerm(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A compiled term: the pods that it matches, and its topology key."""

    selector: Selector
    namespace_selector: Selector
    namespaces: frozenset[str]
    topology_key: str
    #: The label selector as text, for reports.
    selector_text: str

    @classmethod
    def of(cls, term: PodAffinityTerm, owner_namespace: str) -> AffinityTerm:
        """Compile a term.

        Raises:
            SelectorError: a selector of the term is not valid.
        """
        selector, text = compile_selector(term.label_selector), selector_text(term.label_selector)
        is_own = not term.namespaces and term.namespace_selector is None
        namespaces = frozenset((owner_namespace,) if is_own else term.namespaces)
        return cls(selector, compile_selector(term.namespace_selector), namespaces, term.topology_key, text)

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        """Whether the term matches a pod with that namespace and these labels."""
        if namespace in self.namespaces or self.namespace_selector.matches(namespace_labels):
            return self.selector.matches(labels)
        return False


WeightedTerms = tuple[tuple[int, AffinityTerm], ...]


class AffinityTerms(msgspec.Struct, frozen=True, eq=False):
    """All terms of a pod, by kind of term; replicas share one object, so it can be used as a cache key."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: WeightedTerms = ()
    preferred_anti: WeightedTerms = ()
    #: The kinds of terms that do not parse, and why; such a kind has no terms here.
    problem: str = ""

    @property
    def namespaces(self) -> frozenset[str] | None:
        """The namespaces whose pods the terms may match; None if a term selects namespaces by labels."""
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
    """Compile terms once: replicas have equal bytes, but not the same objects."""
    affinity, anti = _decode(parts)
    problems: list[str] = []

    def valid(kind: str, terms: Iterator[T]) -> tuple[T, ...]:
        """All terms of a kind; no terms if any of them is not valid."""
        try:
            return tuple(terms)
        except SelectorError as error:
            problems.append(f"{kind}: {error}")
            return ()

    def required(part: PodAffinity | None) -> Iterator[AffinityTerm]:
        return (AffinityTerm.of(term, namespace) for term in (part.required if part else ()))

    def preferred(part: PodAffinity | None) -> Iterator[tuple[int, AffinityTerm]]:
        terms = part.preferred if part else ()
        return ((term.weight, AffinityTerm.of(term.pod_affinity_term, namespace)) for term in terms)

    return AffinityTerms(
        required=valid("requiredAffinityTerms", required(affinity)),
        required_anti=valid("requiredAntiAffinityTerms", required(anti)),
        preferred=valid("preferredAffinityTerms", preferred(affinity)),
        preferred_anti=valid("preferredAntiAffinityTerms", preferred(anti)),
        problem=aggregate(problems),
    )


#: The fields by which the API server can select pods, except fields that the model does not have.
_FIELDS: Mapping[str, Callable[[Pod], str]] = {
    "metadata.name": lambda pod: pod.metadata.name,
    "metadata.namespace": lambda pod: pod.metadata.namespace,
    "spec.nodeName": lambda pod: pod.spec.node_name,
    "spec.restartPolicy": lambda pod: pod.spec.restart_policy or "Always",
    "spec.schedulerName": lambda pod: pod.spec.scheduler_name or "default-scheduler",
    "spec.hostNetwork": lambda pod: "true" if pod.spec.host_network else "false",
    "status.phase": lambda pod: pod.status.phase or "Pending",
    "status.nominatedNodeName": lambda pod: pod.status.nominated_node_name,
}
_TERM = re.compile(r"(?P<field>[^=!]+)(?P<operator>!=|==?)(?P<value>.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\,=])")


class FieldTerm(NamedTuple):
    """One requirement: the field has this value (`equals`), or another value."""

    field: str
    value: str
    equals: bool = True

    def holds(self, pod: Pod) -> bool:
        """Whether the pod meets the requirement."""
        return (_FIELDS[self.field](pod) == self.value) is self.equals


class PodChoice(NamedTuple):
    """A selection of pods by namespace, labels and fields."""

    #: "": pods of all namespaces.
    namespace: str = ""
    labels: Selector = EVERYTHING
    fields: tuple[FieldTerm, ...] = ()

    def matches(self, pod: Pod) -> bool:
        """Whether the pod is selected."""
        meta = pod.metadata
        if self.namespace not in ("", meta.namespace) or not self.labels.matches(meta.labels):
            return False
        return all(term.holds(pod) for term in self.fields)


ALL_PODS = PodChoice()


def pod_choice(namespace: str, selector: str, field_selector: str) -> PodChoice:
    """The selection by a namespace ("": all), and the values of kubectl's options `-l` and `--field-selector`.

    Raises:
        ValueError: a selector is not valid.
    """
    return PodChoice(namespace, parse_labels(selector), parse_fields(field_selector))


def parse_labels(text: str) -> Selector:
    """Parse the value of kubectl's option `-l`; "" selects everything.

    Raises:
        ValueError: the text is not a label selector.
    """
    try:
        return parse_selector(text) if text else EVERYTHING
    except SelectorError as wrong:
        raise ValueError(f"{text!r} is not a label selector: {wrong}") from wrong


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Parse a field selector for pods, such as `spec.nodeName=a1,status.phase!=Running`.

    Raises:
        ValueError: the text is not a field selector, or the API server does not support the field for pods.
    """
    found: list[FieldTerm] = []
    for part in re.split(r"(?<!\\),", text):
        term = _TERM.fullmatch(part)
        if not part:
            continue
        if term is None:
            raise ValueError(f"{text!r} is not a field selector: can't understand {part!r}; write spec.nodeName=a1")
        name = term["field"].strip()
        if name not in _FIELDS:
            hint = did_you_mean(nearest(name, _FIELDS)) or f"there are {', '.join(_FIELDS)}"
            raise ValueError(f"field label not supported: {name} ({hint})")
        found.append(FieldTerm(name, _ESCAPED.sub(r"\1", term["value"]), term["operator"] != "!="))
    return tuple(found)
