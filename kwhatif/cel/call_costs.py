"""The cost of calls, and the maximum size of their results, computed from the sizes of their arguments.

The costs are those of cel-go (`interpreter/runtimecost.go`, `ext/lists.go`, `ext/sets.go`) and of Kubernetes
(`CallCost` in `k8s.io/apiserver/pkg/cel/library/cost.go`). If a cost depends on more than sizes, its maximum is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from kwhatif.cel.checked import Node

#: The maximum length of a string or list that an expression may create. The API server has no explicit limit, but
#: reading a longer string or list would exceed the cost limit.
SIZE_LIMIT = 1 << 24
#: A size or cost that is unknown or too high.
ENDLESS = 10**18
#: Types whose values have a size.
_SIZED = ("string", "bytes", "list", "map", "dyn", "any", "optional_type", "wrapper(string)", "wrapper(bytes)")


class Size(NamedTuple):
    """The maximum length of a value, and the maximum length of any value inside it."""

    length: int
    inner: int = 0

    def with_element(self, other: Size) -> Size:
        """The size of a container of this length that can also contain a value of the size `other`."""
        return Size(self.length, max(self.inner, other.length, other.inner))


SCALAR = Size(1)
UNKNOWN = Size(ENDLESS, ENDLESS)


def is_sized(type_name: str) -> bool:
    """Whether values of this static type may have a size other than 1."""
    return type_name.startswith(_SIZED)


def traversal(size: int, factor: float = 0.1) -> int:
    """The cost of reading a string."""
    return min(ENDLESS, ceil(size * factor)) if size < ENDLESS else ENDLESS


def _pattern(sizes: Sequence[int], _: int) -> int:
    return ceil((1 + sizes[0]) * 0.1) * ceil(sizes[1] * 0.25)


def _self_compare(sizes: Sequence[int], _: int) -> int:
    return int(2.1 * sizes[-1] ** 2) + 11


#: Function -> its cost, computed from the sizes of the arguments (a method's receiver is the first) and of the result.
CALLS: Mapping[str, Callable[[Sequence[int], int], int]] = {
    **dict.fromkeys(("startsWith", "endsWith"), lambda sizes, _: traversal(sizes[1])),
    **dict.fromkeys(
        ("url", "isURL", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "ip", "quantity"),
        lambda sizes, _: traversal(sizes[0]),
    ),
    **dict.fromkeys(
        ("isQuantity", "semver", "isSemver", "bytes", "string", "format"), lambda sizes, _: max(1, traversal(sizes[0]))
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), lambda sizes, _: traversal(sizes[0], 0.2)),
    "join": lambda _, result: traversal(result, 0.2),
    **dict.fromkeys(("find", "findAll", "matches"), _pattern),
    "contains": lambda sizes, _: traversal(sizes[0]) * traversal(sizes[1]),
    "@in": lambda sizes, _: max(1, sizes[1]),
    **dict.fromkeys(
        ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"), lambda sizes, _: max(1, traversal(min(sizes[0], sizes[1])))
    ),
    "_+_": lambda sizes, _: max(1, traversal(sizes[0] + sizes[1])),
    **dict.fromkeys(("lists.range", "reverse", "slice"), lambda _, result: result + 11),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys", "distinct"), _self_compare),
    **dict.fromkeys(
        ("sets.contains", "sets.intersects", "sets.equivalent"), lambda sizes, _: 1 + 2 * sizes[0] * sizes[1]
    ),
    "flatten": lambda sizes, _: 16 * sizes[0] + 11,
    "validate": lambda sizes, _: ceil((1 + sizes[1]) * 0.1) * 256,
    **dict.fromkeys(("containsIP", "containsCIDR"), lambda sizes, _: 8 + traversal(max(sizes))),
}
#: Functions that read all elements of a list.
_TRAVERSE = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
_FREE = frozenset({"_&&_", "_||_", "_?_:_"})


def call_cost(function: str, lengths: Sequence[int], sizes: Sequence[Size], result: int) -> int:
    """The maximum cost of the call itself, without its arguments."""
    if function in _FREE:
        return 0
    if function in _TRAVERSE:
        return lengths[0] * max(1, traversal(sizes[0].inner)) + traversal(lengths[0])
    cost = CALLS.get(function)
    try:
        return 1 if cost is None else min(ENDLESS, cost(lengths, result))
    except IndexError:  # a function with the same name and fewer arguments
        return 1


def _literal(node: Node) -> Any:
    kind = node.const_expr.WhichOneof("kind") if node.WhichOneof("kind") == "const_expr" else None
    return None if kind is None else getattr(node.const_expr, kind)


def _added(_: Sequence[Node], sizes: Sequence[Size]) -> Size:
    return Size(sum(size.length for size in sizes), max(size.inner for size in sizes))


def _replaced(args: Sequence[Node], sizes: Sequence[Size]) -> Size:
    text, by = sizes[0].length, sizes[2].length
    searched = _literal(args[1])
    times = text // len(searched) if isinstance(searched, str) and searched else text + 1
    return Size(text + times * by)


def _joined(_: Sequence[Node], sizes: Sequence[Size]) -> Size:
    return Size(sizes[0].length * (sizes[0].inner + (sizes[1].length if len(sizes) > 1 else 0)))


def _counted(args: Sequence[Node], _: Sequence[Size]) -> Size:
    end = _literal(args[0])
    return Size(max(0, end) if isinstance(end, int) else ENDLESS, 1)


def _formatted(_: Sequence[Node], sizes: Sequence[Size]) -> Size:
    # A formatting clause has two characters; it may print a thousand digits, or a list with all its elements.
    values = (sizes[1].length + 1) * (sizes[1].inner + 1) if len(sizes) > 1 else 1
    return Size(sizes[0].length * (1100 + 8 * min(values, ENDLESS)))


#: Functions that create strings, lists and maps -> the maximum size of the result.
MAKING: Mapping[str, Callable[[Sequence[Node], Sequence[Size]], Size]] = {
    "_+_": _added,
    "cel.@mapInsert": _added,
    "replace": _replaced,
    "join": _joined,
    "lists.range": _counted,
    "format": _formatted,
    "split": lambda _, sizes: Size(sizes[0].length + 1, sizes[0].length),
    "findAll": lambda _, sizes: Size(sizes[0].length + 1, sizes[0].length),
    "flatten": lambda _, sizes: Size(sizes[0].length * max(1, sizes[0].inner), sizes[0].inner),
}


def _widest(sizes: Sequence[Size]) -> Size:
    return Size(max(size.length for size in sizes), max(size.inner for size in sizes))


#: Functions whose result is at most as large as an argument -> the maximum size of the result.
PASSING: Mapping[str, Callable[[Sequence[Size]], Size]] = {
    **dict.fromkeys(
        [
            "_?_:_",
            "dyn",
            "lowerAscii",
            "upperAscii",
            "trim",
            "substring",
            "charAt",
            "find",
            "sort",
            "@sortByAssociatedKeys",
            "reverse",
            "distinct",
            "slice",
            "optional.of",
            "optional.ofNonZeroValue",
            "or",
            "orValue",
            "value",
            "min",
            "max",
            "sum",
            "strings.quote",
            "url",
            "cidr",
            "masked",
            "getHost",
            "getHostname",
            "getScheme",
            "getPort",
            "getEscapedPath",
            "format.named",
        ],
        _widest,
    ),
    # A few error messages that quote the string.
    "validate": lambda sizes: Size(16, 512 + 4 * sizes[1].length),
    # The string form of a number, a time or an address; or the string itself.
    **dict.fromkeys(("string", "bytes", "type"), lambda sizes: Size(max(64, 4 * sizes[0].length))),
    **dict.fromkeys(
        ("quantity", "semver", "ip", "add", "sub", "getQuery"), lambda sizes: Size(sizes[0].length, sizes[0].length)
    ),
}
