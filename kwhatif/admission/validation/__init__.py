"""The API server's validation of the fields that scheduling reads (`pkg/apis/core/validation/validation.go`).

Fields that no scheduling rule reads (probes, environment, mounts, security contexts, most volume sources) are not
validated. Errors are in the API server's order, or by key if that iterates over a map.

Here are the errors of an object, the rejection that they make, and the checks of label selectors
(`apimachinery/pkg/apis/meta/v1/validation/validation.go`, `ValidateMatchLabelKeysAndMismatchLabelKeys`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.label_keys import requirements_of
from kwhatif.admission.outcome import Denied, InvalidObject, kind_of
from kwhatif.kube.matching import field_errors
from kwhatif.kube.matching.field_errors import Issue, label_key_errors, label_value_errors
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import LabelSelector, Requirement

POSITIVE = "must be greater than zero"
NOT_NEGATIVE = "must be greater than or equal to 0"

#: Returns the errors of a value as texts.
Rule = Callable[[str], Iterable[str]]


class FieldErrors:
    """The errors of one object, by field."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}
        self._prefix = ""

    def within(self, path: str) -> FieldErrors:
        """A view for a part of the object: it adds to the same list, with `path` and a dot before every field."""
        inner = FieldErrors()
        inner._found = self._found
        inner._prefix = f"{self._prefix}{path}."
        return inner

    def __len__(self) -> int:
        """The number of errors."""
        return len(self._found)

    def __str__(self) -> str:
        """All errors, each once; several in brackets."""
        return field_errors.aggregate(self._found)

    def refusal(self, obj: KubernetesObject) -> Denied | None:
        """The API server's rejection of the object; None if there are no errors."""
        return Denied(f'{kind_of(obj)} "{obj.metadata.name}" is invalid: {self}', InvalidObject()) if self else None

    def invalid(self, path: str, value: str | int, detail: str) -> None:
        """A malformed value."""
        self._add(field_errors.invalid(path, value, detail))

    def invalid_object(self, path: str, value: Any, detail: str) -> None:
        """Fields that conflict."""
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        self._add((path, f"Invalid value: {text}: {detail}" if detail else f"Invalid value: {text}"))

    def conflict(self, path: str, detail: str) -> None:
        """An object whose fields conflict, without its value (`field.OmitValueType`)."""
        self._add((path, f"Invalid value: {detail}"))

    def required(self, path: str, detail: str = "") -> None:
        """A missing value."""
        self._add(field_errors.required(path, detail))

    def immutable(self, path: str) -> None:
        """A field that has changed, and must not (`validate.Immutable`)."""
        self.invalid_object(path, None, "field is immutable")

    def at_most(self, path: str, count: int, most: int) -> None:
        """A list that may have at most this many items."""
        if count > most:
            self._add(field_errors.too_many(path, count, most))

    def forbidden(self, path: str, detail: str = "") -> None:
        """A value that is not allowed with other fields."""
        self._add(field_errors.forbidden(path, detail))

    def duplicate(self, path: str, value: str | int) -> None:
        """A value that must be unique."""
        self._add(field_errors.duplicate(path, value))

    def duplicate_object(self, path: str, value: Any) -> None:
        """An object whose key must be unique."""
        self._add((path, f"Duplicate value: {json.dumps(value, separators=(',', ':'), ensure_ascii=False)}"))

    def not_found(self, path: str, value: str, detail: str) -> None:
        """A reference to something that does not exist."""
        self._add(field_errors.not_found(path, value, detail))

    def unsupported(self, path: str, value: str, allowed: Sequence[str]) -> None:
        """A value that is not supported."""
        self._add(field_errors.unsupported(path, value, allowed))

    def supported(self, path: str, value: str, allowed: Sequence[str]) -> None:
        """Check that the value is one of the allowed ones."""
        if value not in allowed:
            self.unsupported(path, value, allowed)

    def check(self, path: str, value: str, rule: Rule) -> None:
        """Add the errors that the rule finds in the value."""
        for detail in rule(value):
            self.invalid(path, value, detail)

    def name(self, path: str, name: str, rule: Rule, missing: str = "") -> None:
        """Check a required name; `missing` is the detail if it is absent."""
        if name:
            self.check(path, name, rule)
        else:
            self.required(path, missing)

    def labels(self, path: str, labels: Mapping[str, str] | None) -> None:
        """Check the keys and values of labels."""
        for key, value in sorted((labels or {}).items()):
            self.check(path, key, label_key_errors)
            self.check(path, value, label_value_errors)

    def _add(self, issue: Issue) -> None:
        path, message = issue
        self._found[f"{self._prefix}{path}: {message}"] = None


# --- label selectors ---------------------------------------------------------------------------------

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
        place = {key: index for index, key in enumerate(match)}
        seen = set(selector.match_labels)
        for requirement in selector.match_expressions:
            key = requirement.key
            if key in place and key in seen:
                # QUIRK: the path leaves `matchLabelKeys` out.
                errors.invalid(f"{path}[{place[key]}]", key, "exists in both matchLabelKeys and labelSelector")
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
