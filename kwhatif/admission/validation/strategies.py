"""Update strategies of Deployments and DaemonSets (`ValidateDeploymentStrategy`, `ValidateDaemonSetUpdateStrategy`)."""

from __future__ import annotations

import re

from kwhatif.admission.validation.errors import NOT_NEGATIVE, FieldErrors
from kwhatif.kube.model.workload import RollingUpdate, UpdateStrategy

Bound = int | str

_PERCENT = re.compile(r"([0-9]+)%")
#: The most digits that always fit into 64 bits.
_MOST_DIGITS = 18
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%'"
    " (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_ROLLING, _QUARTER = "RollingUpdate", "25%"


def validate_deployment_strategy(strategy: UpdateStrategy, errors: FieldErrors) -> None:
    """Validate Recreate, or a rolling update that can make progress."""
    if strategy.type == "Recreate":
        if strategy.rolling_update is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            errors.forbidden("spec.strategy.rollingUpdate", detail)
    elif strategy.type in ("", _ROLLING):
        bounds = strategy.rolling_update or RollingUpdate()
        unavailable = _QUARTER if bounds.max_unavailable is None else bounds.max_unavailable
        surge = _QUARTER if bounds.max_surge is None else bounds.max_surge
        rolling = errors.within("spec.strategy.rollingUpdate")
        _positive("maxUnavailable", unavailable, rolling)
        _positive("maxSurge", surge, rolling)
        if not _number(unavailable) and not _number(surge):
            rolling.invalid_object("maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
        _at_most_all("maxUnavailable", unavailable, rolling)


def validate_daemon_set_strategy(strategy: UpdateStrategy, errors: FieldErrors) -> None:
    """Validate OnDelete, or a rolling update with exactly one of its bounds."""
    if strategy.type not in ("", _ROLLING):
        return
    bounds = strategy.rolling_update or RollingUpdate()
    unavailable = 1 if bounds.max_unavailable is None else bounds.max_unavailable
    surge = 0 if bounds.max_surge is None else bounds.max_surge
    rolling = errors.within("spec.updateStrategy.rollingUpdate")
    for check in (_positive, _at_most_all):
        check("maxUnavailable", unavailable, rolling)
        check("maxSurge", surge, rolling)
    if _number(unavailable) and _number(surge):
        rolling.invalid_object("maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    if not _number(unavailable) and not _number(surge):
        rolling.required("maxUnavailable", "cannot be 0 when maxSurge is 0")


def _positive(field: str, bound: Bound, errors: FieldErrors) -> None:
    if isinstance(bound, str):
        if not _PERCENT.fullmatch(bound):
            errors.invalid(field, bound, _NO_PERCENT)
    elif bound < 0:
        errors.invalid(field, bound, NOT_NEGATIVE)


def _at_most_all(field: str, bound: Bound, errors: FieldErrors) -> None:
    if isinstance(bound, str) and _number(bound) > 100:
        errors.invalid_object(field, bound, "must not be greater than 100%")


def _number(bound: Bound) -> int:
    """The number, or the number of percent; 0 if it is neither, or too large (`getIntOrPercentValue`)."""
    if isinstance(bound, int):
        return bound
    percent = _PERCENT.fullmatch(bound)
    return int(percent[1]) if percent and len(percent[1]) <= _MOST_DIGITS else 0
