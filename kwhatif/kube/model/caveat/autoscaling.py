"""Caveats about node autoscalers: unknown settings, and unknown facts about the cloud."""

from __future__ import annotations

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat


class GroupBoundsUnknown(IncompleteCaveat, tag="group-bounds-unknown", kw_only=True):
    """Node groups were read off the labels of nodes: how small and how large each may be is not known."""

    united = ("pods", "groups")
    groups: tuple[str, ...]


class ExpanderAssumed(BaseCaveat, tag="expander-assumed", kw_only=True):
    """The input does not say how the autoscaler chooses among groups, and there was more than one to choose from."""

    warns = True
    expander: str


class ExpanderTied(BaseCaveat, tag="expander-tied", kw_only=True):
    """Several groups are equally good: the autoscaler takes one of them by chance, here the first by name."""

    groups: tuple[str, ...]


class FlagsNotModelled(IncompleteCaveat, tag="autoscaler-flags-not-modelled", kw_only=True):
    """Flags of the autoscaler that would change the answer, and are left out of it."""

    united = ("pods", "flags")
    flags: tuple[str, ...]


class ExpendablePodsCount(BaseCaveat, tag="expendable-pods-count", kw_only=True):
    """Pods below `expendable-pods-priority-cutoff` keep their room here; the autoscaler takes it for free."""

    warns = True
    cutoff: int


class AutoscalerHalted(BaseCaveat, tag="autoscaler-halted", kw_only=True):
    """Too many nodes are not ready: the autoscaler neither adds nor removes any until more of them are."""

    warns = True


class PricesUnknown(BaseCaveat, tag="prices-unknown", kw_only=True):
    """Prices would decide, and some are not known."""

    warns = True
    united = ("pods", "names")
    #: Node groups or instance types without a price.
    names: tuple[str, ...] = ()


class ShapesObservedOnly(IncompleteCaveat, tag="shapes-observed-only", kw_only=True):
    """No catalogue of instance types was given: only types that run in the cluster are tried."""

    united = ("pods", "types")
    types: tuple[str, ...] = ()


class CloudCapacityUnknown(BaseCaveat, tag="cloud-capacity-unknown", kw_only=True):
    """Whether the cloud has the machines that are asked for is not known."""


class NodeStartupAssumed(BaseCaveat, tag="node-startup-assumed", kw_only=True):
    """How long a new node takes to be ready is not known: a number of seconds is assumed."""

    seconds: float


class PodsLeftByAutoscaler(BaseCaveat, tag="pods-left-by-autoscaler", kw_only=True):
    """Pods for which the autoscaler sees room on nodes that are there or have come, and the scheduler none."""

    warns = True


class UnreadableObject(IncompleteCaveat, tag="autoscaler-object-unreadable", kw_only=True):
    """A NodePool, NodeClaim or autoscaler of pods of the input cannot be understood, and is left out."""

    #: The object, such as `NodePool general`.
    object: str
    #: The path of the field, such as `spec.weight`; "" for the whole object.
    field: str
    why: str


class AutoscalerObjectsNotModelled(IncompleteCaveat, tag="autoscaler-objects-not-modelled", kw_only=True):
    """Objects that change what an autoscaler does, and are left out of the answer."""

    #: (kind, number of objects).
    kinds: tuple[tuple[str, int], ...]


class AutoscalerSettingsAssumed(BaseCaveat, tag="autoscaler-settings-assumed", kw_only=True):
    """How the autoscaler itself was started is not known: its flags and feature gates are taken to be the defaults."""

    autoscaler: str


class AutoscalerSettingsRead(BaseCaveat, tag="autoscaler-settings-read", kw_only=True):
    """The autoscaler's settings are those that its own workload gives it."""

    autoscaler: str = "the Cluster Autoscaler"
    source: str
    #: The flags that affect the answer.
    flags: tuple[str, ...]


class AutoscalerKnowsNoGroups(BaseCaveat, tag="autoscaler-knows-no-groups", kw_only=True):
    """Pods of groups wait, and the autoscaler adds nodes pod by pod: the scheduler places the groups on them."""

    united = ("pods", "groups")
    autoscaler: str
    #: Keys of the groups.
    groups: tuple[str, ...]


class KarpenterVersionAssumed(BaseCaveat, tag="karpenter-version-assumed", kw_only=True):
    """The input does not say which Karpenter runs: the rules are those of this version."""

    version: str


class AutoscalerDisagrees(BaseCaveat, tag="autoscaler-disagrees", kw_only=True):
    """Two autoscalers look after nodes of this cluster: each acts without knowing what the other does."""

    warns = True
    asked: str
    other: str


AutoscalingCaveat = (
    GroupBoundsUnknown
    | ExpanderAssumed
    | ExpanderTied
    | FlagsNotModelled
    | ExpendablePodsCount
    | AutoscalerHalted
    | PricesUnknown
    | ShapesObservedOnly
    | CloudCapacityUnknown
    | NodeStartupAssumed
    | PodsLeftByAutoscaler
    | UnreadableObject
    | AutoscalerObjectsNotModelled
    | AutoscalerSettingsAssumed
    | AutoscalerSettingsRead
    | AutoscalerKnowsNoGroups
    | KarpenterVersionAssumed
    | AutoscalerDisagrees
)
