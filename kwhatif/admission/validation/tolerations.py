"""Tolerations (`ValidateTolerations`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.admission.validation.errors import FieldErrors
from kwhatif.kube.matching.label_syntax import label_key_errors, label_value_errors
from kwhatif.kube.matching.tolerations import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from kwhatif.kube.model.affinity import Toleration

_EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_OPERATORS = ("Equal", "Exists")
#: QUIRK: the "supported" values in the error for `Lt` or `Gt`, if TaintTolerationComparisonOperators is off.
_ALL_OPERATORS = (*_OPERATORS, "Lt", "Gt")


def validate_tolerations(tolerations: Sequence[Toleration], errors: FieldErrors) -> None:
    """Validate all tolerations of a pod."""
    for index, toleration in enumerate(tolerations):
        here = f"tolerations[{index}]"
        if toleration.key:
            errors.check(f"{here}.key", toleration.key, label_key_errors)
        elif toleration.operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.invalid(f"{here}.operator", toleration.operator, detail)
        if toleration.toleration_seconds is not None and toleration.effect != NO_EXECUTE:
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.invalid(f"{here}.effect", toleration.effect, detail)
        _validate_operator(toleration, f"{here}.operator", errors)
        if toleration.effect:
            errors.supported(f"{here}.effect", toleration.effect, _EFFECTS)


def _validate_operator(toleration: Toleration, path: str, errors: FieldErrors) -> None:
    match toleration.operator:
        case "" | "Equal":
            if wrong := label_value_errors(toleration.value):
                errors.invalid(path, toleration.value, ";".join(wrong))
        case "Exists":
            if toleration.value:
                errors.invalid(path, toleration.value, "value must be empty when `operator` is 'Exists'")
        case "Lt" | "Gt":
            errors.unsupported(path, toleration.operator, _ALL_OPERATORS)
        case _:
            errors.supported(path, toleration.operator, _OPERATORS)
