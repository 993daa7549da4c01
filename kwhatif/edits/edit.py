"""`Edit`: a closed union of edits as typed data, before names are looked up; `Resolved`: its changes in a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from kwhatif.kube.model.bystanders import VerticalPodAutoscaler
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.kinds import Resource
from kwhatif.kube.model.node import Taint
from kwhatif.report.edit_notes import EditNote
from kwhatif.state.change import Change


class Wrong(ValueError):
    """An edit is not valid, or cannot be made: the problem, and a hint."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Refusal(Wrong):
    """The API server rejects an edit, in its own words."""


class Reference(msgspec.Struct, frozen=True):
    """`KIND/[NAMESPACE/]NAME`; the name may be a glob. Without a namespace it means the default one."""

    #: As it was written.
    text: str
    resource: Resource
    name: str
    namespace: str | None = None


class _Edit(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all edits, with the text form of the edit on one line."""

    text: str


class Cordon(_Edit, frozen=True):
    """Cordon these nodes. A node is a name, a glob, or a label selector."""

    nodes: tuple[str, ...]


class Uncordon(_Edit, frozen=True):
    """Uncordon these nodes."""

    nodes: tuple[str, ...]


class TaintRemoval(msgspec.Struct, frozen=True):
    """Taints of a key to remove; None means any value, any effect."""

    key: str
    value: str | None = None
    effect: str | None = None


class TaintNodes(_Edit, frozen=True):
    """Add taints to nodes, or remove some."""

    nodes: tuple[str, ...]
    added: tuple[Taint, ...] = ()
    removed: tuple[TaintRemoval, ...] = ()


class Label(_Edit, frozen=True):
    """Add labels to objects, or remove some."""

    objects: tuple[Reference, ...]
    added: Mapping[str, str] = {}
    removed: tuple[str, ...] = ()


class AddNodes(_Edit, frozen=True):
    """Add nodes like an existing one; `labels` are added to those of that node."""

    count: int
    like: str
    labels: Mapping[str, str] = {}


class DeleteObjects(_Edit, frozen=True):
    """Delete objects; `force` (pods are removed at once) and `ignore_not_found` are as in kubectl."""

    objects: tuple[Reference, ...]
    force: bool = False
    ignore_not_found: bool = False


class Scale(_Edit, frozen=True):
    """Scale workloads: workload -> its new number of replicas."""

    targets: tuple[tuple[Reference, int], ...]


class ScaleBy(_Edit, frozen=True):
    """Scale workloads by a factor: these, or all of a namespace, or all; as far as their autoscalers go."""

    #: As it was written: "1.5".
    factor: str
    workloads: tuple[Reference, ...] = ()
    #: None: of all namespaces.
    namespace: str | None = None


class ScaleToMax(_Edit, frozen=True):
    """Scale workloads to the maximum of their HorizontalPodAutoscalers, in a namespace or (None) in all."""

    namespace: str | None = None


class Measured(msgspec.Struct, frozen=True):
    """What a container of a pod used: nano-units by resource. Of a whole pod the container is ""."""

    pod: str
    #: None: the default one.
    namespace: str | None
    container: str
    amounts: Mapping[str, int]


class FoundRequests(msgspec.Struct, frozen=True):
    """What a file says pods should request."""

    measured: tuple[Measured, ...] = ()
    vpas: tuple[VerticalPodAutoscaler, ...] = ()


#: Sources that are not files: the cluster's own VerticalPodAutoscalers, and its PodMetrics.
FROM_VPA, FROM_METRICS = "vpa", "metrics"


class Requests(_Edit, frozen=True):
    """Give pods the requests that they need, as they were measured or as vertical autoscalers recommend."""

    #: Files, "vpa" for the VerticalPodAutoscalers of the cluster, and "metrics" for its PodMetrics.
    sources: tuple[str, ...]
    #: What the files say.
    found: FoundRequests = FoundRequests()


class Resize(_Edit, frozen=True):
    """Resize a running pod in place: the resources of one container. "": the pod has only one."""

    pod: Reference
    container: str = ""
    requests: Mapping[str, str] = {}
    limits: Mapping[str, str] = {}


class Restart(_Edit, frozen=True):
    """Restart workloads, as `kubectl rollout restart`: their templates change in nothing that a rule reads."""

    workloads: tuple[Reference, ...]


class Assignment(msgspec.Struct, frozen=True):
    """A field and its new value; None removes it. Path steps are field names, map keys, or list indexes."""

    path: tuple[str | int, ...]
    value: Any = None


class SetFields(_Edit, frozen=True):
    """Set fields of an object, in its stored form."""

    object: Reference
    values: tuple[Assignment, ...]


class Patch(_Edit, frozen=True):
    """Change an object with a JSON merge patch (RFC 7386)."""

    object: Reference
    merge: Mapping[str, Any]


class Priority(_Edit, frozen=True):
    """Change the value of a PriorityClass; existing pods keep their priority."""

    name: str
    value: int


class Budget(_Edit, frozen=True):
    """Set the bound of a PodDisruptionBudget; a new one selects by `selector`, or the pods of the workload."""

    name: str
    namespace: str | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: Mapping[str, str] = {}


class Apply(_Edit, frozen=True):
    """Apply objects, as manifests are."""

    objects: tuple[Any, ...]
    notes: tuple[EditNote, ...] = ()


class Drain(_Edit, frozen=True):
    """`kubectl drain` with its flags."""

    nodes: tuple[str, ...]
    args: tuple[str, ...] = ()
    timeout: float | None = None
    #: Whether the next edit waits until it is done.
    wait: bool = True


class Fail(_Edit, frozen=True):
    """These nodes fail: their kubelets become silent."""

    nodes: tuple[str, ...]


class Recover(_Edit, frozen=True):
    """These nodes return."""

    nodes: tuple[str, ...]


class EvictPods(_Edit, frozen=True):
    """Evict these pods through the Eviction API."""

    pods: tuple[Reference, ...]


class Wait(_Edit, frozen=True):
    """Let this number of seconds pass."""

    seconds: float


class Settle(_Edit, frozen=True):
    """Let time pass until nothing happens any more."""


#: What gives workloads another number of pods.
Scaling = Scale | ScaleBy | ScaleToMax
Plain = (
    Cordon
    | Uncordon
    | TaintNodes
    | Label
    | AddNodes
    | DeleteObjects
    | Scaling
    | Requests
    | Resize
    | Restart
    | SetFields
    | Patch
    | Priority
    | Budget
    | Apply
)
#: Edits that are valid only in a simulation.
Timed = Drain | Fail | Recover | EvictPods | Wait | Settle
Edit = Plain | Timed


class SourcedEdit(NamedTuple):
    """An edit, and where it was written: `--if 'cordon a1'`."""

    where: str
    edit: Edit


class Resolved(msgspec.Struct, frozen=True):
    """The effects of an edit.

    A simulation uses only `changes`, as writes to the API server: the rest follows from them.
    """

    #: The direct writes to the API server.
    changes: tuple[Change, ...]
    #: The writes of controllers that follow directly, without pods of `workloads`: `uncordon` also removes a taint.
    follow: tuple[Change, ...] = ()
    #: Pods, workloads and new claims in `changes`, as they were written: controllers create pods and volumes for them,
    #: or delete some.
    workloads: tuple[Any, ...] = ()
    #: Objects that the API server rejects, and its messages; the other objects of the edit are accepted.
    refused: tuple[tuple[Any, str], ...] = ()
    notes: tuple[EditNote, ...] = ()
    caveats: tuple[Caveat, ...] = ()
