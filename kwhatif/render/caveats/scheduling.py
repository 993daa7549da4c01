"""Sentences for the caveats about the scheduler and the descheduler: what is not modelled, and what is assumed."""

from __future__ import annotations

from typing import assert_never

from kwhatif.kube.model.caveat import scheduling
from kwhatif.kube.model.caveat.scheduling import (
    DeschedulingCaveat,
    EvictionOrder,
    MomentNotKnown,
    NoMetrics,
    PolicyIsEmpty,
    PrometheusNotAsked,
)
from kwhatif.scheduler.framework.extender import Oddity
from kwhatif.words.amounts import listed, plural, some


def descheduling_sentence(caveat: DeschedulingCaveat) -> str:
    """What is left out, or was assumed."""
    match caveat:
        case PolicyIsEmpty(why=why):
            return f"the descheduler takes the policy for an empty one, since {why}: nothing is ever evicted"
        case NoMetrics():
            return (
                "the policy goes by the measured use of nodes, and the input has none: add the output of"
                " kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes and .../pods to it"
            )
        case PrometheusNotAsked(plugin=plugin):
            return f"{plugin} goes by what Prometheus says, which kwhatif does not ask: here it evicts nothing"
        case MomentNotKnown(moment=moment):
            return f"the input does not say when it was taken: ages count to its newest time, {moment} (see --at)"
        case EvictionOrder():
            return (
                "the descheduler takes nodes and pods in random order: another order evicts other pods, here nodes come"
                " by name, and pods by namespace and name"
            )
    assert_never(caveat)


