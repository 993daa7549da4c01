"""`save`: a cluster as it was read becomes one file; loading that gives the same reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.lacking import NoImages
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_status import SchedulingEvents
from kwhatif.kube.model.saved import SAVED_API_VERSION, SavedSnapshot
from kwhatif.sources.decoding.kinds import RESOURCES, group_of
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.left_out import asked_about
from kwhatif.sources.saving.anonymize import Anonymizer, Kept
from kwhatif.sources.saving.atomic import replacing
from kwhatif.sources.saving.formats import format_of
from kwhatif.sources.saving.redact import holds_images, marked, redact
from kwhatif.sources.saving.selectors import without_expressions
from kwhatif.sources.saving.words import is_api_group, release_of


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
    objects: list[Any] = [redact(obj, images=images) for obj in _sorted(cluster)]
    caveats = list(collected.caveats)
    if not images and any(map(holds_images, _sorted(cluster))):
        caveats.append(NoImages())
    about = SavedSnapshot(
        api_version=SAVED_API_VERSION,
        taken_at=taken_at.time,
        noted=taken_at.noted,
        server_version=collected.server_version,
        namespace=collected.namespace,
        unread=dict(cluster.unread),
        whole=cluster.is_whole,
        listed=tuple(sorted(cluster.listed)),
        skipped=asked_about(collected.skipped),
        caveats=_as_data(caveats),
        scheduling_events=dict(cluster.scheduling_events),
    )
    if not anonymize:
        return Saved([_named(about), *objects])
    objects, generated = without_expressions(marked(objects))
    anonymizer = Anonymizer(objects, generated)
    objects = [anonymizer.rename(obj) for obj in objects]
    about = replace(
        about,
        namespace=anonymizer.name(about.namespace),
        server_version=release_of(about.server_version),
        skipped=dict(_without_groups(about.skipped)),
        caveats=_as_data(map(anonymizer.caveat, caveats)),
        anonymized=True,
        scheduling_events=dict(_renamed(cluster, anonymizer)),
    )
    return Saved([_named(about), *objects], anonymizer.kept, anonymizer.names)


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
    for key, seen in cluster.scheduling_events.items():
        if key in pods:
            yield names.key(key), replace(seen, evicted=tuple(names.key(pod) for pod in seen.evicted if pod in pods))


def _sorted(cluster: Cluster) -> Iterator[Any]:
    """Every object that was read, whatever its kind: the kinds in the API's order, then those beside it."""
    versions: dict[Any, str] = {resource.type: resource.api_version for resource in RESOURCES}
    others = sorted(cluster.counts().keys() - versions.keys() - {SavedSnapshot}, key=lambda kind: kind.__name__)
    for kind in (*versions, *others):
        if kind.__name__ in cluster.unread:
            continue  # what there is of it is in every cluster; saved, it would look as if that were all
        found: Mapping[str, Any] = cluster.all(kind)
        for obj in sorted(found.values(), key=lambda obj: (obj.metadata.namespace, obj.metadata.name)):
            # Of whatever version it was: what is read of others has been converted.
            version = versions.get(kind, obj.api_version)
            yield obj if obj.api_version == version else replace(obj, api_version=version)
