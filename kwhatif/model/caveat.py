"""Caveats: what an answer leaves out, as typed data with a code each. `render/caveats.py` makes sentences of them.

A caveat with `missing` set means that information is missing, or that something was left unjudged: `--strict` fails on
it. A code never changes; policies and scripts name it. A new caveat belongs into the `Caveat` union, and type checking
then demands a sentence for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal, get_args

import msgspec
from msgspec.structs import replace

from kwhatif.model.meta import FrozenMeta


class _Caveat(
    msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", tag_field="code", gc=False
):
    """Base. `pods` are those it is about (`namespace/name`); none means all."""

    #: The sentence; "" until `render` fills it in.
    message: str = ""
    #: Information is missing, or something was left unjudged.
    missing: bool = False
    pods: tuple[str, ...] = ()

    #: Whether an answer that looks good becomes a warning, unless a policy decides otherwise. None: if it is `missing`.
    warns: ClassVar[bool | None] = None

    @property
    def code(self) -> str:
        """The stable name, such as `no-budgets`."""
        return code_of(type(self))

    @property
    def subject(self) -> str:
        """The workload that it is about, such as `Deployment shop/web`; "" where that is not one in particular."""
        return ""

    @property
    def level(self) -> str:
        """What it counts for where no policy says it: `warn` or `pass`."""
        return "warn" if (self.missing if self.warns is None else self.warns) else "pass"


# --- what the input lacks ------------------------------------------------------------------------------------------


#: What a simulation leaves out: adoption of pods without a controller; Jobs deleted some time after their end; what
#: becomes of volumes whose claims go; Jobs that CronJobs start; nodes that are added for pending pods; what goes with
#: its namespace; budgets whose controllers are of custom kinds, or not in the input.
Unmodelled = Literal[
    "adoption", "job-ttl", "volume-reclaim", "cron-jobs", "node-autoscaler", "namespaces", "budgets", "not-started"
]


class Lacking(_Caveat, kw_only=True):
    """Kinds that are not in the input. `reason` says why they could not be read; "" if there is just none of them."""

    missing: bool = True
    kinds: tuple[str, ...] = ()
    reason: str = ""


class NoNodes(_Caveat, tag="no-nodes", kw_only=True):
    """The input holds no Node, so no pod can be placed."""

    missing: bool = True


class NoPods(Lacking, tag="no-pods", kw_only=True):
    """The dump holds no Pod: every node counts as empty."""


class NoBudgets(Lacking, tag="no-budgets", kw_only=True):
    """No PodDisruptionBudget is known where pods are or could be evicted: whether a budget breaks is unknown."""


class NoPriorityClasses(Lacking, tag="no-priority-classes", kw_only=True):
    """No PriorityClass is known: which priority a pod gets that names none, is unknown."""


class NoNamespaces(Lacking, tag="no-namespaces", kw_only=True):
    """No Namespace is known: namespace selectors see only names, and whether a namespace exists is not checked."""

    warns: ClassVar[bool | None] = False


class NoServices(Lacking, tag="no-services", kw_only=True):
    """Services or controllers are not known: pods of one service are not spread by default."""

    warns: ClassVar[bool | None] = False


class NoWorkloads(Lacking, tag="no-workloads", kw_only=True):
    """Deployments, DaemonSets, Jobs or CronJobs could not be read: a changed workload counts as new."""


class NoLimits(Lacking, tag="no-limits", kw_only=True):
    """LimitRanges, ResourceQuotas or RuntimeClasses could not be read: they count as if there were none."""


class NoStorage(Lacking, tag="no-storage", kw_only=True):
    """Volumes, claims or storage classes are not known: answers about pods with volumes cannot be trusted."""

    #: Most pods have no volumes, and a pod whose claim is not known does not fit.
    warns: ClassVar[bool | None] = False


class NoDevices(Lacking, tag="no-devices", kw_only=True):
    """Devices or device claims could not be read: answers about pods that claim devices cannot be trusted."""

    #: A pod whose claim or devices are not known does not fit: no answer looks better than it is.
    warns: ClassVar[bool | None] = False


class DanglingReference(_Caveat, tag="dangling-reference", kw_only=True):
    """Objects of the dump refer to others that are not in it; `count` of a kind, with one example."""

    missing: bool = True
    kind: str
    example: str
    count: int
    user: str


class UnknownPriorityClass(_Caveat, tag="unknown-priority-class", kw_only=True):
    """Pods name a PriorityClass that the input lacks: they count as priority 0."""

    missing: bool = True
    name: str


class BudgetNotComputed(_Caveat, tag="budget-not-computed", kw_only=True):
    """A budget has no status, and none can be computed for it: no disruption is allowed."""

    budget: str
    reason: str
    #: What a complete dump would have, and this one lacks: `Kind namespace/name`.
    absent: str = ""


class NoImages(_Caveat, tag="no-images", kw_only=True):
    """A snapshot was saved without images: nodes are not scored by them, and other images are not seen."""

    missing: bool = True
    warns: ClassVar[bool | None] = False


class ImagesNotCompared(_Caveat, tag="images-not-compared", kw_only=True):
    """A workload looks unchanged, but the input has neither images nor digests of them: the image may have changed."""

    missing: bool = True


class FieldsNotCompared(_Caveat, tag="fields-not-compared", kw_only=True):
    """A workload looks unchanged, but fields that no scheduling rule reads, such as `env`, may have changed.

    An anonymized snapshot does not hold them, or `field` of `workload` is in the cluster and not in the manifest, and
    nothing shows whether it was applied before.
    """

    missing: bool = True
    #: Such as `Deployment shop/web`; "" where none of the workloads can be compared.
    workload: str = ""
    #: A path; "" where a snapshot keeps digests only.
    field: str = ""

    @property
    def subject(self) -> str:
        """The workload."""
        return self.workload


class VersionNotRead(_Caveat, tag="version-not-read", kw_only=True):
    """Objects of an API version that is not read were left out."""

    missing: bool = True
    kind: str
    count: int


class SomeNamespaces(_Caveat, tag="some-namespaces", kw_only=True):
    """A dump holds only the namespaces that were asked for: pods of others count nowhere."""

    missing: bool = True
    dump: str
    #: 0: not known.
    count: int = 0
    #: An option with which the tool would have dumped all of them.
    unless: str = ""


class ObjectsTwice(_Caveat, tag="objects-twice", kw_only=True):
    """A dump holds objects more than once, with different contents: the first of each counts."""

    missing: bool = True
    dump: str
    count: int
    example: str


class CollectionFailed(_Caveat, tag="collection-failed", kw_only=True):
    """The tool that made the dump says that it could not read a kind; `namespaces` of them, or the whole cluster."""

    missing: bool = True
    dump: str
    resources: str
    file: str
    namespaces: int = 0
    example: str = ""


class SchedulerConfigLeftOut(_Caveat, tag="scheduler-config-left-out", kw_only=True):
    """The scheduler configuration in an export is not applied."""

    missing: bool = True


class RecordedChanges(_Caveat, tag="recorded-changes", kw_only=True):
    """An export has recorded changes: the cluster is as it was before the first one."""

    missing: bool = True
    count: int


class NoDates(_Caveat, tag="no-dates", kw_only=True):
    """An export has no dates, only times relative to each other: ages are wrong."""


class TwoMoments(_Caveat, tag="two-moments", kw_only=True):
    """A list was read from the live cluster as of two moments."""

    resources: str


class Remembered(_Caveat, tag="remembered", kw_only=True):
    """A caveat that another version of kwhatif saved with a snapshot, in its words."""

    text: str


class StaleSnapshot(_Caveat, tag="stale-snapshot", kw_only=True):
    """The cluster was read more than an hour ago, or longer ago than the policy allows."""

    warns: ClassVar[bool | None] = True
    taken_at: str
    #: In seconds.
    age: int


class UndatedSnapshot(_Caveat, tag="undated-snapshot", kw_only=True):
    """The policy bounds the age of what was read, and when the dump was taken is not known."""

    missing: bool = True


# --- what is there, and not modelled -------------------------------------------------------------------------------


class NothingJudged(_Caveat, tag="nothing-judged", kw_only=True):
    """The manifests hold no pod, and nothing that makes pods."""

    missing: bool = True


class NotBuilt(_Caveat, tag="not-built", kw_only=True):
    """A Kustomization among the manifests is not built: what it would change is not judged."""

    missing: bool = True
    file: str


class UnjudgedKind(_Caveat, tag="unjudged-kind", kw_only=True):
    """A custom resource holds a pod template that was not judged."""

    missing: bool = True
    object: str
    kind: str


class PodSecurityNotChecked(_Caveat, tag="pod-security", kw_only=True):
    """Pods land in namespaces whose labels enforce a Pod Security Standard, which is not checked."""

    missing: bool = True
    #: Namespace -> level, such as `restricted`.
    namespaces: tuple[tuple[str, str], ...]


class ServiceAccountsNotChecked(_Caveat, tag="service-accounts", kw_only=True):
    """Pods name a ServiceAccount that the manifests do not hold; whether the cluster has it is not checked."""

    names: tuple[str, ...]


class MissingServiceAccounts(_Caveat, tag="missing-service-account", kw_only=True):
    """Pods name a ServiceAccount that is not in the dump, which has others of that namespace: they are refused."""

    missing: bool = True
    names: tuple[str, ...]


class AdmissionNotAsked(_Caveat, tag="admission-webhooks", kw_only=True):
    """The cluster has admission webhooks or policies, which may change or refuse pods and are not asked."""

    missing: bool = True
    #: Kind -> how many.
    kinds: tuple[tuple[str, int], ...]


class AutoscalersNotRead(_Caveat, tag="autoscalers-not-read", kw_only=True):
    """HorizontalPodAutoscalers are not read from live clusters: one may scale a workload that is there already."""

    #: The workloads, such as `Deployment shop/web`.
    targets: tuple[str, ...]


class AutoscalerNotModelled(_Caveat, tag="autoscaler", kw_only=True):
    """A HorizontalPodAutoscaler scales a workload, which is judged with the replicas that it names, or has."""

    name: str
    #: The workload, such as `Deployment shop/web`.
    target: str = ""
    min_replicas: int | None = None
    max_replicas: int | None = None

    @property
    def subject(self) -> str:
        """The workload that it scales."""
        return self.target


class DevicesNotModelled(_Caveat, tag="devices-not-modelled", kw_only=True):
    """Devices have features that Kubernetes turns off by default, and that are not modelled."""

    missing: bool = True
    #: Most pods claim no device.
    warns: ClassVar[bool | None] = False
    #: Kinds or fields.
    features: tuple[str, ...]


class HugeAmounts(_Caveat, tag="huge-amounts", kw_only=True):
    """Nodes have, or their pods request, more than 8 PiB of something: upstream's numbers may wrap around there."""

    missing: bool = True
    nodes: tuple[str, ...]