def sentence(caveat: scheduling.SchedulingCaveat) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed."""
    match caveat:
        case scheduling.BudgetComputed() | scheduling.BudgetNotComputed():
            return _budget(caveat)
        case scheduling.BudgetRecounted():
            return (
                f"PodDisruptionBudget {caveat.budget}: its status allows {plural(caveat.stated, 'disruption')},"
                f" its pods allow {caveat.allowed} ({caveat.healthy} are healthy, {caveat.desired} must be);"
                " counted from the pods, as the disruption controller does all the time"
            )
        case scheduling.DevicesNotModelled(features=features):
            return f"devices have {listed(features)}, not modelled: answers about pods that claim devices may be wrong"
        case scheduling.TaintRulesIgnored(names=names, version=version, gate=gate):
            rules = f"{plural(len(names), 'DeviceTaintRule')} ({some(names)})"
            count = "counts" if len(names) == 1 else "count"
            return (
                f"{rules} {count} nothing, as the feature gate {gate} is off in {version};"
                f" --feature-gates {gate}=true says that it is on"
            )
        case scheduling.GangsNotModelled(groups=groups, objects=objects):
            return _gangs(groups, objects)
        case scheduling.GroupFieldsNotModelled(groups=names, field=field, gate=gate):
            return (
                f"{plural(len(names), 'PodGroup')} with {field} ({some(names)}): what the gate {gate} makes of that is"
                " not modelled; each is judged as if it were not there"
            )
        case scheduling.ForeignGroups(system=system, objects=objects, treated=treated):
            about = f"foreign groups of {system} ({some(objects)})"
            if treated:
                return f"{about}: judged as gangs by kube-scheduler's rule; {system} itself may decide otherwise"
            return (
                f"{about}: {system} places their pods together or not at all, here each is judged by itself;"
                " --treat-as-gang judges them as gangs by kube-scheduler's rule"
            )
        case scheduling.HugeAmounts(nodes=nodes):
            return f"{plural(len(nodes), 'node')}: more than 8 PiB of a resource, where 64-bit limits are not modelled"
        case scheduling.PluginNotModelled(plugin=plugin):
            return f"plugin {plugin} is enabled, but not modelled: it is about groups of pods"
        case scheduling.ExtenderNotAsked(extender=extender, verbs=verbs, managed=managed):
            about = f" about pods that use {', '.join(managed)}" if managed else ""
            return f"extender {extender} was not asked to {', '.join(verbs)}{about}; --call-extenders asks it"
        case scheduling.ExtenderBinds(extender=extender):
            return f"extender {extender} binds pods itself; kwhatif binds nothing and does not ask it to"
        case scheduling.ExtenderOddity():
            asked = f"extender {caveat.extender}, asked to {caveat.verb} for {some(caveat.pods)}"
            return f"{asked}, {_deed(caveat, Oddity(caveat.oddity))}"
        case scheduling.OtherVersion(version=version, rules=rules):
            return (
                f"the cluster is of version {version}, which is not modelled: judged by the rules of {rules}, from"
                " which its scheduler may differ"
            )
        case scheduling.AssumedVersion(rules=rules):
            return (
                f"nothing says of which version the cluster is: judged by the rules of {rules}, the newest;"
                " --kubernetes-version says it"
            )
        case scheduling.GateNotModelled(gates=gates):
            return f"feature gates that were set and are not modelled change nothing here: {some(gates)}"
        case scheduling.NodeNameSet(pods=pods):
            if len(pods) == 1:
                return (
                    f"{pods[0]} sets spec.nodeName: applied so it never meets the scheduler; judged as if it were"
                    " pending"
                )
            return (
                f"{len(pods)} pods set spec.nodeName ({some(pods)}): applied so they never meet the scheduler;"
                " judged as if they were pending"
            )
        case scheduling.Sampling(looked_for=looked_for, nodes=nodes):
            return (
                f"kube-scheduler stops looking after {looked_for} feasible nodes of {nodes}"
                " (percentageOfNodesToScore); kwhatif looked at all, so a node that scores lower may be taken"
            )
        case scheduling.PreemptionSampling(enough=enough, candidates=candidates):
            return (
                f"kube-scheduler stops after {enough} preemption candidates, from a random node on; kwhatif"
                f" compared all {candidates}, so a worse one may be taken"
            )
        case scheduling.BindingNotDated(claim=claim):
            return (
                f"ResourceClaim {claim} waits for its devices, and the input does not say when it was taken: whether"
                " bindingTimeout has passed, and the devices are given up, is not known"
            )
        case scheduling.Batching():
            return (
                "where spreading by default is off, kube-scheduler places equal pods by the ranking that it made for"
                " the first of them (OpportunisticBatching), and so does kwhatif; if more than half a second passes"
                " between them, it ranks the nodes again, and another one may be chosen"
            )
        case scheduling.EvictionsAtOnce(count=count):
            return (
                f"{count:,} pods evict others, too many to simulate what follows: each is taken to be on its node, and"
                " its victims to be gone, before the next one's turn; victims do not come back"
            )
        case scheduling.OrderOfEquals(workloads=workloads):
            return (
                f"whichever of {', '.join(workloads)} comes first gets the place: controllers make pods of equal"
                " priority each in its own time; here in the order of the manifests"
            )
        case scheduling.PendingAsleep(pods=pods):
            are, them, they = ("is", "it", "the pod") if len(pods) == 1 else ("are", "them", "the pods")
            return (
                f"{plural(len(pods), 'pending pod')} ({some(pods)}) {are} left out: the scheduler has found no"
                f" node for {them}, and tries {them} again after five minutes, or when an event may help; {they} may"
                " then take room that is free now. Whether evictions, rollouts, new pods or their claims are such an"
                " event is not judged"
            )
        case scheduling.ClaimUnbound():
            return _unbound(caveat)
        case scheduling.VolumeProvisioned(claim=claim, storage_class=storage_class, provisioner=provisioner):
            reach = "within reach of every node" if caveat.everywhere else "where its allowedTopologies let it be"
            return (
                f"PersistentVolumeClaim {claim} is bound at once, as StorageClass {storage_class} says: it is assumed"
                f" that {provisioner} provisions its volume, {reach}"
            )
        case scheduling.QueueNotSeen(events=events):
            return _queue_not_seen(events=events)
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
