"""`save`: a cluster as it was read becomes one file; loading that gives the same reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.cel import CelCompileError, CelRuntimeError, Semver, compile_device_selector
from kwhatif.dra.devices import PoolDevice, Slice, device_view
from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import BASE_GATES
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import NoImages
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod, SchedulingEvents
from kwhatif.kube.model.resource import CELDeviceSelector, Device, DeviceAttribute, DeviceConstraint, ResourceSlice
from kwhatif.kube.model.saved import SAVED_API_VERSION, SavedSnapshot
from kwhatif.sources.decoding.kinds import RESOURCES, group_of
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.left_out import asked_about
from kwhatif.sources.saving.anonymize import Anonymizer, Kept
from kwhatif.sources.saving.formats import format_of, replacing
from kwhatif.sources.saving.redact import Walker, holds_images, marked, redact
from kwhatif.sources.saving.words import is_api_group, release_of

_DOMAIN = "kwhatif.dev"
#: Names a variable that does not exist: it does not compile.
_BROKEN = "unknown"
#: What CEL says of an attribute that a device does not have; whatever else fails, fails here by not being a Boolean.
_NO_KEY = "no such key"
#: With it a shared device may look different from one that is not.
_SHARED = "allowMultipleAllocations"
_FAILS = DeviceAttribute(string_value=_BROKEN)


class Selectors:
    """The selectors in objects; `rewritten` are the objects without their expressions.

    An expression may contain anything: drivers, attributes, models. It is replaced by one that asks for an attribute
    which the devices get instead of their own: a rule only needs to know which devices are selected.
    """

    def __init__(self, objects: Iterable[Any]) -> None:
        objects = list(objects)
        #: Expression -> what stands in its place.
        self._new: dict[str, str] = {}
        #: Attributes whose values are compared by constraints, under their full names.
        self._compared: set[str] = set()
        seeing = Walker({CELDeviceSelector: self._see, DeviceConstraint: self._compare})
        for obj in objects:
            seeing.rewrite(obj)
        #: Attribute -> the expression that it is the answer of, and whether devices are asked as shared ones.
        self._asked: dict[str, tuple[str, bool]] = {}
        for number, expression in enumerate(sorted(self._new)):
            self._new[expression] = self._in_place_of(expression, number)
        walker = Walker({CELDeviceSelector: self._replaced, ResourceSlice: self._slice})
        self.rewritten = [walker.rewrite(obj) for obj in objects]

    @property
    def generated(self) -> frozenset[str]:
        """The texts that stand in place of expressions, and the attributes that they ask for."""
        return frozenset({*self._new.values(), *self._asked, _BROKEN})

    def _see(self, selector: CELDeviceSelector) -> CELDeviceSelector:
        self._new[selector.expression] = ""
        return selector

    def _compare(self, constraint: DeviceConstraint) -> DeviceConstraint:
        self._compared |= {constraint.match_attribute or "", constraint.distinct_attribute or ""}
        return constraint

    def _replaced(self, selector: CELDeviceSelector) -> CELDeviceSelector:
        return replace(selector, expression=self._new[selector.expression])

    def _in_place_of(self, expression: str, number: int) -> str:
        if not expression:
            return ""
        try:
            compile_device_selector(expression)
        except CelCompileError:
            return _BROKEN
        alone, shared = f"selector{number}", f"shared{number}"
        self._asked[f"{_DOMAIN}/{alone}"] = expression, False
        if _SHARED not in expression:
            return _ask(alone)
        self._asked[f"{_DOMAIN}/{shared}"] = expression, True
        return f"device.{_SHARED} ? {_ask(shared)} : {_ask(alone)}"

    def _slice(self, found: ResourceSlice) -> ResourceSlice:
        prepared = Slice(found, BASE_GATES)
        devices = tuple(self._device(device, prepared) for device in found.spec.devices)
        return replace(found, spec=replace(found.spec, devices=devices))

    def _device(self, device: Device, home: Slice) -> Device:
        own = device.attributes.items()
        needed = {name: _compared(value) for name, value in own if self._is_needed(name, value, home.driver)}
        return replace(device, attributes={**needed, **dict(self._answers(PoolDevice(device, home)))})

    def _is_needed(self, name: str, value: DeviceAttribute, driver: str) -> bool:
        """Whether a rule reads it: a constraint, or one that says that devices cannot be asked about."""
        full = name if "/" in name else f"{driver}/{name}"
        return not {name, full}.isdisjoint(self._compared) or value.is_list or _is_broken(value)

    def _answers(self, device: PoolDevice) -> Iterator[tuple[str, DeviceAttribute]]:
        for name, (expression, shared) in self._asked.items():
            try:
                view = device_view(device, shared=shared and device.model.allow_multiple_allocations)
                selected = compile_device_selector(expression).matches(view)
            except CelRuntimeError as failure:
                if _NO_KEY not in failure.message:
                    yield name, _FAILS
            else:
                yield name, DeviceAttribute(bool_value=selected)


def _ask(attribute: str) -> str:
    return f'device.attributes["{_DOMAIN}"].{attribute}'


def _is_broken(value: DeviceAttribute) -> bool:
    """Whether no selector can be asked about a device that has it (`device_view`)."""
    plain = (value.int_value, value.bool_value, value.string_value)
    return all(each is None for each in plain) and not _is_version(value.version_value)


def _is_version(text: str | None) -> bool:
    try:
        return text is not None and Semver.parse(text) is not None
    except ValueError:
        return False


def _compared(value: DeviceAttribute) -> DeviceAttribute:
    """A version as a text that may be renamed, and equals nothing but that version."""
    if not _is_version(value.version_value):
        return value
    return DeviceAttribute(string_value=f"version {value.version_value}")


def without_expressions(objects: Iterable[Any]) -> tuple[list[Any], frozenset[str]]:
    """The objects with other expressions in their selectors, and the texts that were made for that."""
    found = Selectors(objects)
    return found.rewritten, found.generated


class Moment(NamedTuple):
    """When a cluster was as it was read; whether that was noted then, or is the newest time in a dump."""

    #: RFC 3339; "": not known.
    time: str
    noted: bool = True


class Saved(NamedTuple):
    """What is in a snapshot: its word about itself, then the objects."""

    objects: list[Any]
    #: What stays of an anonymized one, and why.
    kept: list[Kept] = []
    #: Of every text that was renamed its new name.
    names: Mapping[str, str] = {}

    @property
    def size(self) -> int:
        """The number of objects of the cluster."""
        return len(self.objects) - 1


def save(collected: Collected, path: str, *, taken_at: Moment, images: bool = False, anonymize: bool = False) -> Saved:
    """Write the cluster to `path` in the format of its name; returns what was written.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        format_ = format_of(path)
        saved = saved_objects(collected, taken_at=taken_at, images=images, anonymize=anonymize)
        with replacing(Path(path)) as file, format_.compress(file) as packed:
            for part in format_.encode(saved.objects):
                packed.write(part)
    except ValueError as wrong:
        raise InputError([Problem(path, str(wrong))]) from wrong
    except OSError as failure:
        raise InputError([Problem(path, f"cannot be written: {failure.strerror or failure}")]) from failure
    return saved


