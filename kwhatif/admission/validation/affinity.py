"""Node affinity and inter-pod affinity (`validateAffinity`)."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.admission.validation.errors import FieldErrors
from kwhatif.admission.validation.selectors import (
    NOT_AN_OPERATOR,
    validate_label_keys,
    validate_operator,
    validate_requirement_key,
    validate_selector,
    with_label_keys,
)
from kwhatif.kube.matching.label_syntax import dns_label_errors, dns_subdomain_errors, label_key_errors
from kwhatif.kube.matching.node_selector import NAME_FIELD
from kwhatif.kube.model.affinity import Affinity, NodeAffinity, NodeSelectorTerm, PodAffinity, PodAffinityTerm
from kwhatif.kube.model.meta import Requirement

Labels = Mapping[str, str]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MAX_WEIGHT = 100


def validate_affinity(affinity: Affinity | None, labels: Labels, errors: FieldErrors) -> None:
    """Validate all affinity of a pod with these labels."""
    if affinity is None:
        return
    errors = errors.within("affinity")
    if affinity.node_affinity is not None:
        _validate_node_affinity(affinity.node_affinity, errors.within("nodeAffinity"))
    if affinity.pod_affinity is not None:
        _validate_pod_affinity(affinity.pod_affinity, labels, errors.within("podAffinity"))
    if affinity.pod_anti_affinity is not None:
        _validate_pod_affinity(affinity.pod_anti_affinity, labels, errors.within("podAntiAffinity"))


# --- nodes -------------------------------------------------------------------------------------------


def _validate_node_affinity(affinity: NodeAffinity, errors: FieldErrors) -> None:
    if affinity.required is not None:
        here = f"{_REQUIRED}.nodeSelectorTerms"
        if not affinity.required.node_selector_terms:
            errors.required(here, "must have at least one node selector term")
        for index, term in enumerate(affinity.required.node_selector_terms):
            _validate_node_term(term, f"{here}[{index}]", errors, check_values=True)
    for index, preferred in enumerate(affinity.preferred or ()):
        here = f"{_PREFERRED}[{index}]"
        _validate_weight(preferred.weight, here, errors)
        # Values of preferences are not checked: kube-scheduler fails on them later (see `PreferredTerms`).
        _validate_node_term(preferred.preference, f"{here}.preference", errors, check_values=False)


def _validate_weight(weight: int, path: str, errors: FieldErrors) -> None:
    if not 1 <= weight <= _MAX_WEIGHT:
        errors.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_node_term(term: NodeSelectorTerm, path: str, errors: FieldErrors, *, check_values: bool) -> None:
    for index, requirement in enumerate(term.match_expressions):
        here = f"{path}.matchExpressions[{index}]"
        if requirement.operator in ("Gt", "Lt"):
            if len(requirement.values) != 1:
                detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                errors.required(f"{here}.values", detail)
        else:
            validate_operator(requirement, here, errors)
        validate_requirement_key(requirement, here, errors, check_values=check_values)
    for index, requirement in enumerate(term.match_fields):
        _validate_field(requirement, f"{path}.matchFields[{index}]", errors)


def _validate_field(requirement: Requirement, path: str, errors: FieldErrors) -> None:
    if requirement.operator not in ("In", "NotIn"):
        errors.invalid(f"{path}.operator", requirement.operator, NOT_AN_OPERATOR)
    elif len(requirement.values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.required(f"{path}.values", detail)
    if requirement.key != NAME_FIELD:
        errors.invalid(f"{path}.key", requirement.key, "not a valid field selector key")
        return
    for index, name in enumerate(requirement.values):
        errors.check(f"{path}.values[{index}]", name, dns_subdomain_errors)


# --- other pods --------------------------------------------------------------------------------------


def _validate_pod_affinity(affinity: PodAffinity, labels: Labels, errors: FieldErrors) -> None:
    for index, term in enumerate(affinity.required):
        _validate_pod_term(term, labels, f"{_REQUIRED}[{index}]", errors)
    for index, weighted in enumerate(affinity.preferred):
        here = f"{_PREFERRED}[{index}]"
        _validate_weight(weighted.weight, here, errors)
        _validate_pod_term(weighted.pod_affinity_term, labels, f"{here}.podAffinityTerm", errors)


def _validate_pod_term(term: PodAffinityTerm, labels: Labels, path: str, errors: FieldErrors) -> None:
    keys, unlike = term.match_label_keys, term.mismatch_label_keys
    selector = with_label_keys(term.label_selector, keys, unlike, labels)
    validate_selector(selector, f"{path}.labelSelector", errors)
    validate_selector(term.namespace_selector, f"{path}.namespaceSelector", errors)
    for namespace in term.namespaces:
        errors.check(f"{path}.namespace", namespace, dns_label_errors)
    validate_label_keys(selector, keys, unlike, path, errors)
    if not term.topology_key:
        errors.required(f"{path}.topologyKey", "can not be empty")
    errors.check(f"{path}.topologyKey", term.topology_key, label_key_errors)
