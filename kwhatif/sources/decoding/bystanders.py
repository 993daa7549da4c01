"""What a dump holds besides the objects that scheduling reads, as far as it says something about an answer."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.model.bystanders import HorizontalPodAutoscaler, ServiceAccount
from kwhatif.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.model.meta import Model
from kwhatif.sources.decoding.examine import FAILURES
from kwhatif.sources.decoding.kinds import group_of
from kwhatif.sources.decoding.scheduling_events import ApiEvent, EventLog


class _LeaseSpec(Model):
    renew_time: str | None = None


class _Lease(Model):
    spec: _LeaseSpec = _LeaseSpec()

    @property
    def times(self) -> tuple[str | None, ...]:
        return (self.spec.renew_time,)


def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


#: Group and kind -> what reads them.
_DECODERS = {
    ("", "ServiceAccount"): _decoder(ServiceAccount),
    ("autoscaling", "HorizontalPodAutoscaler"): _decoder(HorizontalPodAutoscaler),
    ("coordination.k8s.io", "Lease"): _decoder(_Lease),
    ("", "Event"): _decoder(ApiEvent),
    ("events.k8s.io", "Event"): _decoder(ApiEvent),
}
_SECONDS = len("2026-01-31T12:00:00")


class Bystanders:
    """Takes note of objects that are not read; what cannot be understood of them is left out."""

    def __init__(self) -> None:
        self._objects: dict[type, dict[str, KubernetesObject]] = {ServiceAccount: {}, HorizontalPodAutoscaler: {}}
        #: The newest time at which a lease was renewed or an event happened, to the second; "" if there is none.
        self.newest = ""
        self._events = EventLog()

    def see(self, api_version: str, kind: str, json: Any) -> None:
        """Look at one object, as JSON."""
        decoder = _DECODERS.get((group_of(api_version), kind))
        if decoder is None:
            return
        try:
            found = decoder.decode(json)
        except FAILURES:
            return
        if isinstance(found, ApiEvent):
            self._events.see(found.reason, json)
        if isinstance(found, _Lease | ApiEvent):
            for time in filter(None, found.times):
                self.newest = max(self.newest, f"{time[:_SECONDS]}Z")
        else:
            self._objects[type(found)][key_of(found)] = found

    def add_to(self, cluster: Cluster) -> None:
        """Put the objects among those of the cluster."""
        for kind, objects in self._objects.items():
            if objects:
                cluster.add_all(kind, objects)
        self._events.add_to(cluster)
