"""The maximum cost of an expression, in the API server's units, and a guard that rejects evaluations above it.

If the maximum cost of an expression is within the limit, it is evaluated without counting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kwhatif.cel.call_costs import ENDLESS, MAKING, PASSING, SCALAR, SIZE_LIMIT, UNKNOWN, Size, call_cost, is_sized
from kwhatif.cel.checked import Checked, Node
from kwhatif.cel.messages import CelRuntimeError

#: The maximum cost of one evaluation (`PerCallLimit` in `k8s.io/apiserver/pkg/apis/cel/config.go`,
#: `CELSelectorExpressionMaxCost` in `k8s.io/api/resource/v1/types.go`).
COST_LIMIT = 1_000_000
#: The maximum total cost of all evaluations of one policy for one object (`RuntimeCELCostBudget`), and of the match
#: conditions of one webhook or policy (`RuntimeCELCostBudgetMatchConditions`).
BUDGET, MATCH_CONDITIONS_BUDGET = 10_000_000, 2_500_000
#: The maximum size of a string, list or map in the data.
_LARGE = 1 << 30

_LIST, _MAP = 10, 30
_INDEXING = frozenset({"_[_]", "_?._", "_[?_]"})


class Bound(NamedTuple):
    """The maximum cost of evaluating a node, and the maximum size of its value."""

    cost: int
    size: Size


def bound(checked: Checked, largest: int) -> int:
    """The maximum cost of an evaluation, if no string, list or map in the data is larger than `largest`.

    `ENDLESS` if the cost is unknown, or if a value might be too long to be created.
    """
    return min(ENDLESS, _Bounds(checked, largest).of(checked.root, {}).cost)


class CostBudget:
    """The cost that remains for the evaluations for one object; each evaluation spends its maximum cost."""

    def __init__(self, left: int = BUDGET) -> None:
        self._left = left

    def spend(self, cost: int) -> None:
        """Spend the maximum cost of an evaluation that starts now.

        Raises:
            CelRuntimeError: the budget is exceeded; with the API server's message.
        """
        self._left -= cost
        if self._left < 0:
            raise CelRuntimeError(
                "validation failed due to running out of cost budget, no further validation rules will be run"
            )


class CostGuard:
    """Rejects evaluations that might exceed the cost limit, before they start."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        #: The bounds that were computed before, by the size of the data.
        self._bounds: dict[int, int] = {}
        #: Evaluations with data up to this size are within the limit; -1: no evaluation is.
        self.largest = _largest_within(checked)

    @property
    def is_hopeless(self) -> bool:
        """Whether every evaluation may exceed the limit, so that the expression need not be loaded."""
        return self.largest < 0

    def check(self, size: Callable[[], int]) -> None:
        """Check an evaluation before it starts.

        Args:
            size: returns the size of the largest string, list or map in the data; called only if the size matters.

        Raises:
            CelRuntimeError: the cost limit might be exceeded; with cel-go's message.
        """
        if self.is_hopeless or (self.largest < _LARGE and size() > self.largest):
            raise CelRuntimeError("operation cancelled: actual cost limit exceeded")

    def most(self, size: int) -> int:
        """The maximum cost of an evaluation with strings, lists and maps of at most this size."""
        if size not in self._bounds:
            self._bounds[size] = bound(self._checked, size)
        return self._bounds[size]


def _largest_within(checked: Checked) -> int:
    if bound(checked, _LARGE) <= COST_LIMIT:
        return _LARGE
    low, high = -1, _LARGE  # `low` is within the limit (or -1), `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bound(checked, middle) <= COST_LIMIT else (low, middle)
    return low


def size_of(data: Any) -> int:
    """The size of the largest string, list or map in plain data."""
    largest, todo = 0, [data]
    while todo:
        value = todo.pop()
        if isinstance(value, Mapping):
            todo += value.values()
            largest = max(largest, len(value), *(len(key) for key in value if isinstance(key, str)))
        elif isinstance(value, list | tuple):
            todo += value
        if isinstance(value, list | tuple | str | bytes | bytearray):
            largest = max(largest, len(value))
    return largest


