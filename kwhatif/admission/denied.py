"""`Denied`: the API server's refusal of a new object, as a value with its exact words."""

from __future__ import annotations

import msgspec

from kwhatif.model.cluster import KubernetesObject
from kwhatif.model.storage import PersistentVolumeClaim


class Denied(msgspec.Struct, frozen=True):
    """The object would not be created; `message` is what the API server answers."""

    message: str


def forbidden(obj: KubernetesObject, reason: str) -> Denied:
    """An admission plugin's refusal of a pod or a claim (`admission.NewForbidden`)."""
    resource = "persistentvolumeclaims" if isinstance(obj, PersistentVolumeClaim) else "pods"
    name = obj.metadata.name or obj.metadata.generate_name or "Unknown"
    return Denied(f'{resource} "{name}" is forbidden: {reason}')