def saved_objects(collected: Collected, *, taken_at: Moment, images: bool, anonymize: bool) -> Saved:
    """What is saved: the snapshot's word about itself, then the objects, kind by kind in the API's order."""
    cluster = collected.cluster
    objects: list[Any] = [redact(obj, images=images, arguments=not anonymize) for obj in _sorted(cluster)]
    caveats = _caveats(collected, images=images)
    about = _about(collected, caveats, taken_at)
    if not anonymize:
        return Saved([_named(about), *objects])
    objects, generated = without_expressions(marked(objects))
    anonymizer = Anonymizer(objects, generated)
    objects = [anonymizer.rename(obj) for obj in objects]
    about = replace(
        about,
        namespace=anonymizer.name(about.namespace),
        server_version=release_of(about.server_version),
        unread={
            name: why for name, why in about.unread.items() if "." not in name or is_api_group(name.partition(".")[2])
        },
        skipped=dict(_without_groups(about.skipped)),
        caveats=_as_data(map(anonymizer.caveat, caveats)),
        anonymized=True,
        scheduling_events=dict(_renamed(cluster, anonymizer)),
    )
    return Saved([_named(about), *objects], anonymizer.kept, anonymizer.names)


def about_snapshot(collected: Collected, *, taken_at: Moment, images: bool) -> SavedSnapshot:
    """A snapshot's word about itself."""
    return _named(_about(collected, _caveats(collected, images=images), taken_at))


