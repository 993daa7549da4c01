"""Unknowns that a verdict depends on, in a few words, for the line of the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kwhatif.kube.model.caveat import (
    Caveat,
    autoscaling,
    manifests,
    reading,
    scheduling,
    workloads,
)
from kwhatif.render.outcomes import Part
from kwhatif.report import Report
from kwhatif.report.decision import Decision, WorkloadRow
from kwhatif.words.amounts import duration, listed, plural, some

#: How many of them a first line names; the others are counted, and listed below.
_MOST = 1


def qualifier(report: Report, concerns: Callable[[Caveat], bool] = lambda _: True) -> str:
    """What the verdict depends on: `no pod is known; the cluster is as of 3h ago`; "" if nothing.

    Args:
        report: for a gate, only what its policy warns of, or fails on, counts.
        concerns: whether a caveat is about what the verdict is about, see `about_pod` and `about_workload`.
    """
    return in_short(filter(concerns, _that_count(report)))


def in_short(caveats: Iterable[Caveat]) -> str:
    """The first of them in a few words, and how many more there are; "" if there are none."""
    found = sorted(caveats, key=_urgency)
    absent = [caveat for caveat in found if reading.is_absent(caveat)]
    words = list(dict.fromkeys(_absent(absent) if reading.is_absent(caveat) else _words(caveat) for caveat in found))
    shown = words[:_MOST]
    if len(words) > _MOST:
        shown.append(plural(len(words) - _MOST, "more caveat"))
    return "; ".join(shown)


def _absent(caveats: Sequence[reading.Lacking]) -> str:
    """Missing kinds of the dump, all in one clause."""
    if len(caveats) == 1:
        return _CONSTANT[type(caveats[0])]
    return f"{listed([_ABSENT[type(caveat)] for caveat in caveats])} are not known"


def shared(report: Report, parts: Sequence[Part]) -> frozenset[Caveat]:
    """What all verdicts depend on: said once, below them."""
    about = [about_pod(decisions[0]) if row is None else about_workload(row, decisions) for row, decisions in parts]
    return frozenset(caveat for caveat in _that_count(report) if all(concerns(caveat) for concerns in about))


def _urgency(caveat: Caveat) -> int:
    """If nothing was judged, nothing else matters; the age comes last."""
    return -isinstance(caveat, manifests.NothingJudged) + isinstance(caveat, reading.StaleSnapshot)


def _that_count(report: Report) -> Iterator[Caveat]:
    if report.policy is None:
        yield from (caveat for caveat in report.caveat_details if caveat.level == "warn")
        return
    for finding in report.policy.findings:
        if finding.caveat is not None and finding.suppressed is None:
            yield finding.caveat


def of_command(report: Report) -> Callable[[Caveat], bool]:
    """Whether a caveat concerns the whole answer; budgets matter only if pods are, or would have to be, evicted."""
    if report.deschedule is not None:
        has_evictions = bool(report.deschedule.evicted)
    else:
        story = report.story
        has_evictions = report.is_judged or story is None or bool(story.verdict or story.gone)
    return lambda caveat: has_evictions or not isinstance(caveat, reading.NoBudgets)


def about_pod(decision: Decision) -> Callable[[Caveat], bool]:
    """Whether a caveat concerns the pod, and the sentence about it does not already say so."""

    def concerns(caveat: Caveat) -> bool:
        if isinstance(caveat, manifests.PodSecurityNotChecked):  # there may be thousands of pods
            return decision.pod.partition("/")[0] in dict(caveat.namespaces)
        if caveat.pods:
            return decision.pod in caveat.pods
        match caveat:
            case reading.NoBudgets() | reading.NoNodes():
                return False  # the sentence says it
            case reading.NoPriorityClasses():
                return decision.outcome in ("Preempts", "Unschedulable")
            case (
                reading.NoWorkloads()
                | workloads.ImagesNotCompared()
                | workloads.FieldsNotCompared()
                | workloads.AutoscalerNotModelled()
                | workloads.AutoscalersNotRead()
            ):
                return False  # about workloads
        return True

    return concerns


def about_workload(row: WorkloadRow, decisions: Sequence[Decision]) -> Callable[[Caveat], bool]:
    """Whether a caveat concerns the workload, or one of its pods."""
    pods = {decision.pod for decision in decisions}

    def concerns(caveat: Caveat) -> bool:
        if caveat.pods:
            return not pods.isdisjoint(caveat.pods)
        match caveat:
            case workloads.FieldsNotCompared():
                return row.update in ("unchanged", "scaled") and caveat.subject in ("", row.name)
            case reading.NoBudgets():
                return row.preempting > 0
            case reading.NoPriorityClasses():
                return row.preempting + row.unschedulable > 0
        return caveat.subject in ("", row.name)

    return concerns


def _words(caveat: Caveat) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per kind, nothing else
    """A few words for people; the full text is `sentence`."""
    match caveat:
        case reading.UnknownPriorityClass(name=name):
            return f"priority class {name} is not known"
        case reading.CollectionFailed(resources=resources):
            return f"some {resources} are not known"
        case reading.StaleSnapshot(age=age):
            return f"the cluster is as of {duration(age)} ago"
        case manifests.NotBuilt(file=file):
            return f"{file} is not built"
        case manifests.UnjudgedKind(objects=objects):
            return f"{some(objects, 1)} {'is' if len(objects) == 1 else 'are'} not judged"
        case manifests.PodSecurityNotChecked(namespaces=namespaces):
            return f"Pod Security of {some([name for name, _ in namespaces])} is not checked"
        case manifests.PodSecurityWarns(objects=objects):
            return f"the API server warns of {some(objects, 1)}"
        case manifests.MissingServiceAccounts(names=names):
            return f"ServiceAccount {some(names, 1)} is missing"
        case workloads.NodesNotAdded(objections=objections):
            return "no NodePool would add a node" if objections else "an autoscaler may add nodes"
        case workloads.AutoscalerNotModelled(target=target):
            return f"the metrics of the autoscaler of {target} are not modelled"
        case manifests.UnknownQuotaScope(quota=quota):
            return f"quota {quota} has a scope that is not known"
        case workloads.EvictedByTaint(pods=pods):
            return f"a taint evicts {some(pods, 1)} again"
        case scheduling.ExtenderNotAsked(extender=extender):
            return f"extender {extender} was not asked"
        case scheduling.PluginNotModelled(plugin=plugin):
            return f"plugin {plugin} is not modelled"
        case workloads.LeftOutOfStory(what=what):
            return _LEFT_OUT[what]
    return _CONSTANT[type(caveat)]


_LEFT_OUT: Mapping[workloads.Unmodelled, str] = {
    "adoption": "the adoption of pods is not modelled",
    "job-ttl": "the removal of finished Jobs is not modelled",
    "volume-reclaim": "what becomes of released volumes is not modelled",
    "cron-jobs": "the Jobs of CronJobs are not modelled",
    "namespaces": "the removal of namespaces is not modelled",
    "budgets": "some budgets cannot be counted",
    "not-started": "pods that do not run yet count as starting",
    "not-ready": "pods that were not ready count as ready once they are made again",
    "readiness-gates": "readiness gates count as open",
    "deadlines": "the end of Jobs at their deadlines is not waited for",
}
_ABSENT: Mapping[type, str] = {
    reading.NoPods: "pods",
    reading.NoBudgets: "budgets",
    reading.OwnersInferred: "owners",
    reading.NoPriorityClasses: "priority classes",
    reading.NoNamespaces: "namespaces",
    reading.NoServices: "services",
    reading.NoWorkloads: "workloads",
    reading.NoLimits: "limits and quotas",
    reading.NoStorage: "volumes",
    reading.NoDevices: "devices",
    reading.NoAdmission: "webhooks, policies and service accounts",
    reading.NoAutoscalers: "autoscalers",
    reading.NoEvents: "events",
    reading.NoGroups: "groups of pods",
    reading.NoCustomResources: "custom resources",
}
_CONSTANT: Mapping[type, str] = {
    reading.NoNodes: "no node is known",
    reading.NoPods: "no pod is known, so every node counts as empty",
    reading.NoBudgets: "no budget is known",
    reading.OwnersInferred: "owners are inferred from pods",
    reading.NodesNotInInput: "pods are on nodes that are not known",
    reading.NoPriorityClasses: "no priority class is known",
    reading.NoNamespaces: "no namespace is known",
    reading.NoServices: "no service is known",
    reading.NoWorkloads: "which workloads run is not known",
    reading.NoLimits: "limits and quotas are not known",
    reading.NoStorage: "volumes are not known",
    reading.NoDevices: "devices are not known",
    reading.NoAdmission: "what refuses new objects is not known",
    reading.NoAutoscalers: "autoscalers are not known",
    reading.NoEvents: "events are not known",
    reading.NoGroups: "groups of pods are not known",
    reading.NoCustomResources: "custom resources are not known",
    reading.NoImages: "images are not known",
    workloads.ImagesNotCompared: "images are not compared",
    workloads.FieldsNotCompared: "only what scheduling reads is compared",
    reading.VersionNotRead: "some objects are of a version that is not read",
    reading.SomeNamespaces: "only some namespaces are known",
    reading.SomeObjects: "only some pods are known",
    reading.ObjectsTwice: "some objects are there twice",
    reading.SchedulerConfigLeftOut: "the scheduler's configuration is not applied",
    scheduling.DevicesNotModelled: "some features of devices are not modelled",
    reading.RecordedChanges: "recorded changes are not applied",
    reading.UndatedSnapshot: "the age of the dump is not known",
    manifests.NothingJudged: "nothing was judged",
    manifests.FieldIgnored: "a field is ignored",
    scheduling.PolicyIsEmpty: "the policy counts as empty",
    scheduling.NoMetrics: "what nodes and pods use is not known",
    scheduling.PrometheusNotAsked: "Prometheus was not asked",
    manifests.AdmissionNotAsked: "admission webhooks are not asked",
    workloads.AutoscalersNotRead: "HorizontalPodAutoscalers are not read",
    manifests.CustomKind: "custom kinds are not judged",
    manifests.CustomKindPlayed: "custom kinds are judged as Kubernetes' own",
    manifests.HelmHooks: "Helm hooks are not judged as the rest is",
    workloads.Injected: "webhooks add to new pods",
    workloads.RecommendationIgnored: "the webhook of VerticalPodAutoscalers is not registered",
    workloads.RequestsKept: "some requests stay as they are",
    scheduling.BudgetRecounted: "a budget's status is not what its pods say",
    scheduling.GangsNotModelled: "groups of pods are judged one by one",
    scheduling.GroupFieldsNotModelled: "groups have fields that are not modelled",
    scheduling.ForeignGroups: "groups are those of another scheduler",
    scheduling.TaintRulesIgnored: "DeviceTaintRules are not looked at",
    manifests.ServiceAccountsNotChecked: "ServiceAccounts are not checked",
    reading.DanglingReference: "something that is referred to is not there",
    reading.VersionNotDefault: "a version is read that is not the default one",
    reading.NoDates: "the input has no times",
    reading.TwoMoments: "the dump was taken at two moments",
    reading.ScheduledMeanwhile: "pods were scheduled while the dump was taken",
    reading.Remembered: "some answers of the API server are remembered ones",
    workloads.ResizeAssumed: "what keeps kubelets from resizing pods is not known",
    workloads.ResizeEvicts: "a kubelet may evict pods for a resize",
    workloads.ReplicasKept: "replicas that are left out stay as they are",
    workloads.TooManyPods: "not all pods of a workload were judged",
    workloads.OneOfEqualPods: "one of equal pods was judged",
    workloads.WorkloadNotInDump: "a workload with pods is not in the input",
    workloads.UnknownController: "a controller is not known",
    workloads.OrderedPodPending: "a StatefulSet waits for a pod that is pending",
    workloads.ReplicaSetsInferred: "ReplicaSets are made up of their pods",
    workloads.OwnersSilent: "the owners of some pods are not in the input",
    workloads.TolerationUnknown: "for how long pods tolerate lost nodes is not known",
    workloads.CutAtHorizon: "not every what-if was played to its end",
    workloads.OldRevisionsUnknown: "old revisions are not in the input",
    scheduling.OtherVersion: "the cluster is of another version",
    scheduling.AssumedVersion: "the version of the cluster is assumed",
    scheduling.GateNotModelled: "a feature gate is not modelled",
    scheduling.ExtenderBinds: "an extender binds pods itself",
    scheduling.ExtenderOddity: "an extender answers oddly",
    scheduling.NodeNameSet: "a pod names its node itself",
    scheduling.Sampling: "the scheduler looks at some of the nodes only",
    scheduling.PreemptionSampling: "preemption looks at some of the nodes only",
    scheduling.BudgetComputed: "a budget has no status",
    scheduling.BudgetNotComputed: "a budget cannot be counted",
    scheduling.HugeAmounts: "some amounts are too large to count",
    scheduling.BindingNotDated: "when pods were bound is not known",
    scheduling.Batching: "equal pods are judged together",
    scheduling.ClaimUnbound: "a claim is not bound",
    scheduling.VolumeProvisioned: "provisioning counts as successful",
    scheduling.QueueNotSeen: "the scheduler's queue cannot be seen",
    scheduling.OrderOfEquals: "the pod that comes first gets the place",
    scheduling.PendingAsleep: "pods that found no node wait for an event",
    scheduling.EvictionsAtOnce: "evictions count as done at once",
    scheduling.MomentNotKnown: "the moment of the dump is not known",
    scheduling.EvictionOrder: "which pods are evicted depends on the order",
    autoscaling.GroupBoundsUnknown: "how large the node groups may be is not known",
    autoscaling.ExpanderAssumed: "the expander is assumed",
    autoscaling.ExpanderTied: "equally good groups are chosen by chance",
    autoscaling.AutoscalerHalted: "too many nodes are not ready",
    autoscaling.FlagsNotModelled: "some flags of the autoscaler are not modelled",
    autoscaling.ExpendablePodsCount: "expendable pods keep their room here",
    autoscaling.PricesUnknown: "prices are not known",
    autoscaling.ShapesObservedOnly: "only instance types that run in the cluster are tried",
    autoscaling.CloudCapacityUnknown: "what the cloud has is not known",
    autoscaling.NodeStartupAssumed: "how long nodes take to start is assumed",
    autoscaling.PodsLeftByAutoscaler: "the autoscaler and the scheduler disagree",
    autoscaling.UnreadableObject: "some objects cannot be understood",
    autoscaling.AutoscalerObjectsNotModelled: "some objects of the autoscaler are not modelled",
    autoscaling.AutoscalerSettingsAssumed: "the autoscaler's settings are assumed",
    autoscaling.AutoscalerSettingsRead: "the autoscaler's settings are read from its arguments",
    autoscaling.AutoscalerKnowsNoGroups: "the autoscaler does not know groups of pods",
    autoscaling.KarpenterVersionAssumed: "the version of Karpenter is assumed",
    autoscaling.AutoscalerDisagrees: "two autoscalers are there",
}
