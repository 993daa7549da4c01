"""What Kubernetes refuses when it compiles an expression, beyond what the engine's type checker refuses.

Follows the options and validators of `k8s.io/apiserver/pkg/cel/environment/base.go`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from kwhatif.cel.checked import Checked, Node, children, literal_text, walk
from kwhatif.cel.format_check import check_format
from kwhatif.cel.shapes import NO_OVERLOAD

#: Function → position, among receiver and arguments, of what must be a valid literal if it is one.
_LITERALS = {"duration": 0, "timestamp": 0, "matches": 1}
#: The same for patterns that upstream compiles only when it makes a program of the expression.
_PATTERNS = {"find": 1, "findAll": 1}

#: Conversions that upstream makes at once where they are of a literal.
_CONVERSIONS = frozenset({"bool", "bytes", "double", "int", "string", "uint"})


class Invalid(Exception):
    """Something that is not acceptable, and the node where that is, if upstream says where."""

    def __init__(self, text: str, node: Node = None) -> None:
        super().__init__(text)
        self.node = node


def validate(checked: Checked, error_of: Callable[[str, str], str]) -> None:
    """Check the literals and aggregates of an expression.

    Args:
        checked: the expression.
        error_of: tells what is wrong with a text as the literal for a function; "" if nothing is.

    Raises:
        Invalid: for the first violation.
    """
    for node in walk(checked.root):
        if (found := _literal(node, _LITERALS)) and error_of(node.call_expr.function, str(literal_text(found))):
            raise Invalid(f"invalid {node.call_expr.function} argument", found)
        if node.call_expr.function == "format" and (problem := check_format(checked, node)):
            raise Invalid(problem.text, problem.node)
    for node in _outside_format(checked.root):
        _check_types(checked, node.list_expr.elements, set(node.list_expr.optional_indices))
        entries = node.struct_expr.entries
        _check_types(checked, [entry.map_key for entry in entries], set())
        _check_types(
            checked,
            [entry.value for entry in entries],
            {index for index, entry in enumerate(entries) if entry.optional_entry},
        )


def refuse_shapes(checked: Checked, names: Mapping[str, str]) -> None:
    """Refuse calls of functions that are there for messages only; `names` are the true ones (`shapes.py`).

    Raises:
        Invalid: for the first such call.
    """
    for node in walk(checked.root):
        call = node.call_expr
        if any(overload.startswith(NO_OVERLOAD) for overload in checked.overloads(node)):
            receiver = f"{checked.type_of(call.target)}." if call.HasField("target") else ""
            types = f"{receiver}({', '.join(map(checked.type_of, call.args))})"
            raise Invalid(f"found no matching overload for '{names[call.function]}' applied to '{types}'", node)


def instantiate(checked: Checked, error_of: Callable[[str, str], str], error_of_call: Callable[[str], str]) -> None:
    """Check what upstream computes when it makes a program of a checked expression.

    Args:
        checked: the expression.
        error_of: tells what is wrong with a text as the literal for a function; "" if nothing is.
        error_of_call: tells what is wrong with the call of a function with a literal; "" if nothing is.

    Raises:
        Invalid: for the first violation.
    """
    for node in walk(checked.root):
        error = ""
        if found := _literal(node, _PATTERNS):
            error = error_of("matches", str(literal_text(found)))
        elif node.call_expr.function in _CONVERSIONS and not node.call_expr.HasField("target"):
            (operand,) = node.call_expr.args
            literal = _source_of(operand)
            error = error_of_call(f"{node.call_expr.function}({literal})") if literal else ""
        if error:
            raise Invalid(f"program instantiation failed: {error}")


def check_fields(checked: Checked, variable: str, fields: Iterable[str]) -> None:
    """Check that no other than these fields of a variable are selected, where it is used by name.

    Raises:
        Invalid: for the first other field.
    """
    for node in walk(checked.root):
        select = node.select_expr
        if select.operand.ident_expr.name == variable and select.field not in fields:
            raise Invalid(f"undefined field '{select.field}'", node)


def _literal(node: Node, positions: dict[str, int]) -> Node | None:
    call = node.call_expr
    position = positions.get(call.function)
    operands = [*([call.target] if call.HasField("target") else []), *call.args]
    if position is None or position >= len(operands) or literal_text(operands[position]) is None:
        return None
    return operands[position]


def _outside_format(node: Node) -> Iterator[Node]:
    # The arguments of format() come in a list, but need not be of one type.
    if node.call_expr.function != "format":
        for child in children(node):
            yield from _outside_format(child)
        yield node


def _check_types(checked: Checked, elements: Iterable[Node], optional: set[int]) -> None:
    first = ""
    for index, element in enumerate(elements):
        found = checked.type_of(element)
        if index in optional:
            found = found.removeprefix("optional_type(").removesuffix(")")
        if first and found != first:
            raise Invalid(f"expected type '{first}' but found '{found}'", element)
        first = found


def _source_of(node: Node) -> str | None:
    """A literal as it may be written, None for every other node."""
    literal = node.const_expr
    match node.WhichOneof("kind") and literal.WhichOneof("kind"):
        case "string_value":
            return json.dumps(literal.string_value, ensure_ascii=False)
        case "bytes_value":
            return 'b"' + "".join(f"\\x{byte:02x}" for byte in literal.bytes_value) + '"'
        case "null_value":
            return "null"
        case "uint64_value":
            return f"{literal.uint64_value}u"
        case "int64_value" | "double_value" as kind:
            return repr(getattr(literal, kind))
    return None
