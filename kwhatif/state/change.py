"""`Change`: a closed union of the changes to a cluster. They are frozen and picklable; a list of them is a history."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod


class Upsert(msgspec.Struct, frozen=True):
    """Create the object, or replace the one with its kind and key.

    A pod that stays on its node keeps its place there; on any other node it is added last.
    """

    #: A Kubernetes object of `kwhatif.kube.model`.
    obj: Any


class Delete(msgspec.Struct, frozen=True):
    """Remove the object, as if it had never existed; it is not an error if it is absent."""

    kind: type
    #: `namespace/name`, or the name of an object without a namespace.
    key: str

    @classmethod
    def of(cls, obj: Any) -> Delete:
        """The deletion of this object."""
        return cls(type(obj), key_of(obj))


class Bind(msgspec.Struct, frozen=True):
    """Assign a pod to a node, as when the scheduler has assumed it: it is no longer pending or nominated."""

    #: `namespace/name` of a pending pod, or a new pod, which the state does not have yet.
    pod: str | Pod
    node: str
    #: Other objects as Reserve and PreBind leave them, such as a claim that is now bound to a volume.
    reserved: tuple[Any, ...] = ()


class Evict(msgspec.Struct, frozen=True):
    """Remove a pod from its node and from the state, as the scheduler's cache does (`RemovePod`).

    QUIRK: (types.go, NodeInfo) the last pod of the node takes its place, and its host ports become free, even if
    another pod there has the same port. The disruption controller updates the budgets with an `Upsert`.
    """

    #: `namespace/name`.
    pod: str
    #: As in the pod's condition DisruptionTarget; the state ignores it.
    reason: str = ""


class Nominate(msgspec.Struct, frozen=True):
    """Nominate a pending pod to a node, replacing an earlier nomination.

    This changes the nominator's memory (`backend/queue/nominator.go`); to change the pod's status, `Upsert` the pod.
    """

    #: `namespace/name`.
    pod: str
    #: None: drop the nomination.
    node: str | None


class Sort(msgspec.Struct, frozen=True):
    """Everything stands where the API server's lists would have it, whenever it came: as in a state just loaded.

    Of a cluster that is watched objects come in any order; that must not decide about anything.
    """

    #: Kind and key of all objects that came since, or are elsewhere: others are in order. One may be gone again.
    objects: tuple[tuple[type, str], ...]


Change = Upsert | Delete | Bind | Evict | Nominate | Sort
