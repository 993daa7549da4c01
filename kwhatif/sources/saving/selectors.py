"""Device selectors without their expressions: what a rule needs of one is which devices it selects.

An expression may hold anything: drivers, attributes, models. In its place stands one that asks for an attribute which
the devices get instead of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from kwhatif.cel import CelCompileError, CelRuntimeError, Semver, compile_device_selector
from kwhatif.dra.devices import PoolDevice, Slice, device_view
from kwhatif.kube.gates import BASE_GATES
from kwhatif.kube.model.resource import CELDeviceSelector, DeviceConstraint
from kwhatif.kube.model.resource_slice import Device, DeviceAttribute, ResourceSlice
from kwhatif.sources.saving.walk import Walker

_DOMAIN = "kwhatif.dev"
#: Looks for a variable that there is not: it does not compile.
_BROKEN = "unknown"
#: What CEL says of an attribute that a device does not have; whatever else fails, fails here by not being a Boolean.
_NO_KEY = "no such key"
#: With it a shared device may look different from one that is not.
_SHARED = "allowMultipleAllocations"
_FAILS = DeviceAttribute(string_value=_BROKEN)


class Selectors:
    """The selectors in objects; `rewritten` are the objects without their expressions."""

    def __init__(self, objects: Iterable[Any]) -> None:
        objects = list(objects)
        #: Expression -> what stands in its place.
        self._new: dict[str, str] = {}
        #: Attributes whose values are compared by constraints, under their full names.
        self._compared: set[str] = set()
        seeing = Walker({CELDeviceSelector: self._see, DeviceConstraint: self._compare})
        for obj in objects:
            seeing.rewrite(obj)
        #: Attribute -> the expression that it is the answer of, and whether devices are asked as shared ones.
        self._asked: dict[str, tuple[str, bool]] = {}
        for number, expression in enumerate(sorted(self._new)):
            self._new[expression] = self._in_place_of(expression, number)
        walker = Walker({CELDeviceSelector: self._replaced, ResourceSlice: self._slice})
        self.rewritten = [walker.rewrite(obj) for obj in objects]

    @property
    def generated(self) -> frozenset[str]:
        """The texts that stand in place of expressions, and the attributes that they ask for."""
        return frozenset({*self._new.values(), *self._asked, _BROKEN})

    def _see(self, selector: CELDeviceSelector) -> CELDeviceSelector:
        self._new[selector.expression] = ""
        return selector

    def _compare(self, constraint: DeviceConstraint) -> DeviceConstraint:
        self._compared |= {constraint.match_attribute or "", constraint.distinct_attribute or ""}
        return constraint

    def _replaced(self, selector: CELDeviceSelector) -> CELDeviceSelector:
        return replace(selector, expression=self._new[selector.expression])

    def _in_place_of(self, expression: str, number: int) -> str:
        if not expression:
            return ""
        try:
            compile_device_selector(expression)
        except CelCompileError:
            return _BROKEN
        alone, shared = f"selector{number}", f"shared{number}"
        self._asked[f"{_DOMAIN}/{alone}"] = expression, False
        if _SHARED not in expression:
            return _ask(alone)
        self._asked[f"{_DOMAIN}/{shared}"] = expression, True
        return f"device.{_SHARED} ? {_ask(shared)} : {_ask(alone)}"

    def _slice(self, found: ResourceSlice) -> ResourceSlice:
        prepared = Slice(found, BASE_GATES)
        devices = tuple(self._device(device, prepared) for device in found.spec.devices)
        return replace(found, spec=replace(found.spec, devices=devices))

    def _device(self, device: Device, home: Slice) -> Device:
        own = device.attributes.items()
        needed = {name: _compared(value) for name, value in own if self._is_needed(name, value, home.driver)}
        return replace(device, attributes={**needed, **dict(self._answers(PoolDevice(device, home)))})

    def _is_needed(self, name: str, value: DeviceAttribute, driver: str) -> bool:
        """Whether a rule reads it: a constraint, or one that says that devices cannot be asked about."""
        full = name if "/" in name else f"{driver}/{name}"
        return not {name, full}.isdisjoint(self._compared) or value.is_list or _is_broken(value)

    def _answers(self, device: PoolDevice) -> Iterator[tuple[str, DeviceAttribute]]:
        for name, (expression, shared) in self._asked.items():
            try:
                view = device_view(device, shared=shared and device.model.allow_multiple_allocations)
                selected = compile_device_selector(expression).matches(view)
            except CelRuntimeError as failure:
                if _NO_KEY not in failure.message:
                    yield name, _FAILS
            else:
                yield name, DeviceAttribute(bool_value=selected)


def _ask(attribute: str) -> str:
    return f'device.attributes["{_DOMAIN}"].{attribute}'


def _is_broken(value: DeviceAttribute) -> bool:
    """Whether no selector can be asked about a device that has it (`device_view`)."""
    plain = (value.int_value, value.bool_value, value.string_value)
    return all(each is None for each in plain) and not _is_version(value.version_value)


def _is_version(text: str | None) -> bool:
    try:
        return text is not None and Semver.parse(text) is not None
    except ValueError:
        return False


def _compared(value: DeviceAttribute) -> DeviceAttribute:
    """A version as a text that may be renamed, and equals nothing but that version."""
    if not _is_version(value.version_value):
        return value
    return DeviceAttribute(string_value=f"version {value.version_value}")


def without_expressions(objects: Iterable[Any]) -> tuple[list[Any], frozenset[str]]:
    """The objects with other expressions in their selectors, and the texts that were made for that."""
    found = Selectors(objects)
    return found.rewritten, found.generated
