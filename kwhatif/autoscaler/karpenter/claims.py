"""NodeClaims that are about to be made (`scheduling/nodeclaim.go`, `nodeclaimtemplate.go`, `reservationmanager.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kwhatif.autoscaler.karpenter.amounts import (
    Amounts,
    fits,
    merged,
    requests_of,
    resources_text,
    shown_requests,
    shown_sum,
)
from kwhatif.autoscaler.karpenter.instance_types import (
    Catalogue,
    InstanceType,
    Offering,
    Variety,
    by_price,
    cheapest_of,
    variety,
    worst_launch_price,
)
from kwhatif.autoscaler.karpenter.pods import (
    Wanted,
    container_ports,
    taints_objection,
    tolerating_preferences,
    without_first_term,
)
from kwhatif.autoscaler.karpenter.requirements import (
    CAPACITY_TYPE,
    HOSTNAME,
    INITIALIZED,
    NODE_POOL,
    REGISTERED,
    RESERVATION,
    RESERVED,
    Refusal,
    Requirements,
    label_requirements,
    one_of,
    pod_requirements,
    requirement,
)
from kwhatif.autoscaler.karpenter.topology import Topology
from kwhatif.matching.ports import HostPort, conflicts
from kwhatif.model.bystanders import NodePool
from kwhatif.model.node import Taint
from kwhatif.model.pod import Pod
from kwhatif.model.quantity import NANO, Quantity

MOST_TYPES = 600
_MILLION = 1_000_000 * NANO


def own_requirements(pool: NodePool, labels: Mapping[str, str] | None = None) -> Requirements:
    """What the pool's template requires, with its labels, and with these in their place."""
    template = pool.spec.template
    found = Requirements.of(
        requirement(each.key, each.operator, each.values, each.min_values) for each in template.spec.requirements
    )
    return found.plus(label_requirements({**template.metadata.labels, **(labels or {})}))


class DaemonGroup(NamedTuple):
    """Instance types on which the same DaemonSets run, and what these take of each node."""

    types: tuple[InstanceType, ...]
    daemons: tuple[Pod, ...]
    overhead: Amounts
    ports: tuple[HostPort, ...]


class Template:
    """What every NodeClaim of a NodePool starts as (`NodeClaimTemplate`)."""

    def __init__(self, pool: NodePool, catalogue: Catalogue) -> None:
        spec = pool.spec.template.spec
        self.pool = pool
        self.name = pool.metadata.name
        self.taints: tuple[Taint, ...] = spec.taints
        self.well_known = catalogue.well_known
        class_ = spec.node_class_ref
        labels = {NODE_POOL: self.name}
        if class_.kind:
            labels[f"{class_.group}/{class_.kind.lower()}"] = class_.name
        simulated = {REGISTERED: "true", INITIALIZED: "true"}
        self.requirements = own_requirements(pool, labels).plus(label_requirements(simulated))
        everything = (DaemonGroup(catalogue.types, (), {}, ()),)
        self.types = remaining_types(catalogue.types, self.requirements, {}, everything, self.well_known)
        self.groups: tuple[DaemonGroup, ...] = ()


def daemon_groups(templates: Iterable[Template], daemons: list[Pod]) -> None:
    """Find out which DaemonSets run on which types of each template (`buildDaemonOverheadGroups`).

    QUIRK: a required term that a pool or a type does not meet is given up for all that come later, and stays so in
    `daemons`, which the nodes that stand are asked with.
    """
    for template in templates:
        groups: dict[tuple[int, ...], list[InstanceType]] = {}
        for type_ in template.types:
            which = tuple(index for index in range(len(daemons)) if _runs(template, type_, daemons, index))
            groups.setdefault(which, []).append(type_)
        template.groups = tuple(_daemon_group(types, which, daemons) for which, types in groups.items())


