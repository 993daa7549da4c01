"""Caveats about the input: objects that it lacks, and differences between the input and the cluster."""

from __future__ import annotations

from typing import TypeGuard

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat


class Lacking(IncompleteCaveat, kw_only=True):
    """Kinds that are not in the input. `reason`: why they could not be read; "" if the input just has none."""

    kinds: tuple[str, ...] = ()
    reason: str = ""


def is_absent(caveat: BaseCaveat) -> TypeGuard[Lacking]:
    """Whether the caveat is about kinds without objects in the input, not about kinds that could not be read."""
    return isinstance(caveat, Lacking) and not caveat.reason


class NoNodes(IncompleteCaveat, tag="no-nodes", kw_only=True):
    """The input holds no Node, so no pod can be placed."""


class NoPods(Lacking, tag="no-pods", kw_only=True):
    """The dump holds no Pod: every node counts as empty."""


class NoBudgets(Lacking, tag="no-budgets", kw_only=True):
    """No PodDisruptionBudget is known where pods are or could be evicted: whether a budget breaks is unknown."""


class NoPriorityClasses(Lacking, tag="no-priority-classes", kw_only=True):
    """No PriorityClass is known: the priority of a pod that names none is unknown."""


class OwnersInferred(Lacking, tag="owners-inferred", kw_only=True):
    """The controllers of pods are not in the input: they are inferred from their pods, with as many replicas."""

    warns = False
    #: The number of inferred controllers.
    count: int


class NodesNotInInput(IncompleteCaveat, tag="nodes-not-in-input", kw_only=True):
    """Pods are on nodes that are not in the input: they stay there, and no other pod is placed on these nodes."""

    warns = False
    nodes: tuple[str, ...]
    #: The number of pods on these nodes.
    count: int


class NoNamespaces(Lacking, tag="no-namespaces", kw_only=True):
    """No Namespace is known: namespace selectors match names only, and whether a namespace exists is not checked."""

    warns = False


class NoServices(Lacking, tag="no-services", kw_only=True):
    """Services or controllers are not known: pods of a service are not spread by default constraints."""

    warns = False


class NoWorkloads(Lacking, tag="no-workloads", kw_only=True):
    """Deployments, DaemonSets, Jobs or CronJobs could not be read: a changed workload counts as new."""


class NoLimits(Lacking, tag="no-limits", kw_only=True):
    """LimitRanges, ResourceQuotas or RuntimeClasses are not known, and new pods are made: the answer assumes none.

    It is a warning only where they could not be read: many clusters have none.
    """

    @property
    def level(self) -> str:
        """The default level, unless a policy sets one."""
        return "warn" if self.reason else "pass"


class NoStorage(Lacking, tag="no-storage", kw_only=True):
    """Volumes, claims or storage classes are not known: answers about pods with volumes cannot be trusted."""

    #: Most pods have no volumes, and a pod with an unknown claim does not fit.
    warns = False


class NoDevices(Lacking, tag="no-devices", kw_only=True):
    """Devices or device claims could not be read: answers about pods that claim devices cannot be trusted."""

    #: A pod with an unknown claim or unknown devices does not fit, so no answer looks better than it is.
    warns = False


class NoAdmission(Lacking, tag="no-admission", kw_only=True):
    """Webhooks, admission policies or ServiceAccounts could not be read: whether pods are rejected is unknown."""

    warns = False


class NoAutoscalers(Lacking, tag="no-autoscalers", kw_only=True):
    """Autoscalers of pods, NodePools or NodeClaims could not be read: the answer assumes that there are none."""

    warns = False


class NoEvents(Lacking, tag="no-events", kw_only=True):
    """Events could not be read, or not all of them: when pending pods were last tried is unknown or incomplete."""

    warns = False


class NoGroups(Lacking, tag="no-groups", kw_only=True):
    """PodGroups and Workloads could not be read: only pods that name their group are known to be in one."""

    warns = False


class NoCustomResources(Lacking, tag="no-custom-resources", kw_only=True):
    """Custom resources of which pods are made could not be read: they are made up of their pods."""

    warns = False


class NoImages(IncompleteCaveat, tag="no-images", kw_only=True):
    """A snapshot was saved without images: ImageLocality does not score nodes, and changed images are not detected."""

    warns = False