def _caveats(collected: Collected, *, images: bool) -> list[Caveat]:
    caveats = list(collected.caveats)
    if not images and any(map(holds_images, _sorted(collected.cluster))):
        caveats.append(NoImages())
    return caveats


def _about(collected: Collected, caveats: Iterable[Caveat], taken_at: Moment) -> SavedSnapshot:
    cluster = collected.cluster
    return SavedSnapshot(
        api_version=SAVED_API_VERSION,
        taken_at=taken_at.time,
        noted=taken_at.noted,
        server_version=collected.server_version,
        namespace=collected.namespace,
        unread=dict(cluster.facts.unread),
        whole=cluster.facts.is_whole,
        listed=tuple(sorted(cluster.facts.listed)),
        skipped=asked_about(collected.skipped),
        caveats=_as_data(caveats),
        scheduling_events=dict(cluster.facts.scheduling_events),
    )


def _named(about: SavedSnapshot) -> SavedSnapshot:
    """Under a name of its own: of two snapshots that are read together, each says what it knows."""
    name = about.taken_at or f"undated-{blake2b(msgspec.json.encode(about), digest_size=5).hexdigest()}"
    return replace(about, metadata=ObjectMeta(name=name))


def _without_groups(skipped: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """What was only counted; the groups stay that are public."""
    for name, count in skipped.items():
        version, _, kind = name.rpartition("/")
        yield (name if is_api_group(group_of(version)) else f"{SAVED_API_VERSION}/{kind}"), count


def _as_data(caveats: Iterable[Caveat]) -> tuple[dict[str, Any], ...]:
    return tuple(map(msgspec.to_builtins, caveats))


def _renamed(cluster: Cluster, names: Anonymizer) -> Iterator[tuple[str, SchedulingEvents]]:
    """What Events say, under the pods' new names; victims that are gone have none, and are left out."""
    pods = cluster.all(Pod)
    for key, seen in cluster.facts.scheduling_events.items():
        if key in pods:
            yield names.key(key), replace(seen, evicted=tuple(names.key(pod) for pod in seen.evicted if pod in pods))


def _sorted(cluster: Cluster) -> Iterator[Any]:
    """Every object that was read, whatever its kind: the kinds in the API's order, then those beside it."""
    for _, version, found in by_kind(cluster):
        for obj in sorted(found.values(), key=lambda obj: (obj.metadata.namespace, obj.metadata.name)):
            yield as_saved(obj, version)


def as_saved(obj: Any, version: str) -> Any:
    """The object in that version, the one of its kind; any other one that is read has been converted to it."""
    return obj if version in ("", obj.api_version) else replace(obj, api_version=version)


def by_kind(cluster: Cluster) -> Iterator[tuple[type, str, Mapping[str, Any]]]:
    """The kinds that were read, the version of all objects of each ("": every one has its own), and these by key."""
    versions: dict[Any, str] = {resource.type: resource.api_version for resource in RESOURCES}
    others = sorted(cluster.counts().keys() - versions.keys() - {SavedSnapshot}, key=lambda kind: kind.__name__)
    for kind in (*versions, *others):
        if kind.__name__ in cluster.facts.unread:
            continue  # every cluster has these; a snapshot with only these would look complete
        yield kind, versions.get(kind, ""), cluster.all(kind)