class UnknownQuotaScope(_Caveat, tag="unknown-quota-scope", kw_only=True):
    """A ResourceQuota of a namespace that pods are made in has a scope that is not known: it counts for no pod."""

    missing: bool = True
    quota: str
    scope: str


class PluginNotModelled(_Caveat, tag="plugin-not-modelled", kw_only=True):
    """The scheduler configuration enables a plugin that is not modelled."""

    warns: ClassVar[bool | None] = True
    plugin: str


class ExtenderNotAsked(_Caveat, tag="extender-not-asked", kw_only=True):
    """The scheduler configuration has an extender that was not called."""

    warns: ClassVar[bool | None] = True
    extender: str
    verbs: tuple[str, ...]
    managed: tuple[str, ...] = ()


class ExtenderBinds(_Caveat, tag="extender-binds", kw_only=True):
    """An extender binds pods itself; nothing is bound here, and it is not asked to."""

    extender: str


class ExtenderOddity(_Caveat, tag="extender-oddity", kw_only=True):
    """An extender answered with something that kube-scheduler accepts without a word; `oddity` says what."""

    extender: str
    verb: str
    oddity: str
    nodes: tuple[str, ...] = ()
    error: str = ""


# --- what was assumed ----------------------------------------------------------------------------------------------


class OtherVersion(_Caveat, tag="other-version", kw_only=True):
    """The cluster is of a version that is not modelled: the rules are those of the nearest one that is."""

    version: str
    rules: str = ""


