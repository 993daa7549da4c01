"""Sentences for the caveats about autoscalers of nodes."""

from __future__ import annotations

from typing import assert_never

from kwhatif.kube.model.caveat.autoscaling import (
    AutoscalerDisagrees,
    AutoscalerHalted,
    AutoscalerKnowsNoGroups,
    AutoscalerObjectsNotModelled,
    AutoscalerSettingsAssumed,
    AutoscalerSettingsRead,
    AutoscalingCaveat,
    CloudCapacityUnknown,
    ExpanderAssumed,
    ExpanderTied,
    ExpendablePodsCount,
    FlagsNotModelled,
    GroupBoundsUnknown,
    KarpenterVersionAssumed,
    NodeStartupAssumed,
    PodsLeftByAutoscaler,
    PricesUnknown,
    ShapesObservedOnly,
    UnreadableObject,
)
from kwhatif.words.amounts import listed, plural, some

_NAMES = {"cluster-autoscaler": "the Cluster Autoscaler", "karpenter": "Karpenter"}


def sentence(caveat: AutoscalingCaveat) -> str:  # noqa: C901, PLR0911, PLR0912 - an arm for each kind
    """What is left out, or was assumed."""
    match caveat:
        case GroupBoundsUnknown(groups=()):
            return "no node group is known: the labels of nodes show none (--node-groups FILE says them)"
        case GroupBoundsUnknown(groups=groups):
            return (
                f"the node groups were read off the labels of nodes: the minimum and maximum of {some(groups)} are not"
                " known, and count as 0 and without limit (--node-groups FILE says them)"
            )
        case ExpanderAssumed(expander=expander):
            return (
                f"which expander the autoscaler uses is not known: its default, {expander}, is assumed"
                " (--node-groups FILE says it)"
            )
        case ExpanderTied(groups=groups):
            return (
                f"{some(groups)} are equally good: the autoscaler takes one of them by chance, here the first by name"
            )
        case FlagsNotModelled(flags=flags):
            verb = "is" if len(flags) == 1 else "are"
            return f"{some(flags)} would change what the autoscaler does, and {verb} not modelled"
        case ExpendablePodsCount(cutoff=cutoff, pods=pods):
            keep = "keeps its" if len(pods) == 1 else "keep their"
            return (
                f"{plural(len(pods), 'pod')} below priority {cutoff} ({some(pods)}) {keep} room here: the autoscaler"
                " takes it for free"
            )
        case AutoscalerHalted():
            return "too many nodes are not ready: the autoscaler neither adds nor removes any until more of them are"
        case PricesUnknown(names=names):
            return f"prices are not known{f': of {some(names)}' if names else ''}"
        case ShapesObservedOnly(types=types):
            return (
                f"no instance types were given: only those that run in the cluster are tried"
                f"{f', {some(types)}' if types else ''} (--instance-types FILE gives the others)"
            )
        case CloudCapacityUnknown():
            return "whether the cloud has the machines is not known"
        case NodeStartupAssumed(seconds=seconds):
            return f"new nodes are taken to be ready after {seconds:g} s (--node-startup DURATION says it)"
        case PodsLeftByAutoscaler(pods=pods):
            return (
                f"the autoscaler sees room for {some(pods)} on nodes that are there or have come, and adds no more; the"
                " scheduler sees none"
            )
        case UnreadableObject(object=named, field=field, why=why):
            where = f": {field}" if field else ""
            return f"{named} cannot be understood, and is left out{where}: {why[:1].lower()}{why[1:]}"
        case AutoscalerObjectsNotModelled(kinds=kinds):
            named = listed([plural(count, kind) for kind, count in kinds])
            verb = "is" if sum(count for _, count in kinds) == 1 else "are"
            return f"{named} would change what the autoscaler does, and {verb} not modelled"
        case AutoscalerSettingsAssumed(autoscaler=autoscaler):
            return f"how {autoscaler} was started is not known: its settings are taken to be the defaults"
        case AutoscalerSettingsRead(autoscaler=autoscaler, source=source, flags=flags):
            said = f": {listed(flags)}" if flags else ", which are the defaults"
            return f"{autoscaler}'s settings are those of {source}{said}"
        case AutoscalerKnowsNoGroups(autoscaler=autoscaler, groups=groups):
            return (
                f"{_NAMES[autoscaler]} does not know groups of pods: it adds nodes for each pod of {some(groups)} by"
                " itself; the scheduler places a group as a whole"
            )
        case KarpenterVersionAssumed(version=version):
            return f"which Karpenter runs is not known: the rules of {version} are assumed"
        case AutoscalerDisagrees(asked=asked, other=other):
            return (
                f"the cluster shows {other} as well: {asked} and {other} do not know of each other, and both may"
                " add nodes for the same pods"
            )
    assert_never(caveat)
