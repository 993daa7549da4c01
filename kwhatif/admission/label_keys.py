"""`matchLabelKeys` and `mismatchLabelKeys` are merged into selectors when a pod is created.

(`pkg/registry/core/pod/strategy.go`.) The scheduler reads only the selectors of affinity terms, so this is needed for
manifests that were never applied. Merging twice changes nothing: in pods of a cluster the keys are already merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from kwhatif.admission.same import each, with_parts
from kwhatif.kube.model.meta import LabelSelector, Requirement
from kwhatif.kube.model.pod import Pod, PodSpec, pod_affinity_terms
from kwhatif.kube.model.pod_spec import (
    Affinity,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)

Labels = Mapping[str, str]
#: A selector, the keys to match and not to match, and the pod's labels -> the new selector.
_Change = Callable[[LabelSelector | None, tuple[str, ...], tuple[str, ...], Labels], LabelSelector | None]


def merge_label_keys(pod: Pod) -> Pod:
    """The pod with its label keys merged into its selectors; the same object if that changes nothing."""
    spec = _with_selectors(pod.spec, pod.metadata.labels, _merged)
    return with_parts(pod, spec=spec)


def without_label_keys(spec: PodSpec, labels: Labels) -> PodSpec:
    """The spec of a pod with these labels, with the merge of its label keys undone."""
    return _with_selectors(spec, labels, _unmerged)


def _with_selectors(spec: PodSpec, labels: Labels, change: _Change) -> PodSpec:
    if not _has_keys(spec):
        return spec
    affinity = _affinity(spec.affinity, labels, change) if spec.affinity else None
    spread = each(lambda constraint: _constraint(constraint, labels, change), spec.topology_spread_constraints)
    return with_parts(spec, affinity=affinity, topology_spread_constraints=spread)


def _has_keys(spec: PodSpec) -> bool:
    """Whether it has any label keys: very few pods do."""
    for constraint in spec.topology_spread_constraints:
        if constraint.match_label_keys:
            return True
    for term in pod_affinity_terms(spec) if spec.affinity is not None else ():
        if term.match_label_keys or term.mismatch_label_keys:
            return True
    return False


def _affinity(affinity: Affinity, labels: Labels, change: _Change) -> Affinity:
    near = _terms(affinity.pod_affinity, labels, change) if affinity.pod_affinity else None
    far = _terms(affinity.pod_anti_affinity, labels, change) if affinity.pod_anti_affinity else None
    return with_parts(affinity, pod_affinity=near, pod_anti_affinity=far)


def _terms(terms: PodAffinity, labels: Labels, change: _Change) -> PodAffinity:
    required = each(lambda term: _term(term, labels, change), terms.required)

    def weighted(each_term: WeightedPodAffinityTerm) -> WeightedPodAffinityTerm:
        return with_parts(each_term, pod_affinity_term=_term(each_term.pod_affinity_term, labels, change))

    return with_parts(terms, required=required, preferred=each(weighted, terms.preferred))


def _term(term: PodAffinityTerm, labels: Labels, change: _Change) -> PodAffinityTerm:
    selector = change(term.label_selector, term.match_label_keys, term.mismatch_label_keys, labels)
    return with_parts(term, label_selector=selector)


def _constraint(constraint: TopologySpreadConstraint, labels: Labels, change: _Change) -> TopologySpreadConstraint:
    selector = change(constraint.label_selector, constraint.match_label_keys, (), labels)
    return with_parts(constraint, label_selector=selector)


def _merged(
    selector: LabelSelector | None, match: tuple[str, ...], mismatch: tuple[str, ...], labels: Labels
) -> LabelSelector | None:
    """A missing selector matches nothing, and stays missing; keys that the pod lacks are left out."""
    if selector is None or not (match or mismatch):
        return selector
    wanted = requirements_of(match, mismatch, labels)
    added = tuple(requirement for requirement in wanted if requirement not in selector.match_expressions)
    return replace(selector, match_expressions=selector.match_expressions + added) if added else selector


def _unmerged(
    selector: LabelSelector | None, match: tuple[str, ...], mismatch: tuple[str, ...], labels: Labels
) -> LabelSelector | None:
    if selector is None:
        return None
    added = requirements_of(match, mismatch, labels)
    left = tuple(requirement for requirement in selector.match_expressions if requirement not in added)
    return selector if left == selector.match_expressions else replace(selector, match_expressions=left)


def requirements_of(match: tuple[str, ...], mismatch: tuple[str, ...], labels: Labels) -> tuple[Requirement, ...]:
    """The requirements of label keys for other pods, given the pod's own labels."""
    return (*_requirements(match, "In", labels), *_requirements(mismatch, "NotIn", labels))


def _requirements(keys: tuple[str, ...], operator: str, labels: Labels) -> Iterator[Requirement]:
    return (Requirement(key=key, operator=operator, values=(labels[key],)) for key in keys if key in labels)