class AssumedVersion(_Caveat, tag="assumed-version", kw_only=True):
    """Nothing in the input says of which version the cluster is: the rules are those of the newest one."""

    rules: str


class GateNotModelled(_Caveat, tag="gate-not-modelled", kw_only=True):
    """Feature gates were set by hand that no rule here asks about."""

    gates: tuple[str, ...]

    warns: ClassVar[bool | None] = True


class NodeNameSet(_Caveat, tag="node-name-set", kw_only=True):
    """Pods set spec.nodeName: they would never meet the scheduler."""


class Sampling(_Caveat, tag="sampling", kw_only=True):
    """kube-scheduler stops looking after some feasible nodes; here all are compared."""

    looked_for: int
    nodes: int


class PreemptionSampling(_Caveat, tag="preemption-sampling", kw_only=True):
    """kube-scheduler stops after some preemption candidates; here all are compared."""

    enough: int
    candidates: int


class BudgetComputed(_Caveat, tag="budget-computed", kw_only=True):
    """A budget has no status: it was computed as the disruption controller would."""

    budget: str
    allowed: int
    expected: int
    healthy: int
    desired: int


class ReplicasKept(_Caveat, tag="replicas-kept", kw_only=True):
    """A workload leaves spec.replicas out: it keeps the number that it has."""

    workload: str
    replicas: int


