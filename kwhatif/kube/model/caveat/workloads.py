"""What workloads and their controllers are taken to do."""

from __future__ import annotations

from typing import Literal

import msgspec

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat
from kwhatif.kube.model.meta import FrozenMeta

#: What a simulation leaves out: adoption of pods without a controller; Jobs deleted some time after their end; what
#: becomes of volumes whose claims go; Jobs that CronJobs start; what goes with
#: its namespace; budgets whose controllers are of custom kinds, or not in the input; what keeps pods from starting, or
#: from getting ready, and who opens their readiness gates; deadlines of Jobs that are far off while pods are pending.
Unmodelled = Literal[
    "adoption",
    "job-ttl",
    "volume-reclaim",
    "cron-jobs",
    "namespaces",
    "budgets",
    "not-started",
    "not-ready",
    "readiness-gates",
    "deadlines",
]


class ImagesNotCompared(IncompleteCaveat, tag="images-not-compared", kw_only=True):
    """A workload looks unchanged, but the input has neither images nor digests of them: the image may have changed."""


class FieldsNotCompared(IncompleteCaveat, tag="fields-not-compared", kw_only=True):
    """A workload looks unchanged, but fields that no scheduling rule reads, such as `env`, may have changed.

    An anonymized snapshot does not hold them, or `field` of `workload` is in the cluster and not in the manifest, and
    nothing shows whether it was applied before.
    """

    #: Such as `Deployment shop/web`; "" where none of the workloads can be compared.
    workload: str = ""
    #: A path; "" where a snapshot keeps digests only.
    field: str = ""

    @property
    def subject(self) -> str:
        """The workload."""
        return self.workload


class ReplicasKept(BaseCaveat, tag="replicas-kept", kw_only=True):
    """A workload leaves spec.replicas out: it keeps the number that it has."""

    workload: str
    replicas: int


class TooManyPods(IncompleteCaveat, tag="too-many-pods", kw_only=True):
    """A workload asks for more pods than nodes can take, or for very many, or so many of them evict others.

    Those that are not judged count like the last one that is. If that has a node, they are pending beyond what all
    nodes can take, and else not judged.
    """

    workload: str
    #: How many pods there are to be, and how many of them are judged.
    count: int
    judged: int

    @property
    def subject(self) -> str:
        """The workload."""
        return self.workload


class OneOfEqualPods(BaseCaveat, tag="one-of-equal-pods", kw_only=True):
    """Of equal pods one was judged."""

    workload: str
    count: int


class WorkloadNotInDump(BaseCaveat, tag="workload-not-in-dump", kw_only=True):
    """Pods of a workload are in the input, and itself is not: they count as made of another template."""

    workload: str
    count: int


class AutoscalersNotRead(BaseCaveat, tag="autoscalers-not-read", kw_only=True):
    """HorizontalPodAutoscalers are not read from live clusters: one may scale a workload that is there already."""

    #: The workloads, such as `Deployment shop/web`.
    targets: tuple[str, ...]


class AutoscalerNotModelled(BaseCaveat, tag="autoscaler", kw_only=True):
    """A HorizontalPodAutoscaler scales a workload by metrics, which are not known: only its bounds count."""

    name: str
    #: The workload, such as `Deployment shop/web`.
    target: str = ""
    min_replicas: int | None = None
    max_replicas: int | None = None
    #: With how many the workload counts; None where it is not there, or of a custom kind.
    replicas: int | None = None

    @property
    def subject(self) -> str:
        """The workload that it scales."""
        return self.target


class ContainerRequests(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True):
    """A container, and what it asks for: resource and quantity."""

    name: str
    requests: tuple[tuple[str, str], ...] = ()


