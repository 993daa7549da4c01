"""Custom resources of which pods are made, as objects of Kubernetes' own kinds that make the same pods.

What a kind is played as is data: an entry of a table (`sources/decoding/workload_kinds.yaml`, or a user's file). Values
of an entry are JSON pointers into the custom resource (`/spec/replicas`), or into the entry of its list that is at hand
(`./replicas`), texts with pointers in braces (`{/metadata/name}-head`), or plain data that holds such values. What
leads nowhere is left out. Five maps are rules: `first` of several values that is there, `merge` of several layers of
data, `sum` and `product` of numbers, and `of`, a choice by a value: by its text, else `set` where there is one, else
`else`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Literal, NamedTuple

import msgspec

from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.workload import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet

#: What a custom kind can be played as.
StandIn = DaemonSet | Deployment | Job | ReplicaSet | StatefulSet
LIKE: Mapping[str, type[StandIn]] = {
    kind.__name__: kind for kind in (DaemonSet, Deployment, Job, ReplicaSet, StatefulSet)
}
_OWN_NAME = "{/metadata/name}"
_POINTER = re.compile(r"\{(\.?/[^{}]*|index|number)\}")
_ABSENT: Any = object()
#: The label that is given to pods that would have none.
_WORKLOAD = "kwhatif.dev/workload"
#: The most copies; a larger number is a mistake.
_MOST = 10_000


class Controlled(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The object that controls the pods, where that is not the custom resource itself."""

    kind: str
    name: str = _OWN_NAME


