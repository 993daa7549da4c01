"""Caveats about workloads, and about assumptions on the actions of their controllers."""

from __future__ import annotations

from typing import Literal

import msgspec

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat
from kwhatif.kube.model.meta import FrozenMeta

#: Parts that a simulation leaves out: adoption of pods without a controller; deletion of Jobs some time after they
#: finish; volumes whose claims are deleted; Jobs that CronJobs start; objects that are deleted with their namespace;
#: budgets for pods of custom kinds, or of controllers that are not in the input; causes that prevent pods from starting
#: or from becoming ready, and controllers that set readiness gates; Job deadlines in the far future with pending pods.
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

    #: The workload, such as `Deployment shop/web`; "" if no workload can be compared.
    workload: str = ""
    #: The path of the field; "" if a snapshot has only digests.
    field: str = ""

    @property
    def subject(self) -> str:
        """The workload."""
        return self.workload


class ReplicasKept(BaseCaveat, tag="replicas-kept", kw_only=True):
    """A workload does not set spec.replicas: it keeps the number that it has."""

    workload: str
    replicas: int


class TooManyPods(IncompleteCaveat, tag="too-many-pods", kw_only=True):
    """A workload has more pods than the nodes can take, or very many, or very many of them evict others.

    Pods that are not judged count like the last one that is. If that one has a node, the pods beyond what all
    nodes can take are pending, and the others are not judged.
    """

    workload: str
    #: The number of pods that the workload requests, and the number of judged pods.
    count: int
    judged: int

    @property
    def subject(self) -> str:
        """The workload."""
        return self.workload


class OneOfEqualPods(BaseCaveat, tag="one-of-equal-pods", kw_only=True):
    """Only one of several equal pods was judged."""

    workload: str
    count: int


class WorkloadNotInDump(BaseCaveat, tag="workload-not-in-dump", kw_only=True):
    """Pods of a workload are in the input, but the workload is not: they count as made from another template."""

    workload: str
    count: int


class AutoscalersNotRead(BaseCaveat, tag="autoscalers-not-read", kw_only=True):
    """HorizontalPodAutoscalers could not be read: one may scale a workload that already exists."""

    #: The workloads, such as `Deployment shop/web`.
    targets: tuple[str, ...]


class AutoscalerNotModelled(BaseCaveat, tag="autoscaler", kw_only=True):
    """A HorizontalPodAutoscaler scales a workload by metrics, which are not known: only its bounds are used."""

    name: str
    #: The workload, such as `Deployment shop/web`.
    target: str = ""
    min_replicas: int | None = None
    max_replicas: int | None = None
    #: The replicas that are assumed; None if the workload does not exist, or is of a custom kind.
    replicas: int | None = None

    @property
    def subject(self) -> str:
        """The scaled workload."""
        return self.target


class ContainerRequests(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True):
    """A container and its requests: resource and quantity."""

    name: str
    requests: tuple[tuple[str, str], ...] = ()


class Injected(BaseCaveat, tag="injected", kw_only=True):
    """New pods of a workload get what its pods have and its template lacks, because webhooks add it.

    `missing` is set if the pods differ: then new pods get what all of them have.
    """

    workload: str
    containers: tuple[ContainerRequests, ...] = ()
    #: Containers of the template whose requests are changed.
    changed: tuple[ContainerRequests, ...] = ()
    volumes: tuple[str, ...] = ()
    tolerations: tuple[str, ...] = ()
    node_selector: tuple[str, ...] = ()
    #: The number of pods that have these additions.
    seen: int
    #: If the workload has no pods of its own: the workloads with these pods, and the marks that they share with it.
    like: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    differ: bool = False

    @property
    def subject(self) -> str:
        """The workload."""
        return self.workload


class RecommendationIgnored(BaseCaveat, tag="recommendation-ignored", kw_only=True):
    """The webhook of VerticalPodAutoscalers is not registered: new pods keep the requests of their templates."""

    warns = True
    #: The workloads that have a recommendation, such as `Deployment shop/web`.
    workloads: tuple[str, ...]


