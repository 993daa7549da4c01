"""What a dump shows besides the objects that are read: its age, and kinds that would have a say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kwhatif.model.caveat import AdmissionNotAsked, AutoscalersNotRead, Caveat, NoDates
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import parse_time
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
from kwhatif.model.saved import SavedSnapshot

#: These have a say in what is stored when a pod is created (`k8s.io/apiserver/pkg/admission/plugin`).
_ADMISSION = (
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicy",
)
_AUTOSCALER = "HorizontalPodAutoscaler"


def taken_at(cluster: Cluster, caveats: list[Caveat]) -> str | None:
    """When the dump was taken: as it says itself, or else the newest time in it.

    Nodes report every few minutes, so the newest time is near. Without such a report (files written by hand) it is not
    known; nor where times are relative.
    """
    if any(isinstance(caveat, NoDates) for caveat in caveats):
        return None
    saved = [snapshot.taken_at for snapshot in cluster.all(SavedSnapshot).values()]
    if saved:
        return min(filter(_is_time, saved), default=None)  # of several the oldest
    nodes = cluster.all(Node).values()
    reports = [condition.last_heartbeat_time for node in nodes for condition in node.status.conditions]
    if not any(reports):
        return None
    made = [obj.metadata.creation_timestamp for objects in (nodes, cluster.all(Pod).values()) for obj in objects]
    newest = sorted({time for time in (*reports, *made) if time}, reverse=True)
    return next(filter(_is_time, newest), None)


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
    if kinds[_AUTOSCALER]:
        yield AutoscalersNotRead(count=kinds[_AUTOSCALER])
