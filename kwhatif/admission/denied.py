"""`Denied`: the API server's refusal of a new object, as a value with its exact words."""

from __future__ import annotations

import msgspec

from kwhatif.model.cluster import KubernetesObject
from kwhatif.model.kinds import RESOURCES


class Denied(msgspec.Struct, frozen=True):
    """The object would not be created; `message` is what the API server answers."""

    message: str


def forbidden(obj: KubernetesObject, reason: str) -> Denied:
    """An admission plugin's refusal (`admission.NewForbidden`)."""
    resource = resource_of(obj)
    name = obj.metadata.name or obj.metadata.generate_name or "Unknown"
    return Denied(f'{resource} "{name}" is forbidden: {reason}')


def resource_of(obj: KubernetesObject) -> str:
    """Plural and group, as refusals by admission name them: `deployments.apps`."""
    known = RESOURCES[type(obj)]
    return f"{known.plural}.{known.group}" if known.group else known.plural


def kind_of(obj: KubernetesObject) -> str:
    """Kind and group, as refusals by validation name them: `Deployment.apps`."""
    known = RESOURCES[type(obj)]
    return f"{known.kind}.{known.group}" if known.group else known.kind
