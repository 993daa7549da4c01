"""Rewrites a type-checked expression so that the engine evaluates it as Kubernetes would.

The type checker uses Kubernetes' types and functions as `environment.yaml` declares them. At run time their values are
byte strings (`values.py`), and the functions are those of `library.py`. So these rules replace nodes of the tree:

* comparisons of quantities and versions become the engine's own comparisons, and their literals become constants;
* functions that return an optional, or a value whose type would be lost in Python, are wrapped or renamed;
* `find` and `findAll` become the engine's `regex.extract` and `regex.replace`;
* has() on a value without fields is false, and the range of a negative number is empty;
* a domain that a device does not have is an empty map instead of an error (`newStringInterfaceMapWithDefault` in
  `k8s.io/dynamic-resource-allocation/cel/compile.go`);
* `==` with a version on the left and no version on the right is an error (`k8s.io/apiserver/pkg/cel/semver.go`).
"""

from __future__ import annotations

from collections.abc import Callable

from kwhatif.cel import values
from kwhatif.cel.checked import Checked, Node, call, constant, empty_map, identifier, literal_text, member_call, walk
from kwhatif.cel.library import MARK, RENAMED, TYPED, parse_semver, without_groups
from kwhatif.kube.model.quantity import parse_quantity

#: Static types of `device.attributes` and `device.capacity`.
DOMAINS = frozenset({"map(string, map(string, any))", "map(string, map(string, kubernetes.Quantity))"})


def rewrite(checked: Checked) -> dict[str, str]:
    """Apply every rule to the tree of `checked`, in place.

    Returns:
        Operator -> the overload that it replaces, whose name is in error messages. And for `regex`, the prefix of
        errors in patterns.
    """
    operators: dict[str, str] = {}
    for node in walk(checked.root):
        kind = node.WhichOneof("kind")
        replacement = None
        if kind == "call_expr":
            operators |= {_OPERATORS[name]: name for name in checked.overloads(node) if name in _OPERATORS}
            if node.call_expr.function in {"find", "findAll"}:
                operators["regex"] = "Illegal regex: "
            replacement = _call(checked, node)
        elif kind == "select_expr":
            replacement = _select(checked, node)
        if replacement is not None:
            replacement.id = node.id  # the rules for the parent nodes need its type
            node.CopyFrom(replacement)
    return operators


def _call(checked: Checked, node: Node) -> Node | None:
    overloads = checked.overloads(node)
    if len(overloads) == 1 and (rule := _RULES.get(overloads[0])):
        return rule(node)
    function, args = node.call_expr.function, node.call_expr.args
    if function in {"_==_", "_!=_"}:
        return _equals(checked, node)
    if function == "type":
        return _type(args[0], checked.type_of(args[0]))
    if function in _CONVERSIONS and len(args) == 1 and (found := checked.type_of(args[0])) in {"string", "any"}:
        return _convert(function, args[0], is_text=found == "string")
    if function in {"_[_]", "_[?_]", "_?._"} and checked.type_of(args[0]) in DOMAINS:
        found = _domain(args[0], args[1])
        return found if function == "_[_]" else call("optional.of", found)
    return None


def _type(value: Node, found: str) -> Node | None:
    """The type of a value; for Kubernetes' own types a name that is equal only to itself."""
    if found in values.KUBERNETES_TYPES:
        return constant(found)
    if found == "any":
        return call("_?_:_", _is_type(value, "bytes"), constant("kubernetes.Semver"), call("type", value))
    return None


def _convert(function: str, value: Node, *, is_text: bool) -> Node:
    """A conversion of a string, or of an attribute (a string, number, bool or version)."""
    of_text = _CONVERSIONS[function]
    if is_text:
        return of_text(value) or call(function, value)
    found = call(function, value)
    # These types the engine can convert, but cel-go cannot; a byte string is a version.
    for kind, named in (("bytes", "kubernetes.Semver"), *([] if function in _OF_BOOL else [("bool", "bool")])):
        refusal = call("@noSuchOverload", constant("size" if function == "size" else f"{function}({named})"))
        found = call("_?_:_", _is_type(value, kind), refusal, found)
    text = of_text(value)
    return found if text is None else call("_?_:_", _is_type(value, "string"), text, found)


def _domain(domains: Node, name: Node) -> Node:
    return call("_?_:_", call("@in", name, domains), call("_[_]", domains, name), empty_map())


def _select(checked: Checked, node: Node) -> Node | None:
    select = node.select_expr
    found = checked.type_of(select.operand)
    if found in DOMAINS:
        # QUIRK: has() of a missing domain is true; only `in` is false.
        return constant(value=True) if select.test_only else _domain(select.operand, constant(select.field))
    if select.test_only and found in {"any", "dyn"}:
        return call("_&&_", _is_type(select.operand, "map"), node)
    return None


