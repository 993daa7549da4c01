"""Caveats in words: a sentence for each, and the few that are said together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from kwhatif.framework.extender import Oddity
from kwhatif.model.caveat import (
    AdmissionNotAsked,
    AssumedVersion,
    AutoscalerNotModelled,
    AutoscalersNotRead,
    Batching,
    BindingNotDated,
    BudgetComputed,
    BudgetNotComputed,
    Caveat,
    ClaimUnbound,
    CollectionFailed,
    CustomKind,
    DanglingReference,
    DevicesNotModelled,
    EvictedByTaint,
    EvictionOrder,
    EvictionsAtOnce,
    ExtenderBinds,
    ExtenderNotAsked,
    ExtenderOddity,
    FieldIgnored,
    FieldsNotCompared,
    GateNotModelled,
    HugeAmounts,
    ImagesNotCompared,
    Lacking,
    LeftOutOfStory,
    MissingServiceAccounts,
    MomentNotKnown,
    NoBudgets,
    NoDates,
    NodeNameSet,
    NoDevices,
    NoImages,
    NoLimits,
    NoMetrics,
    NoNamespaces,
    NoNodes,
    NoPods,
    NoPriorityClasses,
    NoServices,
    NoStorage,
    NotBuilt,
    NothingJudged,
    NoWorkloads,
    ObjectsTwice,
    OldRevisionsUnknown,
    OneOfEqualPods,
    OrderedPodPending,
    OtherVersion,
    OwnersSilent,
    PendingAsleep,
    PluginNotModelled,
    PodSecurityNotChecked,
    PolicyIsEmpty,
    PreemptionSampling,
    PrometheusNotAsked,
    QueueNotSeen,
    RecordedChanges,
    Remembered,
    ReplicaSetsInferred,
    ReplicasKept,
    Sampling,
    ScheduledMeanwhile,
    SchedulerConfigLeftOut,
    ServiceAccountsNotChecked,
    SomeNamespaces,
    StaleSnapshot,
    TolerationUnknown,
    TooManyPods,
    TwoMoments,
    UndatedSnapshot,
    UnjudgedKind,
    UnknownController,
    UnknownPriorityClass,
    UnknownQuotaScope,
    Unmodelled,
    VersionNotDefault,
    VersionNotRead,
    VolumeProvisioned,
    WorkloadNotInDump,
)
from kwhatif.policy.words import listed
from kwhatif.render.amounts import duration, plural, some
from kwhatif.report import Report
from kwhatif.report.policy import FindingRow
from kwhatif.sources.decoding.resources import by_group
from kwhatif.sources.text.unbuilt import BUILD
from kwhatif.whatif.inventory import Inventory

_DANGLING = {
    "Node": "its pods count nowhere",
    "Namespace": "namespace selectors see no label of it but its name",
    "PersistentVolume": "pods that use the claim cannot be judged",
    "StorageClass": "pods that use the claim cannot be judged",
    "PersistentVolumeClaim": "pods that use it cannot be judged",
    "ResourceClaim": "pods that use it cannot be judged",
}
_NOT_SPREAD = "its pods are not spread by default"


NOTHING_JUDGED = "nothing was judged: the manifests hold no pod, and nothing that makes pods"


def worded(report: Report) -> Report:
    """The report with every caveat in words, also where a finding is about one."""
    details = tuple(replace(caveat, message=sentence(caveat)) for caveat in report.caveat_details)
    policy = report.policy
    if policy is not None:
        policy = replace(policy, findings=tuple(map(_finding, policy.findings)))
    return replace(report, caveats=sentences(details), caveat_details=details, policy=policy)


def _finding(finding: FindingRow) -> FindingRow:
    caveat = finding.caveat
    if caveat is None:
        return finding
    text = sentence(caveat)
    return replace(finding, message=text, caveat=replace(caveat, message=text))


def inventory_worded(inventory: Inventory) -> Inventory:
    """The inventory with everything that is missing in words."""
    missing, caveats = (
        tuple(replace(caveat, message=sentence(caveat)) for caveat in found)
        for found in (inventory.missing_details, inventory.caveat_details)
    )
    return replace(
        inventory,
        missing=tuple(caveat.message for caveat in missing),
        caveats=sentences(caveats),
        missing_details=missing,
        caveat_details=caveats,
    )


def besides_findings(report: Report) -> Sequence[str]:
    """The caveats that are not among the findings already."""
    findings = report.policy.findings if report.policy else ()
    found = {finding.caveat for finding in findings if finding.caveat is not None}
    if not found:
        return report.caveats
    return sentences([caveat for caveat in report.caveat_details if caveat not in found])


def sentences(caveats: Sequence[Caveat]) -> tuple[str, ...]:
    """All caveats in words; kinds that a dump has none of are one sentence."""
    absent = [caveat for caveat in caveats if isinstance(caveat, Lacking) and not caveat.reason]
    said = dict.fromkeys(_absent(absent) if caveat in absent else sentence(caveat) for caveat in caveats)
    return tuple(said)


def _absent(caveats: Sequence[Lacking]) -> str:
    kinds = [f"{kind}es" if kind.endswith("s") else f"{kind}s" for caveat in caveats for kind in caveat.kinds]
    return f"the dump has no {listed(kinds)}: {'; '.join(_CONSEQUENCES[type(caveat)] for caveat in caveats)}"


def sentence(caveat: Caveat) -> str:  # noqa: C901, PLR0911, PLR0912, PLR0915 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed."""
    match caveat:
        case (
            NoPods()
            | NoBudgets()
            | NoPriorityClasses()
            | NoNamespaces()
            | NoServices()
            | NoWorkloads()
            | NoLimits()
            | NoStorage()
            | NoDevices()
        ):
            if not caveat.reason:
                return _absent([caveat])
            return f"{caveat.reason} {by_group(caveat.kinds)}: {_CONSEQUENCES[type(caveat)]}"
        case NoNodes():
            return "the input holds no Node: kube-scheduler finds no nodes available to schedule pods"
        case DanglingReference(kind=kind, example=example, count=count, user=user):
            what = f"{kind} {example}" if count == 1 else f"{count} objects of kind {kind}, such as {example}"
            return f"missing: {what} (used by {user}): {_DANGLING.get(kind, _NOT_SPREAD)}"
        case UnknownPriorityClass(name=name, pods=pods):
            others = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
            return f"PriorityClass {name} is not in the input: pod {pods[0]}{others} that name it count as priority 0"
        case BudgetComputed() | BudgetNotComputed():
            return _budget(caveat)
        case NoImages():
            return (
                "the snapshot holds no images: ImageLocality scores every node 0, so another node may be taken, and"
                " RemoveDuplicates takes all pods of one owner for duplicates"
            )
        case ImagesNotCompared():
            return (
                "the input holds no images: a workload of which nothing but the image changes counts as unchanged"
                " (save snapshots with --images)"
            )
        case FieldsNotCompared():
            return _not_compared(caveat)
        case VersionNotRead(kind=kind, count=count):
            return f"{kind} left out, {plural(count, 'object')}: this version is not read"
        case SomeNamespaces():
            return _some_namespaces(caveat)
        case ObjectsTwice(dump=dump, count=count, example=example):
            return (
                f"{dump} that holds {count} objects more than once, with different contents, such as {example}: the"
                " first of each counts"
            )
        case CollectionFailed():
            return _collection(caveat)
        case SchedulerConfigLeftOut():
            return (
                "the scheduler configuration in a kube-scheduler-simulator export is not applied: give it as"
                " --scheduler-config"
            )
        case RecordedChanges(count=count):
            return f"a kwokctl export with {count} recorded changes: the cluster is as it was before the first one"
        case NoDates():
            return (
                "a kwokctl export has no dates: ages are wrong, as if it had been taken on 1 January 2000; which pod"
                " is the older one is right"
            )
        case TwoMoments(resources=resources):
            return f"the list of {resources} took longer than the server keeps a state: it is as of two moments"
        case Remembered(text=text):
            return text
        case StaleSnapshot(taken_at=taken_at, age=age):
            return f"the cluster is as it was {duration(age)} ago, at {taken_at}: what has changed since is not known"
        case UndatedSnapshot():
            return "when the dump was taken is not known, so it may be older than the policy allows"
        case NothingJudged():
            return NOTHING_JUDGED
        case NotBuilt(file=file):
            return f"{file} is not built, so what it would change is not judged: {BUILD}"
        case UnjudgedKind(object=name, kind=kind):
            return f"{name} holds a pod template that was not judged: give --pod-template-path {kind}=.spec.template"
        case PodSecurityNotChecked(namespaces=namespaces):
            levels = some([f"{name} ({level})" for name, level in namespaces])
            standard = f"the Pod Security Standard of namespace{'s' if len(namespaces) > 1 else ''} {levels}"
            return f"{standard} is not checked: the API server may refuse pods"
        case ServiceAccountsNotChecked(names=names):
            accounts = "ServiceAccount" if len(names) == 1 else f"{len(names)} ServiceAccounts"
            return f"whether there is {accounts} {some(list(names))} is not checked: without it the pods are refused"
        case MissingServiceAccounts(names=names):
            which = "ServiceAccount" if len(names) == 1 else "ServiceAccounts"
            return (
                f"the dump has no {which} {some(list(names))}, but others of that namespace: the API server refuses the"
                " pods"
            )
        case AdmissionNotAsked(kinds=kinds):
            have = [plural(count, kind, f"{kind[:-1]}ies" if kind[-1] == "y" else "") for kind, count in kinds]
            return f"the cluster has {listed(have)}, which are not asked: they may change pods, or refuse them"
        case AutoscalersNotRead(targets=targets):
            return f"whether a HorizontalPodAutoscaler scales {some(list(targets))} is not known: they are not read"
        case AutoscalerNotModelled():
            return _autoscaler(caveat)
        case DevicesNotModelled(features=features):
            return f"devices have {listed(features)}, not modelled: answers about pods that claim devices may be wrong"
        case HugeAmounts(nodes=nodes):
            return f"{plural(len(nodes), 'node')}: more than 8 PiB of a resource, where 64-bit limits are not modelled"
        case UnknownQuotaScope(quota=quota, scope=scope):
            return f"ResourceQuota {quota} has scope {scope}, which is not known: the quota counts for no pod"
        case PluginNotModelled(plugin=plugin):
            return f"plugin {plugin} is enabled, but not modelled: it is about groups of pods"
        case ExtenderNotAsked(extender=extender, verbs=verbs, managed=managed):
            about = f" about pods that use {', '.join(managed)}" if managed else ""
            return f"extender {extender} was not asked to {', '.join(verbs)}{about}; --call-extenders asks it"
        case ExtenderBinds(extender=extender):
            return f"extender {extender} binds pods itself; kwhatif binds nothing and does not ask it to"
        case ExtenderOddity():
            asked = f"extender {caveat.extender}, asked to {caveat.verb} for {some(list(caveat.pods))}"
            return f"{asked}, {_deed(caveat, Oddity(caveat.oddity))}"
        case OtherVersion(version=version, rules=rules):
            return (
                f"the cluster is of version {version}, which is not modelled: judged by the rules of {rules}, from"
                " which its scheduler may differ"
            )
        case AssumedVersion(rules=rules):
            return (
                f"nothing says of which version the cluster is: judged by the rules of {rules}, the newest;"
                " --kubernetes-version says it"
            )
        case GateNotModelled(gates=gates):
            return f"feature gates that were set and are not modelled change nothing here: {some(list(gates))}"
        case NodeNameSet(pods=pods):
            if len(pods) == 1:
                return (
                    f"{pods[0]} sets spec.nodeName: applied so it never meets the scheduler; judged as if it were"
                    " pending"
                )
            return (
                f"{len(pods)} pods set spec.nodeName ({some(list(pods))}): applied so they never meet the scheduler;"
                " judged as if they were pending"
            )
        case Sampling(looked_for=looked_for, nodes=nodes):
            return (
                f"kube-scheduler stops looking after {looked_for} feasible nodes of {nodes}"
                " (percentageOfNodesToScore); kwhatif looked at all, so a node that scores lower may be taken"
            )
        case PreemptionSampling(enough=enough, candidates=candidates):
            return (
                f"kube-scheduler stops after {enough} preemption candidates, from a random node on; kwhatif"
                f" compared all {candidates}, so a worse one may be taken"
            )
        case ReplicasKept(workload=workload, replicas=replicas):
            return (
                f"{workload} leaves spec.replicas out: it keeps the {replicas} that it has, as kubectl apply does"
                " unless the manifest applied before named a number"
            )
        case TooManyPods(workload=workload, count=count, judged=judged):
            return (
                f"{workload} asks for {count:,} pods, of which {judged:,} were judged: the others count like the last"
                " of these; if it finds a node, as pending beyond what all nodes can take, and else as not judged"
            )
        case WorkloadNotInDump(workload=workload, count=count):
            return (
                f"{workload} is not in the input, but {count} of its pods are: they count as made of another template"
            )
        case ReplicaSetsInferred(workloads=workloads):
            return f"the ReplicaSets of {some(list(workloads))} are not in the input: they are made up of their pods"
        case OwnersSilent(owners=owners, count=count):
            return (
                f"{plural(count, 'pod')} of {some(list(owners))} {'goes' if count == 1 else 'go'}, and nobody makes"
                " others: the owners are not in the input, or their controllers are not known"
            )
        case TolerationUnknown(pods=pods):
            return (
                f"{some(list(pods))} on lost nodes: nothing says for how long they tolerate that (the API server"
                " writes it into every pod), so they are left there"
            )
        case EvictedByTaint(seconds=seconds, pods=pods):
            gone = "at once" if seconds == 0 else f"after {seconds} s"
            return (
                f"{some(list(pods))}: a NoExecute taint of the node is tolerated for {seconds} s only, so a pod is"
                f" evicted again {gone}"
            )
        case OldRevisionsUnknown(workloads=workloads):
            return (
                f"{some(list(workloads))}: the templates of older revisions are not in the input, so new pods are made"
                " of the newest one, and a changed template counts as one that there never was"
            )
        case LeftOutOfStory(what=what, objects=objects):
            return f"{some(list(objects))}: {_LEFT_OUT[what]}"
        case UnknownController(workload=workload):
            return f"{workload}: its controller is not known, so all its pods count as replaced"
        case OrderedPodPending(workload=workload, pod=pod):
            return (
                f"{workload}: {pod} is pending in the cluster, and until it runs no other pod is made or replaced: the"
                " answer takes it as running"
            )
        case FieldIgnored(where=where, problem=problem, hint=hint):
            return f"{where}: {problem}" + (f" ({hint})" if hint else "")
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
        case VersionNotDefault(kind=kind, version=version, count=count):
            return f"{kind} in {version}, {plural(count, 'object')}: served only by clusters that turn this version on"
        case CustomKind(kind=kind, version=version, count=count):
            return (
                f"{kind} in {version}, {plural(count, 'object')}, is not judged: it is a custom kind,"
                " whose fields, and whether pods are made of it, only its own controller knows"
            )
        case BindingNotDated(claim=claim):
            return (
                f"ResourceClaim {claim} waits for its devices, and the input does not say when it was taken: whether"
                " bindingTimeout has passed, and the devices are given up, is not known"
            )
        case Batching():
            return (
                "where spreading by default is off, kube-scheduler places equal pods by the ranking that it made for"
                " the first of them (OpportunisticBatching), and so does kwhatif; if more than half a second passes"
                " between them, it ranks the nodes anew, and another one may be taken"
            )
        case EvictionsAtOnce(count=count):
            return (
                f"{count:,} pods evict others, too many to simulate what follows: each is taken to be on its node, and"
                " its victims to be gone, before the next one's turn; victims do not come back"
            )
        case PendingAsleep(pods=pods):
            are, them, they = ("is", "it", "the pod") if len(pods) == 1 else ("are", "them", "the pods")
            return (
                f"{plural(len(pods), 'pending pod')} ({some(list(pods))}) {are} left out: the scheduler has found no"
                f" node for {them}, and tries {them} again after five minutes, or when an event may help; {they} may"
                " then take room that is free now. Whether evictions, rollouts, new pods or their claims are such an"
                " event is not judged"
            )
        case OneOfEqualPods(workload=workload, count=count):
            return f"{workload} makes {count} equal pods, of which one is judged alone"
        case ClaimUnbound():
            return _unbound(caveat)
        case VolumeProvisioned(claim=claim, storage_class=storage_class, provisioner=provisioner):
            reach = "within reach of every node" if caveat.everywhere else "where its allowedTopologies let it be"
            return (
                f"PersistentVolumeClaim {claim} is bound at once, as StorageClass {storage_class} says: it is assumed"
                f" that {provisioner} provisions its volume, {reach}"
            )
        case QueueNotSeen(events=events):
            return _queue_not_seen(events=events)
        case ScheduledMeanwhile(pods=pods):
            were = "was" if len(pods) == 1 else "were"
            return f"Events show that {some(list(pods))} {were} given a node after pods were listed: taken as pending"
    assert_never(caveat)


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


