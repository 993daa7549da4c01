"""Constraints between the devices of one claim (`allocator_incubating.go`, `constraint.go`)."""

from __future__ import annotations

from kwhatif.dra.devices import PoolDevice
from kwhatif.dra.requests import Request
from kwhatif.dra.rules import AllocatorRules
from kwhatif.kube.model.resource import DeviceConstraint
from kwhatif.kube.model.resource_slice import DeviceAttribute

#: The type of an attribute and its value; versions are equal if their texts are.
TypedValue = tuple[str, str | int | bool]


class AttributeConstraint:
    """Tracks the devices that are taken; every successful `add` is followed by at most one `remove`."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute
        self._devices = 0

    def add(self, request: Request, device: PoolDevice) -> bool:
        """Add the device, or reject it because it has no such attribute or a wrong value."""
        if not self._concerns(request):
            return True
        found = find_attribute(device, self._attribute)
        if found is None or not self._takes(_typed(found), request, device):
            return False
        self._devices += 1
        return True

    def remove(self, request: Request) -> None:
        """Remove the last added device of the request."""
        if self._concerns(request):
            self._devices -= 1
            self._forget(request)

    def _concerns(self, request: Request) -> bool:
        """Whether the constraint applies to the request; one that names no requests applies to all."""
        names = self._requests
        return not names or (request.parent or request.name) in names or request.path in names

    def _takes(self, value: TypedValue | None, request: Request, device: PoolDevice) -> bool:
        """Store the value, if it is compatible with those of the other devices."""
        raise NotImplementedError

    def _forget(self, request: Request) -> None:
        """Remove the value of the request's last device."""


class MatchAttribute(AttributeConstraint):
    """All devices have the attribute, with the same value as the first one."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._value: TypedValue | None = None

    def _takes(self, value: TypedValue | None, request: Request, device: PoolDevice) -> bool:
        del request, device
        if self._devices == 0:
            self._value = value
            return True
        return value is not None and value == self._value


class DistinctAttribute(AttributeConstraint):
    """All devices have the attribute, each with a different value.

    QUIRK: (constraint.go) up to 1.36 only one value is stored per request, that of its last device; when that device is
    removed, the request's earlier values are lost too. Up to 1.34 values of two devices are never equal (`by_device`).
    """

    def __init__(
        self, requests: tuple[str, ...], attribute: str, *, by_device: bool = False, keeps_all: bool = False
    ) -> None:
        super().__init__(requests, attribute)
        self._by_device = by_device
        self._keeps_all = keeps_all
        self._values: dict[str | int, TypedValue | None] = {}

    def _takes(self, value: TypedValue | None, request: Request, device: PoolDevice) -> bool:
        if self._by_device and value is not None:
            value = "device", str(device.id)
        if self._devices and self._values and (value is None or value in self._values.values()):
            return False
        self._values[self._key(request)] = value
        return True

    def _forget(self, request: Request) -> None:
        self._values.pop(self._key(request), None)

    def _key(self, request: Request) -> str | int:
        return self._devices if self._keeps_all else request.parent or request.name


def make_constraints(constraints: tuple[DeviceConstraint, ...], rules: AllocatorRules) -> list[AttributeConstraint]:
    """The constraints of a claim, without any device."""
    return [
        MatchAttribute(constraint.requests, constraint.match_attribute)
        if constraint.match_attribute is not None
        else DistinctAttribute(
            constraint.requests,
            constraint.distinct_attribute or "",
            by_device=rules.distinct_by_device,
            keeps_all=rules.keeps_books,
        )
        for constraint in constraints
    ]


def find_attribute(device: PoolDevice, name: str) -> DeviceAttribute | None:
    """The attribute with that full name; a name without a domain is in the driver's domain (`lookupAttribute`)."""
    attributes = device.model.attributes
    found = attributes.get(name)
    if found is None:
        domain, slash, identifier = name.partition("/")
        if slash and domain == device.id.driver:
            return attributes.get(identifier)
    return found


def _typed(attribute: DeviceAttribute) -> TypedValue | None:
    values = (attribute.string_value, attribute.int_value, attribute.bool_value, attribute.version_value)
    kinds = ("string", "int", "bool", "version")
    return next(((kind, value) for kind, value in zip(kinds, values, strict=True) if value is not None), None)
