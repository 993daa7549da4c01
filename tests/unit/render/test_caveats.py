"""A sentence for every caveat, and what is said together."""

from __future__ import annotations

from typing import get_args

import pytest

from kwhatif.kube.model.caveat import CODES, Caveat, merged
from kwhatif.kube.model.caveat.autoscaling import (
    AutoscalerDisagrees,
    AutoscalerHalted,
    AutoscalerKnowsNoGroups,
    AutoscalerObjectsNotModelled,
    AutoscalerSettingsAssumed,
    AutoscalerSettingsRead,
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
from kwhatif.kube.model.caveat.manifests import (
    AdmissionNotAsked,
    CustomKind,
    CustomKindPlayed,
    FieldIgnored,
    HelmHooks,
    MissingServiceAccounts,
    NotBuilt,
    NothingJudged,
    PodSecurityNotChecked,
    PodSecurityWarns,
    ServiceAccountsNotChecked,
    UnjudgedKind,
    UnknownQuotaScope,
)
from kwhatif.kube.model.caveat.reading import (
    CollectionFailed,
    DanglingReference,
    NoAdmission,
    NoAutoscalers,
    NoBudgets,
    NoCustomResources,
    NoDates,
    NodesNotInInput,
    NoDevices,
    NoEvents,
    NoGroups,
    NoImages,
    NoLimits,
    NoNamespaces,
    NoNodes,
    NoPods,
    NoPriorityClasses,
    NoServices,
    NoStorage,
    NoWorkloads,
    ObjectsTwice,
    OwnersInferred,
    RecordedChanges,
    Remembered,
    ScheduledMeanwhile,
    SchedulerConfigLeftOut,
    SomeNamespaces,
    SomeObjects,
    StaleSnapshot,
    TwoMoments,
    UndatedSnapshot,
    UnknownPriorityClass,
    VersionNotDefault,
    VersionNotRead,
)
from kwhatif.kube.model.caveat.scheduling import (
    AssumedVersion,
    Batching,
    BindingNotDated,
    BudgetComputed,
    BudgetNotComputed,
    BudgetRecounted,
    ClaimUnbound,
    DevicesNotModelled,
    EvictionOrder,
    EvictionsAtOnce,
    ExtenderBinds,
    ExtenderNotAsked,
    ExtenderOddity,
    ForeignGroups,
    GangsNotModelled,
    GateNotModelled,
    GroupFieldsNotModelled,
    HugeAmounts,
    MomentNotKnown,
    NodeNameSet,
    NoMetrics,
    OrderOfEquals,
    OtherVersion,
    PendingAsleep,
    PluginNotModelled,
    PolicyIsEmpty,
    PreemptionSampling,
    PrometheusNotAsked,
    QueueNotSeen,
    Sampling,
    TaintRulesIgnored,
    VolumeProvisioned,
)
from kwhatif.kube.model.caveat.workloads import (
    AutoscalerNotModelled,
    AutoscalersNotRead,
    ContainerRequests,
    CutAtHorizon,
    EvictedByTaint,
    FieldsNotCompared,
    ImagesNotCompared,
    Injected,
    LeftOutOfStory,
    NodesNotAdded,
    OldRevisionsUnknown,
    OneOfEqualPods,
    OrderedPodPending,
    OwnersSilent,
    PoolObjection,
    RecommendationIgnored,
    ReplicaSetsInferred,
    ReplicasKept,
    RequestsKept,
    ResizeAssumed,
    ResizeEvicts,
    TolerationUnknown,
    TooManyPods,
    UnknownController,
    Unmodelled,
    WorkloadNotInDump,
)
from kwhatif.policy.violations import Finding, Violation
from kwhatif.render.caveats import sentence, sentences, wording
from kwhatif.render.certainty import qualifier
from kwhatif.render.worded import worded
from kwhatif.report import Report
from kwhatif.report.decision import PolicyRow
from kwhatif.scheduler.framework.extender import Oddity

URL = "http://bandwidth/v1"
PODS = ("shop/web",)
FORBIDDEN = "no permission to list"
BUDGET = "PodDisruptionBudget shop/web has no status; computed as the disruption controller would:"

SENTENCES: dict[Caveat, str] = {
    NoNodes(): "the input holds no Node: kube-scheduler finds no nodes available to schedule pods",
    NoPods(kinds=("Pod",)): (
        "the dump has no Pods: every node counts as empty (as another --from: kubectl get --raw /api/v1/pods)"
    ),
    NoBudgets(kinds=("PodDisruptionBudget",), reason=FORBIDDEN): (
        "no permission to list poddisruptionbudgets in policy: budgets count as if there were none, so whether an"
        " eviction violates one is unknown, and with it whom the scheduler would rather spare"
    ),
    NoPriorityClasses(kinds=("PriorityClass",)): (
        "the dump has no PriorityClasses: the priority of a new pod that names a class, or none, is unknown"
        " (as another --from: kubectl get --raw /apis/scheduling.k8s.io/v1/priorityclasses)"
    ),
    NoNamespaces(kinds=("Namespace",)): (
        "the dump has no Namespaces: namespace selectors see no label of a namespace but its name"
        " (as another --from: kubectl get --raw /api/v1/namespaces)"
    ),
    NoServices(kinds=("Service", "ReplicaSet"), reason=FORBIDDEN): (
        "no permission to list services in the core group, replicasets in apps: pods of one service or controller are"
        " not spread by default, so a node that scores lower may be taken"
    ),
    NoWorkloads(kinds=("Job",), reason=FORBIDDEN): (
        "no permission to list jobs in batch: which pods a workload has already is unknown, so a changed one counts as"
        " new"
    ),
    NoLimits(kinds=("LimitRange",), reason=FORBIDDEN): (
        "no permission to list limitranges in the core group: what limits would add to new pods, or quotas refuse, is unknown"
    ),
    NoStorage(kinds=("CSINode",)): (
        "the dump has no CSINodes: answers about pods with volumes cannot be trusted"
        " (as another --from: kubectl get --raw /apis/storage.k8s.io/v1/csinodes)"
    ),
    NoDevices(kinds=("DeviceClass",), reason=FORBIDDEN): (
        "no permission to list deviceclasses in resource.k8s.io: answers about pods that claim devices cannot be"
        " trusted"
    ),
    NoAdmission(kinds=("ValidatingAdmissionPolicy", "ServiceAccount"), reason=FORBIDDEN): (
        "no permission to list validatingadmissionpolicies in admissionregistration.k8s.io, serviceaccounts in the core"
        " group: whether the cluster would change or refuse new objects is unknown"
    ),
    NoAutoscalers(kinds=("HorizontalPodAutoscaler", "NodePool"), reason="the server failed to list"): (
        "the server failed to list horizontalpodautoscalers in autoscaling, nodepools in karpenter.sh: no replicas and"
        " no nodes are added or removed by autoscalers"
    ),
    NoEvents(kinds=("Event",), reason="there are too many to read all"): (
        "there are too many to read all events in the core group: when the scheduler last tried a pending pod, and how"
        " often, is unknown or incomplete"
    ),
    NoCustomResources(kinds=("clusters.postgresql.cnpg.io", "widgets.example.com"), reason=FORBIDDEN): (
        "no permission to list clusters in postgresql.cnpg.io, widgets in example.com: they are made up of the pods"
        " that they control"
    ),
    NoGroups(kinds=("PodGroup",), reason=FORBIDDEN): (
        "no permission to list podgroups in scheduling.k8s.io: pods are known to be of a group only where they say so"
        " themselves"
    ),
    DanglingReference(kind="Node", example="n1", count=1, user="Pod shop/web"): (
        "missing: Node n1 (used by Pod shop/web): its pods count nowhere"
    ),
    DanglingReference(kind="ReplicaSet", example="shop/web", count=2, user="Pod shop/web"): (
        "missing: 2 objects of kind ReplicaSet, such as shop/web (used by Pod shop/web): its pods are not spread by"
        " default"
    ),
    UnknownPriorityClass(name="high", pods=("a/b", "a/c")): (
        "PriorityClass high is not in the input: pod a/b and 1 more that name it count as priority 0"
    ),
    BudgetNotComputed(budget="shop/web", reason="found no controllers", absent="ReplicaSet shop/web", missing=True): (
        f"{BUDGET} no pod may be disrupted, because it found no controllers (ReplicaSet shop/web is not in the input)"
    ),
    BudgetComputed(budget="shop/web", allowed=1, expected=3, healthy=3, desired=2): (
        f"{BUDGET} 1 of 3 pods may be disrupted (3 are healthy, 2 must be)"
    ),
    OwnersInferred(kinds=("ReplicaSet", "Job"), count=2): (
        "the dump has no ReplicaSets and Jobs: owners are inferred from pods, with as many replicas as pods"
        " (as another --from: for l in /apis/apps/v1/replicasets /apis/batch/v1/jobs; do kubectl get --raw $l; done)"
    ),
    NodesNotInInput(nodes=("elsewhere-7",), count=1): (
        "1 pod is on 1 node that the input lacks (elsewhere-7): taken to stay there"
    ),
    NodesNotInInput(nodes=("n1", "n2"), count=3): (
        "3 pods are on 2 nodes that the input lacks (n1, n2): taken to stay there"
    ),
    BudgetRecounted(budget="shop/web", stated=1, allowed=0, healthy=1, desired=2): (
        "PodDisruptionBudget shop/web: its status allows 1 disruption, its pods allow 0 (1 are healthy, 2 must be);"
        " counted from the pods, as the disruption controller does all the time"
    ),
    NoImages(): (
        "the snapshot holds no images: ImageLocality scores every node 0, so another node may be taken, and"
        " RemoveDuplicates takes all pods of one owner for duplicates"
    ),
    ImagesNotCompared(): (
        "the input holds no images: a workload of which nothing but the image changes counts as unchanged (save"
        " snapshots with --images)"
    ),
    FieldsNotCompared(): (
        "the input does not hold whole templates, so only what scheduling reads is compared: a workload in which only"
        " env, commands or annotations change counts as unchanged, though its pods would be replaced"
    ),
    FieldsNotCompared(workload="Deployment shop/web", field=".spec.nodeSelector[disk]"): (
        "the template of Deployment shop/web has spec.nodeSelector[disk], and the manifest does not; it is assumed to"
        " stay, since the input does not show whether it was applied before"
        " (kubectl.kubernetes.io/last-applied-configuration)"
    ),
    FieldsNotCompared(workload="Deployment shop/web"): (
        "the template of Deployment shop/web has a field, and the manifest does not; it is assumed to stay, since the"
        " input does not show whether it was applied before (kubectl.kubernetes.io/last-applied-configuration)"
    ),
    VersionNotRead(kind="policy/v1beta1/PodDisruptionBudget", count=1): (
        "policy/v1beta1/PodDisruptionBudget left out, 1 object: this version is not read"
    ),
    SomeNamespaces(dump="a must-gather", count=2): (
        "a must-gather holds the namespaces that it was asked for, here 2: pods of others count nowhere"
    ),
    SomeNamespaces(dump="a dump", count=1, unless="--all"): (
        "a dump holds the namespaces that it was asked for, here 1: pods of others count nowhere, unless it was taken"
        " with --all"
    ),
    SomeObjects(dump="an archive", resources=("pods", "nodes"), chosen="that fail"): (
        "an archive holds only some pods and nodes, those that fail: the others count nowhere"
    ),
    SomeNamespaces(dump="a support bundle"): (
        "a support bundle that was asked for some namespaces only: pods of others count nowhere"
    ),
    ObjectsTwice(dump="a must-gather", count=2, example="Pod a/b"): (
        "a must-gather that holds 2 objects more than once, with different contents, such as Pod a/b: the first of"
        " each counts"
    ),
    CollectionFailed(dump="a support bundle", resources="pods", file="f.json", namespaces=2, example="a"): (
        "a support bundle in which pods of 2 namespaces, such as a are missing: f.json says why"
    ),
    CollectionFailed(dump="a support bundle", resources="nodes", file="f.json"): (
        "a support bundle in which nodes are missing: f.json says why"
    ),
    SchedulerConfigLeftOut(): (
        "the scheduler configuration in a kube-scheduler-simulator export is not applied: give it as --scheduler-config"
    ),
    RecordedChanges(count=3): (
        "a kwokctl export with 3 recorded changes: the cluster is as it was before the first one"
    ),
    Remembered(text="in other words", missing=True): "in other words",
    NoDates(): (
        "a kwokctl export has no dates: ages are wrong, as if it had been taken on 1 January 2000; which pod is the"
        " older one is right"
    ),
    TwoMoments(resources="pods"): (
        "the list of pods took longer than the server keeps a state: it is as of two moments"
    ),
    StaleSnapshot(taken_at="2026-01-01T00:00:00Z", age=7260): (
        "the cluster is as it was 2h1m ago, at 2026-01-01T00:00:00Z: what has changed since is not known"
    ),
    UndatedSnapshot(): "when the dump was taken is not known, so it may be older than the policy allows",
    NothingJudged(): "nothing was judged: the manifests hold no pod, and nothing that makes pods",
    NotBuilt(file="k/kustomization.yaml"): (
        "k/kustomization.yaml is not built, so what it would change is not judged: give what `kustomize build` makes of"
        " it"
    ),
    UnjudgedKind(kind="Rollout", objects=("Rollout shop/web",)): (
        "Rollout shop/web holds a pod template that was not judged: give --pod-template-path Rollout=.spec.template"
    ),
    UnjudgedKind(kind="Rollout", objects=("Rollout shop/web", "Rollout shop/api")): (
        "Rollout shop/web, Rollout shop/api hold pod templates that were not judged: give --pod-template-path"
        " Rollout=.spec.template"
    ),
    PodSecurityNotChecked(namespaces=(("a", "baseline"), ("b", "restricted")), pods=("a/p", "b/p")): (
        "the Pod Security Standard of namespaces a (baseline), b (restricted) is not checked, as OpenShift fills in"
        " security contexts: the API server may refuse pods"
    ),
    PodSecurityWarns(objects=("Job a/b",), standard="baseline:latest", violation="hostPort (…)"): (
        'the API server warns of Job a/b: would violate PodSecurity "baseline:latest": hostPort (…)'
    ),
    ServiceAccountsNotChecked(names=("a/robot",)): (
        "whether there is ServiceAccount a/robot is not checked: without it the pods are refused"
    ),
    AdmissionNotAsked(asked=("MutatingWebhookConfiguration m (w)",), objects=("Deployment shop/web",)): (
        "MutatingWebhookConfiguration m (w) is not asked about Deployment shop/web: it may change what is created, or"
        " refuse it"
    ),
    AdmissionNotAsked(asked=("M a (b)", "V c"), unsure=("V c",), objects=("Job a", "Job b")): (
        "M a (b), V c are not asked about Job a, Job b (whether the matchConditions of V c hold is not known): they may"
        " change what is created, or refuse it"
    ),
    AdmissionNotAsked(kinds=(("MutatingWebhookConfiguration", 1), ("ValidatingAdmissionPolicy", 2))): (
        "the cluster has 1 MutatingWebhookConfiguration and 2 ValidatingAdmissionPolicies, which are not asked: they"
        " may change pods, or refuse them"
    ),
    AutoscalerNotModelled(name="a/web", target="Deployment a/web", min_replicas=None, max_replicas=9): (
        "HorizontalPodAutoscaler a/web (1 to 9 replicas): what its metrics ask for is not modelled, Deployment a/web"
        " counts with the replicas"
        " that it names, or has"
    ),
    HugeAmounts(nodes=("n1", "n2")): ("2 nodes: more than 8 PiB of a resource, where 64-bit limits are not modelled"),
    AutoscalersNotRead(targets=("Deployment a/web",)): (
        "whether a HorizontalPodAutoscaler scales Deployment a/web is not known: they could not be read"
    ),
    DevicesNotModelled(features=("attributes with lists", "nodeAllocatableResourceMappings")): (
        "devices have attributes with lists and nodeAllocatableResourceMappings, not modelled: answers about pods that"
        " claim devices may be wrong"
    ),
    TaintRulesIgnored(names=("r",), version="1.36", gate="DRADeviceTaintRules"): (
        "1 DeviceTaintRule (r) counts nothing, as the feature gate DRADeviceTaintRules is off in 1.36;"
        " --feature-gates DRADeviceTaintRules=true says that it is on"
    ),
    GangsNotModelled(groups=2, objects=("Job batch/train",)): (
        "groups of pods are not modelled (2 PodGroups; pods of groups: Job batch/train): kube-scheduler places the pods"
        " of a group together or not at all; here each is judged by itself"
    ),
    GroupFieldsNotModelled(groups=("ml/a",), field="resourceClaims", gate="DRAWorkloadResourceClaims"): (
        "1 PodGroup with resourceClaims (ml/a): what the gate DRAWorkloadResourceClaims makes of that is not modelled;"
        " each is judged as if it were not there"
    ),
    MissingServiceAccounts(names=("a/robot",)): (
        "the dump has no ServiceAccount a/robot, but others of that namespace: the API server refuses the pods"
    ),
    UnknownQuotaScope(quota="a/q", scope="Odd"): (
        "ResourceQuota a/q has scope Odd, which is not known: the quota counts for no pod"
    ),
    PluginNotModelled(plugin="GangScheduling"): (
        "plugin GangScheduling is enabled, but not modelled: it is about groups of pods"
    ),
    ExtenderNotAsked(extender=URL, verbs=("filter", "preempt"), managed=("a.io/x",)): (
        f"extender {URL} was not asked to filter, preempt about pods that use a.io/x; --call-extenders asks it"
    ),
    ExtenderBinds(extender=URL): f"extender {URL} binds pods itself; kwhatif binds nothing and does not ask it to",
    ExtenderOddity(extender=URL, verb="prioritize", oddity="ignored failure", error="EOF", pods=PODS): (
        f"extender {URL}, asked to prioritize for shop/web, failed; kube-scheduler goes on without it: EOF"
    ),
    ExtenderOddity(extender=URL, verb="filter", oddity="failure", error="EOF", pods=PODS): (
        f"extender {URL}, asked to filter for shop/web, failed, and the attempt with it: EOF"
    ),
    ExtenderOddity(extender=URL, verb="prioritize", oddity="unknown nodes", nodes=("a", "b"), pods=PODS): (
        f"extender {URL}, asked to prioritize for shop/web, scored nodes that are not feasible, which counts nothing:"
        " a, b"
    ),
    ExtenderOddity(extender=URL, verb="filter", oddity="unknown nodes", nodes=("a",), pods=PODS): (
        f"extender {URL}, asked to filter for shop/web, let nodes pass that it was not asked about; kube-scheduler"
        " takes them: a"
    ),
    ExtenderOddity(extender=URL, verb="filter", oddity="repeated nodes", nodes=("a",), pods=PODS): (
        f"extender {URL}, asked to filter for shop/web, let nodes pass more than once: a"
    ),
    ExtenderOddity(extender=URL, verb="prioritize", oddity="score out of range", nodes=("a",), pods=PODS): (
        f"extender {URL}, asked to prioritize for shop/web, gave scores outside 0 to 10, which count as they are: a"
    ),
    ExtenderOddity(extender=URL, verb="preempt", oddity="no victims", nodes=("a",), pods=PODS): (
        f"extender {URL}, asked to preempt for shop/web, left nodes without victims, so they are not candidates: a"
    ),
    OtherVersion(version="1.31", rules="1.33"): (
        "the cluster is of version 1.31, which is not modelled: judged by the rules of 1.33, from which its scheduler"
        " may differ"
    ),
    AssumedVersion(rules="1.37"): (
        "nothing says of which version the cluster is: judged by the rules of 1.37, the newest; --kubernetes-version"
        " says it"
    ),
    GateNotModelled(gates=("WatchList", "ComponentFlagz")): (
        "feature gates that were set and are not modelled change nothing here: WatchList, ComponentFlagz"
    ),
    NodeNameSet(pods=PODS): (
        "shop/web sets spec.nodeName: applied so it never meets the scheduler; judged as if it were pending"
    ),
    NodeNameSet(pods=("a/1", "a/2", "a/3", "a/4", "a/5")): (
        "5 pods set spec.nodeName (a/1, a/2, a/3 and 2 more): applied so they never meet the scheduler; judged as if"
        " they were pending"
    ),
    Sampling(looked_for=100, nodes=400): (
        "kube-scheduler stops looking after 100 feasible nodes of 400 (percentageOfNodesToScore); kwhatif looked at"
        " all, so a node that scores lower may be taken"
    ),
    PreemptionSampling(enough=100, candidates=400): (
        "kube-scheduler stops after 100 preemption candidates, from a random node on; kwhatif compared all 400, so a"
        " worse one may be taken"
    ),
    ReplicasKept(workload="Deployment a/b", replicas=4): (
        "Deployment a/b leaves spec.replicas out: it keeps the 4 that it has, as kubectl apply does unless the"
        " manifest applied before named a number"
    ),
    CutAtHorizon(what_ifs=("zone eu-1a", "outage n1"), horizon=3600.0): (
        "zone eu-1a, outage n1 are not over after the simulated 3600 s: what would happen later, such as evictions, is"
        " not judged (a longer --horizon plays more)"
    ),
    TooManyPods(workload="Deployment a/b", count=2147483647, judged=10000): (
        "Deployment a/b asks for 2,147,483,647 pods, of which 10,000 were judged: the others count like the last of"
        " these; if it finds a node, as pending beyond what all nodes can take, and else as not judged"
    ),
    WorkloadNotInDump(workload="Deployment a/b", count=2): (
        "Deployment a/b is not in the input, but 2 of its pods are: they count as made of another template"
    ),
    ReplicaSetsInferred(workloads=("Deployment a/b",)): (
        "the ReplicaSets of Deployment a/b are not in the input: they are made up of their pods"
    ),
    OwnersSilent(owners=("ReplicaSet a/b",), count=2): (
        "2 pods of ReplicaSet a/b go without replacement: the owners are not in the input, or their controllers"
        " are not known"
    ),
    TolerationUnknown(pods=("a/b",)): (
        "a/b on lost nodes: nothing says for how long they tolerate that (the API server writes it into every pod), so"
        " they are left there"
    ),
    EvictedByTaint(seconds=30, pods=("a/b", "a/c")): (
        "a/b, a/c: a NoExecute taint of the node is tolerated for 30 s only, so a pod is evicted again after 30 s"
    ),
    EvictedByTaint(seconds=0, pods=("a/b",)): (
        "a/b: a NoExecute taint of the node is tolerated for 0 s only, so a pod is evicted again at once"
    ),
    ResizeAssumed(pods=("a/b",)): (
        "a/b: resized in place as if nothing else stood against it; the input does not show whether the kubelet has a"
        " static CPU or memory manager policy (then a Guaranteed pod is not resized), whether containers may swap, and"
        " whether a lower memory limit is below what is in use"
    ),
    ResizeEvicts(pods=("a/b",)): (
        "a/b: critical, and asks for more than its node has free; that its kubelet may evict others for it is not"
        " modelled: here it waits"
    ),
    OldRevisionsUnknown(workloads=("StatefulSet a/db",)): (
        "StatefulSet a/db: the templates of older revisions are not in the input, so new pods are made of the newest"
        " one, and a changed template counts as one that there never was"
    ),
    LeftOutOfStory(what="cron-jobs", objects=("CronJob a/b", "CronJob a/c")): (
        "CronJob a/b, CronJob a/c: would start Jobs within the simulated time, which are not modelled"
    ),
    LeftOutOfStory(what="not-started", objects=("Pod a/b",)): (
        "Pod a/b: has a node, and does not run yet; why is not known: here it starts after --start, and counts as ready"
        " from then on, also for budgets"
    ),
    LeftOutOfStory(what="not-ready", objects=("Pod a/b",)): (
        "Pod a/b: goes, and was not ready; why is not known: here the pod that is made in its place gets ready"
    ),
    LeftOutOfStory(what="deadlines", objects=("Job a/b",)): (
        "Job a/b: ends at its activeDeadlineSeconds at the latest, which may give pending pods a place; only deadlines"
        " within 10 minutes are waited for"
    ),
    OrderOfEquals(workloads=("Deployment a/api", "Deployment a/web")): (
        "whichever of Deployment a/api, Deployment a/web comes first gets the place: controllers make pods of equal"
        " priority each in its own time; here in the order of the manifests"
    ),
    NodesNotAdded(sign="Node a", pods=("a/b",)): (
        "Node a shows that a node autoscaler runs, and no node is added here; what it would add for a/b depends on its"
        " node groups (--autoscaler auto goes on with what it adds, --node-groups FILE says its groups)"
    ),
    NodesNotAdded(sign="NodePool x", pools=("x", "y"), pods=("a/b",)): (
        "NodePool x shows that a node autoscaler runs, and no node is added here; by requirements, taints and limits"
        " NodePools x and y would allow one for a/b (--autoscaler karpenter goes on with what it adds, --instance-types"
        " FILE says what it chooses from)"
    ),
    NodesNotAdded(
        sign="NodePool x", objections=(PoolObjection(pool="x", why="taint dedicated:NoSchedule"),), pods=("a/b",)
    ): (
        "NodePool x shows that a node autoscaler runs, and no node is added here; no NodePool would allow one for a/b"
        " (x: taint dedicated:NoSchedule)"
    ),
    LeftOutOfStory(what="readiness-gates", objects=("Pod a/b",)): (
        "Pod a/b: has readiness gates; who opens them is not modelled: here they are open as soon as it runs"
    ),
    Injected(
        workload="Deployment a/web",
        containers=(ContainerRequests(name="proxy", requests=(("cpu", "1"), ("memory", "64Mi"))),),
        changed=(ContainerRequests(name="app"),),
        volumes=("spool",),
        tolerations=("team=x:NoSchedule",),
        node_selector=("pool=x",),
        seen=2,
        differ=True,
    ): (
        "new pods of Deployment a/web get container proxy (1 cpu, 64Mi memory), other requests of container app, volume"
        " spool, a toleration of team=x:NoSchedule and node selector pool=x, as its 2 pods have, though not its"
        " template: webhooks add it; they do not all have the same, and what all have is taken"
    ),
    Injected(
        workload="Pod a/b",
        containers=(ContainerRequests(name="proxy"),),
        seen=1,
        like=("Deployment a/web",),
        marks=("label sidecar.istio.io/inject=true",),
    ): (
        "Pod a/b gets container proxy, as 1 pod of Deployment a/web has with the same label"
        " sidecar.istio.io/inject=true: webhooks add it"
    ),
    RecommendationIgnored(workloads=("Deployment a/b",)): (
        "new pods of Deployment a/b keep the requests of their template: the input has MutatingWebhookConfigurations,"
        " and none is that of VerticalPodAutoscalers (vpa-webhook-config)"
    ),
    RequestsKept(source="usage.csv", workloads=("Deployment a/b",)): (
        "requests stay as they are where usage.csv says nothing about them: Deployment a/b"
    ),
    UnknownController(workload="Rollout a/b"): (
        "Rollout a/b: its controller is not known, so all its pods count as replaced"
    ),
    OrderedPodPending(workload="StatefulSet a/db", pod="db-1"): (
        "StatefulSet a/db: db-1 is pending in the cluster, and until it runs no other pod is made or replaced: the"
        " answer takes it as running"
    ),
    ClaimUnbound(claim="a/c", storage_class=""): (
        "PersistentVolumeClaim a/c stays unbound: it has no storage class, and no volume without one fits it"
    ),
    ClaimUnbound(claim="a/c", storage_class="slow"): (
        "PersistentVolumeClaim a/c stays unbound: no volume of StorageClass slow fits it"
    ),
    ClaimUnbound(claim="a/c", storage_class="fats", is_known=False, near=("fast",)): (
        "PersistentVolumeClaim a/c stays unbound: there is no StorageClass fats (did you mean fast?)"
    ),
    QueueNotSeen(): (
        "the scheduler keeps its queue in memory: pods of equal priority are taken to be tried in the order of their"
        " age, and whom it has rejected is taken from the condition PodScheduled"
    ),
    QueueNotSeen(events=True): (
        "the scheduler keeps its queue in memory: pods of equal priority are taken to be tried in the order of their"
        " last attempts that Events show, or else of their age; Events are kept for an hour, and repeated ones are"
        " written up to half an hour late, so pods may have been tried more often, and later"
    ),
    ScheduledMeanwhile(pods=("shop/web",)): (
        "Events show that shop/web was given a node after pods were listed: taken as pending"
    ),
    VolumeProvisioned(claim="a/c", storage_class="fast", provisioner="x.io"): (
        "PersistentVolumeClaim a/c is bound at once, as StorageClass fast says: it is assumed that x.io provisions its"
        " volume, within reach of every node"
    ),
    VolumeProvisioned(claim="a/c", storage_class="fast", provisioner="x.io", everywhere=False): (
        "PersistentVolumeClaim a/c is bound at once, as StorageClass fast says: it is assumed that x.io provisions its"
        " volume, where its allowedTopologies let it be"
    ),
    FieldIgnored(where="a.yaml, document 1", problem='unknown field "spec.node"', hint="did you mean nodeName?"): (
        'a.yaml, document 1: unknown field "spec.node" (did you mean nodeName?)'
    ),
    FieldIgnored(where="a.yaml, document 1", problem='duplicate field "spec"'): (
        'a.yaml, document 1: duplicate field "spec"'
    ),
    VersionNotDefault(kind="ResourceClaim", version="resource.k8s.io/v1beta2", count=1): (
        "ResourceClaim in resource.k8s.io/v1beta2, 1 object: served only by clusters that turn this version on"
    ),
    HelmHooks(before=("Job shop/migrate",), left_out=(("Pod shop/test", "test"),)): (
        "Helm hooks: Job shop/migrate runs before the rest, and is gone then; Pod shop/test (test) is left out, as no"
        " install or upgrade creates it"
    ),
    HelmHooks(before=("Job a", "Job b"), after=("Job c", "Pod d"), left_out=(("Pod e", "test"), ("Job f", "x"))): (
        "Helm hooks: Job a, Job b run before the rest, and are gone then; Job c, Pod d run after the rest; Pod e (test),"
        " Job f (x) are left out, as no install or upgrade creates them"
    ),
    HelmHooks(after=("Job c",)): "Helm hooks: Job c runs after the rest",
    CustomKind(kinds=(("Rollout.argoproj.io", 2),)): (
        "Rollout.argoproj.io, 2 objects, is not judged: it is a custom kind, and whether pods are made of it only its"
        " own controller knows"
    ),
    CustomKindPlayed(kind="CloneSet", group="apps.kruise.io", like="Deployment", objects=("CloneSet a/b",)): (
        "CloneSet a/b is judged as a Deployment: all pods are replaced, also where its controller would update them in"
        " place or leave those of its partition"
    ),
    CustomKindPlayed(
        kind="Widget", group="example.com", like="Job", objects=("Widget a/b", "Widget a/c"), inferred=("Widget a/c",)
    ): (
        "Widget a/b, Widget a/c are judged as a Job: so the file of workload kinds says; the input lacks Widget a/c,"
        " made up of pods with as many replicas"
    ),
    CustomKind(kinds=(("CephCluster.ceph.rook.io", 2), ("Application.argoproj.io", 1))): (
        "3 objects of 2 custom kinds are not judged: CephCluster.ceph.rook.io (2), Application.argoproj.io (1);"
        " whether pods are made of them only their own controllers know"
    ),
    CustomKind(kinds=tuple((f"Kind{number}.example.com", 1) for number in range(7))): (
        "7 objects of 7 custom kinds are not judged: Kind0.example.com (1), Kind1.example.com (1), Kind2.example.com"
        " (1), Kind3.example.com (1), Kind4.example.com (1) and 2 more; -o json names all; whether pods are made of"
        " them only their own controllers know"
    ),
    BindingNotDated(claim="a/gpu"): (
        "ResourceClaim a/gpu waits for its devices, and the input does not say when it was taken: whether"
        " bindingTimeout has passed, and the devices are given up, is not known"
    ),
    Batching(): (
        "where spreading by default is off, kube-scheduler places equal pods by the ranking that it made for the first"
        " of them (OpportunisticBatching), and so does kwhatif; if more than half a second passes between them, it"
        " ranks the nodes again, and another one may be chosen"
    ),
    EvictionsAtOnce(count=1_200): (
        "1,200 pods evict others, too many to simulate what follows: each is taken to be on its node, and its victims to be"
        " gone, before the next one's turn; victims do not come back"
    ),
    PendingAsleep(pods=("a/x", "a/y")): (
        "2 pending pods (a/x, a/y) are left out: the scheduler has found no node for them, and tries them again after"
        " five minutes, or when an event may help; the pods may then take room that is free now. Whether evictions,"
        " rollouts, new pods or their claims are such an event is not judged"
    ),
    PendingAsleep(pods=("a/x",)): (
        "1 pending pod (a/x) is left out: the scheduler has found no node for it, and tries it again after five minutes,"
        " or when an event may help; the pod may then take room that is free now. Whether evictions, rollouts, new pods"
        " or their claims are such an event is not judged"
    ),
    OneOfEqualPods(workload="Deployment a/b", count=3): (
        "Deployment a/b makes 3 equal pods, of which one is judged alone"
    ),
    PolicyIsEmpty(
        message="", why="it has no apiVersion"
    ): "the descheduler takes the policy for an empty one, since it has no apiVersion: nothing is ever evicted",
    NoMetrics(
        message=""
    ): "the policy uses metrics of nodes, and the input has none: add the output of kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes and .../pods to it",
    PrometheusNotAsked(
        message="", plugin="LowNodeUtilization"
    ): "LowNodeUtilization uses Prometheus metrics, which kwhatif does not query: here it evicts nothing",
    MomentNotKnown(
        message="", moment="2026-01-31T12:00:00Z"
    ): "the input does not say when it was taken: ages count to its newest time, 2026-01-31T12:00:00Z (see --at)",
    EvictionOrder(
        message=""
    ): "the descheduler takes nodes and pods in random order: another order evicts other pods, here nodes come by name, and pods by namespace and name",
    GroupBoundsUnknown(
        groups=()
    ): "no node group is known: the labels of nodes show none (--node-groups FILE says them)",
    GroupBoundsUnknown(groups=("a", "b")): (
        "the node groups were read off the labels of nodes: the minimum and maximum of a, b are not known, and count as 0"
        " and without limit (--node-groups FILE says them)"
    ),
    ExpanderAssumed(expander="least-waste"): (
        "which expander the autoscaler uses is not known: its default, least-waste, is assumed (--node-groups FILE says it)"
    ),
    ExpanderTied(groups=("a", "b")): (
        "a, b are equally good: the autoscaler takes one of them by chance, here the first by name"
    ),
    FlagsNotModelled(flags=("salvo-scale-up",)): (
        "salvo-scale-up would change what the autoscaler does, and is not modelled"
    ),
    ExpendablePodsCount(cutoff=-10, pods=("a/x",)): (
        "1 pod below priority -10 (a/x) keeps its room here: the autoscaler takes it for free"
    ),
    AutoscalerHalted(): (
        "too many nodes are not ready: the autoscaler neither adds nor removes any until more of them are"
    ),
    PricesUnknown(names=("a",)): "prices are not known: of a",
    ForeignGroups(system="Volcano", objects=("Job ml/train",)): (
        "foreign groups of Volcano (Job ml/train): Volcano places their pods together or not at all, here each is judged by"
        " itself; --treat-as-gang judges them as gangs by kube-scheduler's rule"
    ),
    ForeignGroups(system="Volcano", objects=("Job ml/train",), treated=True): (
        "foreign groups of Volcano (Job ml/train): judged as gangs by kube-scheduler's rule; Volcano itself may decide"
        " otherwise"
    ),
    ShapesObservedOnly(types=("m6i.large",)): (
        "no instance types were given: only those that run in the cluster are tried, m6i.large (--instance-types FILE"
        " gives the others)"
    ),
    CloudCapacityUnknown(): "whether the cloud has the machines is not known",
    NodeStartupAssumed(seconds=90.0): "new nodes are taken to be ready after 90 s (--node-startup DURATION says it)",
    PodsLeftByAutoscaler(pods=("a/x",)): (
        "the autoscaler sees room for a/x on nodes that are there or have come, and adds no more; the scheduler sees none"
    ),
    UnreadableObject(object="NodePool a", field="spec.weight", why="Expected `int | null`, got `str`"): (
        "NodePool a cannot be understood, and is left out: spec.weight: expected `int | null`, got `str`"
    ),
    AutoscalerObjectsNotModelled(kinds=(("NodeOverlay", 2), ("CapacityBuffer", 1))): (
        "2 NodeOverlays and 1 CapacityBuffer would change what the autoscaler does, and are not modelled"
    ),
    AutoscalerSettingsRead(source="Deployment kube-system/cluster-autoscaler", flags=("expander", "nodes")): (
        "the Cluster Autoscaler's settings are those of Deployment kube-system/cluster-autoscaler: expander and nodes"
    ),
    AutoscalerKnowsNoGroups(autoscaler="karpenter", groups=("batch/train",)): (
        "Karpenter does not know groups of pods: it adds nodes for each pod of batch/train by itself; the scheduler"
        " places a group as a whole"
    ),
    AutoscalerSettingsAssumed(autoscaler="Karpenter"): (
        "how Karpenter was started is not known: its settings are taken to be the defaults"
    ),
    KarpenterVersionAssumed(version="v1.14.1"): ("which Karpenter runs is not known: the rules of v1.14.1 are assumed"),
    AutoscalerDisagrees(asked="the Cluster Autoscaler", other="Karpenter"): (
        "the cluster shows Karpenter as well: the Cluster Autoscaler and Karpenter do not know of each other, and both may"
        " add nodes for the same pods"
    ),
}


@pytest.mark.parametrize(("caveat", "expected"), SENTENCES.items(), ids=lambda case: getattr(case, "code", ""))
def test_each_caveat_has_its_sentence(caveat: Caveat, expected: str) -> None:
    assert sentence(caveat) == expected


def test_every_code_and_every_oddity_is_in_the_table() -> None:
    assert {caveat.code for caveat in SENTENCES} == set(CODES)
    assert len(CODES) == len(get_args(Caveat))
    assert {caveat.oddity for caveat in SENTENCES if isinstance(caveat, ExtenderOddity)} == {
        oddity.value for oddity in Oddity
    }


def test_what_a_dump_has_none_of_is_one_sentence() -> None:
    lacking = (NoBudgets(kinds=("PodDisruptionBudget",)), NoImages(), NoNamespaces(kinds=("Namespace",)))
    together, images = sentences(lacking)
    assert together.startswith("the dump has no PodDisruptionBudgets and Namespaces: budgets count as if there were")
    assert images == sentence(NoImages())


def test_equal_caveats_about_many_pods_are_one() -> None:
    found = merged([NodeNameSet(pods=("a/1",)), NoImages(), NodeNameSet(pods=("a/2",)), NoImages()])
    assert found == (NodeNameSet(pods=("a/1", "a/2")), NoImages())


def test_a_report_has_its_caveats_in_words_wherever_they_stand() -> None:
    rule, caveat = "caveats/no-images", NoImages()
    finding = Finding(rule=rule, level="warn", message="", caveat=caveat, violation=Violation(rule, "warn", caveat))
    policy = PolicyRow(verdict="warn", findings=(finding,))
    made = worded(Report(command="gate", caveat_details=(NoImages(),), policy=policy))
    text = sentence(NoImages())
    assert made.caveats == (text,)
    assert made.caveat_details[0].message == text
    assert made.policy is not None
    assert made.policy.findings[0].message == text


@pytest.mark.parametrize("caveat", SENTENCES, ids=lambda caveat: caveat.code)
def test_a_first_line_has_words_for_every_caveat(caveat: Caveat) -> None:
    assert caveat.level != "warn" or qualifier(Report(command="drain", caveat_details=(caveat,)))
    assert wording(caveat)[0]


@pytest.mark.parametrize("what", get_args(Unmodelled))
def test_there_are_words_for_whatever_a_story_leaves_out(what: Unmodelled) -> None:
    short, full = wording(LeftOutOfStory(what=what, objects=("Pod a/x",)))
    assert short
    assert full.startswith("Pod a/x: ")


def test_a_first_line_has_words_for_one_caveat_at_most() -> None:
    caveats = (NoNodes(), NoPods(), NoBudgets())
    said = qualifier(Report(command="drain", caveat_details=caveats))
    assert said.count(";") == 1
    assert said.endswith("; 1 more caveat")  # what is absent is one


def test_caveats_that_differ_only_in_what_they_name_are_one() -> None:
    knows = [AutoscalerKnowsNoGroups(autoscaler="karpenter", groups=(name,)) for name in ("ml/a", "ml/b", "ml/a")]
    assert merged(knows) == (AutoscalerKnowsNoGroups(autoscaler="karpenter", groups=("ml/a", "ml/b")),)
    pools = [
        NodesNotAdded(sign="NodePool a", pools=("a",), pods=("shop/x",)),
        NodesNotAdded(sign="NodePool a", objections=(PoolObjection(pool="a", why="taint gpu"),), pods=("shop/z",)),
        NodesNotAdded(sign="NodePool a", pools=("a", "b"), pods=("shop/y",)),
    ]
    (said,) = sentences(pools)
    assert "NodePool a would allow one for shop/x and NodePools a and b would allow one for shop/y (" in said
    assert said.endswith("no NodePool would allow one for shop/z (a: taint gpu)")
