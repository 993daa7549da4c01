"""Instance types and where they are offered (`pkg/cloudprovider/types.go`), read from a user's file.

The file is a list of `{name, capacity, overhead: {kubeReserved, systemReserved, evictionThreshold}, requirements,
offerings: [{capacityType, zone, price, available}]}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import inf, isfinite
from typing import Any, NamedTuple

from kwhatif.autoscaler.karpenter.amounts import Amounts, allocatable, merged
from kwhatif.autoscaler.karpenter.requirements import (
    ARCH,
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    ON_DEMAND,
    OPERATORS,
    OS,
    RESERVATION,
    RESERVED,
    SPOT,
    WELL_KNOWN,
    Refusal,
    Requirement,
    Requirements,
    one_of,
    requirement,
)
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import label_key_errors
from kwhatif.kube.matching.labels import parse_int64
from kwhatif.kube.model.node import ZONE
from kwhatif.kube.model.quantity import parse_quantity

_CAPACITY_TYPES = (ON_DEMAND, SPOT, RESERVED)
_OVERHEAD = ("kubeReserved", "systemReserved", "evictionThreshold")
_FIELDS = {"name", "capacity", "overhead", "requirements", "offerings"}
_OFFERING = {"capacityType", "zone", "price", "available", "reservationID", "reservationCapacity"}


class Offering:
    """Where an instance type is available, and its price per hour; `price` None: not known."""

    __slots__ = ("available", "capacity_type", "price", "requirements", "reservation", "reserved_capacity", "zone")

    def __init__(
        self,
        capacity_type: str,
        zone: str,
        price: float | None,
        *,
        available: bool = True,
        reservation: str = "",
        reserved_capacity: int = 0,
    ) -> None:
        self.capacity_type = capacity_type
        self.zone = zone
        self.price = price
        self.available = available
        #: For reserved capacity: the reservation, and how many of its machines are left.
        self.reservation = reservation
        self.reserved_capacity = reserved_capacity
        self.requirements = Requirements.of((one_of(CAPACITY_TYPE, capacity_type), one_of(ZONE, zone)))
        if reservation:
            self.requirements.add((one_of(RESERVATION, reservation),))

    @property
    def cost(self) -> float:
        """The price for comparisons; an unknown price is higher than all others."""
        return inf if self.price is None else self.price


class InstanceType:
    """A type of machine that a cloud offers; amounts in nano-units."""

    def __init__(
        self,
        name: str,
        capacity: Amounts,
        overhead: Amounts,
        given: Iterable[Requirement],
        offerings: Sequence[Offering],
    ) -> None:
        self.name = name
        self.capacity = capacity
        self.allocatable = allocatable(capacity, overhead)
        self.offerings = tuple(offerings)
        requirements = Requirements.of(given)
        #: The label keys in the file: pods may require these labels.
        self.keys = frozenset(requirements)
        for key, value in ((ARCH, "amd64"), (OS, "linux")):
            requirements.setdefault(key, one_of(key, value))
        requirements.setdefault(INSTANCE_TYPE, one_of(INSTANCE_TYPE, name))
        requirements.setdefault(ZONE, one_of(ZONE, *(each.zone for each in offerings)))
        requirements.setdefault(CAPACITY_TYPE, one_of(CAPACITY_TYPE, *(each.capacity_type for each in offerings)))
        self.requirements = requirements

    @cached_property
    def available(self) -> tuple[Offering, ...]:
        """The available offerings."""
        return tuple(each for each in self.offerings if each.available)

    def offered(self, requirements: Requirements, undefined: frozenset[str]) -> list[Offering]:
        """The available offerings that meet the requirements."""
        return [each for each in self.available if requirements.objection(each.requirements, undefined) is None]

    def price_at(self, zone: str, capacity_type: str) -> float | None:
        """The price of a machine with this zone and capacity type (`OfferingPrice`); None: not known."""
        for each in self.offerings:
            if each.zone == zone and each.capacity_type == capacity_type:
                return each.price
        return None


class Catalogue(NamedTuple):
    """All instance types, and the labels that pods may require although a NodePool does not define them."""

    types: tuple[InstanceType, ...]
    well_known: frozenset[str]

    @property
    def has_prices(self) -> bool:
        """Whether every offering has a price."""
        return all(each.price is not None for type_ in self.types for each in type_.offerings)


def catalogue_of(types: Iterable[InstanceType]) -> Catalogue:
    """The catalogue of these types."""
    types = tuple(types)
    return Catalogue(types, WELL_KNOWN.union({RESERVATION}, *(type_.keys for type_ in types)))


class Cheapest(NamedTuple):
    """The cheapest offering of an instance type."""

    price: float
    type: InstanceType
    offering: Offering


def cheapest_of(types: Iterable[InstanceType], requirements: Requirements, undefined: frozenset[str]) -> list[Cheapest]:
    """The types with their cheapest available offering, the cheapest type first (`OrderByPrice`).

    Types with equal prices are sorted by name; unavailable types come last.
    """
    found = []
    for type_ in types:
        offered = type_.offered(requirements, undefined)
        if offered:
            best = min(offered, key=lambda each: (each.cost, each.zone, each.capacity_type))
            found.append(Cheapest(best.cost, type_, best))
    return sorted(found, key=lambda each: (each.price, each.type.name))


def by_price(
    types: Sequence[InstanceType], requirements: Requirements, undefined: frozenset[str]
) -> list[InstanceType]:
    """The types sorted by price; unavailable types come last."""
    offered = [each.type for each in cheapest_of(types, requirements, undefined)]
    return offered + [type_ for type_ in types if type_ not in set(offered)]


def worst_launch_price(type_: InstanceType, requirements: Requirements, undefined: frozenset[str]) -> float:
    """The highest price at which the type may be launched: reserved, else spot, else on demand."""
    offered = type_.offered(requirements, undefined)
    for capacity_type in (RESERVED, SPOT, ON_DEMAND):
        costs = [each.cost for each in offered if each.capacity_type == capacity_type]
        if costs:
            return max(costs)
    return inf


class Variety(NamedTuple):
    """Whether there are enough types for `minValues`: how many types suffice, and the keys with too few values."""

    needed: int
    #: Key -> its number of values.
    short: Mapping[str, int]

    @property
    def objection(self) -> Refusal | None:
        """Why there are too few types; None if there are enough."""
        if not self.short:
            return None
        keys = " ".join(sorted(self.short))
        return Refusal(lambda: f"minValues requirement is not met for label(s) (label(s)=[{keys}])")


def variety(types: Sequence[InstanceType], requirements: Requirements) -> Variety:
    """Whether the types have the required number of values (`SatisfiesMinValues`)."""
    wanted = {key: each.min_values for key, each in requirements.items() if each.min_values is not None}
    if not wanted:
        return Variety(0, {})
    values: dict[str, set[str]] = {key: set() for key in wanted}
    short: dict[str, int] = {}
    for number, type_ in enumerate(types, 1):
        for key, found in values.items():
            found.update(type_.requirements.want(key).values)
        short = {key: len(found) for key, found in values.items() if len(found) < wanted[key]}
        if not short:
            return Variety(number, {})
    return Variety(len(types), short)


# --- the file ------------------------------------------------------------------------------------------------------


class _Reading:
    """The problems found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, field: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem("", message, field=field, hint=hint))

    def mapping(self, value: object, field: str, known: Iterable[str] | None = None) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.add(field, f"expected an object, found {_shown(value)}")
            return {}
        for key in value if known is not None else ():
            if key not in set(known or ()):
                self.add(f"{field}.{key}", "is not a field here", f"known are {', '.join(sorted(known or ()))}")
        return value

    def items(self, value: object, field: str) -> list[Any]:
        if not isinstance(value, list):
            self.add(field, f"expected a list, found {_shown(value)}")
            return []
        return value

    def text(self, value: object, field: str, what: str) -> str:
        if not isinstance(value, str) or not value:
            self.add(field, f"expected {what}, found {_shown(value)}")
            return ""
        return value

    def amounts(self, value: object, field: str) -> dict[str, int]:
        found = {}
        for name, text in self.mapping({} if value is None else value, field).items():
            where = f"{field}.{name}"
            amount = _quantity(text)
            if amount is None:
                self.add(where, f"{_shown(text)} is not a quantity, such as 4 or 16Gi")
            elif amount < 0:
                self.add(where, f"must not be negative, but is {text}")
            else:
                found[name] = amount
        return found


