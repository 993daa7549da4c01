"""The result of admission: `Admitted`, or `Denied` with the API server's exact message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from kwhatif.admission.changes import ChangeRow, changes_between
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import Model

T = TypeVar("T", bound=Model)


class Denied(msgspec.Struct, frozen=True):
    """The object would not be created; `message` is the API server's answer."""

    message: str


def forbidden(obj: KubernetesObject, reason: str) -> Denied:
    """An admission plugin's rejection (`admission.NewForbidden`)."""
    name = obj.metadata.name or obj.metadata.generate_name or "Unknown"
    return Denied(f'{resource_of(obj)} "{name}" is forbidden: {reason}')


def already_exists(obj: KubernetesObject) -> Denied:
    """The error for creating an object that exists (`apierrors.NewAlreadyExists`)."""
    return Denied(f'{resource_of(obj)} "{obj.metadata.name}" already exists')


def resource_of(obj: KubernetesObject) -> str:
    """Plural and group, as in messages of admission: `deployments.apps`."""
    known = RESOURCES[type(obj)]
    return f"{known.plural}.{known.group}".rstrip(".")


def kind_of(obj: KubernetesObject) -> str:
    """Kind and group, as in messages of validation: `Deployment.apps`."""
    known = RESOURCES[type(obj)]
    return f"{known.kind}.{known.group}".rstrip(".")


class Admitted(msgspec.Struct, Generic[T], frozen=True):
    """The object as the API server stores it, and all changes by admission, in order."""

    object: T
    changes: tuple[ChangeRow, ...] = ()


class AdmissionStep(NamedTuple, Generic[T]):
    """One step of admission, with its name in the API server."""

    name: str
    run: Callable[[T, Cluster], T | Denied]


def run_steps(steps: Sequence[AdmissionStep[T]], obj: T, cluster: Cluster) -> Admitted[T] | Denied:
    """Run all steps in order, up to the first rejection."""
    changes: list[ChangeRow] = []
    for step in steps:
        result = step.run(obj, cluster)
        if isinstance(result, Denied):
            return result
        changes.extend(changes_between(step.name, obj, result))
        obj = result
    return Admitted(obj, tuple(changes))
