"""Caveats about the scheduler and the descheduler: features that are not modelled, and assumptions."""

from __future__ import annotations

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat


class PolicyIsEmpty(BaseCaveat, tag="descheduler-policy-empty", kw_only=True):
    """The descheduler treats its policy as empty, and does nothing."""

    warns = True
    why: str


class NoMetrics(IncompleteCaveat, tag="no-metrics", kw_only=True):
    """A descheduler policy uses measured usage, and the input has no NodeMetrics: most dumps leave them out."""


class PrometheusNotAsked(IncompleteCaveat, tag="prometheus-not-asked", kw_only=True):
    """A descheduler policy uses metrics of Prometheus, which is not queried: the strategy evicts nothing here."""

    plugin: str


class MomentNotKnown(BaseCaveat, tag="moment-not-known", kw_only=True):
    """Ages count from the newest time in the dump, because it is not known when the dump was taken."""

    moment: str


class EvictionOrder(BaseCaveat, tag="eviction-order", kw_only=True):
    """Which pods a descheduler evicts depends on the order in which it visits nodes and pods, which is random."""


DeschedulingCaveat = PolicyIsEmpty | NoMetrics | PrometheusNotAsked | MomentNotKnown | EvictionOrder


class OtherVersion(BaseCaveat, tag="other-version", kw_only=True):
    """The cluster's version is not modelled: the rules of the nearest modelled version apply."""

    version: str
    rules: str = ""


class AssumedVersion(BaseCaveat, tag="assumed-version", kw_only=True):
    """The input does not show the cluster's version: the rules of the newest modelled version apply."""

    rules: str


class GateNotModelled(BaseCaveat, tag="gate-not-modelled", kw_only=True):
    """Feature gates were set that no rule here depends on."""

    gates: tuple[str, ...]

    warns = True


class PluginNotModelled(BaseCaveat, tag="plugin-not-modelled", kw_only=True):
    """The scheduler configuration enables a plugin that is not modelled."""

    warns = True
    plugin: str


class ExtenderNotAsked(BaseCaveat, tag="extender-not-asked", kw_only=True):
    """The scheduler configuration has an extender that was not called."""

    warns = True
    extender: str
    verbs: tuple[str, ...]
    managed: tuple[str, ...] = ()


class ExtenderBinds(BaseCaveat, tag="extender-binds", kw_only=True):
    """An extender binds pods itself; it is not called to bind, because nothing is bound here."""

    extender: str


class ExtenderOddity(BaseCaveat, tag="extender-oddity", kw_only=True):
    """An extender gave an odd answer that kube-scheduler accepts silently; `oddity` says what."""

    extender: str
    verb: str
    oddity: str
    nodes: tuple[str, ...] = ()
    error: str = ""


class NodeNameSet(BaseCaveat, tag="node-name-set", kw_only=True):
    """Pods set spec.nodeName: the scheduler would never see them."""


class Sampling(BaseCaveat, tag="sampling", kw_only=True):
    """kube-scheduler stops after it has found enough feasible nodes; here all nodes are compared."""

    looked_for: int
    nodes: int


class PreemptionSampling(BaseCaveat, tag="preemption-sampling", kw_only=True):
    """kube-scheduler stops after it has found enough preemption candidates; here all are compared."""

    enough: int
    candidates: int


class BudgetComputed(BaseCaveat, tag="budget-computed", kw_only=True):
    """A budget has no status: it was computed as the disruption controller would."""

    budget: str
    allowed: int
    expected: int
    healthy: int
    desired: int


class BudgetNotComputed(BaseCaveat, tag="budget-not-computed", kw_only=True):
    """A budget has no status, and none can be computed for it: no disruption is allowed."""

    budget: str
    reason: str
    #: The missing object, if the input lacks one: `Kind namespace/name`.
    absent: str = ""


class BudgetRecounted(BaseCaveat, tag="budget-recounted", kw_only=True):
    """The status of a budget disagrees with its pods: a simulation uses what the disruption controller would count."""

    budget: str
    #: The allowed disruptions in its status.
    stated: int
    #: The allowed disruptions, computed from its pods.
    allowed: int
    healthy: int
    desired: int


class HugeAmounts(IncompleteCaveat, tag="huge-amounts", kw_only=True):
    """Nodes have, or their pods request, more than 8 PiB of a resource: upstream's integers may overflow there."""

    nodes: tuple[str, ...]


