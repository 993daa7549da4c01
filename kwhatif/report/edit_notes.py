"""Notes about an edit, as data; `render/edits.py` makes the sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import msgspec


class _Note(msgspec.Struct, frozen=True):
    """A fact about what an edit does, or does not do."""

    #: Whether it is true only without a simulation, which includes the reactions.
    at_rest: ClassVar[bool] = False


# --- any edit --------------------------------------------------------------------------------------------------------


class NothingChanges(_Note, frozen=True):
    """Everything that is set already has this value."""

    what: Literal["labels", "fields", "replicas", "requests"]


class HooksLeftOut(_Note, frozen=True):
    """Helm hooks of a manifest that are not there after it is applied."""

    hooks: tuple[str, ...]


class PodsRefused(_Note, frozen=True):
    """The API server refuses this number of a workload's new pods."""

    pods: int
    message: str


class PodsNotMade(_Note, frozen=True):
    """This number of pods is not created: no node has room for them."""

    pods: int


class BudgetStale(_Note, frozen=True):
    """The status of this budget, `namespace/name`, still counts pods that are gone: no controller updates it."""

    at_rest: ClassVar[bool] = True
    budget: str


# --- nodes -----------------------------------------------------------------------------------------------------------


class NodesUnchanged(_Note, frozen=True):
    """Nodes that are as the edit wants them already."""

    nodes: tuple[str, ...]
    verb: Literal["cordon", "uncordon", "taint"]


class NodesAdded(_Note, frozen=True):
    """Number of new nodes like this one: their names are made up, its images are not copied."""

    like: str
    count: int


class StateNotCopied(_Note, frozen=True):
    """What new nodes do not copy, as it comes from the state of the node that they are like."""

    like: str
    cordoned: bool
    taints: tuple[str, ...]


class DevicesNotCopied(_Note, frozen=True):
    """New nodes do not have the ResourceSlices of the node that they are like."""

    like: str


class DaemonPodsPlaced(_Note, frozen=True):
    """Pods of DaemonSets that are on new nodes, in the scheduler's units; `where`: on one, on each, or on all of them.

    `daemon_sets`: the names, `namespace/name`, sorted.
    """

    pods: int
    requests: Mapping[str, int]
    where: Literal["one", "each", "all"]
    daemon_sets: tuple[str, ...]


class DaemonPodsPending(_Note, frozen=True):
    """Pods of these DaemonSets that find no room on new nodes."""

    pods: int
    daemon_sets: tuple[str, ...]


class DaemonPodsRefused(_Note, frozen=True):
    """The API server refuses this number of pods of DaemonSets on new nodes."""

    pods: int
    message: str


class PodsStayAssigned(_Note, frozen=True):
    """Pods that stay on a deleted node until they are deleted."""

    pods: int


# --- numbers of pods -------------------------------------------------------------------------------------------------


class ReplicasUnchanged(_Note, frozen=True):
    """The workload, `Kind namespace/name`, has this number already."""

    workload: str


class ScaledBack(_Note, frozen=True):
    """The Deployment that owns the ReplicaSet would undo the edit."""

    deployment: str


class AutoscalerBound(_Note, frozen=True):
    """Workloads that get no more pods than the maximum of their HorizontalPodAutoscaler."""

    workloads: tuple[str, ...]


class AutoscalerSets(_Note, frozen=True):
    """HorizontalPodAutoscalers that give the workload another number of pods."""

    autoscalers: tuple[str, ...]
    replicas: int | None


class DependentsDeleted(_Note, frozen=True):
    """Pods that go with their deleted owner."""

    pods: int


class PodRecreated(_Note, frozen=True):
    """The controller of a deleted pod would create a new one."""

    at_rest: ClassVar[bool] = True


# --- fields ----------------------------------------------------------------------------------------------------------


class PriorityUnchanged(_Note, frozen=True):
    """The PriorityClass has this value already."""

    name: str
    value: int


class PrioritiesKept(_Note, frozen=True):
    """Existing pods of a PriorityClass keep their priority."""

    pods: int


class PriorityFollows(_Note, frozen=True):
    """A pod's priority changes with its PriorityClass."""

    before: int | None
    after: int | None


class NewBudget(_Note, frozen=True):
    """The budget did not exist: it selects the pods of this workload."""

    workload: str


class PodsKeepLabels(_Note, frozen=True):
    """The labels of a workload were changed: those of its pods are in its template."""


class PodsKeepTemplate(_Note, frozen=True):
    """A template was changed, which is for new pods only."""

    at_rest: ClassVar[bool] = True


class PodsNotScaled(_Note, frozen=True):
    """The number of replicas was set, but no pod is created or deleted."""

    at_rest: ClassVar[bool] = True


# --- requests --------------------------------------------------------------------------------------------------------


class RequestsChanged(_Note, frozen=True):
    """Requests of all changed pods together: resource -> nano-units before and after."""

    totals: Mapping[str, tuple[int, int]]


class MostMeasured(_Note, frozen=True):
    """The new requests are the most that was measured."""


class NodesExceeded(_Note, frozen=True):
    """Nodes whose pods request more than is allocatable: node -> resource -> nano-units requested and allocatable."""

    nodes: Mapping[str, Mapping[str, tuple[int, int]]]


class PodsNotMeasured(_Note, frozen=True):
    """Pods that the edit leaves out."""

    pods: tuple[str, ...]


# --- resizes in place ------------------------------------------------------------------------------------------------


class ResizeUnknown(_Note, frozen=True):
    """A pod was resized on a node that is not in the input."""

    pod: str
    node: str


class ResizeUnseen(_Note, frozen=True):
    """The kubelet of the pod's node is silent."""

    pod: str
    node: str


class Resized(_Note, frozen=True):
    """The kubelet resizes the pod, and restarts these containers for it."""

    pod: str
    node: str
    restarts: tuple[str, ...]


class ResizePutOff(_Note, frozen=True):
    """The kubelet defers the resize of the pod, or finds it infeasible."""

    pod: str
    node: str
    decision: Literal["Deferred", "Infeasible"]
    message: str


EditNote = (
    NothingChanges
    | HooksLeftOut
    | PodsRefused
    | PodsNotMade
    | BudgetStale
    | NodesUnchanged
    | NodesAdded
    | StateNotCopied
    | DevicesNotCopied
    | DaemonPodsPlaced
    | DaemonPodsPending
    | DaemonPodsRefused
    | PodsStayAssigned
    | ReplicasUnchanged
    | ScaledBack
    | AutoscalerBound
    | AutoscalerSets
    | DependentsDeleted
    | PodRecreated
    | PriorityUnchanged
    | PrioritiesKept
    | PriorityFollows
    | NewBudget
    | PodsKeepLabels
    | PodsKeepTemplate
    | PodsNotScaled
    | RequestsChanged
    | MostMeasured
    | NodesExceeded
    | PodsNotMeasured
    | ResizeUnknown
    | ResizeUnseen
    | Resized
    | ResizePutOff
)
