"""Reading the table of custom kinds of which pods are made: the built-in one, and a user's file of the same form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from io import BytesIO
from typing import Any, BinaryIO, get_type_hints

import msgspec

from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import did_you_mean, json_name, nearest, quoted_path
from kwhatif.sources.decoding.kinds import ASKED, KINDS, Asked, group_of
from kwhatif.sources.text.problems import FieldPath
from kwhatif.workloads.custom_kinds import LIKE, WorkloadKind, WorkloadKinds

_TABLE = "workload_kinds.yaml"
#: The API groups of the built-in kinds: without an object of them the table is not read.
GROUPS = frozenset(
    {
        "apps.kruise.io",
        "argoproj.io",
        "core.strimzi.io",
        "jobset.x-k8s.io",
        "kafka.strimzi.io",
        "kubeflow.org",
        "leaderworkerset.x-k8s.io",
        "monitoring.coreos.com",
        "postgresql.cnpg.io",
        "ray.io",
        "serving.knative.dev",
        "trainer.kubeflow.org",
    }
)


class KnownKinds:
    """The kinds of a user's file, and the built-in ones that it does not have."""

    def __init__(self, given: WorkloadKinds | None = None) -> None:
        self._given = given

    def of(self, api_version: str, kind: str) -> Sequence[WorkloadKind]:
        """The entries of a kind; none for a kind that is not known."""
        return [entry for entry in self.of_owner(api_version, kind) if not entry.inferred]

    def of_owner(self, api_version: str, kind: str) -> Sequence[WorkloadKind]:
        """The entries, also of kinds that are only inferred from their pods."""
        group = group_of(api_version)
        if self._given is not None and (found := self._given.of(group, kind)):
            return found
        return built_in().of(group, kind) if group in GROUPS else ()

    def lists(self) -> tuple[Asked, ...]:
        """What a live cluster is asked for: with the custom resources that control pods themselves."""
        known = {(each.group, each.kind) for each in ASKED}
        given = {(entry.group, entry.kind): entry for entry in self._given or () if not (entry.makes or entry.inferred)}
        return (*ASKED, *(_list_of(entry) for name, entry in given.items() if name not in known))

    def has_plural(self, group: str, plural: str) -> bool:
        """Whether there is a kind of that group and plural."""
        tables = (self._given or (), built_in() if group in GROUPS else ())
        return any((entry.group, entry.resource) == (group, plural) for table in tables for entry in table)


def _list_of(entry: WorkloadKind) -> Asked:
    return Asked(entry.kind, entry.group, entry.resource, versions=entry.versions, is_everywhere=False, is_custom=True)


@cache
def built_in() -> WorkloadKinds:
    """The kinds that are known without a file."""
    with resources.as_file(resources.files("kwhatif.sources.decoding").joinpath(_TABLE)) as path:
        return read_workload_kinds(str(path), stdin=BytesIO())


def read_workload_kinds(path: str, *, stdin: BinaryIO) -> WorkloadKinds:
    """Read a file of kinds, or "-": a list, or an object with `kinds`.

    Raises:
        InputError: the file cannot be read, or with everything that is wrong with it.
    """
    from kwhatif.sources.decoding.config_file import read_data  # it needs a YAML parser, which most dumps do not

    file = read_data(path, stdin=stdin, kind="file of workload kinds")
    data, start = file.data, ""
    if isinstance(data, Mapping) and isinstance(data.get("kinds"), list):
        data, start = data["kinds"], "kinds"
    if not isinstance(data, list):
        raise InputError([Problem(path, "expected a list of kinds", hint="see docs/custom-kinds.md")])
    problems = [
        Problem("", message, f"{start}{quoted_path((index, *field))}", hint)
        for index, entry in enumerate(data)
        for field, message, hint in _wrong(entry)
    ]
    if problems:
        raise file.located(InputError(problems))
    return WorkloadKinds(msgspec.convert(data, list[WorkloadKind]))


def _wrong(entry: Any) -> Iterator[tuple[FieldPath, str, str]]:
    """What is wrong with an entry: the field, the message, what to do."""
    if not isinstance(entry, Mapping):
        yield (), f"expected an object, got {json_name(entry)}", "give kind, group and like"
        return
    for name, value in entry.items():
        if name not in _FIELDS:
            yield (str(name),), "is not a field of a workload kind", did_you_mean(nearest(str(name), _FIELDS))
            continue
        if wrong := _mistyped(name, value):
            yield (name,), *wrong
    for name in ("kind", "group"):
        if not entry.get(name):
            yield (name,), "is not set", ""
    for name in ("when", "forEach"):
        if isinstance(pointer := entry.get(name), str) and not pointer.startswith("/"):
            yield (name,), "expected a JSON pointer", "such as /spec/template"
    kind = KINDS.get(str(entry.get("kind")))
    if kind is not None and kind.group == entry.get("group"):
        yield ("kind",), f"{entry['kind']} is Kubernetes' own: it is judged without an entry", ""


def _mistyped(name: str, value: Any) -> tuple[str, str] | None:
    try:
        msgspec.convert(value, _FIELDS[name])
    except msgspec.ValidationError:
        if name == "like":
            return f"expected one of {', '.join(LIKE)}, got {value!r}", did_you_mean(nearest(str(value), LIKE))
        return f"expected {_NAMES.get(_FIELDS[name], 'an object')}, got {json_name(value)}", ""
    return None


_FIELDS = dict(zip(WorkloadKind.__struct_encode_fields__, get_type_hints(WorkloadKind).values(), strict=True))
_NAMES: Mapping[Any, str] = {str: "a string", bool: "a Boolean", tuple[str, ...]: "a list of strings"}