class GangsNotModelled(BaseCaveat, tag="gangs-not-modelled", kw_only=True):
    """Pods belong to groups that kube-scheduler schedules together: here each pod is scheduled by itself."""

    warns = True
    #: The number of PodGroups and Workloads.
    groups: int = 0
    #: The pods in a group, and the workloads whose pods are in a group: `Kind namespace/name`.
    objects: tuple[str, ...] = ()


class GroupFieldsNotModelled(BaseCaveat, tag="group-fields-not-modelled", kw_only=True):
    """PodGroups are parts of larger ones, or have claims of their own: gates that are off by default, not modelled."""

    warns = True
    #: The PodGroups, `namespace/name`.
    groups: tuple[str, ...]
    field: str
    gate: str


class ForeignGroups(BaseCaveat, tag="foreign-group", kw_only=True):
    """Pods are of groups that another scheduler places together: its rules are not modelled."""

    warns = True
    #: The system of the groups: `Volcano`, `KAI`, `coscheduling`, `Kueue`, …
    system: str
    #: The pods, and the workloads that create such pods: `Kind namespace/name`.
    objects: tuple[str, ...] = ()
    #: Whether they are judged as gangs, by kube-scheduler's rule, because an option requests that.
    treated: bool = False


class DevicesNotModelled(IncompleteCaveat, tag="devices-not-modelled", kw_only=True):
    """Devices have features that Kubernetes turns off by default, and that are not modelled."""

    #: Most pods do not claim devices.
    warns = False
    #: The kinds or fields that are not modelled.
    features: tuple[str, ...]


class TaintRulesIgnored(BaseCaveat, tag="taint-rules-ignored", kw_only=True):
    """There are DeviceTaintRules: the scheduler and the controllers ignore them while a feature gate is off."""

    names: tuple[str, ...]
    version: str
    gate: str


class BindingNotDated(IncompleteCaveat, tag="binding-not-dated", kw_only=True):
    """It is not known how long a ResourceClaim has waited for its devices: its bindingTimeout may have passed."""

    claim: str


class Batching(BaseCaveat, tag="batching", kw_only=True):
    """Equal pods reuse the node ranking of the first one, as the scheduler does if they follow at once."""


class ClaimUnbound(BaseCaveat, tag="claim-unbound", kw_only=True):
    """A new claim stays without a volume: no provisioner makes one for it, and no existing volume fits."""

    claim: str
    #: The claim's storage class; "" if it has none.
    storage_class: str
    is_known: bool = True
    #: Storage classes with a similar name.
    near: tuple[str, ...] = ()


class VolumeProvisioned(BaseCaveat, tag="volume-provisioned", kw_only=True):
    """A new claim is bound at once, as its class says: its provisioner is assumed to make the volume."""

    claim: str
    storage_class: str
    provisioner: str
    #: Whether every node can use the volume; otherwise the class decides which nodes can.
    everywhere: bool = True


class QueueNotSeen(BaseCaveat, tag="queue-not-seen", kw_only=True):
    """The scheduler keeps its queue in memory: order and states are derived from the status of the pods."""

    #: Whether order and states are also derived from Events.
    events: bool = False


class OrderOfEquals(BaseCaveat, tag="order-of-equals", kw_only=True):
    """Pods of equal priority compete for one place, and the first one gets it: here in the order of the manifests.

    In a cluster the order in which controllers create their pods varies.
    """

    #: The workloads, such as `Deployment shop/api`.
    workloads: tuple[str, ...]


class PendingAsleep(BaseCaveat, tag="pending-asleep", kw_only=True):
    """Unschedulable pods that are not tried again until an event moves them to the active queue.

    Objects of the manifests are such events. Evictions, rollouts, new pods and their new claims are such events only
    in `simulate`.
    """


class EvictionsAtOnce(BaseCaveat, tag="evictions-at-once", kw_only=True):
    """Too many pods evict others to simulate what follows: each is assumed to be on its node before the next is tried.

    Evicted pods are not recreated.
    """

    count: int


SchedulingCaveat = (
    OtherVersion
    | AssumedVersion
    | GateNotModelled
    | PluginNotModelled
    | ExtenderNotAsked
    | ExtenderBinds
    | ExtenderOddity
    | NodeNameSet
    | Sampling
    | PreemptionSampling
    | BudgetComputed
    | BudgetNotComputed
    | BudgetRecounted
    | HugeAmounts
    | GangsNotModelled
    | GroupFieldsNotModelled
    | ForeignGroups
    | DevicesNotModelled
    | TaintRulesIgnored
    | BindingNotDated
    | Batching
    | ClaimUnbound
    | VolumeProvisioned
    | QueueNotSeen
    | OrderOfEquals
    | PendingAsleep
    | EvictionsAtOnce
)