class RequestsKept(IncompleteCaveat, tag="requests-kept", kw_only=True):
    """The requests of pods were to be what they need, and for some workloads, or containers, that is not known."""

    united = ("pods", "workloads")
    #: The source of the recommended requests.
    source: str
    workloads: tuple[str, ...]


class UnknownController(BaseCaveat, tag="unknown-controller", kw_only=True):
    """A custom resource has pods, and how its controller replaces them is not known: all count as replaced.

    Where its manifest names no number of pods, they stay as many.
    """

    workload: str


class OrderedPodPending(BaseCaveat, tag="ordered-pod-pending", kw_only=True):
    """A pending pod of a StatefulSet holds up all later ones: it counts as running."""

    workload: str
    pod: str


class ReplicaSetsInferred(BaseCaveat, tag="replica-sets-inferred", kw_only=True):
    """The input has Deployments and their pods, but not the ReplicaSets between: these are inferred from the pods."""

    workloads: tuple[str, ...]


class OwnersSilent(BaseCaveat, tag="owners-silent", kw_only=True):
    """Deleted pods are not replaced: their owners are not in the input, or their controllers are not known."""

    owners: tuple[str, ...]
    count: int


class TolerationUnknown(BaseCaveat, tag="toleration-unknown", kw_only=True):
    """Pods on lost nodes have no toleration for it with a time, as pods in a cluster do: they stay on their nodes."""

    pods: tuple[str, ...]


class CutAtHorizon(IncompleteCaveat, tag="cut-at-horizon", kw_only=True):
    """What-ifs are not over at the end of the simulated time, `horizon` in seconds: what comes later is not judged."""

    what_ifs: tuple[str, ...]
    horizon: float


class EvictedByTaint(BaseCaveat, tag="evicted-by-taint", kw_only=True):
    """Pods are placed on a node with a NoExecute taint that they tolerate only for a time: then they are evicted."""

    warns = True
    seconds: int


class OldRevisionsUnknown(IncompleteCaveat, tag="old-revisions-unknown", kw_only=True):
    """Workloads in the middle of a rollout need an old revision's template, which the input lacks."""

    workloads: tuple[str, ...]


class ResizeAssumed(BaseCaveat, tag="resize-assumed", kw_only=True):
    """Pods are resized in place, and the input does not show what might keep their kubelets from doing so.

    That may be a static CPU or memory manager policy (for Guaranteed pods), swap, or memory in use above a new limit.
    """

    pods: tuple[str, ...]


class ResizeEvicts(IncompleteCaveat, tag="resize-evicts", kw_only=True):
    """A critical pod requests more than its node has free: evictions by the kubelet are not modelled."""

    pods: tuple[str, ...]


class PoolObjection(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True):
    """Why a NodePool would not make a node."""

    pool: str
    why: str


class NodesNotAdded(IncompleteCaveat, tag="node-autoscaler", kw_only=True):
    """An autoscaler may add nodes for pending pods, and none is added here: `--autoscaler` was not given.

    Requirements, taints and limits of Karpenter's NodePools are checked, instance types are not.
    """

    #: The object that shows that an autoscaler runs, such as `NodePool general`.
    sign: str
    #: The NodePools that could create a node for the pods, in the order in which they are tried.
    pools: tuple[str, ...] = ()
    #: If no NodePool could create a node: the reason for each NodePool.
    objections: tuple[PoolObjection, ...] = ()


class LeftOutOfStory(IncompleteCaveat, tag="left-out-of-story", kw_only=True):
    """Within the simulated time, something would happen to objects that is not modelled."""

    what: Unmodelled
    #: The objects, such as `Job shop/report`.
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
    | RecommendationIgnored
    | RequestsKept
    | UnknownController
    | OrderedPodPending
    | ReplicaSetsInferred
    | OwnersSilent
    | TolerationUnknown
    | CutAtHorizon
    | EvictedByTaint
    | OldRevisionsUnknown
    | ResizeAssumed
    | ResizeEvicts
    | NodesNotAdded
    | LeftOutOfStory
)
