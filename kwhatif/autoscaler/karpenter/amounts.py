"""Amounts of resources as Karpenter computes them (`pkg/utils/resources/resources.go`), and as it prints them.

Amounts are whole nano-units by resource name. In a sum, a missing name is 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypeVar

from kwhatif.kube.gates import ResizeRules
from kwhatif.kube.matching.requests import add_into, pod_requests, requested
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import NANO, Quantity, QuantityText, amounts, parse_amount, parse_quantity

Amounts = Mapping[str, int]
Sum = dict[str, int]
N = TypeVar("N", bound=int)

PODS = "pods"
NODES = "nodes"
_HUGEPAGES = "hugepages-"
_MEMORY = "memory"
#: How Karpenter's libraries count a resize: they are those of Kubernetes 1.35.
_RESIZES = ResizeRules(containers=True, pod=False)


def parsed(resources: Mapping[str, QuantityText] | None) -> Sum:
    """A resource list."""
    return {name: parse_quantity(text) for name, text in (resources or {}).items()}


def requests_of(*pods: Pod) -> Sum:
    """The total requests of the pods, with the number of pods (`RequestsForPods`)."""
    total: Sum = {}
    for pod in pods:
        add_into(total, pod_requests(pod, resizes=_RESIZES))
    total[PODS] = len(pods) * NANO
    return total


def merged(*parts: Amounts) -> Sum:
    """The sum of the amounts."""
    total: Sum = {}
    for part in parts:
        add_into(total, part)
    return total


def subtracted(one: Amounts, other: Amounts) -> Sum:
    """The first amounts minus the other ones; resources that only `other` has are left out (`Subtract`)."""
    return {name: amount - other.get(name, 0) for name, amount in one.items()}


def largest(parts: Iterable[Mapping[str, N]]) -> dict[str, N]:
    """The largest amount of each resource (`MaxResources`)."""
    found: dict[str, N] = {}
    for part in parts:
        for name, amount in part.items():
            if name not in found or amount > found[name]:
                found[name] = amount
    return found


def smallest(one: Mapping[str, N], other: Mapping[str, N]) -> dict[str, N]:
    """The smaller amount of each resource that both have (`MinResources`)."""
    return {name: min(amount, other[name]) for name, amount in one.items() if name in other}


def fits(requests: Amounts, free: Amounts) -> bool:
    """Whether the requests fit; if any free amount is negative, nothing fits (`Fits`)."""
    get = free.get
    for name, amount in requests.items():
        if amount > get(name, 0):
            return False
    return not free or min(free.values()) >= 0


def allocatable(capacity: Amounts, overhead: Amounts) -> Sum:
    """The allocatable of an instance type; huge pages are subtracted from memory (`computeAllocatable`)."""
    free = subtracted(capacity, overhead)
    for name, amount in capacity.items():
        if name.startswith(_HUGEPAGES):
            free[_MEMORY] = max(free.get(_MEMORY, 0) - amount, 0)
    return free


# --- in messages ---------------------------------------------------------------------------------------------------


def shown_requests(*pods: Pod) -> dict[str, Quantity]:
    """The total requests of the pods, in the notation that the pods use."""
    notations: dict[str, Quantity] = {}
    for pod in pods:
        resources = pod.spec.resources
        for part in (
            amounts(None if resources is None else resources.requests),
            requested(pod.spec),
            amounts(pod.spec.overhead),
        ):
            notations = part | notations
    shown = {
        name: Quantity(nanos, notations[name].notation if name in notations else Quantity(0).notation)
        for name, nanos in requests_of(*pods).items()
    }
    shown[PODS] = Quantity(len(pods) * NANO, parse_amount("1e3").notation)
    return shown


def shown_sum(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """The sum of both, in the notation of the first."""
    return {**other, **{name: amount + other.get(name, 0) for name, amount in one.items()}}


def resources_text(shown: Mapping[str, Quantity]) -> str:
    """A resource list as messages print it (`resources.String`): JSON, by name."""
    return json.dumps({name: str(shown[name]) for name in sorted(shown)}, separators=(",", ":"), ensure_ascii=False)
