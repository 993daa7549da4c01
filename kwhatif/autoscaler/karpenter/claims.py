"""NodeClaims that will be created (`scheduling/nodeclaim.go`, `nodeclaimtemplate.go`, `reservationmanager.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kwhatif.autoscaler.karpenter.amounts import Amounts, fits, merged, requests_of
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
    PodData,
    container_ports,
    taints_objection,
    tolerating_preferences,
    without_first_term,
)
from kwhatif.autoscaler.karpenter.requirements import (
    CAPACITY_TYPE,
    INITIALIZED,
    NODE_POOL,
    REGISTERED,
    RESERVATION,
    RESERVED,
    SPOT,
    Refusal,
    Requirements,
    label_requirements,
    one_of,
    pod_requirements,
    requirement,
)
from kwhatif.autoscaler.karpenter.topology import Topology
from kwhatif.autoscaler.karpenter.topology_groups import Choice
from kwhatif.autoscaler.karpenter.type_filter import DaemonGroup, Filtering, remaining_types
from kwhatif.kube.matching.nodes import HostPort
from kwhatif.kube.model.bystanders import NodePool
from kwhatif.kube.model.node import HOSTNAME, Taint
from kwhatif.kube.model.pod import Pod

MOST_TYPES = 600
#: The maximum number of choices among equal domains that are tried for a pod.
_MOST_CHOICES = 16


def relaxed_min_values(requirements: Requirements, short: Mapping[str, int]) -> Requirements:
    """The requirements, with `minValues` of these labels lowered to the available number."""
    return Requirements({**requirements, **{k: requirements[k]._replace(min_values=n) for k, n in short.items()}})


def own_requirements(pool: NodePool, labels: Mapping[str, str] | None = None) -> Requirements:
    """The requirements of the pool's template and of its labels; `labels` replace the template's."""
    template = pool.spec.template
    found = Requirements.of(
        requirement(each.key, each.operator, each.values, each.min_values) for each in template.spec.requirements
    )
    return found.plus(label_requirements({**template.metadata.labels, **(labels or {})}))


class NodeClaimTemplate:
    """The initial state of every NodeClaim of a NodePool (`NodeClaimTemplate`)."""

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


def daemon_groups(templates: Iterable[NodeClaimTemplate], daemons: list[Pod]) -> None:
    """Set which DaemonSets run on which types of each template (`buildDaemonOverheadGroups`).

    QUIRK: a required term that a pool or a type does not meet is dropped for all later pools and types, and also from
    `daemons`, with which existing nodes are checked.
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


def _runs(template: NodeClaimTemplate, type_: InstanceType, daemons: list[Pod], index: int) -> bool:
    daemons[index] = tolerating_preferences(daemons[index]) or daemons[index]
    if taints_objection(template.taints, daemons[index].spec.tolerations) is not None:
        return False
    while True:
        required = pod_requirements(daemons[index], strict=True)
        if template.requirements.objection(required, template.well_known) is None and not type_.requirements.conflict(
            required
        ):
            return True
        rest = without_first_term(daemons[index])
        if rest is None:
            return False
        daemons[index] = rest


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
        """Whether no capacity is reserved."""
        return not self._left

    def can_hold(self, host: str, offering: Offering) -> bool:
        """Whether the host holds a machine of this reservation, or a machine is left."""
        return offering.reservation in self._held.get(host, ()) or self._left[offering.reservation] > 0

    def hold(self, host: str, offerings: Iterable[Offering]) -> None:
        """Reserve one machine of each of these offerings for the host, and release its others."""
        wanted = {each.reservation for each in offerings}
        held = self._held.setdefault(host, set())
        for each in wanted - held:
            self._left[each] -= 1
        for each in held - wanted:
            self._left[each] += 1
        self._held[host] = wanted


# --- one NodeClaim ---------------------------------------------------------------------------------------------------


class Addition(NamedTuple):
    """The new values of a NodeClaim after a pod is added."""

    requirements: Requirements
    types: tuple[InstanceType, ...]
    reserved: tuple[Offering, ...]