def _daemon_group(types: list[InstanceType], which: tuple[int, ...], daemons: list[Pod]) -> DaemonGroup:
    pods = tuple(daemons[index] for index in which)
    ports = tuple(port for pod in pods for port in container_ports(pod))
    return DaemonGroup(tuple(types), pods, requests_of(*pods) if pods else {}, ports)


def _runs(template: Template, type_: InstanceType, daemons: list[Pod], index: int) -> bool:
    daemons[index] = tolerating_preferences(daemons[index]) or daemons[index]
    if taints_objection(template.taints, daemons[index].spec.tolerations) is not None:
        return False
    while True:
        asked = pod_requirements(daemons[index], strict=True)
        if template.requirements.objection(asked, template.well_known) is None and not type_.requirements.conflict(
            asked
        ):
            return True
        rest = without_first_term(daemons[index])
        if rest is None:
            return False
        daemons[index] = rest


# --- which types remain ----------------------------------------------------------------------------------------------


def remaining_types(
    types: Sequence[InstanceType],
    requirements: Requirements,
    requests: Amounts,
    groups: Sequence[DaemonGroup],
    well_known: frozenset[str],
    ports: Sequence[HostPort] = (),
    taken: Sequence[HostPort] = (),
) -> tuple[InstanceType, ...]:
    """The types that meet all, by group of daemons; `minValues` do not count here."""
    possible = set(types)
    found: list[InstanceType] = []
    for group in groups:
        if _port_conflict(ports, group, taken):
            continue
        asked = merged(requests, group.overhead) if group.overhead else requests
        found += [
            type_
            for type_ in group.types
            if type_ in possible
            and fits(asked, type_.allocatable)
            and type_.requirements.conflict(requirements) is None
            and _is_offered(type_, requirements, well_known)
        ]
    return tuple(found)


def _port_conflict(ports: Sequence[HostPort], group: DaemonGroup, taken: Sequence[HostPort]) -> bool:
    return any(conflicts(port, (*group.ports, *taken)) for port in ports)


def _is_offered(type_: InstanceType, requirements: Requirements, well_known: frozenset[str]) -> bool:
    return any(requirements.objection(each.requirements, well_known) is None for each in type_.available)


