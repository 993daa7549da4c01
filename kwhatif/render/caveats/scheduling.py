"""Caveats about the scheduler, the descheduler and autoscalers in words: what is not modelled, what is assumed."""

from __future__ import annotations

from typing import assert_never

from kwhatif.kube.model.caveat import scheduling
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
from kwhatif.kube.model.caveat.scheduling import (
    DeschedulingCaveat,
    EvictionOrder,
    MomentNotKnown,
    NoMetrics,
    PolicyIsEmpty,
    PrometheusNotAsked,
)
from kwhatif.render.amounts import listed, plural, some
from kwhatif.scheduler.framework.extender import Oddity


def of_descheduling(caveat: DeschedulingCaveat) -> tuple[str, str]:
    """What is left out, or was assumed: in a few words, and in a sentence."""
    match caveat:
        case PolicyIsEmpty(why=why):
            return (
                "the policy counts as empty",
                f"the descheduler takes the policy for an empty one, since {why}: nothing is ever evicted",
            )
        case NoMetrics():
            return "what nodes and pods use is not known", (
                "the policy uses metrics of nodes, and the input has none: add the output of"
                " kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes and .../pods to it"
            )
        case PrometheusNotAsked(plugin=plugin):
            return (
                "Prometheus was not asked",
                f"{plugin} uses Prometheus metrics, which kwhatif does not query: here it evicts nothing",
            )
        case MomentNotKnown(moment=moment):
            return (
                "the moment of the dump is not known",
                f"the input does not say when it was taken: ages count to its newest time, {moment} (see --at)",
            )
        case EvictionOrder():
            return "which pods are evicted depends on the order", (
                "the descheduler takes nodes and pods in random order: another order evicts other pods, here nodes come"
                " by name, and pods by namespace and name"
            )
    assert_never(caveat)