class NewClaim:
    """A NodeClaim that is about to be created, with its pods."""

    def __init__(
        self,
        template: NodeClaimTemplate,
        types: Sequence[InstanceType],
        hostname: str,
        topology: Topology,
        reservations: Reservations,
        *,
        strictly_reserved: bool,
        relaxes_min_values: bool = False,
    ) -> None:
        self.template = template
        self.hostname = hostname
        self.requirements = template.requirements.plus({HOSTNAME: one_of(HOSTNAME, hostname)})
        self.types = tuple(types)
        self.pods: list[PodData] = []
        self._topology = topology
        self._reservations = reservations
        self._strictly_reserved = strictly_reserved
        self._relaxes_min_values = relaxes_min_values
        self._requests: Amounts = {}
        #: Host ports of its pods.
        self._taken: list[HostPort] = []
        self._reserved: tuple[Offering, ...] = ()

    def can_add(self, pod: PodData) -> Addition | Refusal:
        """The NodeClaim with the pod, or why the pod cannot be added (`CanAdd`)."""
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

    def _with_volumes(self, pod: PodData, base: Requirements, volumes: Requirements) -> Addition | Refusal:
        refusal = base.objection(volumes, self.template.well_known)
        if refusal is not None:
            return Refusal(lambda: f"incompatible volume requirements, {refusal.text}")
        return self._with(pod, base.plus(volumes))

    def _with(self, pod: PodData, base: Requirements) -> Addition | Refusal:
        requests = merged(self._requests, pod.requests)
        if self.pods and not any(fits(requests, type_.allocatable) for type_ in self.types):
            return Refusal(str)  # not reported: then the pod gets its own NodeClaim
        choice = Choice()
        first = found = self._chosen(pod, base, requests, choice)
        for _ in range(_MOST_CHOICES):
            another = None if isinstance(found, Addition) else choice.another()
            if another is None:
                break
            choice = another
            found = self._chosen(pod, base, requests, choice)
        return found if isinstance(found, Addition) else first

    def _chosen(self, pod: PodData, base: Requirements, requests: Amounts, choice: Choice) -> Addition | Refusal:
        """Try one choice among equally good domains.

        Upstream chooses at random each time it tries a pod: if a choice fails, the next attempt soon makes another one.
        """
        narrowed = self._topology.narrowed(pod, self.template.taints, base, choice)
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
        if self._relaxes_min_values and found.short and not self.pods:
            # For the first pod only: later pods must leave enough types.
            requirements, found = relaxed_min_values(requirements, found.short), Variety(len(types), {})
        if found.short or not types:
            filtering = Filtering(
                self.types, requirements, requests, template.groups, template.well_known, pod, self._taken, found
            )
            return Refusal(filtering.text)
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

    def add(self, pod: PodData, addition: Addition) -> None:
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
        """Remove the host name, which only the search needs, and pin the reservations (`FinalizeScheduling`)."""
        requirements = Requirements(self.requirements)
        del requirements[HOSTNAME]
        if self._reserved:
            requirements[CAPACITY_TYPE] = one_of(CAPACITY_TYPE, RESERVED)
            requirements.add((one_of(RESERVATION, *(each.reservation for each in self._reserved)),))
        self.requirements = requirements

    def truncate(self) -> Refusal | None:
        """Keep at most the number of types that a request to the cloud may have (`Truncate`); None: it succeeded."""
        if len(self.types) > MOST_TYPES or self.requirements.has_min_values:
            ordered = by_price(self.types, self.requirements, self.template.well_known)[:MOST_TYPES]
            few = None if self._relaxes_min_values else variety(ordered, self.requirements).objection
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
        """Keep only types that are cheaper wherever they are launched; returns why they are too few, if so."""
        known = self.template.well_known
        self.types = tuple(type_ for type_ in self.types if worst_launch_price(type_, self.requirements, known) < price)
        return variety(self.types, self.requirements).objection

    def only_spot(self) -> None:
        """Require the capacity type spot."""
        self.requirements = self.requirements.plus({CAPACITY_TYPE: one_of(CAPACITY_TYPE, SPOT)})

    def keep_offered(self) -> None:
        """Keep only types with an available offering that meets the requirements."""
        known = self.template.well_known
        self.types = tuple(type_ for type_ in self.types if type_.offered(self.requirements, known))

    def keep_cheapest(self, count: int) -> None:
        """Keep only the first types: this number, or more if `minValues` needs more."""
        self.types = self.types[: max(count, variety(self.types, self.requirements).needed)]

    def order_by_price(self) -> None:
        """Sort the types, the cheapest first."""
        self.types = tuple(by_price(self.types, self.requirements, self.template.well_known))

    @property
    def cheapest_price(self) -> float | None:
        """The price of the first type's cheapest offering."""
        found = cheapest_of(self.types[:1], self.requirements, self.template.well_known)
        return found[0].price if found else None
