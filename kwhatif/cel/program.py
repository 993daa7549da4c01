"""Compiled expressions: for plain data, and device selectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any

from kwhatif.cel import values
from kwhatif.cel.checked import Checked, Node, walk
from kwhatif.cel.cost import CostBudget, CostGuard, size_of
from kwhatif.cel.messages import CelCompileError, CelRuntimeError, not_a_bool
from kwhatif.cel.values import Semver, decode_any


class Program:
    """A compiled expression."""

    def __init__(self, expression: str, variables: Mapping[str, str], result: str) -> None:
        from kwhatif.cel import engine

        self.expression = expression
        checked = engine.check(expression, variables)
        #: The static CEL type of the result, such as `bool` or `dyn`.
        self.result_type = checked.type_of(checked.root)
        if result and self.result_type not in {result, "dyn"}:
            raise CelCompileError(f"must evaluate to {result}, not {self.result_type}")
        #: The fields that the expression reads, as paths that start with the variable: `("workload", "replicas")`.
        self.paths = frozenset(filter(None, map(_path, walk(checked.root))))
        #: The path, if the whole expression is a path; otherwise empty.
        self.root = () if checked.root.select_expr.test_only else _path(checked.root)
        self._guard = CostGuard(checked)
        self._program = None if self._guard.is_hopeless else engine.load(checked)

    def evaluate(self, data: Mapping[str, Any], budget: CostBudget | None = None) -> Any:
        """The value of the expression.

        Args:
            data: values of the variables: dicts, lists, str, int, float, bool and None, with any nesting.
            budget: the cost that remains for this evaluation and others.

        Raises:
            CelRuntimeError: the evaluation fails, such as with `no such key: foo`, or might cost too much.
        """
        self._guard.check(lambda: size_of(data))
        if budget is not None:
            budget.spend(self._guard.most(size_of(data)))
        assert self._program is not None
        return _to_python(self._program.evaluate(dict(data)))


def compile_expression(expression: str, variables: Mapping[str, str], *, result: str = "") -> Program:
    """Compile an expression.

    Args:
        expression: the source.
        variables: the variables that the expression may use, with their types: `dyn`, `bool`, `int`, `double`,
            `string`, `list`, `map`, or a map such as `map(string, dyn)`.
        result: the required type of the result, if any; a result of type `dyn` is always accepted.

    Raises:
        CelCompileError: the expression is not valid or cannot have the required type.
    """
    return Program(expression, variables, result)


def _path(node: Node) -> tuple[str, ...]:
    """The names of `a.b.c`; empty if it does not start with a variable."""
    kind = node.WhichOneof("kind")
    if kind == "select_expr":
        above = _operand(node.select_expr.operand)
        return (*above, node.select_expr.field) if above else ()
    return ()


def _operand(node: Node) -> tuple[str, ...]:
    return (node.ident_expr.name,) if node.WhichOneof("kind") == "ident_expr" else _path(node)


def _to_python(found: Any) -> Any:
    # Not plain_value(): before Python 3.12 it releases one reference to None too many.
    if found.type().name() == "NULL":
        return None
    value = found.value()
    if isinstance(value, list):
        return [_to_python(item) for item in value]
    if isinstance(value, dict):
        return {key: _to_python(item) for key, item in value.items()}
    if isinstance(value, bytearray):
        known = decode_any(bytes(value))
        return known[1] if known else bytes(value)
    return value


# --- selectors of devices -----------------------------------------------------------------------------

#: The types of an attribute.
AttributeValue = int | bool | str | Semver

_FIELDS = {
    "driver": "string",
    "allowMultipleAllocations": "bool",
    "attributes": "map(string, map(string, any))",
    "capacity": "map(string, map(string, kubernetes.Quantity))",
}
#: `device` is an object, but the engine supports only objects of compiled protobufs. So each field is declared as a
#: variable with a dot in its name and its own type; `device` itself is declared for `cel.bind(d, device, ...)`.
_VARIABLES = {"device": "any"} | {f"device.{name}": type_name for name, type_name in _FIELDS.items()}
# has() does not accept such a variable. All fields of `device` are required, so has() of a field is always true.
_HAS_FIELD = re.compile(rf"\bhas\(\s*device\s*\.\s*(?:{'|'.join(_FIELDS)})\s*\)")


@dataclass(frozen=True, eq=False)
class DeviceView:
    """One device, as selectors read it.

    It caches the results of selectors, so keep it as long as selectors are evaluated on the device. Names without a
    domain are in the driver's domain. Capacities are in nano-units, as `parse_quantity` returns them.
    """

    driver: str
    allow_multiple_allocations: bool
    attributes: Mapping[str, AttributeValue]
    capacity: Mapping[str, int]
    #: The result of each evaluated selector, or its error message.
    verdicts: dict[str, bool | str] = field(default_factory=dict, repr=False)

    def variables(self, names: Iterable[str]) -> dict[str, Any]:
        """The values of the variables with these names."""
        return {name: _GETTERS[name](self) for name in names}

    def size(self) -> int:
        """The size of the largest string or map in the view."""
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

        self.expression = expression
        checked = _check(expression)
        result = checked.type_of(checked.root)
        # Fields of a `device` that is bound to another name have the type `dyn` here, `any` upstream.
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

    checked = engine.check(_HAS_FIELD.sub("true", expression), _VARIABLES)
    for node in walk(checked.root):
        select = node.select_expr
        if select.operand.ident_expr.name == "device" and select.field not in _FIELDS:
            raise CelCompileError(f"compilation failed: undefined field '{select.field}'")
    return checked
