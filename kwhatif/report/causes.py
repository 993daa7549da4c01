"""Causes: what would wake a pending pod; `render.queue` makes sentences of them.

`Cause` is a closed union: type checking demands a sentence for a new kind. Amounts of cpu are in milli-units, of memory
and storage in bytes, of all else in units. Pods and claims are `namespace/name`. `nodes` are the first few by name;
`more` is how many others there are.
"""

from __future__ import annotations

import msgspec

from kwhatif.kube.model.meta import FrozenMeta


class _Cause(msgspec.Struct, metaclass=FrozenMeta, frozen=True, rename="camel", tag_field="type", gc=False):
    """Base: serialised with its class name as `type`."""


class VictimsEnd(_Cause):
    """The pods that this pod evicts, or that are already being deleted, are gone from the node."""

    node: str
    pods: tuple[str, ...]


class RoomFreed(_Cause):
    """An assigned pod that frees these amounts on one of the nodes is deleted or scaled down.

    `pods` are the first pods there that free enough by themselves, the least important first; without any, it takes
    several.
    """

    frees: dict[str, int]
    nodes: tuple[str, ...]
    pods: tuple[str, ...] = ()
    more: int = 0


class NodeGrows(_Cause):
    """The allocatable amounts of a node grow to these; now it is too small even when it is empty."""

    wants: dict[str, int]
    nodes: tuple[str, ...]
    more: int = 0


class NodeAdded(_Cause):
    """A node is added on which the pod fits: with room for these amounts, and the labels that it requires."""

    requests: dict[str, int] = {}
    terms: tuple[str, ...] = ()
    #: The only node that the pod may use.
    name: str = ""


class NodeLabelled(_Cause):
    """Nodes get labels so that they match; `keys` are labels that just have to be there."""

    nodes: tuple[str, ...]
    terms: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    more: int = 0


class TaintRemoved(_Cause):
    """A taint, as kubectl writes it, is removed from the nodes."""

    taint: str
    nodes: tuple[str, ...]
    more: int = 0


class Uncordoned(_Cause):
    """The nodes become schedulable again."""

    nodes: tuple[str, ...]
    more: int = 0


class FeaturesDeclared(_Cause):
    """A node declares all of the features."""

    features: tuple[str, ...]
    nodes: tuple[str, ...]
    more: int = 0


class PodDeleted(_Cause):
    """A pod that stands in the way is deleted; `holds` is the host port or volume that it gives back."""

    pod: str
    holds: str
    node: str = ""


class MatchingPodsDeleted(_Cause):
    """The number of matching pods in a domain that must be deleted.

    `own`: it is the selector of the pod that waits; otherwise these pods refuse it by their own anti-affinity.
    """

    topology_key: str
    domain: str
    count: int
    selector: str = ""
    own: bool = True


class MatchingPodComes(_Cause):
    """A pod that matches the selector is assigned to a node with the label; `least`: where there are fewest of them."""

    topology_key: str
    selector: str = ""
    least: bool = False


class ObjectAdded(_Cause):
    """An object that the pod names is created."""

    kind: str
    name: str


class ClaimBound(_Cause):
    """A PersistentVolumeClaim of the pod is bound."""

    claim: str


class VolumeUsable(_Cause):
    """Something about the volume of a claim changes; `detail` is its present problem."""

    claim: str
    detail: str = ""


class VolumeDetached(_Cause):
    """A node has room again for this many more volumes of the driver."""

    driver: str
    count: int
    nodes: tuple[str, ...]
    more: int = 0


class DevicesFreed(_Cause):
    """Devices for a request of a claim come or are given back; `missing` None: it is not known how many."""

    claim: str
    request: str = ""
    missing: int | None = None
    #: Whether some are free, but tainted.
    tainted: bool = False


class GateRemoved(_Cause):
    """A scheduling gate is removed from the pod; it is tried once all of them are."""

    gate: str


class AnyEvent(_Cause):
    """An event, by its name in the scheduler's metrics, for a plugin about which no more is known."""

    plugin: str
    events: tuple[str, ...]


class BackoffEnds(_Cause):
    """Nothing has to happen: it is tried again when its backoff is over."""


class Flush(_Cause):
    """Nothing happens for five minutes after its last attempt: the scheduler then tries it again.

    `fits`: it fits now, and the scheduler has not noticed.
    """

    fits: bool = False


Cause = (
    VictimsEnd
    | RoomFreed
    | NodeGrows
    | NodeAdded
    | NodeLabelled
    | TaintRemoved
    | Uncordoned
    | FeaturesDeclared
    | PodDeleted
    | MatchingPodsDeleted
    | MatchingPodComes
    | ObjectAdded
    | ClaimBound
    | VolumeUsable
    | VolumeDetached
    | DevicesFreed
    | GateRemoved
    | AnyEvent
    | BackoffEnds
    | Flush
)
