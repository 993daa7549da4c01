"""Expressions over plain data, with the same libraries as device selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.cel.checked import Node, walk
from kwhatif.cel.cost import CostBudget, CostGuard, size_of
from kwhatif.cel.messages import CelCompileError
from kwhatif.cel.values import decode_any


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
        #: The fields of variables that it reads, each with the variable first: `("workload", "replicas")`.
        self.paths = frozenset(filter(None, map(_path, walk(checked.root))))
        #: The path, if the whole expression is one; otherwise empty.
        self.root = () if checked.root.select_expr.test_only else _path(checked.root)
        self._guard = CostGuard(checked)
        self._program = None if self._guard.is_hopeless else engine.load(checked)

    def evaluate(self, data: Mapping[str, Any], budget: CostBudget | None = None) -> Any:
        """The value of the expression.

        Args:
            data: values of the variables: dicts, lists, str, int, float, bool and None, with any nesting.
            budget: what this evaluation may cost together with others.

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
        variables: the variables it may use, with their types: `dyn`, `bool`, `int`, `double`, `string`, `list`,
            `map`, or a map such as `map(string, dyn)`.
        result: the type it must have, if any; `dyn` passes for every type.

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
    # Not plain_value(): before Python 3.12 the bindings release one reference to None too many.
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
