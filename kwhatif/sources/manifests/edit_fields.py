"""Fields that edits set, by their paths: what they may hold is in the API server's table of fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from kwhatif.edits.edit import Assignment, Wrong
from kwhatif.kube.gates import BASE
from kwhatif.kube.matching.names import did_you_mean, nearest
from kwhatif.kube.model.kinds import Resource
from kwhatif.scheduler.release import NEWEST
from kwhatif.sources.decoding.api_fields import ApiFields, api_fields
from kwhatif.sources.decoding.lenient import reader
from kwhatif.sources.decoding.strict import unknown_fields_and_wrong_types
from kwhatif.sources.text.origin import FieldPath, to_text
from kwhatif.sources.validation.objects import CANDIDATES


def field_assignment(resource: Resource, path: str, value: Any, minor: int = BASE) -> Assignment:
    """A field by its path, and its new value; text becomes what the field holds.

    Raises:
        Wrong: there is no such field, or it does not take the value.
    """
    steps, code = _Path(_table_for(resource, minor), resource, path).steps()
    if isinstance(value, str):
        value = _typed(value, code)
    if value is not None:
        check_fragment(resource, _nested(steps, value), minor)
    return Assignment(steps, value)


def _typed(text: str, code: str) -> Any:
    """Text as a value of that type (see `api_fields`): strings stay, all else is JSON."""
    if text == "null":
        return None
    if code in ("s", "y", "q"):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _nested(steps: FieldPath, value: Any) -> Any:
    """An object with nothing but that field."""
    for step in reversed(steps):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def _table_for(resource: Resource, minor: int) -> ApiFields:
    """The fields of Kubernetes 1.`minor`; of a kind that it does not serve in v1 those of the newest release."""
    table = api_fields(f"1.{minor}")
    has_it = table.type_of(resource.api_version, resource.kind) is not None
    return table if has_it else api_fields(f"1.{NEWEST}")


def check_fragment(resource: Resource, fragment: Any, minor: int = BASE) -> None:
    """Part of an object, judged as the API server judges the whole.

    Raises:
        Wrong: there is no such field, or a value is wrong; the first that is.
    """
    table = _table_for(resource, minor)
    type_ = table.type_of(resource.api_version, resource.kind)
    assert type_ is not None, resource
    for finding in unknown_fields_and_wrong_types(fragment, type_, table):
        message = finding.message if finding.is_lax else f"{to_text(finding.path)}: {finding.message}"
        raise Wrong(message, finding.hint)

    def refuse(message: str, path: FieldPath, hint: str = "") -> None:
        raise Wrong(f"{to_text(path)}: {message}", hint)

    read = reader(resource.type)(fragment, (), refuse)
    CANDIDATES.validate(msgspec.convert({**read, "kind": resource.kind}, resource.type), refuse)


class _Path:
    """A path of a field, walked along the API server's table: `status.allocatable.nvidia.com/gpu` ends with a key."""

    _STEP = re.compile(r"\[(?P<quote>[\"']?)(?P<key>[^\]]*?)(?P=quote)\]|\.?(?P<name>[^.\[\]]+)")

    def __init__(self, table: ApiFields, resource: Resource, path: str) -> None:
        self._table = table
        self._resource = resource
        self._path = path

    def steps(self) -> tuple[FieldPath, str]:
        """The steps, and the code of the field's type.

        Raises:
            Wrong: there is no such field.
        """
        number = self._table.type_of(self._resource.api_version, self._resource.kind)
        code, rest = str(number), self._path.removeprefix(".")
        model: inspect.Type | None = inspect.type_info(self._resource.type)
        steps: list[str | int] = []
        while rest:
            if code[0] == "{" and not code[1:].isdigit() and rest[0] not in "[.":
                step, rest = rest, ""  # a key of simple values: dots belong to it
            else:
                step, rest = self._next(rest)
            here, code = self._below(code, step, steps)
            model = _model_below(model, here)
            steps.append(here)
            if model is None:
                raise Wrong(f"scheduling does not read {to_text(tuple(steps))}: nothing would change")
        if not steps:
            raise Wrong("the path is empty")
        return tuple(steps), code

    def _next(self, rest: str) -> tuple[str, str]:
        match = self._STEP.match(rest)
        if match is None:
            raise Wrong(
                f"{self._path!r} is not the path of a field", 'write spec.containers[0].name, or labels["a.b/c"]'
            )
        step = match["name"] if match["key"] is None else match["key"]
        return step, rest[match.end() :].removeprefix(".")

    def _below(self, code: str, step: str, before: Sequence[str | int]) -> tuple[str | int, str]:
        place = to_text(tuple(before))
        if code.isdigit():
            fields = self._table.types[int(code)]
            if step in fields:
                return step, fields[step]
            hint = did_you_mean(nearest(step, fields)[:1], otherwise=f"there {_are(list(fields))}")
            raise Wrong(f'unknown field "{to_text((*before, step))}"', hint)
        if code[0] == "[":
            if not step.isdigit():
                raise Wrong(f"{place} is a list: {step!r} is not an index", f"write {place}[0]")
            return int(step), code[1:]
        if code[0] == "{":
            return step, code[1:]
        raise Wrong(f"{place} holds nothing below: there is no {step!r} in it")


def _are(fields: Sequence[str]) -> str:
    shown = ", ".join(sorted(fields)[:8])
    return f"are {shown}" + (", …" if len(fields) > 8 else "")


def _model_below(model: inspect.Type | None, step: str | int) -> inspect.Type | None:
    """The type of a field as kwhatif reads it; None where it does not."""
    model = next(_options(model), None) if isinstance(model, inspect.UnionType) else model
    match model:
        case inspect.StructType():
            return next((field.type for field in model.fields if field.encode_name == step), None)
        case inspect.VarTupleType():
            return model.item_type
        case inspect.DictType():
            return model.value_type
    return None


def _options(union: inspect.UnionType) -> Iterator[inspect.Type]:
    return (option for option in union.types if not isinstance(option, inspect.NoneType))
