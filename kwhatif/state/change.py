"""`Change`: what happened to a cluster. A closed union, frozen and picklable: a list of changes is a history."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod


class Upsert(msgspec.Struct, frozen=True):
    """The object is there now, in place of one of its kind and key.

    A pod that names the node that it is on keeps its place there; on any other node it comes last.
    """

    #: A Kubernetes object of `kwhatif.kube.model`.
    obj: Any


class Delete(msgspec.Struct, frozen=True):
    """The object is not there, as if it had never been; one that is absent anyway is not an error."""

    kind: type
    #: `namespace/name`, or the name of an object without a namespace.
    key: str

    @classmethod
    def of(cls, obj: Any) -> Delete:
        """The object is not there."""
        return cls(type(obj), key_of(obj))


class Bind(msgspec.Struct, frozen=True):
    """A pod goes to a node, as when the scheduler has assumed it: it is neither pending nor nominated any more."""

    #: `namespace/name` of a pod that is pending; or a new pod, which has not been there before.
    pod: str | Pod
    node: str
    #: Other objects as Reserve and PreBind leave them, such as a claim that has got its volume.
    reserved: tuple[Any, ...] = ()


class Evict(msgspec.Struct, frozen=True):
    """A pod left its node, and is gone, as the scheduler's cache sees it (`RemovePod`).

    QUIRK: (types.go, NodeInfo) the last pod of the node takes its place, and a host port of its own is free, even if
    another pod there has it, too. What its budgets allow is the disruption controller's business: an `Upsert` of these.
    """

    #: `namespace/name`.
    pod: str
    #: Why, as in the pod's condition DisruptionTarget; the state does not look at it.
    reason: str = ""


class Nominate(msgspec.Struct, frozen=True):
    """The scheduler notes a pending pod as nominated to a node, in place of an earlier nomination.

    That is the nominator's memory (`backend/queue/nominator.go`); the pod's status is an `Upsert` of the pod.
    """

    #: `namespace/name`.
    pod: str
    #: None: to no node.
    node: str | None


Change = Upsert | Delete | Bind | Evict | Nominate