class DanglingReference(IncompleteCaveat, tag="dangling-reference", kw_only=True):
    """Objects of the dump refer to others that are not in it: `count` objects of a kind, with one example."""

    kind: str
    example: str
    count: int
    user: str


class UnknownPriorityClass(IncompleteCaveat, tag="unknown-priority-class", kw_only=True):
    """Pods name a PriorityClass that the input lacks: they count as priority 0."""

    name: str


LackingCaveat = (
    NoNodes
    | NoPods
    | NoBudgets
    | OwnersInferred
    | NodesNotInInput
    | NoPriorityClasses
    | NoNamespaces
    | NoServices
    | NoWorkloads
    | NoLimits
    | NoStorage
    | NoDevices
    | NoAdmission
    | NoAutoscalers
    | NoEvents
    | NoGroups
    | NoCustomResources
    | NoImages
    | DanglingReference
    | UnknownPriorityClass
)


class VersionNotRead(IncompleteCaveat, tag="version-not-read", kw_only=True):
    """Objects of an API version that is not supported were left out."""

    kind: str
    count: int


class VersionNotDefault(IncompleteCaveat, tag="version-not-default", kw_only=True):
    """Objects of an API version that API servers serve only if it is enabled."""

    kind: str
    version: str
    count: int


class SomeNamespaces(IncompleteCaveat, tag="some-namespaces", kw_only=True):
    """A dump holds only some namespaces: pods of the others are not counted on any node."""

    dump: str
    #: The number of namespaces in the dump; 0: not known.
    count: int = 0
    #: The option with which the tool would have dumped all namespaces.
    unless: str = ""


class SomeObjects(IncompleteCaveat, tag="some-objects", kw_only=True):
    """A dump holds a choice of the objects of these `resources`: the others count nowhere."""

    dump: str
    resources: tuple[str, ...]
    #: The choice of objects that the dump has.
    chosen: str


class ObjectsTwice(IncompleteCaveat, tag="objects-twice", kw_only=True):
    """A dump holds objects more than once, with different contents: the first one counts."""

    dump: str
    count: int
    example: str


class CollectionFailed(IncompleteCaveat, tag="collection-failed", kw_only=True):
    """The tool that made the dump reports that it could not read a kind, in these `namespaces` or the whole cluster."""

    dump: str
    resources: str
    file: str
    namespaces: int = 0
    example: str = ""


class SchedulerConfigLeftOut(IncompleteCaveat, tag="scheduler-config-left-out", kw_only=True):
    """The scheduler configuration in an export is not applied."""


class RecordedChanges(IncompleteCaveat, tag="recorded-changes", kw_only=True):
    """An export has recorded changes: the answer is about the cluster before the first one."""

    count: int


class NoDates(BaseCaveat, tag="no-dates", kw_only=True):
    """An export has no dates, only times relative to each other: ages are wrong."""


class TwoMoments(BaseCaveat, tag="two-moments", kw_only=True):
    """A list was read from the live cluster at two different resource versions."""

    resources: str


class ScheduledMeanwhile(BaseCaveat, tag="scheduled-meanwhile"):
    """Events show that pods were scheduled after the pods were listed: they count as pending."""

    pods: tuple[str, ...]


class Remembered(BaseCaveat, tag="remembered", kw_only=True):
    """A caveat that another version of kwhatif saved with a snapshot, in its words."""

    text: str


class StaleSnapshot(BaseCaveat, tag="stale-snapshot", kw_only=True):
    """The cluster was read more than an hour ago, or longer ago than the policy allows."""

    warns = True
    taken_at: str
    #: The age of the snapshot in seconds.
    age: int


class UndatedSnapshot(IncompleteCaveat, tag="undated-snapshot", kw_only=True):
    """The policy bounds the age of what was read, and when the dump was taken is not known."""


ReadingCaveat = (
    VersionNotRead
    | VersionNotDefault
    | SomeNamespaces
    | SomeObjects
    | ObjectsTwice
    | CollectionFailed
    | SchedulerConfigLeftOut
    | RecordedChanges
    | NoDates
    | TwoMoments
    | ScheduledMeanwhile
    | Remembered
    | StaleSnapshot
    | UndatedSnapshot
)