class TooManyPods(_Caveat, tag="too-many-pods", kw_only=True):
    """A workload asks for more pods than nodes can take, or for very many, or so many of them evict others.

    Those that are not judged count like the last one that is. If that has a node, they are pending beyond what all
    nodes can take, and else not judged.
    """

    missing: bool = True
    workload: str
    #: How many pods there are to be, and how many of them are judged.
    count: int
    judged: int

    @property
    def subject(self) -> str:
        """The workload."""
        return self.workload


class WorkloadNotInDump(_Caveat, tag="workload-not-in-dump", kw_only=True):
    """Pods of a workload are in the input, and itself is not: they count as made of another template."""

    workload: str
    count: int


class ReplicaSetsInferred(_Caveat, tag="replica-sets-inferred", kw_only=True):
    """The input has Deployments and their pods, and not the ReplicaSets between: these are made up of the pods."""

    workloads: tuple[str, ...]


class OwnersSilent(_Caveat, tag="owners-silent", kw_only=True):
    """Pods go, and nobody makes others: their owners are not in the input, or their controllers are not known."""

    owners: tuple[str, ...]
    count: int


class TolerationUnknown(_Caveat, tag="toleration-unknown", kw_only=True):
    """Pods on lost nodes do not say for how long they tolerate that, as pods in a cluster do: they are left there."""

    pods: tuple[str, ...]


class EvictedByTaint(_Caveat, tag="evicted-by-taint", kw_only=True):
    """Pods get a node with a NoExecute taint that they tolerate for some seconds only: then they are evicted again."""

    warns: ClassVar[bool | None] = True
    seconds: int