class _Filtering(NamedTuple):
    """What was asked of instance types when none remained: enough to say why (`InstanceTypeFilterError`)."""

    types: Sequence[InstanceType]
    requirements: Requirements
    requests: Amounts
    groups: Sequence[DaemonGroup]
    well_known: frozenset[str]
    pod: Wanted
    taken: Sequence[HostPort]
    variety: Variety

    def text(self) -> str:
        """Karpenter's words."""
        asked = f"requirements={self.requirements}, resources={self._resources()}"
        few = self.variety.objection
        if few is not None:
            return f"{few.text}, {asked}"
        said = self._said()
        typo = said == _TOO_LARGE and self.pod.requests.get("cpu", 0) >= _MILLION
        return f"{said}, {asked}" + (" (CPU request >= 1 Million, m vs M typo?)" if typo else "")

    def _said(self) -> str:
        possible = set(self.types)
        # Of each type: whether it meets the requirements, fits, is offered.
        # QUIRK: (fits) a type that is not offered does not count as one with enough resources.
        seen = {
            (
                type_.requirements.conflict(self.requirements) is None,
                self._fits(type_, group) and _is_offered(type_, self.requirements, self.well_known),
                _is_offered(type_, self.requirements, self.well_known),
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
        least, most = dict(overheads[0]), dict(overheads[0])
        for each in overheads[1:]:
            least = {name: min(amount, each[name]) for name, amount in least.items() if name in each}
            most = _larger(most, each)
        shown = [resources_text(shown_sum(each, own)) for each in (least, most)]
        if not least:
            return resources_text(own)
        return shown[0] if shown[0] == shown[1] else f"min={shown[0]}, max={shown[1]}"


def _larger(one: dict[str, Quantity], other: dict[str, Quantity]) -> dict[str, Quantity]:
    names = (*one, *(name for name in other if name not in one))
    return {name: max((part[name] for part in (one, other) if name in part), key=int) for name in names}


_TOO_LARGE = "no instance type has enough resources"
#: By whether any type meets the requirements, any fits, any is offered.
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
#: What a type had, and what it lacked alone.
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


# --- reservations ----------------------------------------------------------------------------------------------------


class Reservations:
    """Which NodeClaim has reserved which capacity (`ReservationManager`)."""

    def __init__(self, types: Iterable[InstanceType]) -> None:
        self._left: dict[str, int] = {}
        self._held: dict[str, set[str]] = {}
        for type_ in types:
            for each in type_.offerings:
                if each.capacity_type == RESERVED:
                    self._left[each.reservation] = min(
                        each.reserved_capacity, self._left.get(each.reservation, each.reserved_capacity)
                    )

    @property
    def are_none(self) -> bool:
        """Whether there is nothing to reserve."""
        return not self._left

    def can_hold(self, host: str, offering: Offering) -> bool:
        """Whether the host has a machine of it, or there is one left."""
        return offering.reservation in self._held.get(host, ()) or self._left[offering.reservation] > 0

    def hold(self, host: str, offerings: Iterable[Offering]) -> None:
        """Let the host have one of each of these, and none of others."""
        wanted = {each.reservation for each in offerings}
        held = self._held.setdefault(host, set())
        for each in wanted - held:
            self._left[each] -= 1
        for each in held - wanted:
            self._left[each] += 1
        self._held[host] = wanted


# --- one NodeClaim ---------------------------------------------------------------------------------------------------


class Addition(NamedTuple):
    """What becomes of a NodeClaim if a pod is added."""

    requirements: Requirements
    types: tuple[InstanceType, ...]
    reserved: tuple[Offering, ...]


class NewClaim:
    """A NodeClaim that is about to be made, with the pods that it is for."""

    def __init__(
        self,
        template: Template,
        types: Sequence[InstanceType],
        hostname: str,
        topology: Topology,
        reservations: Reservations,
        *,
        strictly_reserved: bool,
    ) -> None:
        self.template = template
        self.hostname = hostname
        self.requirements = template.requirements.plus({HOSTNAME: one_of(HOSTNAME, hostname)})
        self.types = tuple(types)
        self.pods: list[Wanted] = []
        self._topology = topology
        self._reservations = reservations
        self._strictly_reserved = strictly_reserved
        self._requests: Amounts = {}
        #: Host ports of its pods; each is of a pod of its own.
        self._taken: list[HostPort] = []
        self._reserved: tuple[Offering, ...] = ()

    def can_add(self, pod: Wanted) -> Addition | Refusal:
        """What becomes of it with the pod, or why that cannot be (`CanAdd`)."""
        refusal = taints_objection(self.template.taints, pod.tolerations)
        if refusal is not None:
            return refusal
        refusal = self.requirements.objection(pod.requirements, self.template.well_known)
        if refusal is not None:
            wrong = refusal
            return Refusal(lambda: f"incompatible requirements, {wrong.text}")
        base = self.requirements.plus(pod.requirements)
        if not pod.alternatives:
            return self._with(pod, base)
        last: Addition | Refusal = Refusal(str)
        for alternative in pod.alternatives:
            last = self._with_volumes(pod, base, alternative)
            if isinstance(last, Addition):
                break
        return last

    def _with_volumes(self, pod: Wanted, base: Requirements, volumes: Requirements) -> Addition | Refusal:
        refusal = base.objection(volumes, self.template.well_known)
        if refusal is not None:
            return Refusal(lambda: f"incompatible volume requirements, {refusal.text}")
        return self._with(pod, base.plus(volumes))

    def _with(self, pod: Wanted, base: Requirements) -> Addition | Refusal:
        requests = merged(self._requests, pod.requests)
        if self.pods and not any(fits(requests, type_.allocatable) for type_ in self.types):
            return Refusal(str)  # said to nobody: the pod gets a NodeClaim of its own then
        narrowed = self._topology.narrowed(pod, self.template.taints, base)
        if isinstance(narrowed, Refusal):
            return narrowed
        refusal = base.objection(narrowed, self.template.well_known)
        if refusal is not None:
            return refusal
        requirements = base.plus(narrowed)
        template = self.template
        types = remaining_types(
            self.types, requirements, requests, template.groups, template.well_known, pod.ports, self._taken
        )
        found = variety(types, requirements)
        if found.short or not types:
            asked = _Filtering(
                self.types, requirements, requests, template.groups, template.well_known, pod, self._taken, found
            )
            return Refusal(asked.text)
        return self._reserving(requirements, types)

    def _reserving(self, requirements: Requirements, types: tuple[InstanceType, ...]) -> Addition | Refusal:
        if self._reservations.are_none:
            return Addition(requirements, types, ())
        known = self.template.well_known
        offered = [
            each for type_ in types for each in type_.offered(requirements, known) if each.capacity_type == RESERVED
        ]
        reserved = tuple(each for each in offered if self._reservations.can_hold(self.hostname, each))
        if self._strictly_reserved and not reserved and (offered or self._reserved):
            words = (
                "one or more instance types with compatible reserved offerings are available, but could not be reserved"
                if offered
                else "satisfying updated nodeclaim constraints would remove all compatible reserved offering options"
            )
            return Refusal(lambda: words, reserved=True)
        return Addition(requirements, types, reserved)

    def add(self, pod: Wanted, addition: Addition) -> None:
        """Add the pod."""
        self.pods.append(pod)
        self.types = addition.types
        self.requirements = addition.requirements
        self._requests = merged(self._requests, pod.requests)
        self._taken += pod.ports
        self._topology.register(HOSTNAME, self.hostname)
        self._topology.record(pod, self.template.taints, addition.requirements)
        if not self._reservations.are_none:
            self._reservations.hold(self.hostname, addition.reserved)
        self._reserved = addition.reserved

    # --- when all pods have been tried -------------------------------------------------------------------------------

    def finish(self) -> None:
        """Take away what only served the search, and pin the reservations (`FinalizeScheduling`)."""
        requirements = Requirements(self.requirements)
        del requirements[HOSTNAME]
        if self._reserved:
            requirements[CAPACITY_TYPE] = one_of(CAPACITY_TYPE, RESERVED)
            requirements.add((one_of(RESERVATION, *(each.reservation for each in self._reserved)),))
        self.requirements = requirements

    def truncate(self) -> Refusal | None:
        """Leave only as many types as can be asked of a cloud; None: that works (`Truncate`)."""
        if len(self.types) > MOST_TYPES or self.requirements.has_min_values:
            ordered = by_price(self.types, self.requirements, self.template.well_known)[:MOST_TYPES]
            few = variety(ordered, self.requirements).objection
            if few is not None:
                return Refusal(
                    lambda: (
                        "pod didn’t schedule because NodePool couldn’t meet minValues requirements, validating"  # noqa: RUF001
                        f" minValues, {few.text} (NodePool={self.template.name})"
                    )
                )
            self.types = tuple(ordered)
        return None

    def keep_cheaper(self, price: float) -> Refusal | None:
        """Leave only types that cost less wherever they are launched; why they are too few then."""
        known = self.template.well_known
        self.types = tuple(type_ for type_ in self.types if worst_launch_price(type_, self.requirements, known) < price)
        return variety(self.types, self.requirements).objection

    def order_by_price(self) -> None:
        """The cheapest types first."""
        self.types = tuple(by_price(self.types, self.requirements, self.template.well_known))

    @property
    def cheapest_price(self) -> float | None:
        """What the first type costs where it is cheapest."""
        found = cheapest_of(self.types[:1], self.requirements, self.template.well_known)
        return found[0].price if found else None