def of_scheduling(caveat: scheduling.SchedulingCaveat) -> tuple[str, str]:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed: in a few words, and in a sentence."""
    match caveat:
        case scheduling.BudgetComputed():
            return "a budget has no status", _budget(caveat)
        case scheduling.BudgetNotComputed():
            return "a budget cannot be counted", _budget(caveat)
        case scheduling.BudgetRecounted():
            return "a budget's status is not what its pods say", (
                f"PodDisruptionBudget {caveat.budget}: its status allows {plural(caveat.stated, 'disruption')},"
                f" its pods allow {caveat.allowed} ({caveat.healthy} are healthy, {caveat.desired} must be);"
                " counted from the pods, as the disruption controller does all the time"
            )
        case scheduling.DevicesNotModelled(features=features):
            return (
                "some features of devices are not modelled",
                f"devices have {listed(features)}, not modelled: answers about pods that claim devices may be wrong",
            )
        case scheduling.TaintRulesIgnored(names=names, version=version, gate=gate):
            rules = f"{plural(len(names), 'DeviceTaintRule')} ({some(names)})"
            count = "counts" if len(names) == 1 else "count"
            return "DeviceTaintRules are not looked at", (
                f"{rules} {count} nothing, as the feature gate {gate} is off in {version};"
                f" --feature-gates {gate}=true says that it is on"
            )
        case scheduling.GangsNotModelled(groups=groups, objects=objects):
            return "groups of pods are judged one by one", _gangs(groups, objects)
        case scheduling.GroupFieldsNotModelled(groups=names, field=field, gate=gate):
            return "groups have fields that are not modelled", (
                f"{plural(len(names), 'PodGroup')} with {field} ({some(names)}): what the gate {gate} makes of that is"
                " not modelled; each is judged as if it were not there"
            )
        case scheduling.ForeignGroups(system=system, objects=objects, treated=treated):
            about = f"foreign groups of {system} ({some(objects)})"
            if treated:
                return (
                    "groups are those of another scheduler",
                    f"{about}: judged as gangs by kube-scheduler's rule; {system} itself may decide otherwise",
                )
            return "groups are those of another scheduler", (
                f"{about}: {system} places their pods together or not at all, here each is judged by itself;"
                " --treat-as-gang judges them as gangs by kube-scheduler's rule"
            )
        case scheduling.HugeAmounts(nodes=nodes):
            return (
                "some amounts are too large to count",
                f"{plural(len(nodes), 'node')}: more than 8 PiB of a resource, where 64-bit limits are not modelled",
            )
        case scheduling.PluginNotModelled(plugin=plugin):
            return (
                f"plugin {plugin} is not modelled",
                f"plugin {plugin} is enabled, but not modelled: it is about groups of pods",
            )
        case scheduling.ExtenderNotAsked(extender=extender, verbs=verbs, managed=managed):
            about = f" about pods that use {', '.join(managed)}" if managed else ""
            return (
                f"extender {extender} was not asked",
                f"extender {extender} was not asked to {', '.join(verbs)}{about}; --call-extenders asks it",
            )
        case scheduling.ExtenderBinds(extender=extender):
            return (
                "an extender binds pods itself",
                f"extender {extender} binds pods itself; kwhatif binds nothing and does not ask it to",
            )
        case scheduling.ExtenderOddity():
            asked = f"extender {caveat.extender}, asked to {caveat.verb} for {some(caveat.pods)}"
            return "an extender answers oddly", f"{asked}, {_deed(caveat, Oddity(caveat.oddity))}"
        case scheduling.OtherVersion(version=version, rules=rules):
            return "the cluster is of another version", (
                f"the cluster is of version {version}, which is not modelled: judged by the rules of {rules}, from"
                " which its scheduler may differ"
            )
        case scheduling.AssumedVersion(rules=rules):
            return "the version of the cluster is assumed", (
                f"nothing says of which version the cluster is: judged by the rules of {rules}, the newest;"
                " --kubernetes-version says it"
            )
        case scheduling.GateNotModelled(gates=gates):
            return (
                "a feature gate is not modelled",
                f"feature gates that were set and are not modelled change nothing here: {some(gates)}",
            )
        case scheduling.NodeNameSet(pods=pods):
            if len(pods) == 1:
                return "a pod names its node itself", (
                    f"{pods[0]} sets spec.nodeName: applied so it never meets the scheduler; judged as if it were"
                    " pending"
                )
            return "a pod names its node itself", (
                f"{len(pods)} pods set spec.nodeName ({some(pods)}): applied so they never meet the scheduler;"
                " judged as if they were pending"
            )
        case scheduling.Sampling(looked_for=looked_for, nodes=nodes):
            return "the scheduler looks at some of the nodes only", (
                f"kube-scheduler stops looking after {looked_for} feasible nodes of {nodes}"
                " (percentageOfNodesToScore); kwhatif looked at all, so a node that scores lower may be taken"
            )
        case scheduling.PreemptionSampling(enough=enough, candidates=candidates):
            return "preemption looks at some of the nodes only", (
                f"kube-scheduler stops after {enough} preemption candidates, from a random node on; kwhatif"
                f" compared all {candidates}, so a worse one may be taken"
            )
        case scheduling.BindingNotDated(claim=claim):
            return "when pods were bound is not known", (
                f"ResourceClaim {claim} waits for its devices, and the input does not say when it was taken: whether"
                " bindingTimeout has passed, and the devices are given up, is not known"
            )
        case scheduling.Batching():
            return "equal pods are judged together", (
                "where spreading by default is off, kube-scheduler places equal pods by the ranking that it made for"
                " the first of them (OpportunisticBatching), and so does kwhatif; if more than half a second passes"
                " between them, it ranks the nodes again, and another one may be chosen"
            )
        case scheduling.EvictionsAtOnce(count=count):
            return "evictions count as done at once", (
                f"{count:,} pods evict others, too many to simulate what follows: each is taken to be on its node, and"
                " its victims to be gone, before the next one's turn; victims do not come back"
            )
        case scheduling.OrderOfEquals(workloads=workloads):
            return "the pod that comes first gets the place", (
                f"whichever of {', '.join(workloads)} comes first gets the place: controllers make pods of equal"
                " priority each in its own time; here in the order of the manifests"
            )
        case scheduling.PendingAsleep(pods=pods):
            are, them, they = ("is", "it", "the pod") if len(pods) == 1 else ("are", "them", "the pods")
            return "pods that found no node wait for an event", (
                f"{plural(len(pods), 'pending pod')} ({some(pods)}) {are} left out: the scheduler has found no"
                f" node for {them}, and tries {them} again after five minutes, or when an event may help; {they} may"
                " then take room that is free now. Whether evictions, rollouts, new pods or their claims are such an"
                " event is not judged"
            )
        case scheduling.ClaimUnbound():
            return "a claim is not bound", _unbound(caveat)
        case scheduling.VolumeProvisioned(claim=claim, storage_class=storage_class, provisioner=provisioner):
            reach = "within reach of every node" if caveat.everywhere else "where its allowedTopologies let it be"
            return "provisioning counts as successful", (
                f"PersistentVolumeClaim {claim} is bound at once, as StorageClass {storage_class} says: it is assumed"
                f" that {provisioner} provisions its volume, {reach}"
            )
        case scheduling.QueueNotSeen(events=events):
            return "the scheduler's queue cannot be seen", _queue_not_seen(events=events)
    assert_never(caveat)


def _gangs(groups: int, objects: tuple[str, ...]) -> str:
    found = [plural(groups, "PodGroup")] if groups else []
    found += [f"pods of groups: {some(objects)}"] if objects else []
    return (
        f"groups of pods are not modelled ({'; '.join(found)}): kube-scheduler places the pods of a group together or"
        " not at all; here each is judged by itself"
    )


def _budget(caveat: scheduling.BudgetComputed | scheduling.BudgetNotComputed) -> str:
    start = f"PodDisruptionBudget {caveat.budget} has no status; computed as the disruption controller would:"
    if isinstance(caveat, scheduling.BudgetNotComputed):
        absent = f" ({caveat.absent} is not in the input)" if caveat.absent else ""
        return f"{start} no pod may be disrupted, because it {caveat.reason}{absent}"
    return (
        f"{start} {caveat.allowed} of {caveat.expected} pods may be disrupted ({caveat.healthy} are healthy,"
        f" {caveat.desired} must be)"
    )


def _deed(caveat: scheduling.ExtenderOddity, oddity: Oddity) -> str:
    nodes = ", ".join(caveat.nodes)
    match oddity:
        case Oddity.IGNORED_FAILURE:
            return f"failed; kube-scheduler goes on without it: {caveat.error}"
        case Oddity.FAILURE:
            return f"failed, and the attempt with it: {caveat.error}"
        case Oddity.UNKNOWN_NODES if caveat.verb == "prioritize":
            return f"scored nodes that are not feasible, which counts nothing: {nodes}"
        case Oddity.UNKNOWN_NODES:
            return f"let nodes pass that it was not asked about; kube-scheduler takes them: {nodes}"
        case Oddity.REPEATED_NODES:
            return f"let nodes pass more than once: {nodes}"
        case Oddity.SCORE_OUT_OF_RANGE:
            return f"gave scores outside 0 to 10, which count as they are: {nodes}"
        case Oddity.NO_VICTIMS:
            return f"left nodes without victims, so they are not candidates: {nodes}"
    assert_never(oddity)


def _unbound(caveat: scheduling.ClaimUnbound) -> str:
    start = f"PersistentVolumeClaim {caveat.claim} stays unbound:"
    if not caveat.storage_class:
        return f"{start} it has no storage class, and no volume without one fits it"
    if caveat.is_known:
        return f"{start} no volume of StorageClass {caveat.storage_class} fits it"
    hint = f" (did you mean {' or '.join(caveat.near)}?)" if caveat.near else ""
    return f"{start} there is no StorageClass {caveat.storage_class}{hint}"


def _queue_not_seen(*, events: bool) -> str:
    if events:
        return (
            "the scheduler keeps its queue in memory: pods of equal priority are taken to be tried in the order of"
            " their last attempts that Events show, or else of their age; Events are kept for an hour, and repeated"
            " ones are written up to half an hour late, so pods may have been tried more often, and later"
        )
    return (
        "the scheduler keeps its queue in memory: pods of equal priority are taken to be tried in the order of"
        " their age, and whom it has rejected is taken from the condition PodScheduled"
    )


# --- autoscalers of nodes --------------------------------------------------------------------------------------------


_NAMES = {"cluster-autoscaler": "the Cluster Autoscaler", "karpenter": "Karpenter"}


def of_autoscaling(caveat: AutoscalingCaveat) -> tuple[str, str]:  # noqa: C901, PLR0911, PLR0912 - an arm for each kind
    """What is left out, or was assumed: in a few words, and in a sentence."""
    match caveat:
        case GroupBoundsUnknown(groups=()):
            return (
                "how large the node groups may be is not known",
                "no node group is known: the labels of nodes show none (--node-groups FILE says them)",
            )
        case GroupBoundsUnknown(groups=groups):
            return "how large the node groups may be is not known", (
                f"the node groups were read off the labels of nodes: the minimum and maximum of {some(groups)} are not"
                " known, and count as 0 and without limit (--node-groups FILE says them)"
            )
        case ExpanderAssumed(expander=expander):
            return "the expander is assumed", (
                f"which expander the autoscaler uses is not known: its default, {expander}, is assumed"
                " (--node-groups FILE says it)"
            )
        case ExpanderTied(groups=groups):
            return "equally good groups are chosen by chance", (
                f"{some(groups)} are equally good: the autoscaler takes one of them by chance, here the first by name"
            )
        case FlagsNotModelled(flags=flags):
            verb = "is" if len(flags) == 1 else "are"
            return (
                "some flags of the autoscaler are not modelled",
                f"{some(flags)} would change what the autoscaler does, and {verb} not modelled",
            )
        case ExpendablePodsCount(cutoff=cutoff, pods=pods):
            keep = "keeps its" if len(pods) == 1 else "keep their"
            return "expendable pods keep their room here", (
                f"{plural(len(pods), 'pod')} below priority {cutoff} ({some(pods)}) {keep} room here: the autoscaler"
                " takes it for free"
            )
        case AutoscalerHalted():
            return (
                "too many nodes are not ready",
                "too many nodes are not ready: the autoscaler neither adds nor removes any until more of them are",
            )
        case PricesUnknown(names=names):
            return "prices are not known", f"prices are not known{f': of {some(names)}' if names else ''}"
        case ShapesObservedOnly(types=types):
            return "only instance types that run in the cluster are tried", (
                f"no instance types were given: only those that run in the cluster are tried"
                f"{f', {some(types)}' if types else ''} (--instance-types FILE gives the others)"
            )
        case CloudCapacityUnknown():
            return "what the cloud has is not known", "whether the cloud has the machines is not known"
        case NodeStartupAssumed(seconds=seconds):
            return (
                "how long nodes take to start is assumed",
                f"new nodes are taken to be ready after {seconds:g} s (--node-startup DURATION says it)",
            )
        case PodsLeftByAutoscaler(pods=pods):
            return "the autoscaler and the scheduler disagree", (
                f"the autoscaler sees room for {some(pods)} on nodes that are there or have come, and adds no more; the"
                " scheduler sees none"
            )
        case UnreadableObject(object=named, field=field, why=why):
            where = f": {field}" if field else ""
            return (
                "some objects cannot be understood",
                f"{named} cannot be understood, and is left out{where}: {why[:1].lower()}{why[1:]}",
            )
        case AutoscalerObjectsNotModelled(kinds=kinds):
            named = listed([plural(count, kind) for kind, count in kinds])
            verb = "is" if sum(count for _, count in kinds) == 1 else "are"
            return (
                "some objects of the autoscaler are not modelled",
                f"{named} would change what the autoscaler does, and {verb} not modelled",
            )
        case AutoscalerSettingsAssumed(autoscaler=autoscaler):
            return (
                "the autoscaler's settings are assumed",
                f"how {autoscaler} was started is not known: its settings are taken to be the defaults",
            )
        case AutoscalerSettingsRead(autoscaler=autoscaler, source=source, flags=flags):
            said = f": {listed(flags)}" if flags else ", which are the defaults"
            return (
                "the autoscaler's settings are read from its arguments",
                f"{autoscaler}'s settings are those of {source}{said}",
            )
        case AutoscalerKnowsNoGroups(autoscaler=autoscaler, groups=groups):
            return "the autoscaler does not know groups of pods", (
                f"{_NAMES[autoscaler]} does not know groups of pods: it adds nodes for each pod of {some(groups)} by"
                " itself; the scheduler places a group as a whole"
            )
        case KarpenterVersionAssumed(version=version):
            return (
                "the version of Karpenter is assumed",
                f"which Karpenter runs is not known: the rules of {version} are assumed",
            )
        case AutoscalerDisagrees(asked=asked, other=other):
            return "two autoscalers are there", (
                f"the cluster shows {other} as well: {asked} and {other} do not know of each other, and both may"
                " add nodes for the same pods"
            )
    assert_never(caveat)