class OldRevisionsUnknown(_Caveat, tag="old-revisions-unknown", kw_only=True):
    """Workloads in the middle of a rollout need an old revision's template, which the input lacks."""

    missing: bool = True
    workloads: tuple[str, ...]


class LeftOutOfStory(_Caveat, tag="left-out-of-story", kw_only=True):
    """Something would happen to objects within the simulated time that is not modelled."""

    missing: bool = True
    what: Unmodelled
    #: Whom it concerns, such as `Job shop/report`.
    objects: tuple[str, ...]


class UnknownController(_Caveat, tag="unknown-controller", kw_only=True):
    """A custom resource has pods already, and how its controller replaces them is not known: all count as replaced."""

    workload: str


class OrderedPodPending(_Caveat, tag="ordered-pod-pending", kw_only=True):
    """A pod of a StatefulSet is pending, and holds up all others: it counts as running."""

    workload: str
    pod: str


class PendingAsleep(_Caveat, tag="pending-asleep", kw_only=True):
    """Pending pods that the scheduler has tried in vain: they are not tried again until something wakes them.

    Objects of the manifests count as that. Evictions, rollouts, new pods, and claims made for them do so only in
    `simulate`.
    """


class EvictionsAtOnce(_Caveat, tag="evictions-at-once", kw_only=True):
    """Too many pods evict others to simulate what follows: each is taken to be on its node before the next one's turn.

    Nobody comes back.
    """

    count: int


class OneOfEqualPods(_Caveat, tag="one-of-equal-pods", kw_only=True):
    """Of equal pods one was judged."""

    workload: str
    count: int


class FieldIgnored(_Caveat, tag="field-ignored", kw_only=True):
    """A field of a manifest that does not exist, or is there twice; `--validate=warn` lets it pass."""

    warns: ClassVar[bool | None] = True

    #: File, document, object and field.
    where: str
    #: In the API server's words.
    problem: str
    #: What may have been meant; "" where nothing is near.
    hint: str = ""


class PolicyIsEmpty(_Caveat, tag="descheduler-policy-empty", kw_only=True):
    """The descheduler takes its policy for an empty one, and does nothing."""

    warns: ClassVar[bool | None] = True
    why: str


class NoMetrics(_Caveat, tag="no-metrics", kw_only=True):
    """A descheduler policy goes by measured use, and the input has no NodeMetrics: most dumps leave them out."""

    missing: bool = True


class PrometheusNotAsked(_Caveat, tag="prometheus-not-asked", kw_only=True):
    """A descheduler policy goes by what Prometheus says, which is not asked: the strategy evicts nothing here."""

    missing: bool = True
    plugin: str


class MomentNotKnown(_Caveat, tag="moment-not-known", kw_only=True):
    """Ages count from the newest time in the dump, since nobody said when it was taken."""

    moment: str


class EvictionOrder(_Caveat, tag="eviction-order", kw_only=True):
    """Which pods a descheduler evicts depends on the order in which it comes upon nodes and pods, which is random."""


class VersionNotDefault(_Caveat, tag="version-not-default", kw_only=True):
    """Objects of a version that only API servers serve that are asked to."""

    missing: bool = True
    kind: str
    version: str
    count: int


class CustomKind(_Caveat, tag="custom-kind", kw_only=True):
    """Objects of a kind whose fields, and whether pods are made of it, only its own controller knows."""

    missing: bool = True
    kind: str
    version: str
    count: int


class BindingNotDated(_Caveat, tag="binding-not-dated", kw_only=True):
    """A ResourceClaim waits for its devices, and nobody knows for how long: its bindingTimeout may have passed."""

    missing: bool = True
    claim: str


class Batching(_Caveat, tag="batching", kw_only=True):
    """Equal pods are placed by the ranking made for the first of them: that is so if they follow at once."""


