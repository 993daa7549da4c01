"""Decoding of a policy as the descheduler does it, with Go's error messages (`sigs.k8s.io/json`).

Follows `descheduler/policyconfig.go` and `api/v1alpha2/conversion.go`. The first value of a wrong type is an error;
unknown fields are collected, and the caller decides whether they are errors. Fields are decoded in the order of the
data; see `sorted_keys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import inspect

from kwhatif.descheduler import policy as written
from kwhatif.descheduler.policy import API_VERSION, ARGUMENTS, INTEGERS, KIND, Args
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import did_you_mean, nearest, quoted
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import FieldIgnored
from kwhatif.kube.model.meta import LabelSelector, Requirement
from kwhatif.kube.model.quantity import parse_duration

T = TypeVar("T")

_JSON_NAMES: dict[type, str] = {
    bool: "bool",
    dict: "object",
    float: "number",
    int: "number",
    list: "array",
    str: "string",
}
#: Go's names of shared types.
_SHARED: dict[type, str] = {LabelSelector: "v1.LabelSelector", Requirement: "v1.LabelSelectorRequirement"}
_OF_FIELDS = {("LabelSelectorRequirement", "operator"): "v1.LabelSelectorOperator"}
_SCALARS: dict[type[inspect.Type], tuple[str, type]] = {
    inspect.StrType: ("string", str),
    inspect.BoolType: ("bool", bool),
}


class Decoded(msgspec.Struct, Generic[T], frozen=True):
    """The result of decoding: the value, unless something in it has a wrong type."""

    value: T | None
    #: Go's message about the first value of a wrong type, and its path; "" if there is none.
    error: str = ""
    error_at: str = ""
    #: Unknown fields, with a similar known one: `conditions[0].typ`: `type`; "" if there is none.
    unknown: Mapping[str, str] = {}


def go_decode(data: Any, type_: type[T]) -> Decoded[T]:
    """Decode plain data; `null` counts as missing."""
    reader = _Reader()
    cleaned = reader.read(data, inspect.type_info(type_), _Location(go_name(type_).rpartition(".")[2]))
    if reader.error:
        return Decoded(None, reader.error, reader.error_at, reader.unknown)
    return Decoded(msgspec.convert(cleaned, type_), unknown=reader.unknown)


def sorted_keys(data: Any) -> Any:
    """The data of a YAML file as the descheduler sees it: JSON with sorted keys (`sigs.k8s.io/yaml`)."""
    if isinstance(data, dict):
        return {key: sorted_keys(data[key]) for key in sorted(data)}
    return [sorted_keys(each) for each in data] if isinstance(data, list) else data


def json_name(value: object) -> str:
    """Go's name for a JSON value."""
    return _JSON_NAMES.get(type(value), "null")


def go_name(type_: type) -> str:
    """Go's name of the type, such as `api.Namespaces`."""
    return _SHARED.get(type_) or getattr(type_, "go", "") or type_.__name__


class _Location(msgspec.Struct, frozen=True):
    """The position of a value in the data: the innermost struct, the fields down to it, and the path with indexes."""

    struct: str
    fields: tuple[str, ...] = ()
    path: str = ""

    def field(self, struct: str, name: str) -> _Location:
        return _Location(struct, (*self.fields, name), f"{self.path}.{name}" if self.path else name)

    def item(self, index: int | str) -> _Location:
        return msgspec.structs.replace(self, path=f"{self.path}[{index}]")


