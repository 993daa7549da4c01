"""`Edit`: what somebody says about a cluster, typed; a closed union, whose names are not looked up yet.

And `Resolved`: what it comes to in a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.kinds import Resource
from kwhatif.kube.model.node import Taint
from kwhatif.state.change import Change


class Wrong(ValueError):
    """An edit cannot be read, or cannot be made: what is wrong, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Reference(msgspec.Struct, frozen=True):
    """`KIND/[NAMESPACE/]NAME`; the name may be a glob. Without a namespace, the default one is meant."""

    #: As it was written.
    text: str
    resource: Resource
    name: str
    namespace: str | None = None


class _Edit(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all edits: how the edit is written in the text form, on one line."""

    text: str


class Cordon(_Edit, frozen=True):
    """No new pods on these nodes. A node is a name, a glob, or a label selector."""

    nodes: tuple[str, ...]


class Uncordon(_Edit, frozen=True):
    """New pods may go to these nodes again."""

    nodes: tuple[str, ...]


class TaintRemoval(msgspec.Struct, frozen=True):
    """Taints of a key that go; None stands for any value, any effect."""

    key: str
    value: str | None = None
    effect: str | None = None


class TaintNodes(_Edit, frozen=True):
    """These nodes get taints, or lose some."""

    nodes: tuple[str, ...]
    added: tuple[Taint, ...] = ()
    removed: tuple[TaintRemoval, ...] = ()


class Label(_Edit, frozen=True):
    """These objects get labels, or lose some."""

    objects: tuple[Reference, ...]
    added: Mapping[str, str] = {}
    removed: tuple[str, ...] = ()


class AddNodes(_Edit, frozen=True):
    """New nodes, like one that is there; `labels` are theirs beside those that it has."""

    count: int
    like: str
    labels: Mapping[str, str] = {}


class DeleteObjects(_Edit, frozen=True):
    """These objects go; `force` and `ignore_not_found` are kubectl's (a pod goes at once; what is not there is not)."""

    objects: tuple[Reference, ...]
    force: bool = False
    ignore_not_found: bool = False


class Scale(_Edit, frozen=True):
    """Workloads -> how many pods each is to have."""

    targets: tuple[tuple[Reference, int], ...]


class Assignment(msgspec.Struct, frozen=True):
    """A field and its new value; None removes it. Steps are names of fields, keys of maps, indexes of lists."""

    path: tuple[str | int, ...]
    value: Any = None


class SetFields(_Edit, frozen=True):
    """Fields of an object, as the API server stores it, have other values."""

    object: Reference
    values: tuple[Assignment, ...]


class Patch(_Edit, frozen=True):
    """An object is changed by a JSON merge patch (RFC 7386)."""

    object: Reference
    merge: Mapping[str, Any]


class Priority(_Edit, frozen=True):
    """A PriorityClass has another value; pods that exist keep theirs."""

    name: str
    value: int


class Budget(_Edit, frozen=True):
    """A PodDisruptionBudget allows this; one that is new selects by `selector`, else the pods of the workload."""

    name: str
    namespace: str | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: Mapping[str, str] = {}


class Apply(_Edit, frozen=True):
    """These objects are applied, as manifests are."""

    objects: tuple[Any, ...]
    #: What is to be said about them.
    notes: tuple[str, ...] = ()


class Drain(_Edit, frozen=True):
    """`kubectl drain` with its flags; `timeout` is in seconds, None for none."""

    nodes: tuple[str, ...]
    args: tuple[str, ...] = ()
    timeout: float | None = None
    #: Whether what comes next waits until it is done.
    wait: bool = True


class Fail(_Edit, frozen=True):
    """These nodes stop: their kubelets report nothing any more."""

    nodes: tuple[str, ...]


class Recover(_Edit, frozen=True):
    """These nodes are back."""

    nodes: tuple[str, ...]


class EvictPods(_Edit, frozen=True):
    """Somebody asks the Eviction API to evict these pods."""

    pods: tuple[Reference, ...]


class Wait(_Edit, frozen=True):
    """So many seconds pass."""

    seconds: float


class Settle(_Edit, frozen=True):
    """Time passes until nothing happens any more."""


Plain = (
    Cordon
    | Uncordon
    | TaintNodes
    | Label
    | AddNodes
    | DeleteObjects
    | Scale
    | SetFields
    | Patch
    | Priority
    | Budget
    | Apply
)
#: What only means something where time passes.
Timed = Drain | Fail | Recover | EvictPods | Wait | Settle
Edit = Plain | Timed


class Resolved(msgspec.Struct, frozen=True):
    """What an edit comes to.

    A simulation takes `changes` only, as writes to the API server: the rest follows from them there.
    """

    #: What whoever makes the edit writes to the API server.
    changes: tuple[Change, ...]
    #: What controllers make of that alone, pods of `workloads` aside: `uncordon` takes a taint away, too.
    follow: tuple[Change, ...] = ()
    #: Pods, workloads and new claims in `changes`, as they were written: controllers make pods and volumes of them, or
    #: delete some.
    workloads: tuple[Any, ...] = ()
    #: Objects that the API server does not take, and what it says; the others of the edit are taken.
    refused: tuple[tuple[Any, str], ...] = ()
    #: What somebody has to know who reads the answer.
    notes: tuple[str, ...] = ()
    #: The same where nobody reacts to the edit; a simulation goes on, and there it is not so.
    notes_at_rest: tuple[str, ...] = ()
    caveats: tuple[Caveat, ...] = ()