class WorkloadKind(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What the controller of a custom kind makes, or one part of it: a kind may have several entries."""

    kind: str
    group: str
    #: The name in URLs and in roles; "": derived from the kind as for Kubernetes' own kinds.
    plural: str = ""
    #: The versions in which a live cluster is asked for it; the first that is served counts.
    versions: tuple[str, ...] = ("v1", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1")
    #: What it behaves like.
    like: Literal["DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"] = "ReplicaSet"
    name: str = _OWN_NAME
    #: Only where this is set.
    when: str = ""
    #: One for each entry of this list.
    for_each: str = ""
    #: The number of copies, numbered `{index}` from 0.
    times: Any = 1
    template: Any = "/spec/template"
    replicas: Any = "/spec/replicas"
    selector: Any = "/spec/selector"
    #: More of its spec.
    spec: dict[str, Any] = {}
    #: Whether its controller creates an object of that kind and name, which owns the pods.
    makes: bool = False
    #: Which object controls the pods; without it, the custom resource.
    controlled_by: Controlled | None = None
    #: Labels that the pods of this part have, where there are several.
    pods: dict[str, str] = {}
    #: The label that names the template of a pod.
    revision: str = "controller-revision-hash"
    #: The object that is there already has these labels.
    found_by: dict[str, str] = {}
    #: The kind and the name of the workload from which the template is taken.
    template_of: Controlled | None = None
    #: Whether its controller adds more to the pods than the custom resource says: running pods show it.
    operated: bool = False
    #: Whether its objects are never read: they are inferred from pods that no other kind controls.
    inferred: bool = False
    #: What is not modelled of it.
    note: str = ""

    @property
    def resource(self) -> str:
        """The name in URLs and in roles (`apimachinery/pkg/api/meta/restmapper.go`, `UnsafeGuessKindToResource`)."""
        name = self.kind.lower()
        return self.plural or (
            f"{name}es" if name.endswith("s") else f"{name.removesuffix('y')}ies" if name.endswith("y") else f"{name}s"
        )


class Part(NamedTuple):
    """One object that stands for a custom resource, as plain data, and what is known of its pods."""

    data: dict[str, Any]
    entry: WorkloadKind
    #: Kind and name of the object that controls its pods.
    controller: tuple[str, str]
    #: Labels that its pods have.
    pods: Mapping[str, str]
    #: Labels of the object that is there already.
    found_by: Mapping[str, str]
    #: Kind and name of the workload that has its template; None: it has its own.
    template_of: tuple[str, str] | None
    #: Where in the custom resource its template stands, as far as it stands there.
    template_at: tuple[str | int, ...]

    @property
    def type(self) -> type[StandIn]:
        """What it is played as."""
        return LIKE[self.entry.like]


class WorkloadKinds:
    """The table, by kind and group."""

    def __init__(self, entries: Iterable[WorkloadKind]) -> None:
        self._entries: dict[tuple[str, str], list[WorkloadKind]] = {}
        for entry in entries:
            self._entries.setdefault((entry.group, entry.kind), []).append(entry)

    def __iter__(self) -> Iterator[WorkloadKind]:
        return (entry for entries in self._entries.values() for entry in entries)

    def of(self, group: str, kind: str) -> Sequence[WorkloadKind]:
        """The entries of a kind."""
        return self._entries.get((group, kind), ())


def part_of_pods(entry: WorkloadKind, owner: str, labels: Mapping[str, str]) -> str | None:
    """The name of what stands for a custom resource, as one of its pods shows it; None: the pod is of another part.

    Args:
        entry: the part.
        owner: the name of the custom resource.
        labels: the pod's.
    """
    known = {"/metadata/name": owner}
    for label, pattern in entry.pods.items():
        pointer = _POINTER.fullmatch(pattern)
        if label not in labels or (pointer is None and labels[label] != pattern):
            return None
        if pointer is not None:
            known[pointer[1]] = labels[label]
    return _POINTER.sub(lambda match: known.get(match[1], ""), entry.name)


def parts_of(resource: Mapping[str, Any], entries: Iterable[WorkloadKind]) -> Iterator[Part]:
    """The objects that stand for a custom resource."""
    for entry in entries:
        for place in _places(entry, resource):
            yield _part(entry, place)


class _Place(NamedTuple):
    """Where pointers lead."""

    resource: Mapping[str, Any]
    item: Any = None
    number: int = 0
    #: Of the entry.
    path: tuple[str | int, ...] = ()

    def at(self, pointer: str) -> Any:
        """The value at that place; `_ABSENT` for nothing."""
        found: Any = self.item if pointer.startswith(".") else self.resource
        for step in _steps(pointer):
            if isinstance(found, Mapping):
                found = found.get(step, _ABSENT)
            elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            else:
                return _ABSENT
            if found is None or found is _ABSENT:
                return _ABSENT
        return found

    def text(self, pattern: str) -> str:
        """The text with what the pointers in it lead to."""

        def found(match: re.Match[str]) -> str:
            numbers = {"index": self.number, "number": self.number + 1}
            value = numbers.get(match[1], _ABSENT)
            value = self.at(match[1]) if value is _ABSENT else value
            return "" if value is _ABSENT else str(value)

        return _POINTER.sub(found, pattern)

    def value(self, given: Any) -> Any:
        """What the value of an entry comes to; `_ABSENT` where it leads nowhere."""
        match given:
            case str():
                return self.at(given) if given.startswith(("/", "./")) else self.text(given)
            case {"first": list() as options}:
                return next(iter(self._all(options)), _ABSENT)
            case {"merge": list() as layers}:
                present = self._all(layers)
                return merged(present) if present else _ABSENT
            case {"sum": list() as numbers}:
                return self._counted(sum, numbers)
            case {"product": list() as numbers}:
                return self._counted(prod, numbers)
            case {"of": str() as pointer, **choices}:
                return self._chosen(self.at(pointer), choices)
            case dict():
                entries = ((self.text(key), self.value(each)) for key, each in given.items())
                filled = {key: each for key, each in entries if each is not _ABSENT}
                return filled if filled or not given else _ABSENT
            case list():
                return self._all(given)
        return _ABSENT if given is None else given

    def _all(self, given: Sequence[Any]) -> list[Any]:
        return [each for item in given if (each := self.value(item)) is not _ABSENT]

    def _counted(self, count: Callable[[list[int]], int], given: Sequence[Any]) -> Any:
        """What texts such as annotations have as a number counts, too; nothing where one is not a number."""
        numbers = [int(each) for each in self._all(given) if str(each).lstrip("-").isdecimal()]
        return max(0, count(numbers)) if len(numbers) == len(given) else _ABSENT

    def _chosen(self, found: Any, choices: Mapping[Any, Any]) -> Any:
        text = str(found).lower() if isinstance(found, bool) else str(found)
        names = ("else",) if found is _ABSENT else (text, "set", "else")
        return self.value(next((choices[name] for name in names if name in choices), None))

    def where(self, value: Any) -> tuple[str | int, ...]:
        """The path that the first pointer of a template leads along; nothing where it is put together of many."""
        while isinstance(value, dict | list):
            options = value if isinstance(value, list) else value.get("merge") or value.get("first") or ()
            value = next((each for each in options if self.value(each) is not _ABSENT), None)
        if not isinstance(value, str) or not value.startswith(("/", "./")):
            return ()
        return (*self.path, *_steps(value)) if value.startswith(".") else _steps(value)

    def texts(self, patterns: Mapping[str, str]) -> dict[str, str]:
        """The texts of all these, under their keys."""
        return {key: self.text(pattern) for key, pattern in patterns.items()}


def _steps(pointer: str) -> tuple[str, ...]:
    """The names along a JSON pointer (RFC 6901)."""
    return tuple(each.replace("~1", "/").replace("~0", "~") for each in pointer.removeprefix(".").split("/")[1:])


def merged(layers: Sequence[Any]) -> Any:
    """Data over data: the later goes first; entries of lists that have names are merged by name."""
    first, *others = layers
    for other in others:
        if isinstance(first, Mapping) and isinstance(other, Mapping):
            both = {key: merged([first[key], other[key]]) for key in first.keys() & other.keys()}
            first = {**first, **other, **both}
        elif _are_named(first) and _are_named(other):
            known = {each["name"]: each for each in first}
            for each in other:
                known[each["name"]] = merged([known[each["name"]], each]) if each["name"] in known else each
            first = list(known.values())
        else:
            first = other
    return first


def _are_named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) and "name" in each for each in value)


def _places(entry: WorkloadKind, resource: Mapping[str, Any]) -> Iterator[_Place]:
    whole = _Place(resource)
    if entry.when and whole.at(entry.when) is _ABSENT:
        return
    items: Any = [None]
    if entry.for_each:
        items = whole.at(entry.for_each)
        items = items if isinstance(items, list) else []
    for place, item in enumerate(items):
        times = _Place(resource, item).value(entry.times)
        number = min(times, _MOST) if isinstance(times, int) else 1
        path: tuple[str | int, ...] = (*_steps(entry.for_each), place)
        yield from (_Place(resource, item, index, path) for index in range(number))


def _part(entry: WorkloadKind, place: _Place) -> Part:
    meta = place.resource.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    own = str(meta.get("name") or "")
    kept = {key: meta[key] for key in ("namespace", "labels", "creationTimestamp") if meta.get(key) is not None}
    if entry.name == _OWN_NAME and not own:
        kept["generateName"] = meta.get("generateName", "")
    if not (entry.makes or entry.for_each or entry.pods) and meta.get("uid"):
        kept["uid"] = meta["uid"]
    kept["name"] = place.text(entry.name)
    kept["kwhatif.dev/stands-for"] = {"kind": entry.kind, "group": entry.group, "name": own}
    spec = {"selector": place.value(entry.selector), "template": place.value(entry.template)}
    replicas = place.value(entry.replicas)
    fields = ("parallelism", "completions") if entry.like == "Job" else ("replicas",)
    spec |= dict.fromkeys(fields if entry.like != "DaemonSet" else (), replicas)
    spec = {key: each for key, each in spec.items() if each is not _ABSENT}
    if "selector" not in spec and entry.like != "Job" and isinstance(template := spec.get("template"), Mapping):
        spec |= _selected(template, own)
    more = place.value(entry.spec)
    resource = RESOURCES[LIKE[entry.like]]
    controlled, template = entry.controlled_by, entry.template_of
    return Part(
        {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": kept,
            "spec": spec if more is _ABSENT else {**spec, **more},
        },
        entry,
        (entry.kind, own) if controlled is None else (controlled.kind, place.text(controlled.name)),
        place.texts(entry.pods),
        place.texts(entry.found_by),
        None if template is None else (place.text(template.kind), place.text(template.name)),
        place.where(entry.template) if entry.template else (*place.where(entry.spec), "template"),
    )


def _selected(template: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A selector of the template's labels, and the template with labels, where there is none of either."""
    meta = template.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    labels = meta.get("labels") or {_WORKLOAD: name}
    return {"selector": {"matchLabels": labels}, "template": {**template, "metadata": {**meta, "labels": labels}}}