class _Bounds:
    def __init__(self, checked: Checked, largest: int) -> None:
        self._checked = checked
        self._input = Size(largest, largest)

    def of(self, node: Node, names: Mapping[str, Size]) -> Bound:
        """The bound of a node; `names` are the variables of the enclosing comprehensions."""
        kind = node.WhichOneof("kind")
        match kind:
            case "const_expr":
                return Bound(0, _constant(node))
            case "ident_expr":
                name = node.ident_expr.name
                return Bound(1 + name.count("."), names.get(name, self._input))
            case "select_expr":
                of = self.of(node.select_expr.operand, names)
                inner = SCALAR if node.select_expr.test_only else Size(of.size.inner, of.size.inner)
                return Bound(of.cost + _selecting(node.select_expr.operand), inner)
            case "list_expr":
                return self._container(list(node.list_expr.elements), len(node.list_expr.elements), _LIST, names)
            case "struct_expr":
                entries = node.struct_expr.entries
                parts = [part for entry in entries for part in (entry.map_key, entry.value)]
                return self._container(parts, len(entries), _MAP, names)
            case "comprehension_expr":
                return self._loop(node.comprehension_expr, names)
            case _:
                return self._call(node, names)

    def _container(self, parts: Sequence[Node], length: int, base: int, names: Mapping[str, Size]) -> Bound:
        bounds = [self.of(part, names) for part in parts]
        size = Size(length)
        for each in bounds:
            size = size.with_element(each.size)
        return Bound(base + sum(each.cost for each in bounds), size)

    def _loop(self, loop: Any, names: Mapping[str, Size]) -> Bound:
        over, start = self.of(loop.iter_range, names), self.of(loop.accu_init, names)
        rounds = (
            over.size.length
            if loop.iter_range.WhichOneof("kind") != "list_expr"
            else len(loop.iter_range.list_expr.elements)
        )
        item = Size(over.size.inner, over.size.inner)
        inside = {**names, loop.iter_var: item, loop.iter_var2: item, loop.accu_var: Size(0)}
        accumulated = start.size
        if rounds and start.size.length != 1:  # a list or map that grows by the same number in each iteration
            grows = self.of(loop.loop_step, inside).size
            length = min(ENDLESS, start.size.length + rounds * grows.length)
            accumulated = Size(length, max(start.size.inner, grows.inner))
        inside[loop.accu_var] = accumulated
        step, condition = self.of(loop.loop_step, inside).cost, self.of(loop.loop_condition, inside).cost
        result = self.of(loop.result, inside)
        cost = over.cost + start.cost + rounds * (step + condition) + condition + result.cost
        return Bound(cost, result.size)

    def _call(self, node: Node, names: Mapping[str, Size]) -> Bound:
        call = node.call_expr
        args = [*([call.target] if call.HasField("target") else []), *call.args]
        bounds = [self.of(arg, names) for arg in args]
        sizes = [each.size for each in bounds]
        result = self._result(node, args, sizes)
        cost = sum(each.cost for each in bounds)
        if call.function in _INDEXING:
            return Bound(cost + _selecting(args[0]), result)
        if max([result.length, result.inner]) > SIZE_LIMIT and call.function in MAKING:
            return Bound(ENDLESS, result)
        return Bound(cost + call_cost(call.function, [size.length for size in sizes], sizes, result.length), result)

    def _result(self, node: Node, args: Sequence[Node], sizes: Sequence[Size]) -> Size:
        """The maximum size of the result of a call."""
        function = node.call_expr.function
        if function in _INDEXING:
            return Size(sizes[0].inner, sizes[0].inner)
        if not is_sized(self._checked.type_of(node)) and not self._checked.type_of(node).startswith("kubernetes."):
            return SCALAR
        making = MAKING.get(function)
        if making is not None:
            return making(args, sizes)
        passing = PASSING.get(function)
        if not sizes:
            return SCALAR
        return UNKNOWN if passing is None else passing(sizes)


def _constant(node: Node) -> Size:
    kind = node.const_expr.WhichOneof("kind")
    return Size(len(getattr(node.const_expr, kind))) if kind in ("string_value", "bytes_value") else SCALAR


def _selecting(operand: Node) -> int:
    """The cost of selecting a field; it is higher by 1 if the operand is not a path itself."""
    kind = operand.WhichOneof("kind")
    is_path = kind in ("ident_expr", "select_expr") or operand.call_expr.function in _INDEXING
    return 1 if is_path else 2
