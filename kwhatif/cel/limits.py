"""Limits of the API for device selectors (`k8s.io/api/resource/v1/types.go`)."""

from __future__ import annotations

#: The longest expression that the API server accepts, in bytes (`CELSelectorExpressionMaxLength`).
MAX_LENGTH = 10 * 1024
#: What an evaluation may cost at most, in cel-go's units (`CELSelectorExpressionMaxCost`).
COST_LIMIT = 1_000_000
