"""Validation of label selectors, and of the label keys that are merged into them.

(`apimachinery/pkg/apis/meta/v1/validation/validation.go`, `ValidateMatchLabelKeysAndMismatchLabelKeys`.)
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kwhatif.admission.label_keys import requirements_of
from kwhatif.admission.validation.errors import FieldErrors
from kwhatif.kube.matching.field_errors import label_key_errors, label_value_errors
from kwhatif.kube.model.meta import LabelSelector, Requirement

NOT_AN_OPERATOR = "not a valid selector operator"


def validate_selector(selector: LabelSelector | None, path: str, errors: FieldErrors) -> None:
    """Validate keys, operators and values of a label selector."""
    if selector is None:
        return
    errors.labels(f"{path}.matchLabels", selector.match_labels)
    for index, requirement in enumerate(selector.match_expressions):
        here = f"{path}.matchExpressions[{index}]"
        validate_operator(requirement, here, errors)
        validate_requirement_key(requirement, here, errors, check_values=True)


def as_json(selector: LabelSelector | None) -> dict[str, object] | None:
    """The selector as the API server prints it in errors."""
    if selector is None:
        return None
    shown: dict[str, object] = {}
    if selector.match_labels:
        shown["matchLabels"] = dict(sorted(selector.match_labels.items()))
    if selector.match_expressions:
        shown["matchExpressions"] = [
            {"key": each.key, "operator": each.operator} | ({"values": list(each.values)} if each.values else {})
            for each in selector.match_expressions
        ]
    return shown


def validate_operator(requirement: Requirement, path: str, errors: FieldErrors) -> None:
    """Validate the operator and its number of values."""
    match requirement.operator:
        case "In" | "NotIn":
            if not requirement.values:
                errors.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if requirement.values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                errors.forbidden(f"{path}.values", detail)
        case _:
            errors.invalid(f"{path}.operator", requirement.operator, NOT_AN_OPERATOR)


def validate_requirement_key(requirement: Requirement, path: str, errors: FieldErrors, *, check_values: bool) -> None:
    """The key must be a valid label key, and the values valid label values if they are checked."""
    errors.check(f"{path}.key", requirement.key, label_key_errors)
    for index, value in enumerate(requirement.values if check_values else ()):
        errors.check(f"{path}.values[{index}]", value, label_value_errors)


def with_label_keys(
    selector: LabelSelector | None, match: tuple[str, ...], mismatch: tuple[str, ...], labels: Mapping[str, str]
) -> LabelSelector | None:
    """The selector with the requirements of label keys, as validation sees it, for a pod before they are merged.

    Unlike `merge_label_keys` this repeats existing requirements, so that keys that are given twice are found.
    """
    if selector is None or not (match or mismatch):
        return selector
    return replace(selector, match_expressions=selector.match_expressions + requirements_of(match, mismatch, labels))


def validate_label_keys(
    selector: LabelSelector | None, match: tuple[str, ...], mismatch: tuple[str, ...], path: str, errors: FieldErrors
) -> None:
    """Validate `matchLabelKeys` and `mismatchLabelKeys`; `selector` already has their requirements."""
    _validate_keys(selector, match, f"{path}.matchLabelKeys", errors)
    _validate_keys(selector, mismatch, f"{path}.mismatchLabelKeys", errors)
    if selector is not None:
        index_of = {key: index for index, key in enumerate(match)}
        seen = set(selector.match_labels)
        for requirement in selector.match_expressions:
            key = requirement.key
            if key in index_of and key in seen:
                # QUIRK: the path leaves `matchLabelKeys` out.
                errors.invalid(f"{path}[{index_of[key]}]", key, "exists in both matchLabelKeys and labelSelector")
            seen.add(key)
    for index, key in enumerate(match):
        if key in mismatch:
            here = f"{path}.matchLabelKeys[{index}]"
            errors.invalid(here, key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _validate_keys(selector: LabelSelector | None, keys: tuple[str, ...], path: str, errors: FieldErrors) -> None:
    if keys and selector is None:
        errors.forbidden(path, "must not be specified when labelSelector is not set")
        return
    for index, key in enumerate(keys):
        errors.check(f"{path}[{index}]", key, label_key_errors)
