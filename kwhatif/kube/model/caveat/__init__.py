"""Caveats: limits of an answer as typed data, each with a code; `render/caveats` has their texts.

A caveat with `missing` set means that information is missing, or that something was not judged: `--strict` fails on
such caveats. A code never changes, because policies and scripts refer to it. Add a new caveat to the module of its
subject and to the union in that module: type checking then requires a text in `render/caveats`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from msgspec.structs import replace

from kwhatif.kube.model.caveat.autoscaling import AutoscalingCaveat
from kwhatif.kube.model.caveat.base import BaseCaveat, code_of
from kwhatif.kube.model.caveat.manifests import ManifestsCaveat
from kwhatif.kube.model.caveat.reading import LackingCaveat, ReadingCaveat
from kwhatif.kube.model.caveat.scheduling import DeschedulingCaveat, SchedulingCaveat
from kwhatif.kube.model.caveat.workloads import WorkloadsCaveat

Caveat = (
    LackingCaveat
    | ReadingCaveat
    | ManifestsCaveat
    | WorkloadsCaveat
    | SchedulingCaveat
    | DeschedulingCaveat
    | AutoscalingCaveat
)

#: Code -> the kind of caveat, in the order of the union.
CODES: Mapping[str, type[BaseCaveat]] = {code_of(kind): kind for kind in get_args(Caveat)}


def merged(caveats: Iterable[Caveat]) -> tuple[Caveat, ...]:
    """The caveats in order; caveats that differ only in their `united` fields become one caveat with all the values."""
    found: dict[Caveat, dict[str, dict[Any, None]]] = {}
    for caveat in caveats:
        parts = {name: values for name in caveat.united if (values := getattr(caveat, name))}
        about = found.setdefault(replace(caveat, **dict.fromkeys(parts, ())) if parts else caveat, {})
        for name, values in parts.items():
            about.setdefault(name, {}).update(dict.fromkeys(values))
    return tuple(
        replace(caveat, **{name: tuple(values) for name, values in about.items()}) if about else caveat
        for caveat, about in found.items()
    )
