"""The rows of the command `queue`: the scheduling queue.

`Cause` is a closed union: type checking demands a sentence for a new kind. Amounts of cpu are in milli-units, of memory
and storage in bytes, of all else in units. Pods and claims are `namespace/name`. `nodes` are the first few by name;
`more` is how many others there are.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from kwhatif.kube.model.meta import FrozenMeta, Row
from kwhatif.report.decision import Outcome

QueueState = Literal["Active", "BackingOff", "Unschedulable", "Gated", "OtherScheduler", "New"]


QueueFate = Literal["Woken", "Active", "Asleep", "Gated", "OtherScheduler", "Gone"]


# --- causes: what would wake a pending pod; `render.queue` makes sentences of them ---------------------------------


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


# --- rows --------------------------------------------------------------------------------------------


class WakeUpRow(Row):
    """Something that would bring a pod back into the queue, or would help although the scheduler would not notice.

    `plugin` is the one that waits for it, "" for the queue itself. `enough`: the pod then fits, as far as is known.
    `wakes`: a queueing hint of a plugin wakes it; otherwise only the flush after five minutes does.
    """

    cause: Cause
    plugin: str = ""
    enough: bool = True
    wakes: bool = True


class WakingRow(Row):
    """An event by which edits wake a pod, the object that it is about, and the plugin whose hint says so."""

    event: str
    object: str
    plugin: str


class AfterEditsRow(Row, kw_only=True):
    """The effect of edits on a pending pod.

    A pod that is `Woken` or `Active` is tried again, as number `turn`; an `Asleep` one is not, and `outcome` is what it
    would be at the end: if that is a node, only the flush after five minutes helps. `behind` are pods in front of it
    without which it would get a node. `Gone`: the edits delete the pod.
    """

    fate: QueueFate
    woken_by: tuple[WakingRow, ...] = ()
    turn: int | None = None
    outcome: Outcome
    node: str | None = None
    message: str = ""
    rejected_by: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()

    @property
    def fits_but_is_not_requeued(self) -> bool:
        """Whether only the flush after five minutes helps."""
        return self.fate == "Asleep" and self.node is not None


class QueuedPodRow(Row, kw_only=True):
    """A pending pod in the scheduling queue, as it is without edits; a pod that edits make is `New`.

    `position` counts from 1, in the order in which the scheduler takes them; null for pods that it does not take.
    `state` is what the dump shows: a pod without a verdict of the scheduler is `Active`. `since` is when the scheduler
    first rejected it, as its condition says. Events of a dump show how often its attempts failed, at least
    (`attempts`), when that is known to have happened last (`lastAttempt`), and until when it has to wait even if it is
    woken (`backoffEnds`); each is null where it is not known, or over. `outcome`, `node`, `message` and `rejected_by`
    come of trying it now, after those before it; `wake_ups`, the most likely first, are null where they were not asked
    for.
    """

    position: int | None
    pod: str
    owner: str | None = None
    priority: int = 0
    created: str | None = None
    state: QueueState
    since: str | None = None
    attempts: int | None = None
    last_attempt: str | None = None
    backoff_ends: str | None = None
    #: Pods that it has evicted, as Events show.
    evicted: tuple[str, ...] = ()
    rejected_by: tuple[str, ...] = ()
    outcome: Outcome
    node: str | None = None
    message: str = ""
    wake_ups: tuple[WakeUpRow, ...] | None = None
    #: Null without edits.
    after: AfterEditsRow | None = None


class QueueRow(Row):
    """The scheduling queue: the pods that were asked for, and the number of pending pods."""

    pending: int = 0
    pods: tuple[QueuedPodRow, ...] = ()
