"""Decodes a policy as the descheduler's codec does, with its error messages.

Follows `descheduler/policyconfig.go` and `api/v1alpha2/conversion.go`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.descheduler import policy as written
from kwhatif.descheduler.arguments import ARGUMENTS
from kwhatif.descheduler.decode import go_decode, json_name
from kwhatif.descheduler.go_types import Args, quoted
from kwhatif.descheduler.policy import API_VERSION, KIND
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import FieldIgnored

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
                where=f"{self._name}: {field}",
                problem="the descheduler has no such field, and ignores it",
                hint=meant(near),
            )
            for field, near in decoded.unknown.items()
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
            first, near = next(iter(decoded.unknown.items()))
            raise self._failed(f"strict decoding error: {fields}", f"{path}.args.{first}", meant(near))
        return config.name, decoded.value


def meant(near: str) -> str:
    """A hint with a similar field; "" without one."""
    return f"did you mean {near}?" if near else ""


def refusal(name: str, message: str, field: str = "", hint: str = "") -> InputError:
    """The error for a policy with that name, with the descheduler's message."""
    return InputError([Problem(name, message, field, hint)])
