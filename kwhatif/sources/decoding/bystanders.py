"""What a dump holds besides the objects that scheduling reads, as far as it says something about an answer."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.bystanders import (
    AUTOSCALER_STATUS,
    ConfigMap,
    CoschedulingPodGroup,
    HorizontalPodAutoscaler,
    NodeClaim,
    NodePool,
    ServiceAccount,
    VerticalPodAutoscaler,
    VolcanoPodGroup,
)
from kwhatif.kube.model.caveat.autoscaling import UnreadableObject
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import ApiObject, Model, ObjectMeta
from kwhatif.kube.model.policy import ADMISSION_HOOKS
from kwhatif.sources.decoding.examine import FAILURES
from kwhatif.sources.decoding.kinds import group_of
from kwhatif.sources.decoding.scheduling_events import ApiEvent, EventLog
from kwhatif.sources.decoding.workload_kinds import KnownKinds


class _LeaseSpec(Model):
    renew_time: str | None = None


class _Lease(Model):
    spec: _LeaseSpec = _LeaseSpec()

    @property
    def times(self) -> tuple[str | None, ...]:
        return (self.spec.renew_time,)


#: Those that are kept, and their group. Every version of them is read: the fields of the type are the same in all.
BYSTANDERS: dict[type[ApiObject], str] = {
    ServiceAccount: "",
    HorizontalPodAutoscaler: "autoscaling",
    VerticalPodAutoscaler: "autoscaling.k8s.io",
    NodePool: "karpenter.sh",
    NodeClaim: "karpenter.sh",
    ConfigMap: "",
    VolcanoPodGroup: "scheduling.volcano.sh",
    CoschedulingPodGroup: "scheduling.x-k8s.io",
    **dict.fromkeys(ADMISSION_HOOKS, "admissionregistration.k8s.io"),
}
#: Group and kind -> what reads them.
_DECODERS: dict[tuple[str, str], msgspec.json.Decoder[Any]] = {
    **{(group, str(kind.__struct_config__.tag)): msgspec.json.Decoder(kind) for kind, group in BYSTANDERS.items()},
    ("coordination.k8s.io", "Lease"): msgspec.json.Decoder(_Lease),
    ("", "Event"): msgspec.json.Decoder(ApiEvent),
    ("events.k8s.io", "Event"): msgspec.json.Decoder(ApiEvent),
}
#: Without them an autoscaler would be said to do something else.
_MISSED = ("NodePool", "NodeClaim", "HorizontalPodAutoscaler", "VerticalPodAutoscaler")
_SECONDS = len("2026-01-31T12:00:00")


class Bystanders:
    """Takes note of objects that are not read; what cannot be understood of them is left out."""

    def __init__(self, kinds: KnownKinds | None = None) -> None:
        self._kinds = kinds or KnownKinds()
        #: Custom resources of which pods are made: version, kind and JSON.
        self.workloads: list[tuple[str, str, bytes]] = []
        self._objects: dict[type, dict[str, KubernetesObject]] = {kind: {} for kind in BYSTANDERS}
        #: The newest time at which a lease was renewed or an event happened, to the second; "" if there is none.
        self.newest = ""
        self.events = EventLog()
        #: Objects of which an answer would say more, and that cannot be understood: what, which field, and why.
        self.unreadable: list[UnreadableObject] = []

    def see(self, api_version: str, kind: str, json: Any) -> None:
        """Look at one object, as JSON."""
        if self._kinds.of(api_version, kind):
            self.workloads.append((api_version, kind, bytes(json)))
            return
        try:
            found = _decoded(api_version, kind, json)
        except FAILURES as failure:
            if kind in _MISSED:
                self.unreadable.append(unreadable_object(kind, json, failure))
            return
        if isinstance(found, ApiEvent):
            self.events.see(found.reason, json)
        if isinstance(found, _Lease | ApiEvent):
            for time in filter(None, found.times):
                self.newest = max(self.newest, f"{time[:_SECONDS]}Z")
        elif found is not None and (not isinstance(found, ConfigMap) or key_of(found) == AUTOSCALER_STATUS):
            self._objects[type(found)][key_of(found)] = replace(found, api_version=api_version)

    def add_to(self, cluster: Cluster) -> None:
        """Put the objects among those of the cluster."""
        for kind, objects in self._objects.items():
            if objects:
                cluster.add_all(kind, objects)
        self.events.add_to(cluster)


def read_bystander(api_version: str, kind: str, json: Any) -> ApiObject | None:
    """An object of a kind that is kept; None: it cannot be understood, or is none."""
    found = _understood(api_version, kind, json)
    return replace(found, api_version=api_version) if isinstance(found, ApiObject) else None


def _understood(api_version: str, kind: str, json: Any) -> Any:
    try:
        return _decoded(api_version, kind, json)
    except FAILURES:
        return None


def _decoded(api_version: str, kind: str, json: Any) -> Any:
    decoder = _DECODERS.get((group_of(api_version), kind))
    return None if decoder is None else decoder.decode(json)


class _Named(Model):
    """As much of an object as is needed to name it."""

    metadata: ObjectMeta = ObjectMeta()


_NAME = msgspec.json.Decoder(_Named)


def unreadable_object(kind: str, json: Any, failure: Exception) -> UnreadableObject:
    """What is wrong with it: msgspec says `Expected ... - at `$.spec.weight``."""
    why, _, path = str(failure).partition(" - at `$")
    try:
        name = _NAME.decode(json).metadata.name
    except FAILURES:
        name = ""
    return UnreadableObject(object=f"{kind} {name}".strip(), field=path.rstrip("`").lstrip("."), why=why)
