"""What of the scheduler is not modelled, or assumed."""

from __future__ import annotations

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat


class OtherVersion(BaseCaveat, tag="other-version", kw_only=True):
    """The cluster is of a version that is not modelled: the rules are those of the nearest one that is."""

    version: str
    rules: str = ""


class AssumedVersion(BaseCaveat, tag="assumed-version", kw_only=True):
    """Nothing in the input says of which version the cluster is: the rules are those of the newest one."""

    rules: str


class GateNotModelled(BaseCaveat, tag="gate-not-modelled", kw_only=True):
    """Feature gates were set by hand that no rule here asks about."""

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
    """An extender binds pods itself; nothing is bound here, and it is not asked to."""

    extender: str


class ExtenderOddity(BaseCaveat, tag="extender-oddity", kw_only=True):
    """An extender answered with something that kube-scheduler accepts without a word; `oddity` says what."""

    extender: str
    verb: str
    oddity: str
    nodes: tuple[str, ...] = ()
    error: str = ""


class NodeNameSet(BaseCaveat, tag="node-name-set", kw_only=True):
    """Pods set spec.nodeName: they would never meet the scheduler."""


class Sampling(BaseCaveat, tag="sampling", kw_only=True):
    """kube-scheduler stops looking after some feasible nodes; here all are compared."""

    looked_for: int
    nodes: int


class PreemptionSampling(BaseCaveat, tag="preemption-sampling", kw_only=True):
    """kube-scheduler stops after some preemption candidates; here all are compared."""

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
    #: What a complete dump would have, and this one lacks: `Kind namespace/name`.
    absent: str = ""


class BudgetRecounted(BaseCaveat, tag="budget-recounted", kw_only=True):
    """The status of a budget is not what its pods say: time goes on from what the disruption controller would count."""

    budget: str
    #: By its status.
    stated: int
    #: By its pods.
    allowed: int
    healthy: int
    desired: int


class HugeAmounts(IncompleteCaveat, tag="huge-amounts", kw_only=True):
    """Nodes have, or their pods request, more than 8 PiB of something: upstream's numbers may wrap around there."""

    nodes: tuple[str, ...]


class GangsNotModelled(BaseCaveat, tag="gangs-not-modelled", kw_only=True):
    """Pods are of groups that kube-scheduler places together: here each is judged by itself."""

    warns = True
    #: How many PodGroups and Workloads there are.
    groups: int = 0
    #: The pods and workloads whose pods are of one: `Kind namespace/name`.
    objects: tuple[str, ...] = ()


class DevicesNotModelled(IncompleteCaveat, tag="devices-not-modelled", kw_only=True):
    """Devices have features that Kubernetes turns off by default, and that are not modelled."""

    #: Most pods claim no device.
    warns = False
    #: Kinds or fields.
    features: tuple[str, ...]


class TaintRulesIgnored(BaseCaveat, tag="taint-rules-ignored", kw_only=True):
    """There are DeviceTaintRules: neither the scheduler nor a controller looks at them while a gate is off."""

    names: tuple[str, ...]
    version: str
    gate: str


class BindingNotDated(IncompleteCaveat, tag="binding-not-dated", kw_only=True):
    """A ResourceClaim waits for its devices, and nobody knows for how long: its bindingTimeout may have passed."""

    claim: str


class Batching(BaseCaveat, tag="batching", kw_only=True):
    """Equal pods are placed by the ranking made for the first of them: that is so if they follow at once."""


class ClaimUnbound(BaseCaveat, tag="claim-unbound", kw_only=True):
    """A new claim stays without a volume: nobody makes one for it, and none that exists fits."""

    claim: str
    #: "": it has none.
    storage_class: str
    is_known: bool = True
    #: Classes with a name much like that.
    near: tuple[str, ...] = ()


class VolumeProvisioned(BaseCaveat, tag="volume-provisioned", kw_only=True):
    """A new claim is bound at once, as its class says: its provisioner is taken to make the volume."""

    claim: str
    storage_class: str
    provisioner: str
    #: Whether every node reaches the volume; else the class says from where.
    everywhere: bool = True


class QueueNotSeen(BaseCaveat, tag="queue-not-seen", kw_only=True):
    """The scheduler keeps its queue in memory: order and states are taken from what the pods say of themselves."""

    #: Whether they are taken from Events, too.
    events: bool = False


class OrderOfEquals(BaseCaveat, tag="order-of-equals", kw_only=True):
    """Pods of equal priority want one place, and the first of them gets it: here as the manifests have them.

    In a cluster each controller makes its pods in its own time.
    """

    #: Such as `Deployment shop/api`.
    workloads: tuple[str, ...]


class PendingAsleep(BaseCaveat, tag="pending-asleep", kw_only=True):
    """Pending pods that the scheduler has tried in vain: they are not tried again until something wakes them.

    Objects of the manifests count as that. Evictions, rollouts, new pods, and claims made for them do so only in
    `simulate`.
    """


class EvictionsAtOnce(BaseCaveat, tag="evictions-at-once", kw_only=True):
    """Too many pods evict others to simulate what follows: each is taken to be on its node before the next one's turn.

    Nobody comes back.
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
