"""`save`: a cluster as it was read becomes one file; loading that gives the same reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.model.bystanders import NodeMetrics, PodMetrics
from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.lacking import NoImages
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import Model, ObjectMeta
from kwhatif.model.pod import Pod
from kwhatif.model.pod_status import SchedulingEvents
from kwhatif.model.saved import SAVED_API_VERSION, SavedSnapshot
from kwhatif.sources.decoding.kinds import RESOURCES
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.saving.anonymize import Anonymizer
from kwhatif.sources.saving.atomic import replacing
from kwhatif.sources.saving.formats import format_of
from kwhatif.sources.saving.redact import holds_images, redact


def save(collected: Collected, path: str, *, taken_at: str, images: bool = False, anonymize: bool = False) -> int:
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


def saved_objects(collected: Collected, *, taken_at: str, images: bool, anonymize: bool) -> list[Model]:
    """What is saved: the snapshot's word about itself, then the objects, kind by kind in the API's order."""
    cluster = collected.cluster
    objects = [redact(obj, images=images, digests=not anonymize) for obj in _sorted(cluster)]
    caveats = list(collected.caveats)
    if not images and any(map(holds_images, _sorted(cluster))):
        caveats.append(NoImages())
    about = SavedSnapshot(
        api_version=SAVED_API_VERSION,
        metadata=ObjectMeta(name=taken_at),
        taken_at=taken_at,
        server_version=collected.server_version,
        namespace=collected.namespace,
        unread=dict(cluster.unread),
        whole=cluster.is_whole,
        caveats=_as_data(caveats),
        scheduling_events=dict(cluster.scheduling_events),
    )
    if anonymize:
        anonymizer = Anonymizer(objects)
        objects = [anonymizer.rename(obj) for obj in objects]
        about = replace(
            about,
            namespace=anonymizer.name(about.namespace),
            caveats=_as_data(map(anonymizer.caveat, caveats)),
            anonymized=True,
            scheduling_events=dict(_renamed(cluster, anonymizer)),
        )
    return [about, *objects]


def _as_data(caveats: Iterable[Caveat]) -> tuple[dict[str, Any], ...]:
    return tuple(map(msgspec.to_builtins, caveats))


def _renamed(cluster: Cluster, names: Anonymizer) -> Iterator[tuple[str, SchedulingEvents]]:
    """What Events say, under the pods' new names; victims that are gone have none, and are left out."""
    pods = cluster.all(Pod)
    for key, seen in cluster.scheduling_events.items():
        if key in pods:
            yield names.key(key), replace(seen, evicted=tuple(names.key(pod) for pod in seen.evicted if pod in pods))


def _sorted(cluster: Cluster) -> Iterator[Any]:
    for resource in RESOURCES:
        if resource.kind in cluster.unread:
            continue  # what there is of it is in every cluster; saved, it would look as if that were all
        found: Mapping[str, Any] = cluster.all(resource.type)
        for obj in sorted(found.values(), key=lambda obj: (obj.metadata.namespace, obj.metadata.name)):
            # Of whatever version it was: what is read of others has been converted.
            yield obj if obj.api_version == resource.api_version else replace(obj, api_version=resource.api_version)
    for measured in (NodeMetrics, PodMetrics):
        metrics: Mapping[str, Any] = cluster.all(measured)
        yield from (metrics[key] for key in sorted(metrics))
