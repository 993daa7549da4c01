"""How much an expression might cost at most.

Kubernetes stops an evaluation that costs more than `COST_LIMIT` (`CELSelectorExpressionMaxCost`); the engine counts
nothing, so kwhatif does not model that. The API server however refuses selectors that could ever exceed the limit, by
an estimate of the same kind as this one: it only rises above the limit for selectors that were never admitted.
"""

from __future__ import annotations

from kwhatif.cel.checked import Checked, Node, children, literal_text
from kwhatif.cel.limits import COST_LIMIT

_MAX_ATTRIBUTES = 32  # attributes and capacities of a device
_MAX_TEXT = 64  # characters of an attribute
_LIST_COST, _MAP_COST = 10, 30
_CHEAP = frozenset({"_&&_", "_||_", "!_", "_?_:_", "_[_]", "_[?_]", "_?._", "@not_strictly_false", "@in"})


def estimate_cost(checked: Checked) -> int:
    """The cost of the worst case in cel-go's units, estimated on the high side."""
    return _cost(checked, checked.root)


def _cost(checked: Checked, node: Node) -> int:
    kind = node.WhichOneof("kind")
    if kind == "comprehension_expr":
        loop = node.comprehension_expr
        each = _cost(checked, loop.loop_condition) + _cost(checked, loop.loop_step)
        once = sum(_cost(checked, part) for part in (loop.iter_range, loop.accu_init, loop.result))
        return once + _length(checked, loop.iter_range) * each
    own = {"const_expr": 0, "list_expr": _LIST_COST, "struct_expr": _MAP_COST, "call_expr": _call_cost(node)}
    return own.get(kind, 1) + sum(_cost(checked, child) for child in children(node))


def _call_cost(node: Node) -> int:
    if node.call_expr.function in _CHEAP:
        return 1
    # A function may look at every character of a text: a tenth each, times a quarter of a pattern's length.
    pattern = max((len(literal_text(arg) or "") for arg in node.call_expr.args), default=0)
    return 1 + (_MAX_TEXT // 10 + 1) * (1 + pattern // 4)


def _length(checked: Checked, node: Node) -> int:
    match node.WhichOneof("kind"):
        case "list_expr":
            return len(node.list_expr.elements)
        case "struct_expr":
            return len(node.struct_expr.entries)
        case "comprehension_expr":  # map() and filter() are no longer than what they go through
            return _length(checked, node.comprehension_expr.iter_range)
        case "call_expr" if node.call_expr.function == "lists.range":
            return int(node.call_expr.args[0].const_expr.int64_value) or COST_LIMIT
    return _MAX_ATTRIBUTES if checked.type_of(node).startswith("map(") else _MAX_TEXT
