"""Evidence: why a node was rejected, as typed data. Only `render` turns it into prose.

A third-party plugin may use `Note`. A new kind of evidence belongs in the `Evidence` union, and
type checking then demands a sentence for it.
"""

from __future__ import annotations

import msgspec

from kwhatif.kube.model.meta import FrozenMeta
from kwhatif.kube.model.node import Taint


class _Evidence(msgspec.Struct, metaclass=FrozenMeta, frozen=True, rename="camel", tag_field="type", gc=False):
    """Base: serialised with its class name as `type`."""


class InsufficientResource(_Evidence):
    """Not enough of a resource; cpu in milli-units, memory and storage in bytes, others in units.

    `allocatable` is what the node has in total, `used` what its pods request, `requested` what the pod requests.
    """

    resource: str
    requested: int
    used: int
    allocatable: int


class UntoleratedTaint(_Evidence):
    """The first taint that the pod does not tolerate."""

    key: str
    value: str
    effect: str


def taint_text(taint: Taint | UntoleratedTaint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


class CordonedNode(_Evidence):
    """`spec.unschedulable` is set."""


class WrongNode(_Evidence):
    """The pod names another node."""

    wanted: str


class UnmatchedSelector(_Evidence):
    """Node selector or affinity do not match: `terms` of the pod, `labels` of the node (None: absent)."""

    terms: tuple[str, ...]
    labels: dict[str, str | None]


class PortConflict(_Evidence):
    """A host port that is in use, and the pod that uses it (`namespace/name`)."""

    ip: str
    protocol: str
    port: int
    pod: str


class SpreadSkew(_Evidence):
    """Placing the pod would make the skew too large: `matching` + self - `minimum` > `max_skew`."""

    topology_key: str
    domain: str
    matching: int
    minimum: int
    self_match: int
    max_skew: int


class MissingTopologyLabel(_Evidence):
    """The node lacks the label that a spread constraint needs."""

    topology_key: str


class PodAffinityUnmatched(_Evidence):
    """No pod in the node's domain matches a required affinity term."""

    topology_key: str
    domain: str | None
    selector: str


class PodAntiAffinityMatched(_Evidence):
    """Pods in the node's domain match a required anti-affinity term of the pod; `count` of them."""

    topology_key: str
    domain: str
    selector: str
    count: int


class ExistingAntiAffinity(_Evidence):
    """Pods in the node's domain have a required anti-affinity term that matches the pod; `count` of them."""

    topology_key: str
    domain: str
    count: int


class VolumeConflict(_Evidence):
    """A conflict about a claim or disk; `detail` says which."""

    claim: str
    detail: str


class Mismatch(msgspec.Struct, metaclass=FrozenMeta, frozen=True, gc=False):
    """A field in which a volume does not match a claim."""

    field: str
    wanted: str
    found: str


class UnboundClaim(_Evidence):
    """A claim that must be bound before pods use it, and is not.

    `volume` is the one that it names, or else the free one with the fewest `mismatches`. With a
    `provisioner`, the volume has yet to be provisioned.
    """

    claim: str
    storage_class: str
    #: Whether this is the cluster's default class, used by claims without a class; and whether it exists.
    is_default: bool
    is_known: bool
    provisioner: str
    volume: str
    is_named: bool
    is_there: bool
    mismatches: tuple[Mismatch, ...]


class VolumeLimit(_Evidence):
    """The node's CSI driver would have too many volumes attached."""

    driver: str
    attached: int
    new: int
    limit: int


class DeviceShortage(_Evidence):
    """A request of a claim that the node's devices cannot satisfy.

    `wanted` is how many devices it requests (None: all), `matching` how many of the node's devices match, `free` how
    many of these are neither allocated nor tainted. If enough are free, constraints, counters or other requests are the
    reason. `tainted` is how many would be free without taints, which the request does not tolerate.
    """

    claim: str
    request: str
    wanted: int | None
    matching: int
    free: int
    tainted: int = 0
    #: `key=value:effect`.
    taints: tuple[str, ...] = ()


class InvalidDevicePool(_Evidence):
    """The slices of the pool (`driver/pool`) contradict each other: its devices cannot be used."""

    pool: str
    problem: str


class ClaimElsewhere(_Evidence):
    """The claim is already allocated, with devices that are not available on the node."""

    claim: str
    devices: tuple[str, ...]


class BindingFailed(_Evidence):
    """The claim's device could not be prepared: the driver has set a failure condition."""

    claim: str
    device: str
    condition: str


class BindingTimedOut(_Evidence):
    """The claim's device was not ready before the scheduler's `bindingTimeout`."""

    claim: str
    device: str
    #: How long it has waited, and the limit.
    seconds: int
    limit: int


class MissingFeature(_Evidence):
    """Features that the node does not declare."""

    features: tuple[str, ...]


class Note(_Evidence):
    """Free text, for extenders and third-party plugins."""

    text: str


Evidence = (
    InsufficientResource
    | UntoleratedTaint
    | CordonedNode
    | WrongNode
    | UnmatchedSelector
    | PortConflict
    | SpreadSkew
    | MissingTopologyLabel
    | PodAffinityUnmatched
    | PodAntiAffinityMatched
    | ExistingAntiAffinity
    | VolumeConflict
    | UnboundClaim
    | VolumeLimit
    | DeviceShortage
    | InvalidDevicePool
    | ClaimElsewhere
    | BindingFailed
    | BindingTimedOut
    | MissingFeature
    | Note
)
