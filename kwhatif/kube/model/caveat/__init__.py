"""Caveats: what an answer leaves out, as typed data, each with a code; `render/caveats` has their sentences.

A caveat with `missing` set means that information is missing, or that something was not judged: `--strict` fails on
it. A code never changes, because policies and scripts refer to it. Add a new caveat to the module of its subject and to
the union there: type checking then demands a sentence in the module of that name in `render/caveats`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

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
    """The caveats in order; those that differ only in their pods become one caveat about all these pods."""
    pods: dict[Caveat, dict[str, None]] = {}
    for caveat in caveats:
        without_pods = replace(caveat, pods=()) if caveat.pods else caveat
        pods.setdefault(without_pods, {}).update(dict.fromkeys(caveat.pods))
    return tuple(replace(caveat, pods=tuple(keys)) if keys else caveat for caveat, keys in pods.items())
