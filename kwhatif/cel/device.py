"""Device selectors (`k8s.io/dynamic-resource-allocation/cel/compile.go`, cache.go)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from kwhatif.cel import values
from kwhatif.cel.messages import CelCompileError, CelRuntimeError, not_a_bool
from kwhatif.cel.semver import Semver

if TYPE_CHECKING:
    from kwhatif.cel.checked import Checked

#: The types of an attribute.
AttributeValue = int | bool | str | Semver

_FIELDS = {
    "driver": "string",
    "allowMultipleAllocations": "bool",
    "attributes": "map(string, map(string, any))",
    "capacity": "map(string, map(string, kubernetes.Quantity))",
}
#: `device` is an object, but the engine supports only objects of compiled protobufs. Declaring its fields as variables
#: with dots in their names gives each its own type; `device` itself is declared for `cel.bind(d, device, ...)`.
_VARIABLES = {"device": "any"} | {f"device.{name}": type_name for name, type_name in _FIELDS.items()}
# Variables do not support has() of a field. All fields are required, so it is always true.
_HAS_FIELD = re.compile(rf"\bhas\(\s*device\s*\.\s*(?:{'|'.join(_FIELDS)})\s*\)")


@dataclass(frozen=True, eq=False)
class DeviceView:
    """One device as selectors see it.

    Keep the view as long as selectors are evaluated on the device, because it caches their results. Names without a
    domain are in the driver's domain. Capacities are nano-units, as from `parse_quantity`.
    """

    driver: str
    allow_multiple_allocations: bool
    attributes: Mapping[str, AttributeValue]
    capacity: Mapping[str, int]
    #: The result of each evaluated selector; for an error its message.
    verdicts: dict[str, bool | str] = field(default_factory=dict, repr=False)

    def variables(self, names: Iterable[str]) -> dict[str, Any]:
        """The variables of an evaluation with these names."""
        return {name: _GETTERS[name](self) for name in names}

    def size(self) -> int:
        """The size of the largest string or map in it."""
        maps = len(self.attributes), len(self.capacity)
        texts = (self.driver, *self.attributes, *self.capacity, *self.attributes.values())
        return max(*maps, *(len(text.text if isinstance(text, Semver) else str(text)) for text in texts))

    def attributes_by_domain(self) -> dict[str, dict[str, Any]]:
        """`device.attributes`."""
        found: dict[str, dict[str, Any]] = {}
        for name, value in self.attributes.items():
            domain, identifier = self._split(name)
            opaque = values.encode("kubernetes.Semver", value) if isinstance(value, Semver) else value
            found.setdefault(domain, {})[identifier] = opaque
        return found

    def capacity_by_domain(self) -> dict[str, dict[str, Any]]:
        """`device.capacity`."""
        found: dict[str, dict[str, Any]] = {}
        for name, nanos in self.capacity.items():
            domain, identifier = self._split(name)
            found.setdefault(domain, {})[identifier] = values.encode("kubernetes.Quantity", nanos)
        return found

    def _split(self, name: str) -> tuple[str, str]:
        domain, slash, identifier = name.partition("/")
        return (domain, identifier) if slash else (self.driver, name)


_FIELD_GETTERS: dict[str, Callable[[DeviceView], Any]] = {
    "driver": attrgetter("driver"),
    "allowMultipleAllocations": attrgetter("allow_multiple_allocations"),
    "attributes": DeviceView.attributes_by_domain,
    "capacity": DeviceView.capacity_by_domain,
}
_GETTERS: dict[str, Callable[[DeviceView], Any]] = {
    "device": lambda device: {name: getter(device) for name, getter in _FIELD_GETTERS.items()},
    **{f"device.{name}": getter for name, getter in _FIELD_GETTERS.items()},
}


class CompiledDeviceSelector:
    """A compiled selector."""

    def __init__(self, expression: str) -> None:
        from kwhatif.cel import engine
        from kwhatif.cel.cost import CostGuard

        self.expression = expression
        checked = _check(expression)
        result = checked.type_of(checked.root)
        # `dyn` appears instead of upstream's `any` below a `device` that is bound to another name.
        if result not in {"bool", "any", "dyn"}:
            raise CelCompileError(f"must evaluate to bool or the unknown type, not {result}")
        self._variables = tuple(checked.names() & _VARIABLES.keys())
        self._guard = CostGuard(checked)
        self._program = None if self._guard.is_hopeless else engine.load(checked)

    def matches(self, device: DeviceView) -> bool:
        """Whether the device satisfies the selector.

        Raises:
            CelRuntimeError: the selector fails for this device, or does not evaluate to a bool.
        """
        verdict = device.verdicts.get(self.expression)
        if verdict is None:
            verdict = device.verdicts[self.expression] = self._evaluate(device)
        if isinstance(verdict, str):
            raise CelRuntimeError(verdict)
        return verdict

    def _evaluate(self, device: DeviceView) -> bool | str:
        try:
            self._guard.check(device.size)
            assert self._program is not None
            found = self._program.evaluate(device.variables(self._variables))
        except CelRuntimeError as error:
            return error.message
        value = found.value()
        return value if isinstance(value, bool) else not_a_bool(found.type().name(), value)


@lru_cache(maxsize=1024)
def compile_device_selector(expression: str) -> CompiledDeviceSelector:
    """Compile a selector of a DeviceClass or of a request; equal expressions are compiled once.

    Raises:
        CelCompileError: with the scheduler's message.
    """
    return CompiledDeviceSelector(expression)


def _check(expression: str) -> Checked:
    from kwhatif.cel import engine
    from kwhatif.cel.checked import walk

    checked = engine.check(_HAS_FIELD.sub("true", expression), _VARIABLES)
    for node in walk(checked.root):
        select = node.select_expr
        if select.operand.ident_expr.name == "device" and select.field not in _FIELDS:
            raise CelCompileError(f"compilation failed: undefined field '{select.field}'")
    return checked