def _quantity(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return parse_quantity(value)
    except ValueError:
        return None


def _shown(value: object) -> str:
    return "nothing" if value is None else f"{value!r}"[:60]


def build_instance_types(data: object) -> tuple[InstanceType, ...]:
    """The instance types in the data of a file.

    Raises:
        InputError: with all problems; each has its `field`, such as `[3].offerings`, but no line.
    """
    reading = _Reading()
    found: dict[str, InstanceType] = {}
    for index, entry in enumerate(reading.items(data, "")):
        type_ = _instance_type(entry, f"[{index}]", reading)
        if type_.name and type_.name in found:
            reading.add(f"[{index}].name", f"the instance type {type_.name} is there twice", "give each once")
        found[type_.name] = type_
    if not found and not reading.problems:
        reading.add("", "has no instance types", "without the option, those that run in the cluster are tried")
    if reading.problems:
        raise InputError(reading.problems)
    return tuple(found.values())


def _instance_type(entry: object, field: str, reading: _Reading) -> InstanceType:
    data = reading.mapping(entry, field, _FIELDS)
    if not isinstance(entry, dict):
        return InstanceType("", {}, {}, (), ())
    name = reading.text(data.get("name"), f"{field}.name", "the name of an instance type")
    capacity = reading.amounts(data.get("capacity"), f"{field}.capacity")
    for resource in ("cpu", "memory", "pods"):
        if not capacity.get(resource) and f"{field}.capacity.{resource}" not in {
            each.field for each in reading.problems
        }:
            message = "must be above 0" if resource in capacity else "is not set"
            reading.add(f"{field}.capacity.{resource}", message, "say how much a machine has of it")
    given = data.get("overhead")
    overhead = reading.mapping({} if given is None else given, f"{field}.overhead", _OVERHEAD)
    parts = [reading.amounts(overhead.get(part), f"{field}.overhead.{part}") for part in _OVERHEAD]
    requirements = [
        _requirement(each, f"{field}.requirements[{index}]", reading)
        for index, each in enumerate(reading.items(data.get("requirements") or [], f"{field}.requirements"))
    ]
    entries = reading.items(data.get("offerings") or [], f"{field}.offerings")
    if not entries:
        reading.add(f"{field}.offerings", "has no offerings", "give at least one {capacityType, zone, price}")
    offerings = [_offering(each, f"{field}.offerings[{index}]", reading) for index, each in enumerate(entries)]
    _check_offered_once(offerings, f"{field}.offerings", reading)
    return InstanceType(name, capacity, merged(*parts), filter(None, requirements), list(filter(None, offerings)))


def _check_offered_once(offerings: Sequence[Offering | None], field: str, reading: _Reading) -> None:
    seen: dict[tuple[str, str, str], int] = {}
    for index, each in enumerate(offerings):
        if each is None:
            continue
        first = seen.setdefault((each.capacity_type, each.zone, each.reservation), index)
        if first != index:
            message = f"{each.capacity_type} in zone {each.zone} is offered already: offerings[{first}]"
            reading.add(f"{field}[{index}]", message, "give each once")


def _requirement(entry: object, field: str, reading: _Reading) -> Requirement | None:
    before = len(reading.problems)
    data = reading.mapping(entry, field, {"key", "operator", "values"})
    if not isinstance(entry, dict):
        return None
    key = reading.text(data.get("key"), f"{field}.key", "the key of a label")
    for wrong in label_key_errors(key) if key else ():
        reading.add(f"{field}.key", wrong)
    operator = data.get("operator")
    if operator not in OPERATORS:
        reading.add(f"{field}.operator", f"{_shown(operator)} is not an operator", f"one of {', '.join(OPERATORS)}")
    values = reading.items(data.get("values") or [], f"{field}.values")
    for index, value in enumerate(values):
        if not isinstance(value, str):
            reading.add(f"{field}.values[{index}]", f"expected a text, found {_shown(value)}", "put it into quotes")
    if operator in ("In", "NotIn") and not values:
        reading.add(f"{field}.values", f"{operator} needs at least one value")
    elif operator in ("Exists", "DoesNotExist") and values:
        reading.add(f"{field}.values", f"{operator} takes no values")
    elif operator in ("Gt", "Lt", "Gte", "Lte") and (len(values) != 1 or parse_int64(str(values[0])) is None):
        reading.add(f"{field}.values", f"{operator} needs one value, which is a whole number")
    return None if len(reading.problems) > before else requirement(key, str(operator), values)


def _offering(entry: object, field: str, reading: _Reading) -> Offering | None:
    before = len(reading.problems)
    data = reading.mapping(entry, field, _OFFERING)
    if not isinstance(entry, dict):
        return None
    capacity_type = data.get("capacityType")
    if capacity_type not in _CAPACITY_TYPES:
        message = f"{_shown(capacity_type)} is not a capacity type"
        reading.add(f"{field}.capacityType", message, f"one of {', '.join(_CAPACITY_TYPES)}")
    zone = reading.text(data.get("zone"), f"{field}.zone", "the name of a zone")
    price = data.get("price")
    if price is not None and (isinstance(price, bool) or not isinstance(price, int | float) or not isfinite(price)):
        reading.add(f"{field}.price", f"expected a number, per hour, found {_shown(price)}")
    elif price is not None and price < 0:
        reading.add(f"{field}.price", f"must not be negative, but is {price}")
    available = data.get("available", True)
    if not isinstance(available, bool):
        reading.add(f"{field}.available", f"expected true or false, found {_shown(available)}")
    reservation, left = data.get("reservationID", ""), data.get("reservationCapacity", 0)
    if capacity_type == RESERVED:
        reservation = reading.text(reservation, f"{field}.reservationID", "the name of the reservation")
        if isinstance(left, bool) or not isinstance(left, int) or left < 0:
            reading.add(f"{field}.reservationCapacity", f"expected how many are left, found {_shown(left)}")
    if len(reading.problems) > before:
        return None
    return Offering(
        str(capacity_type), zone, price, available=available, reservation=str(reservation), reserved_capacity=int(left)
    )
