"""Decodes a configuration file, with strict types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import Issue
from kwhatif.scheduler.catalog import Entry
from kwhatif.scheduler.configuration.schema import API_VERSION, KIND, KubeSchedulerConfiguration
from kwhatif.scheduler.configuration.strict import problems, without_nulls
from kwhatif.scheduler.framework.profile import GROUP_POINTS


def decode(data: Mapping[str, Any], where: str, entries: Sequence[Entry]) -> KubeSchedulerConfiguration:
    """The configuration.

    Raises:
        InputError: unknown fields, or values of wrong types.
    """
    if (data.get("apiVersion"), data.get("kind")) != (API_VERSION, KIND):
        found = f"{data.get('apiVersion') or ''} {data.get('kind') or ''}".strip() or "neither"
        raise InputError([Problem(where, f"expected apiVersion {API_VERSION} and kind {KIND}, got {found}")])
    data = without_nulls(data)
    issues = list(problems(data, KubeSchedulerConfiguration)) or list(_unknown_points(data, entries))
    if issues:
        raise InputError([Problem(where, message, path) for path, message in issues])
    return msgspec.convert(data, KubeSchedulerConfiguration)


def _unknown_points(data: Mapping[str, Any], entries: Sequence[Entry]) -> Iterator[Issue]:
    """Extension points for pod groups that the release does not have yet."""
    unknown = GROUP_POINTS.difference(*(entry.points for entry in entries))
    for index, profile in enumerate(data.get("profiles", ())):
        for name in sorted({point.value for point in unknown} & profile.get("plugins", {}).keys()):
            yield f"profiles[{index}].plugins.{name}", "unknown field"
