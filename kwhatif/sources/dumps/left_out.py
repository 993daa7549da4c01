"""What a dump shows besides the objects that are read: its age, and kinds that would have a say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter

from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.manifests import AdmissionNotAsked
from kwhatif.model.caveat.reading import NoDates
from kwhatif.model.caveat.scheduling import DevicesNotModelled
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import parse_time
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
from kwhatif.model.resource_slice import ResourceSlice
from kwhatif.model.saved import SavedSnapshot

#: These have a say in what is stored when a pod is created (`k8s.io/apiserver/pkg/admission/plugin`).
_ADMISSION = (
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicy",
)
_TAINT_RULE = "DeviceTaintRule"
#: There are a hundred thousand pods.
_MADE = attrgetter("metadata.creation_timestamp")


def taken_at(cluster: Cluster, caveats: list[Caveat], last_seen: str = "") -> str | None:
    """When the dump was taken: as it says itself, or else the newest time in it.

    Nodes report every few minutes, so the newest time is near. Without such a report the newest lease, event
    (`last_seen`) or condition of a pod counts. Where there is none (files written by hand) it is not known; nor where
    times are relative.
    """
    if any(isinstance(caveat, NoDates) for caveat in caveats):
        return None
    saved = [snapshot.taken_at for snapshot in cluster.all(SavedSnapshot).values()]
    if saved:
        return min(saved) if all(map(_is_time, saved)) else None  # of several the oldest
    nodes, pods = cluster.all(Node).values(), cluster.all(Pod).values()
    reports = [condition.last_heartbeat_time for node in nodes for condition in node.status.conditions]
    if not any(reports):
        changed = [condition.last_transition_time for pod in pods for condition in pod.status.conditions]
        return _newest([last_seen, *changed])
    return _newest([*reports, *map(_MADE, nodes), *map(_MADE, pods)])


def _newest(texts: Sequence[str | None]) -> str | None:
    """The newest of the texts that are times; there may be a hundred thousand, so as few as possible are parsed."""
    newest = max(filter(None, texts), default="")
    return newest if _is_time(newest) else next(filter(_is_time, sorted(filter(None, texts), reverse=True)), None)


def _is_time(text: str) -> bool:
    """Whether it is a time as the API server writes it; such texts sort as their times do."""
    try:
        return len(text) == len("2026-01-31T12:00:00Z") and parse_time(text) > 0
    except ValueError:
        return False


def not_read(skipped: Counter[str]) -> Iterator[Caveat]:
    """About objects that were left out, `apiVersion/kind` -> how many."""
    kinds: Counter[str] = Counter()
    for name, count in skipped.items():
        kinds[name.rpartition("/")[2]] += count
    admission = tuple((kind, kinds[kind]) for kind in _ADMISSION if kinds[kind])
    if admission:
        yield AdmissionNotAsked(kinds=admission)


def asked_about(skipped: Counter[str]) -> dict[str, int]:
    """Of the objects that were left out those that a caveat is about, by `apiVersion/kind`."""
    kinds = {*_ADMISSION, _TAINT_RULE}
    return {name: count for name, count in sorted(skipped.items()) if name.rpartition("/")[2] in kinds}


def devices_not_modelled(cluster: Cluster, skipped: Counter[str]) -> Iterator[Caveat]:
    """What devices have that Kubernetes turns off by default, and that the allocator here does not know."""
    features = [_TAINT_RULE] if any(name.endswith(f"/{_TAINT_RULE}") for name in skipped) else []
    features += sorted({name for obj in cluster.all(ResourceSlice).values() for name in _unknown_features(obj)})
    if features:
        yield DevicesNotModelled(features=tuple(features))


def _unknown_features(obj: ResourceSlice) -> Iterator[str]:
    """The fields of a slice's devices that no rule here reads (`DRAListTypeAttributes`, `DRANodeAllocatable...`)."""
    for device in obj.spec.devices:
        if device.node_allocatable_resource_mappings:
            yield "nodeAllocatableResourceMappings"
        if any(attribute.is_list for attribute in device.attributes.values()):
            yield "attributes with lists"
