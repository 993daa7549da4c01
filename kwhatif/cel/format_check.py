"""What is wrong with `"...".format([...])` before it is evaluated.

Follows `stringFormatValidator` and `parseFormatString` in cel-go's `ext/formatting.go`: a literal is read clause by
clause, and each clause held against the static type of its argument, if all arguments are there as a literal list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kwhatif.cel.checked import Checked, Node, literal_text

_CLAUSE = re.compile(rb"(?:\.(?P<precision>[0-9]*))?(?P<verb>.)?", re.DOTALL)


class Verb(NamedTuple):
    """What a clause takes, and what is said of anything else."""

    types: frozenset[str]
    refusal: str


_INTEGERS = frozenset({"int", "uint"})
_DOUBLES = frozenset({"double", "string"})  # the strings NaN, Infinity and -Infinity
_TEXTS = _INTEGERS | {
    *("list", "map", "double", "bool", "string", "bytes", "type", "null", "null_type"),
    *("google.protobuf.Timestamp", "google.protobuf.Duration", "timestamp", "duration"),
}
_VERBS = {
    "s": Verb(
        _TEXTS,
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
        " timestamps",
    ),
    "d": Verb(_INTEGERS, "decimal clause can only be used on integers"),
    "f": Verb(_DOUBLES, "fixed-point clause can only be used on doubles"),
    "e": Verb(_DOUBLES, "scientific clause can only be used on doubles"),
    "b": Verb(_INTEGERS | {"bool"}, "only integers and bools can be formatted as binary"),
    "x": Verb(_INTEGERS | {"string", "bytes"}, "only integers, byte buffers, and strings can be formatted as hex"),
    "o": Verb(_INTEGERS, "octal clause can only be used on integers"),
}
_VERBS["X"] = _VERBS["x"]
#: Static types by the names that they have when a program runs.
_NAMES = {"any": "google.protobuf.Any", "null": "null_type"}


class Problem(NamedTuple):
    """What is wrong, and with which node."""

    text: str
    node: Node


def check_format(checked: Checked, call: Node) -> Problem | None:
    """The first thing that is wrong with the call of a method `format`; None for anything else."""
    receiver = literal_text(call.call_expr.target)
    args = call.call_expr.args
    if receiver is None or len(args) != 1 or args[0].WhichOneof("kind") != "list_expr":
        return None
    elements = list(args[0].list_expr.elements)
    found = _read(receiver.encode(), elements, lambda node: _type_name(checked, node))
    if isinstance(found, str):
        return Problem(found, call)
    if isinstance(found, int) and len(elements) > found:
        told = f"too many arguments supplied to string.format (expected {found}, got {len(elements)})"
        return Problem(told, call)
    return found if isinstance(found, Problem) else None


def _read(text: bytes, elements: Sequence[Node], type_of: Callable[[Node], str]) -> int | str | Problem:
    """How many arguments the text asks for, or what is wrong."""
    asked = position = 0
    while (position := text.find(b"%", position)) >= 0:
        position += 1
        if text[position : position + 1] == b"%":
            position += 1
            continue
        if position == len(text):
            return "unexpected end of string"
        if asked >= len(elements):
            return f"index {asked} out of range"
        clause = _CLAUSE.match(text, position)
        assert clause is not None
        problem = _syntax(clause) or _argument(_VERBS[clause["verb"].decode()], elements[asked], type_of)
        if problem:
            return problem
        position = clause.end()
        asked += 1
    return asked


def _syntax(clause: re.Match[bytes]) -> str:
    precision, verb = clause["precision"], clause["verb"]
    problem = ""
    if precision is not None and verb is None:
        problem = "error while parsing precision: could not find end of precision specifier"
    elif precision is not None and (not precision or int(precision) >= 2**63):
        why = "value out of range" if precision else "invalid syntax"
        problem = (
            "error while parsing precision: error while converting precision to integer:"
            f' strconv.Atoi: parsing "{precision.decode()}": {why}'
        )
    elif verb.decode("latin-1") not in _VERBS:
        problem = f'unrecognized formatting clause "{verb.decode("latin-1")}"'
    return f"could not parse formatting clause: {problem}" if problem else ""


def _argument(verb: Verb, node: Node, type_of: Callable[[Node], str]) -> Problem | None:
    wrong = _misfit(verb, node, type_of, deep=verb is _VERBS["s"])
    if wrong is None:
        return None
    return Problem(f"error during formatting: {verb.refusal}, was given {type_of(wrong)}", wrong)


def _misfit(verb: Verb, node: Node, type_of: Callable[[Node], str], *, deep: bool) -> Node | None:
    """The node itself, or an element of a literal list or map, that the clause does not take."""
    if type_of(node) not in verb.types | {"dyn"}:
        return node
    if not deep:
        return None
    entries = node.struct_expr.entries
    parts = [*node.list_expr.elements, *(part for entry in entries for part in (entry.map_key, entry.value))]
    return next(filter(None, (_misfit(verb, part, type_of, deep=True) for part in parts)), None)


def _type_name(checked: Checked, node: Node) -> str:
    name = checked.type_of(node).partition("(")[0]
    return _NAMES.get(name, name)