class ClaimUnbound(_Caveat, tag="claim-unbound", kw_only=True):
    """A new claim stays without a volume: nobody makes one for it, and none that exists fits."""

    claim: str
    #: "": it has none.
    storage_class: str
    is_known: bool = True
    #: Classes with a name much like that.
    near: tuple[str, ...] = ()


class VolumeProvisioned(_Caveat, tag="volume-provisioned", kw_only=True):
    """A new claim is bound at once, as its class says: its provisioner is taken to make the volume."""

    claim: str
    storage_class: str
    provisioner: str
    #: Whether every node reaches the volume; else the class says from where.
    everywhere: bool = True


class QueueNotSeen(_Caveat, tag="queue-not-seen", kw_only=True):
    """The scheduler keeps its queue in memory: order and states are taken from what the pods say of themselves."""

    #: Whether they are taken from Events, too.
    events: bool = False


class ScheduledMeanwhile(_Caveat, tag="scheduled-meanwhile"):
    """Events show that pods were given a node after the pods were listed: they count as pending."""

    pods: tuple[str, ...]


Caveat = (
    NoNodes
    | NoPods
    | NoBudgets
    | NoPriorityClasses
    | NoNamespaces
    | NoServices
    | NoWorkloads
    | NoLimits
    | NoStorage
    | NoDevices
    | DanglingReference
    | UnknownPriorityClass
    | BudgetNotComputed
    | NoImages
    | EvictionsAtOnce
    | ImagesNotCompared
    | FieldsNotCompared
    | VersionNotRead
    | SomeNamespaces
    | ObjectsTwice
    | CollectionFailed
    | SchedulerConfigLeftOut
    | RecordedChanges
    | NoDates
    | TwoMoments
    | Remembered
    | StaleSnapshot
    | UndatedSnapshot
    | NothingJudged
    | NotBuilt
    | UnjudgedKind
    | PodSecurityNotChecked
    | ServiceAccountsNotChecked
    | MissingServiceAccounts
    | AdmissionNotAsked
    | AutoscalersNotRead
    | AutoscalerNotModelled
    | DevicesNotModelled
    | HugeAmounts
    | UnknownQuotaScope
    | PluginNotModelled
    | ExtenderNotAsked
    | ExtenderBinds
    | ExtenderOddity
    | OtherVersion
    | AssumedVersion
    | GateNotModelled
    | NodeNameSet
    | Sampling
    | PreemptionSampling
    | BudgetComputed
    | ReplicasKept
    | TooManyPods
    | WorkloadNotInDump
    | ReplicaSetsInferred
    | OwnersSilent
    | TolerationUnknown
    | EvictedByTaint
    | OldRevisionsUnknown
    | LeftOutOfStory
    | UnknownController
    | OrderedPodPending
    | PendingAsleep
    | OneOfEqualPods
    | FieldIgnored
    | PolicyIsEmpty
    | NoMetrics
    | PrometheusNotAsked
    | MomentNotKnown
    | EvictionOrder
    | VersionNotDefault
    | CustomKind
    | BindingNotDated
    | Batching
    | ClaimUnbound
    | VolumeProvisioned
    | QueueNotSeen
    | ScheduledMeanwhile
)


def code_of(kind: type[_Caveat]) -> str:
    """The stable name of a kind of caveat."""
    return str(kind.__struct_config__.tag)


#: Code -> the kind of caveat, in the order of the union.
CODES: Mapping[str, type[_Caveat]] = {code_of(kind): kind for kind in get_args(Caveat)}


def merged(caveats: Iterable[Caveat]) -> tuple[Caveat, ...]:
    """The caveats in the order in which they came; those that differ only in their pods are one about all of them."""
    pods: dict[Caveat, dict[str, None]] = {}
    for caveat in caveats:
        alike = replace(caveat, pods=()) if caveat.pods else caveat
        pods.setdefault(alike, {}).update(dict.fromkeys(caveat.pods))
    return tuple(replace(caveat, pods=tuple(keys)) if keys else caveat for caveat, keys in pods.items())