def _equals(checked: Checked, node: Node) -> Node | None:
    left, right = node.call_expr.args
    left_type, right_type = checked.type_of(left), checked.type_of(right)
    is_unequal = node.call_expr.function == "_!=_"  # true whenever == is not true, even if == is an error
    if left_type == "kubernetes.Quantity" and set(checked.overloads(right)) & _ARITHMETIC:
        # QUIRK: (quantity.go) sums are pointers to quantities; as right operands upstream does not recognize pointers.
        return constant(value=True) if is_unequal else call("@noSuchOverload")
    if is_unequal or left_type != "any" or right_type in {"null", *values.KUBERNETES_TYPES}:
        return None
    surprise = _is_type(left, "bytes")
    if right_type in {"any", "dyn"}:
        surprise = call("_&&_", surprise, call("!_", _is_type(right, "bytes")))
    return call("_?_:_", surprise, call("@noSuchOverload"), call("_==_", left, right))


def _is_type(node: Node, name: str) -> Node:
    return call("_==_", call("type", node), identifier(name))


def _operator(name: str) -> Callable[[Node], Node]:
    return lambda node: call(name, node.call_expr.target, *node.call_expr.args)


def _compare_to(node: Node) -> Node:
    return _compare(node.call_expr.target, node.call_expr.args[0])


def _compare(left: Node, right: Node) -> Node:
    above = call("_?_:_", call("_>_", left, right), constant(1), constant(0))
    return call("_?_:_", call("_<_", left, right), constant(-1), above)


def _literal(parse: Callable[[str], bytes]) -> Callable[[Node], Node | None]:
    def rule(node: Node) -> Node | None:
        text = literal_text(node.call_expr.args[0])
        try:
            return None if text is None else constant(parse(text))
        except ValueError:
            return None  # a runtime error, which `||` may absorb

    return rule


def _range(node: Node) -> Node:
    (end,) = node.call_expr.args
    return call("lists.range", call("_?_:_", call("_<_", end, constant(0)), constant(0), end))


def _find(node: Node) -> Node:
    pattern = node.call_expr.args[0]
    text = literal_text(pattern)
    if text is None:
        return call("@firstMarked", _marked(node))
    whole = constant(without_groups(text))
    return member_call(call("regex.extract", node.call_expr.target, whole), "orValue", constant(""))


def _find_all(node: Node) -> Node:
    return call("@marked", _marked(node), *(list(node.call_expr.args)[1:] or [constant(-1)]))


def _marked(node: Node) -> Node:
    """The text, split before and after each match of the pattern."""
    replaced = call("regex.replace", node.call_expr.target, node.call_expr.args[0], constant(rf"{MARK}\0{MARK}"))
    return member_call(replaced, "split", constant(MARK))


def _named_format(node: Node) -> Node:
    (name,) = node.call_expr.args
    return call("_?_:_", call("@isFormat", name), call("optional.of", node), call("optional.none"))


def _rename(function: str) -> Callable[[Node], Node]:
    def rule(node: Node) -> Node:
        target = [node.call_expr.target] if node.call_expr.HasField("target") else []
        return call(function, *target, *node.call_expr.args)

    return rule


def _by_python(name: str) -> Callable[[Node], Node | None]:
    return lambda text: call(f"@{name}.string", text)


def _by_engine(name: str) -> Callable[[Node], Node | None]:
    return lambda text: call(name, call(f"@{name}.string", text))


def _unchanged(_: Node) -> Node | None:
    return None


#: Conversion (or size(), which accepts any type) -> its rule for strings, if Kubernetes parses strings differently.
_CONVERSIONS: dict[str, Callable[[Node], Node | None]] = {
    **{name: _by_python(name) for name in ("int", "uint", "double", "bool")},
    **{name: _by_engine(name) for name in ("duration", "timestamp")},
    **dict.fromkeys(("string", "bytes", "size"), _unchanged),
}
#: Conversions that also accept a bool in cel-go.
_OF_BOOL = frozenset({"bool", "string"})
_ARITHMETIC = frozenset(
    f"kubernetes.Quantity.{name}({operand})" for name in ("add", "sub") for operand in ("kubernetes.Quantity", "int")
)
#: Comparison -> the operator that replaces it.
_OPERATORS = {
    f"{name}.{method}({name})": operator
    for name in ("kubernetes.Quantity", "kubernetes.Semver")
    for method, operator in (("isGreaterThan", "_>_"), ("isLessThan", "_<_"), ("compareTo", "_<_"))
}
#: Overload id -> the rule for calls for which this is the only possible overload.
_RULES: dict[str, Callable[[Node], Node | None]] = {
    **{
        overload: _operator(operator) if "compareTo" not in overload else _compare_to
        for overload, operator in _OPERATORS.items()
    },
    "sign(kubernetes.Quantity)": lambda node: _compare(node.call_expr.args[0], constant(values.quantity(0))),
    "quantity(string)": _literal(lambda text: values.quantity(parse_quantity(text))),
    "semver(string)": _literal(lambda text: values.semver(parse_semver(text))),
    "list_range": _range,
    "string.find(string)": _find,
    "string.findAll(string)": _find_all,
    "string.findAll(string,int)": _find_all,
    "kubernetes.NamedFormat.validate(string)": lambda node: call("optional.ofNonZeroValue", node),
    "format_named": _named_format,
    "string(net.IP)": _rename("@string.ip"),
    "string(net.CIDR)": _rename("@string.cidr"),
    **{overload: _rename(function) for overload, function in RENAMED.items()},
    **{f"list<{kind}>.{name}()": _rename(f"@{kind}.{name}") for kind in TYPED for name in ("min", "max", "sum")},
}