class Injected(BaseCaveat, tag="injected", kw_only=True):
    """New pods of a workload get what its pods have and its template lacks: webhooks add it.

    `missing` where the pods do not all have the same: then new ones get what all of them have.
    """

    workload: str
    containers: tuple[ContainerRequests, ...] = ()
    #: Containers of the template that ask for something else.
    changed: tuple[ContainerRequests, ...] = ()
    volumes: tuple[str, ...] = ()
    tolerations: tuple[str, ...] = ()
    node_selector: tuple[str, ...] = ()
    #: How many pods have it.
    seen: int
    #: Whose pods these are, where the workload has none itself; and what they and it say to webhooks.
    like: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    differ: bool = False

    @property
    def subject(self) -> str:
        """The workload."""
        return self.workload


class UnknownController(BaseCaveat, tag="unknown-controller", kw_only=True):
    """A custom resource has pods already, and how its controller replaces them is not known: all count as replaced."""

    workload: str


class OrderedPodPending(BaseCaveat, tag="ordered-pod-pending", kw_only=True):
    """A pod of a StatefulSet is pending, and holds up all others: it counts as running."""

    workload: str
    pod: str


class ReplicaSetsInferred(BaseCaveat, tag="replica-sets-inferred", kw_only=True):
    """The input has Deployments and their pods, and not the ReplicaSets between: these are made up of the pods."""

    workloads: tuple[str, ...]


class OwnersSilent(BaseCaveat, tag="owners-silent", kw_only=True):
    """Pods go, and nobody makes others: their owners are not in the input, or their controllers are not known."""

    owners: tuple[str, ...]
    count: int


class TolerationUnknown(BaseCaveat, tag="toleration-unknown", kw_only=True):
    """Pods on lost nodes do not say for how long they tolerate that, as pods in a cluster do: they are left there."""

    pods: tuple[str, ...]


class EvictedByTaint(BaseCaveat, tag="evicted-by-taint", kw_only=True):
    """Pods get a node with a NoExecute taint that they tolerate for some seconds only: then they are evicted again."""

    warns = True
    seconds: int


class OldRevisionsUnknown(IncompleteCaveat, tag="old-revisions-unknown", kw_only=True):
    """Workloads in the middle of a rollout need an old revision's template, which the input lacks."""

    workloads: tuple[str, ...]


class ResizeAssumed(BaseCaveat, tag="resize-assumed", kw_only=True):
    """Pods are resized in place, and the input does not show what might keep their kubelets from it.

    A static CPU or memory manager policy, for Guaranteed pods; swap; memory in use above a new limit.
    """

    pods: tuple[str, ...]


class ResizeEvicts(IncompleteCaveat, tag="resize-evicts", kw_only=True):
    """A critical pod asks for more than its node has free: that its kubelet may evict others for it is not modelled."""

    pods: tuple[str, ...]


class PoolObjection(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True):
    """Why a NodePool would not make a node."""

    pool: str
    why: str


class NodesNotAdded(IncompleteCaveat, tag="node-autoscaler", kw_only=True):
    """An autoscaler may add nodes for pods that find no room: that is not modelled, and none are added here.

    Of Karpenter's NodePools requirements, taints and limits are looked at, not instance types.
    """

    #: What shows that one runs, such as `NodePool general`.
    sign: str
    #: The NodePools that would make a node for the pods, the first to be tried first.
    pools: tuple[str, ...] = ()
    #: Why the others would not, where none would.
    objections: tuple[PoolObjection, ...] = ()


class LeftOutOfStory(IncompleteCaveat, tag="left-out-of-story", kw_only=True):
    """Something would happen to objects within the simulated time that is not modelled."""

    what: Unmodelled
    #: Whom it concerns, such as `Job shop/report`.
    objects: tuple[str, ...]


WorkloadsCaveat = (
    ImagesNotCompared
    | FieldsNotCompared
    | ReplicasKept
    | TooManyPods
    | OneOfEqualPods
    | WorkloadNotInDump
    | AutoscalersNotRead
    | AutoscalerNotModelled
    | Injected
    | UnknownController
    | OrderedPodPending
    | ReplicaSetsInferred
    | OwnersSilent
    | TolerationUnknown
    | EvictedByTaint
    | OldRevisionsUnknown
    | ResizeAssumed
    | ResizeEvicts
    | NodesNotAdded
    | LeftOutOfStory
)
