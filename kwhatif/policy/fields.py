"""What an expression of the policy reads, held against the fields that a report has: a typo is a mistake, not a no."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import inspect

from kwhatif.cel import Program
from kwhatif.policy.names import did_you_mean
from kwhatif.report.decision import Decision
from kwhatif.report.workload import WorkloadRow

_TYPES = {"decision": Decision, "workload": WorkloadRow}
_NODE = ("labels", "name")
_SCALARS: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "bool",
    inspect.IntType: "int",
    inspect.StrType: "string",
}


def mistakes(program: Program) -> Iterator[str]:
    """Fields that no decision, workload or node has; and an expression that is a field which is not a bool."""
    for path in sorted(program.paths):
        wrong = _unknown(path)
        if wrong:
            yield wrong
    found = _type_at(program.root) if program.root else None
    name = "bool" if found is None else _SCALARS.get(type(found), "bool")
    if name != "bool":
        yield f"must evaluate to bool, not {name}"


def _unknown(path: tuple[str, ...]) -> str:
    variable, *fields = path
    if variable == "node":
        known, field = _NODE, fields[0] if fields else _NODE[0]
        return "" if field in known else _no_such_field("node", field, known)
    for depth, field in enumerate(fields):
        above = _type_at((variable, *fields[:depth]))
        if isinstance(above, inspect.StructType):
            names = [each.encode_name for each in above.fields]
            if field not in names:
                return _no_such_field(".".join(path[: depth + 1]), field, names)
    return ""


def _no_such_field(above: str, field: str, known: tuple[str, ...] | list[str]) -> str:
    return f"{above} has no field {field!r}{did_you_mean(field, known)}"


def _type_at(path: tuple[str, ...]) -> inspect.Type | None:
    """The type of a field; None where that cannot be known."""
    variable, *fields = path
    if variable not in _TYPES:
        return None
    found: inspect.Type | None = inspect.type_info(_TYPES[variable])
    for field in fields:
        if not isinstance(found, inspect.StructType):
            return None
        found = next((_plain(each.type) for each in found.fields if each.encode_name == field), None)
    return found


def _plain(info: inspect.Type) -> inspect.Type:
    """Of `X | None` the X."""
    if not isinstance(info, inspect.UnionType):
        return info
    others = [member for member in info.types if not isinstance(member, inspect.NoneType)]
    return others[0] if len(others) == 1 else info