#: What a story leaves out.
_LEFT_OUT: Mapping[Unmodelled, str] = {
    "adoption": "has no controller, and labels that one selects; that it is then adopted is not modelled",
    "job-ttl": "deleted some time after its end (ttlSecondsAfterFinished), which is not modelled: it stays",
    "volume-reclaim": "its claim goes; that the volume is then deleted or kept (its reclaim policy) is not modelled",
    "cron-jobs": "would start Jobs within the simulated time, which are not modelled",
    "node-autoscaler": "shows that a node autoscaler runs, which is not modelled: no nodes are added for pending pods",
    "namespaces": "being deleted, which is not modelled: what is in it stays",
    "budgets": (
        "how many pods it expects cannot be counted, because their controllers are of custom kinds or not in the"
        " input: no eviction is allowed, though the cluster says otherwise"
    ),
    "not-started": (
        "has a node, and does not run yet; why is not known: here it starts after --start, and counts as ready from"
        " then on, also for budgets"
    ),
}


#: What cannot be trusted, because these kinds are not known.
_CONSEQUENCES: Mapping[type[Lacking], str] = {
    NoPods: "every node counts as empty",
    NoBudgets: (
        "budgets count as if there were none, so whether an eviction violates one is unknown, and with it whom the"
        " scheduler would rather spare"
    ),
    NoPriorityClasses: "the priority of a new pod that names a class, or none, is unknown",
    NoNamespaces: "namespace selectors see no label of a namespace but its name",
    NoServices: "pods of one service or controller are not spread by default, so a node that scores lower may be taken",
    NoWorkloads: "which pods a workload has already is unknown, so a changed one counts as new",
    NoLimits: "these count as if there were none",
    NoStorage: "answers about pods with volumes cannot be trusted",
    NoDevices: "answers about pods that claim devices cannot be trusted",
}