class _Reader:
    def __init__(self) -> None:
        self.error = ""
        self.error_at = ""
        self.unknown: dict[str, str] = {}

    def read(self, value: Any, info: inspect.Type, location: _Location, go: str = "") -> Any:
        """The value in the form for the typed decoder; `go`: Go's name of its type."""
        match info:
            case inspect.Metadata():
                if (info.extra or {}).get("duration"):
                    return self._duration(value, location)
                return self.read(value, info.type, location, (info.extra or {}).get("go", ""))
            case inspect.UnionType():
                inner = next(member for member in info.types if not isinstance(member, inspect.NoneType))
                return self.read(value, inner, location, go)
            case inspect.StructType():
                return self._struct(value, info, location)
            case inspect.VarTupleType():
                return self._list(value, info, location)
            case inspect.DictType():
                return self._map(value, info, location, go)
            case inspect.IntType() | inspect.FloatType():
                return self._number(value, location, go)
            case inspect.AnyType():
                return value
        name, python = _SCALARS[type(info)]
        return value if isinstance(value, python) else self._wrong(value, go or name, location)

    def _wrong(self, value: Any, go: str, location: _Location, shown: str = "") -> None:
        found = shown or json_name(value)
        go = _OF_FIELDS.get((location.struct, location.fields[-1] if location.fields else ""), go)
        where = f"{location.struct}.{'.'.join(location.fields)}"
        self._fail(f"json: cannot unmarshal {found} into Go struct field {where} of type {go}", location)

    def _fail(self, message: str, location: _Location) -> None:
        if not self.error:
            self.error, self.error_at = message, location.path

    def _struct(self, value: Any, info: inspect.StructType, location: _Location) -> Any:
        go = go_name(info.cls)
        if not isinstance(value, dict):
            return self._wrong(value, go, location)
        fields = {field.encode_name: field for field in info.fields}
        made = {}
        for name in value:
            here = location.field(go.rpartition(".")[2], name)
            if name not in fields:
                self.unknown[here.path] = did_you_mean(nearest(name, fields)[:1])
            elif value[name] is not None:
                made[name] = self.read(value[name], fields[name].type, here)
        return made

    def _list(self, value: Any, info: inspect.VarTupleType, location: _Location) -> Any:
        if not isinstance(value, list):
            return self._wrong(value, f"[]{_go_of(info.item_type)}", location)
        zero = {} if isinstance(info.item_type, inspect.StructType) else _zero(info.item_type)
        return [
            zero if item is None else self.read(item, info.item_type, location.item(index))
            for index, item in enumerate(value)
        ]

    def _map(self, value: Any, info: inspect.DictType, location: _Location, go: str) -> Any:
        if not isinstance(value, dict):
            return self._wrong(value, go or f"map[string]{_go_of(info.value_type)}", location)
        return {
            name: _zero(info.value_type)
            if value[name] is None
            else self.read(value[name], info.value_type, location.item(f'"{name}"'))
            for name in value
        }

    def _number(self, value: Any, location: _Location, go: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self._wrong(value, go, location)
        if go not in INTEGERS:
            return float(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        low, high = INTEGERS[go]
        if isinstance(value, float) or not low <= value <= high:
            return self._wrong(value, go, location, f"number {value}")
        return value

    def _duration(self, value: Any, location: _Location) -> Any:
        if not isinstance(value, str):
            return self._wrong(value, "string", location)
        try:
            parse_duration(value)
        except ValueError:
            self._fail(f"time: {_duration_error(value)} {quoted(value)}", location)
        return value


def _duration_error(text: str) -> str:
    """The error about an invalid duration (`time.ParseDuration`)."""
    rest = text.lstrip("+-") if text[:1] in "+-" else text
    number = rest.rstrip("0123456789.")
    return "missing unit in duration" if rest and not number and rest.count(".") <= 1 else "invalid duration"


def _go_of(info: inspect.Type) -> str:
    match info:
        case inspect.Metadata():
            return str((info.extra or {}).get("go", ""))
        case inspect.StructType():
            return go_name(info.cls)
    return _SCALARS[type(info)][0]


def _zero(info: inspect.Type) -> Any:
    inner = info.type if isinstance(info, inspect.Metadata) else info
    return {inspect.StrType: "", inspect.BoolType: False, inspect.FloatType: 0.0}.get(type(inner), 0)


_SCHEME = '"pkg/runtime/scheme.go:111"'
_NO_VERSION = "couldn't get version/kind; json parse error: json: "
#: The Go type that version and kind are decoded into.
_GO_META = r"""struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"""
#: The name of a plugin and its arguments; None: the plugin does not exist.
NamedArgs = tuple[str, Args | None]


class PolicyReader:
    """Decodes one policy as the descheduler's codec does."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _failed(self, message: str, field: str = "", hint: str = "") -> InputError:
        return refusal(
            self._name, f"failed decoding descheduler's policy config {quoted(self._name)}: {message}", field, hint
        )

    def config(self, data: Mapping[str, Any]) -> tuple[written.DeschedulerPolicy | None, list[Caveat]]:
        """The policy as written in the file; None if the descheduler treats it as empty.

        QUIRK: (policyconfig.go, decode) without an apiVersion it is decoded into a type that has none of the fields.
        """
        version, kind = self._version_and_kind(data)
        kind = kind or KIND
        hint = f"a policy begins with apiVersion: {API_VERSION}, kind: {KIND}"
        if not version:
            if kind == KIND:
                return None, []
            group = API_VERSION.partition("/")[0]
            wrong = f'no kind "{kind}" is registered for the internal version of group "{group}" in scheme {_SCHEME}'
            raise self._failed(wrong, "kind", hint)
        if version.count("/") > 1:
            raise self._failed(f"unexpected GroupVersion string: {version}", "apiVersion")
        if version != API_VERSION or kind != KIND:
            raise self._failed(
                f'no kind "{kind}" is registered for version "{version}" in scheme {_SCHEME}',
                "kind" if version == API_VERSION else "apiVersion",
                hint,
            )
        decoded = go_decode(data, written.DeschedulerPolicy)
        if decoded.value is None:
            raise self._failed(decoded.error, decoded.error_at)
        return decoded.value, [
            FieldIgnored(
                where=f"{self._name}: {field}", problem="the descheduler has no such field, and ignores it", hint=hint
            )
            for field, hint in decoded.unknown.items()
        ]

    def _version_and_kind(self, data: Mapping[str, Any], path: str = "") -> tuple[str, str]:
        """QUIRK: (Interpret, of apimachinery) field names are case-insensitive here, and the last one counts."""
        found = {"apiversion": "", "kind": ""}
        for name, value in data.items():
            if value is None or name.lower() not in found:
                continue
            if not isinstance(value, str):
                field = "kind" if name.lower() == "kind" else "apiVersion"
                wrong = f"cannot unmarshal {json_name(value)} into Go struct field .{field} of type string"
                raise self._failed(f"{_NO_VERSION}{wrong}", f"{path}{name}")
            found[name.lower()] = value
        return found["apiversion"], found["kind"]

    def arguments(self, config: written.DeschedulerPluginConfig, path: str) -> NamedArgs:
        """The arguments of a plugin with their type; None if the plugin does not exist."""
        type_ = ARGUMENTS.get(config.name)
        if type_ is None:
            return config.name, None
        if config.args is None:
            return config.name, type_()
        if not isinstance(config.args, dict):
            wrong = f"cannot unmarshal {json_name(config.args)} into Go value of type {_GO_META}"
            raise self._failed(f"{_NO_VERSION}{wrong}", f"{path}.args")
        self._version_and_kind(config.args, f"{path}.args.")
        decoded = go_decode(config.args, type_)
        if decoded.value is None:
            raise self._failed(decoded.error, f"{path}.args.{decoded.error_at}")
        if decoded.unknown:
            fields = ", ".join(f"unknown field {quoted(field)}" for field in decoded.unknown)
            first, hint = next(iter(decoded.unknown.items()))
            raise self._failed(f"strict decoding error: {fields}", f"{path}.args.{first}", hint)
        return config.name, decoded.value


def refusal(name: str, message: str, field: str = "", hint: str = "") -> InputError:
    """The error for a policy with that name, with the descheduler's message."""
    return InputError([Problem(name, message, field, hint)])
