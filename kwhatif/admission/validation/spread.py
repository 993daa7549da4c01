"""Topology spread constraints (`validateTopologySpreadConstraints`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.admission.validation.errors import POSITIVE, FieldErrors
from kwhatif.admission.validation.selectors import validate_label_keys, validate_selector, with_label_keys
from kwhatif.kube.model.affinity import TopologySpreadConstraint

_DO_NOT_SCHEDULE = "DoNotSchedule"
_ACTIONS = (_DO_NOT_SCHEDULE, "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


def validate_spread(
    constraints: Sequence[TopologySpreadConstraint], labels: Mapping[str, str], errors: FieldErrors
) -> None:
    """Validate all constraints of a pod with these labels."""
    for index, constraint in enumerate(constraints):
        here = f"topologySpreadConstraints[{index}]"
        _validate_constraint(constraint, here, errors)
        kind = (constraint.topology_key, constraint.when_unsatisfiable)
        if any((other.topology_key, other.when_unsatisfiable) == kind for other in constraints[index + 1 :]):
            errors.duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{kind[0]}, {kind[1]}}}")
        _validate_options(constraint, here, errors)
        keys = constraint.match_label_keys
        selector = with_label_keys(constraint.label_selector, keys, (), labels)
        validate_label_keys(selector, keys, (), here, errors)
        validate_selector(selector, f"{here}.labelSelector", errors)


def _validate_constraint(constraint: TopologySpreadConstraint, path: str, errors: FieldErrors) -> None:
    if constraint.max_skew <= 0:
        errors.invalid(f"{path}.maxSkew", constraint.max_skew, POSITIVE)
    if not constraint.topology_key:
        errors.required(f"{path}.topologyKey", "can not be empty")
    errors.supported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, _ACTIONS)


def _validate_options(constraint: TopologySpreadConstraint, path: str, errors: FieldErrors) -> None:
    if constraint.min_domains is not None:
        if constraint.min_domains <= 0:
            errors.invalid(f"{path}.minDomains", constraint.min_domains, POSITIVE)
        if constraint.when_unsatisfiable != _DO_NOT_SCHEDULE:
            only = f"can only use minDomains if whenUnsatisfiable={_DO_NOT_SCHEDULE}, not"
            errors.invalid(f"{path}.minDomains", constraint.min_domains, f"{only} {constraint.when_unsatisfiable}")
    if constraint.node_affinity_policy is not None:
        errors.supported(f"{path}.nodeAffinityPolicy", constraint.node_affinity_policy, _POLICIES)
    if constraint.node_taints_policy is not None:
        errors.supported(f"{path}.nodeTaintsPolicy", constraint.node_taints_policy, _POLICIES)