def _budget(caveat: BudgetComputed | BudgetNotComputed) -> str:
    start = f"PodDisruptionBudget {caveat.budget} has no status; computed as the disruption controller would:"
    if isinstance(caveat, BudgetNotComputed):
        absent = f" ({caveat.absent} is not in the input)" if caveat.absent else ""
        return f"{start} no pod may be disrupted, because it {caveat.reason}{absent}"
    return (
        f"{start} {caveat.allowed} of {caveat.expected} pods may be disrupted ({caveat.healthy} are healthy,"
        f" {caveat.desired} must be)"
    )


def _not_compared(caveat: FieldsNotCompared) -> str:
    if not caveat.workload:
        return (
            "the input does not hold whole templates, so only what scheduling reads is compared: a workload in which"
            " only env, commands or annotations change counts as unchanged, though its pods would be replaced"
        )
    name = f"has {caveat.field.lstrip('.')}" if caveat.field else "has a field"
    return (
        f"the template of {caveat.workload} {name}, and the manifest does not; it is assumed to stay, since the input"
        " does not show whether it was applied before (kubectl.kubernetes.io/last-applied-configuration)"
    )


def _some_namespaces(caveat: SomeNamespaces) -> str:
    if not caveat.count:
        return f"{caveat.dump} that was asked for some namespaces only: pods of others count nowhere"
    unless = f", unless it was taken with {caveat.unless}" if caveat.unless else ""
    return (
        f"{caveat.dump} holds the namespaces that it was asked for, here {caveat.count}: pods of others count"
        f" nowhere{unless}"
    )


