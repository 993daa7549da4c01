"""`save`: a cluster as it was read becomes one file; loading that gives the same reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.lacking import NoImages
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import Model, ObjectMeta
from kwhatif.model.pod import Pod
from kwhatif.model.pod_status import SchedulingEvents
from kwhatif.model.saved import SAVED_API_VERSION, SavedSnapshot
from kwhatif.sources.decoding.kinds import RESOURCES
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.left_out import asked_about
from kwhatif.sources.saving.anonymize import Anonymizer
from kwhatif.sources.saving.atomic import replacing
from kwhatif.sources.saving.formats import format_of
from kwhatif.sources.saving.redact import holds_images, marked, redact


class Moment(NamedTuple):
    """When a cluster was as it was read; whether that was noted then, or is the newest time in a dump."""

    #: RFC 3339; "": nobody knows.
    time: str
    noted: bool = True


def save(collected: Collected, path: str, *, taken_at: Moment, images: bool = False, anonymize: bool = False) -> int:
    """Write the cluster to `path` in the format of its name; returns the number of objects.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        format_ = format_of(path)
        objects = saved_objects(collected, taken_at=taken_at, images=images, anonymize=anonymize)
        with replacing(Path(path)) as file, format_.compress(file) as packed:
            for part in format_.encode(objects):
                packed.write(part)
    except ValueError as wrong:
        raise InputError([Problem(path, str(wrong))]) from wrong
    except OSError as failure:
        raise InputError([Problem(path, f"cannot be written: {failure.strerror or failure}")]) from failure
    return len(objects) - 1


def saved_objects(collected: Collected, *, taken_at: Moment, images: bool, anonymize: bool) -> list[Model]:
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
        skipped=asked_about(collected.skipped),
        caveats=_as_data(caveats),
        scheduling_events=dict(cluster.scheduling_events),
    )
    if anonymize:
        objects = list(marked(objects))
        anonymizer = Anonymizer(objects)
        objects = [anonymizer.rename(obj) for obj in objects]
        about = replace(
            about,
            namespace=anonymizer.name(about.namespace),
            caveats=_as_data(map(anonymizer.caveat, caveats)),
            anonymized=True,
            scheduling_events=dict(_renamed(cluster, anonymizer)),
        )
    return [_named(about), *objects]


def _named(about: SavedSnapshot) -> SavedSnapshot:
    """Under a name of its own: of two snapshots that are read together, each says what it knows."""
    name = about.taken_at or f"undated-{blake2b(msgspec.json.encode(about), digest_size=5).hexdigest()}"
    return replace(about, metadata=ObjectMeta(name=name))


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
