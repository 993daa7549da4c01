"""Expressions over plain data, with the same libraries as device selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.cel.checked import Node, walk
from kwhatif.cel.errors import CelCompileError
from kwhatif.cel.values import decode_any


class Program:
    """A compiled expression."""

    def __init__(self, expression: str, variables: Mapping[str, str], result: str) -> None:
        from kwhatif.cel import checker, engine
        from kwhatif.cel.cost import CostGuard

        self.expression = expression
        checked = checker.check(expression, variables)
        #: The CEL type of the result as far as it is known without data, such as `bool` or `dyn`.
        self.result_type = checked.type_of(checked.root)
        if result and self.result_type not in {result, "dyn"}:
            raise CelCompileError(f"must evaluate to {result}, not {self.result_type}")
        #: The fields that are selected of variables, each with the variable first: `("workload", "replicas")`.
        self.paths = frozenset(filter(None, map(_path, walk(checked.root))))
        #: The one that the whole expression is; empty where it is something else.
        self.root = () if checked.root.select_expr.test_only else _path(checked.root)
        self._guard = CostGuard(checked)
        self._program = None if self._guard.is_hopeless else engine.load(checked)

    def evaluate(self, data: Mapping[str, Any]) -> Any:
        """The value of the expression.

        Args:
            data: values of the variables; dicts, lists, str, int, float, bool and None, nested as you like.

        Raises:
            CelRuntimeError: when there is no value, such as `no such key: foo`; or to find it might cost too much.
        """
        from kwhatif.cel.cost import size_of

        self._guard.check(lambda: size_of(data))
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
        CelCompileError: when the expression is not valid or cannot have the required type.
    """
    return Program(expression, variables, result)


def _path(node: Node) -> tuple[str, ...]:
    """Of `a.b.c` the names; empty where no variable is at the beginning."""
    kind = node.WhichOneof("kind")
    if kind == "select_expr":
        above = _operand(node.select_expr.operand)
        return (*above, node.select_expr.field) if above else ()
    return ()


def _operand(node: Node) -> tuple[str, ...]:
    return (node.ident_expr.name,) if node.WhichOneof("kind") == "ident_expr" else _path(node)


def _to_python(found: Any) -> Any:
    # Not plain_value(): before Python 3.12 the bindings take a reference too many from None.
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