def _collection(caveat: CollectionFailed) -> str:
    count, first = caveat.namespaces, caveat.example
    where = f" of namespace {first}" if count == 1 else f" of {count} namespaces, such as {first}" if count else ""
    return f"{caveat.dump} in which {caveat.resources}{where} are missing: {caveat.file} says why"


def _autoscaler(caveat: AutoscalerNotModelled) -> str:
    low, high = caveat.min_replicas, caveat.max_replicas
    bounds = f" ({1 if low is None else low} to {high} replicas)" if high is not None else ""
    target = caveat.target or "what it scales"
    return (
        f"HorizontalPodAutoscaler {caveat.name}{bounds} is not modelled: {target} counts with the replicas that it"
        " names, or has"
    )


def _unbound(caveat: ClaimUnbound) -> str:
    start = f"PersistentVolumeClaim {caveat.claim} stays unbound:"
    if not caveat.storage_class:
        return f"{start} it has no storage class, and no volume without one fits it"
    if caveat.is_known:
        return f"{start} no volume of StorageClass {caveat.storage_class} fits it"
    hint = f" (did you mean {' or '.join(caveat.near)}?)" if caveat.near else ""
    return f"{start} there is no StorageClass {caveat.storage_class}{hint}"


def _deed(caveat: ExtenderOddity, oddity: Oddity) -> str:
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
