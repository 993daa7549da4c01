"""Reports name custom resources as users do: `Rollout shop/web`, not the Deployment as which it is judged."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.report import Report
from kwhatif.report.inputs import StandInRow

#: The name of an object in a text: `Deployment shop/web`.
_NAME = re.compile(r"(?<![\w./-])[A-Z][A-Za-z]+ [\w-]+/[\w-]+(?:\.[\w-]+)*(?![\w/-])")


def with_own_names(report: Report) -> Report:
    """The report with the names of custom resources; `stand_ins` are reduced to those that it names."""
    names = {row.judged_as: row.object for row in report.stand_ins}
    if not names:
        return report
    names |= {_whole(row): "" for row in report.stand_ins}
    used: set[str] = set()

    def own_name(match: re.Match[str]) -> str:
        if match[0] in names:
            used.add(match[0])
        return names.get(match[0]) or match[0]

    def named(text: str) -> str:
        return _NAME.sub(own_name, text)

    renamed: Report = _walked(replace(report, stand_ins=()), named)
    kept = tuple(row for row in report.stand_ins if row.judged_as in used or _whole(row) in used)
    return replace(renamed, stand_ins=kept)


def _whole(row: StandInRow) -> str:
    """The custom resource without the part."""
    return row.object.partition(" (")[0]


def _walked(value: Any, named: Callable[[str], str]) -> Any:
    """The value with all texts renamed."""
    new: Any = value
    if isinstance(value, str):
        new = named(value)
    elif isinstance(value, msgspec.Struct):
        fields = {name: (was, _walked(was, named)) for name in value.__struct_fields__ if (was := getattr(value, name))}
        changed = {name: now for name, (was, now) in fields.items() if now is not was}
        new = replace(value, **changed) if changed else value
    elif isinstance(value, tuple | list):
        items = [_walked(each, named) for each in value]
        new = value if all(now is was for now, was in zip(items, value, strict=True)) else type(value)(items)
    elif isinstance(value, Mapping):
        new = {_walked(key, named): _walked(each, named) for key, each in value.items()}
    return new
