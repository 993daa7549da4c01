"""Which instance types remain for pods, and Karpenter's message if none does (`filterInstanceTypesByRequirements`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from kwhatif.autoscaler.karpenter.amounts import (
    Amounts,
    fits,
    largest,
    merged,
    resources_text,
    shown_requests,
    shown_sum,
    smallest,
)
from kwhatif.autoscaler.karpenter.instance_types import InstanceType, Variety
from kwhatif.autoscaler.karpenter.pods import PodData
from kwhatif.autoscaler.karpenter.requirements import Requirements
from kwhatif.kube.matching.nodes import HostPort, conflicts
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import NANO

_MILLION = 1_000_000 * NANO


class DaemonGroup(NamedTuple):
    """Instance types on which the same DaemonSets run, and the requests of these on each node."""

    types: tuple[InstanceType, ...]
    daemons: tuple[Pod, ...]
    overhead: Amounts
    ports: tuple[HostPort, ...]


# --- remaining types -------------------------------------------------------------------------------------------------


def remaining_types(
    types: Sequence[InstanceType],
    requirements: Requirements,
    requests: Amounts,
    groups: Sequence[DaemonGroup],
    well_known: frozenset[str],
    ports: Sequence[HostPort] = (),
    taken: Sequence[HostPort] = (),
) -> tuple[InstanceType, ...]:
    """The types that meet all conditions, in the order of the daemon groups; `minValues` are not checked here."""
    possible = set(types)
    found: list[InstanceType] = []
    for group in groups:
        if _port_conflict(ports, group, taken):
            continue
        total = merged(requests, group.overhead) if group.overhead else requests
        found += [
            type_
            for type_ in group.types
            if type_ in possible
            and fits(total, type_.allocatable)
            and type_.requirements.conflict(requirements) is None
            and is_offered(type_, requirements, well_known)
        ]
    return tuple(found)


def _port_conflict(ports: Sequence[HostPort], group: DaemonGroup, taken: Sequence[HostPort]) -> bool:
    return any(conflicts(port, (*group.ports, *taken)) for port in ports)


def is_offered(type_: InstanceType, requirements: Requirements, well_known: frozenset[str]) -> bool:
    """Whether the type has an available offering that meets the requirements."""
    return any(requirements.objection(each.requirements, well_known) is None for each in type_.available)


class Filtering(NamedTuple):
    """The conditions under which no instance type remained, for the message (`InstanceTypeFilterError`)."""

    types: Sequence[InstanceType]
    requirements: Requirements
    requests: Amounts
    groups: Sequence[DaemonGroup]
    well_known: frozenset[str]
    pod: PodData
    taken: Sequence[HostPort]
    variety: Variety

    def text(self) -> str:
        """Karpenter's message."""
        conditions = f"requirements={self.requirements}, resources={self._resources()}"
        few = self.variety.objection
        if few is not None:
            return f"{few.text}, {conditions}"
        message = self._message()
        typo = message == _TOO_LARGE and self.pod.requests.get("cpu", 0) >= _MILLION
        return f"{message}, {conditions}" + (" (CPU request >= 1 Million, m vs M typo?)" if typo else "")

    def _message(self) -> str:
        possible = set(self.types)
        # For each type: whether it meets the requirements, fits, is offered.
        # QUIRK: (fits) a type that is not offered does not count as one with enough resources.
        seen = {
            (
                type_.requirements.conflict(self.requirements) is None,
                self._fits(type_, group) and is_offered(type_, self.requirements, self.well_known),
                is_offered(type_, self.requirements, self.well_known),
            )
            for group in self._usable_groups()
            for type_ in group.types
            if type_ in possible
        }
        met, fitting, offered = (any(each[index] for each in seen) for index in range(3))
        if (met, fitting, offered) != (True, True, True):
            return _ALONE[met, fitting, offered]
        return next((words for pair, words in _PAIRS if pair in seen), _ALTOGETHER)

    def _fits(self, type_: InstanceType, group: DaemonGroup) -> bool:
        return fits(merged(self.requests, group.overhead), type_.allocatable)

    def _usable_groups(self) -> list[DaemonGroup]:
        return [group for group in self.groups if not _port_conflict(self.pod.ports, group, self.taken)]

    def _resources(self) -> str:
        own = shown_requests(self.pod.pod)
        overheads = [shown_requests(*group.daemons) for group in self._usable_groups() if group.overhead]
        if not overheads:
            return resources_text(own)
        smallest_overhead = reduce(smallest, overheads)
        shown = [resources_text(shown_sum(each, own)) for each in (smallest_overhead, largest(overheads))]
        if not smallest_overhead:
            return resources_text(own)
        return shown[0] if shown[0] == shown[1] else f"min={shown[0]}, max={shown[1]}"


_TOO_LARGE = "no instance type has enough resources"
#: Keys: whether any type meets the requirements, any fits, any is offered.
_ALONE = {
    (False, False, False): (
        "no instance type met the scheduling requirements or had enough resources or had a required offering"
    ),
    (False, False, True): "no instance type met the scheduling requirements or had enough resources",
    (False, True, False): "no instance type met the scheduling requirements or had a required offering",
    (True, False, False): "no instance type had enough resources or had a required offering",
    (False, True, True): "no instance type met all requirements",
    (True, False, True): _TOO_LARGE,
    (True, True, False): "no instance type has the required offering",
}
#: The conditions that a type met, and the only one that it did not meet.
_PAIRS = (
    (
        (True, True, False),
        "no instance type which met the scheduling requirements and had enough resources, had a required offering",
    ),
    (
        (False, True, True),
        "no instance type which had enough resources and the required offering met the scheduling requirements",
    ),
    (
        (True, False, True),
        "no instance type which met the scheduling requirements and the required offering had the required resources",
    ),
)
_ALTOGETHER = "no instance type met the requirements/resources/offering tuple"
