"""Caveats about workloads in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

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
    WorkloadsCaveat,
)
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import listed, plural, some, took

#: The parts of a cluster that a story does not simulate.
_LEFT_OUT: Mapping[Unmodelled, tuple[str, str]] = {
    "adoption": (
        "the adoption of pods is not modelled",
        "has no controller, and labels that one selects; that it is then adopted is not modelled",
    ),
    "job-ttl": (
        "the removal of finished Jobs is not modelled",
        "deleted some time after its end (ttlSecondsAfterFinished), which is not modelled: it stays",
    ),
    "volume-reclaim": (
        "what becomes of released volumes is not modelled",
        "its claim goes; that the volume is then deleted or kept (its reclaim policy) is not modelled",
    ),
    "cron-jobs": (
        "the Jobs of CronJobs are not modelled",
        "would start Jobs within the simulated time, which are not modelled",
    ),
    "namespaces": (
        "the removal of namespaces is not modelled",
        "being deleted, which is not modelled: what is in it stays",
    ),
    "budgets": (
        "some budgets cannot be counted",
        (
            "how many pods it expects cannot be counted, because their controllers are of custom kinds or not in the"
            " input: no eviction is allowed, though the cluster says otherwise"
        ),
    ),
    "not-started": (
        "pods that do not run yet count as starting",
        (
            "has a node, and does not run yet; why is not known: here it starts after --start, and counts as ready from"
            " then on, also for budgets"
        ),
    ),
    "not-ready": (
        "pods that were not ready count as ready once they are made again",
        "goes, and was not ready; why is not known: here the pod that is made in its place gets ready",
    ),
    "deadlines": (
        "the end of Jobs at their deadlines is not waited for",
        (
            "ends at its activeDeadlineSeconds at the latest, which may give pending pods a place; only deadlines"
            " within 10 minutes are waited for"
        ),
    ),
    "readiness-gates": (
        "readiness gates count as open",
        "has readiness gates; who opens them is not modelled: here they are open as soon as it runs",
    ),
}


def of_workloads(caveat: WorkloadsCaveat) -> tuple[str, str]:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed: in a few words, and in a sentence."""
    match caveat:
        case ImagesNotCompared():
            return "images are not compared", (
                "the input holds no images: a workload of which nothing but the image changes counts as unchanged"
                " (save snapshots with --images)"
            )
        case FieldsNotCompared():
            return "only what scheduling reads is compared", _not_compared(caveat)
        case AutoscalersNotRead(targets=targets):
            return (
                "HorizontalPodAutoscalers could not be read",
                f"whether a HorizontalPodAutoscaler scales {some(targets)} is not known: they could not be read",
            )
        case AutoscalerNotModelled(target=target):
            return f"the metrics of the autoscaler of {target} are not modelled", _autoscaler(caveat)
        case ReplicasKept(workload=workload, replicas=replicas):
            return "replicas that are left out stay as they are", (
                f"{workload} leaves spec.replicas out: it keeps the {replicas} that it has, as kubectl apply does"
                " unless the manifest applied before named a number"
            )
        case TooManyPods(workload=workload, count=count, judged=judged):
            return "not all pods of a workload were judged", (
                f"{workload} asks for {count:,} pods, of which {judged:,} were judged: the others count like the last"
                " of these; if it finds a node, as pending beyond what all nodes can take, and else as not judged"
            )
        case WorkloadNotInDump(workload=workload, count=count):
            return "a workload with pods is not in the input", (
                f"{workload} is not in the input, but {count} of its pods are: they count as made of another template"
            )
        case ReplicaSetsInferred(workloads=workloads):
            return (
                "ReplicaSets are made up of their pods",
                f"the ReplicaSets of {some(workloads)} are not in the input: they are made up of their pods",
            )
        case OwnersSilent(owners=owners, count=count):
            return "the owners of some pods are not in the input", (
                f"{plural(count, 'pod')} of {some(owners)} {'goes' if count == 1 else 'go'} without"
                " replacement: the owners are not in the input, or their controllers are not known"
            )
        case TolerationUnknown(pods=pods):
            return "for how long pods tolerate lost nodes is not known", (
                f"{some(pods)} on lost nodes: nothing says for how long they tolerate that (the API server"
                " writes it into every pod), so they are left there"
            )
        case CutAtHorizon(what_ifs=what_ifs, horizon=horizon):
            return "not every what-if was played to its end", (
                f"{some(what_ifs)} {'is' if len(what_ifs) == 1 else 'are'} not over after the simulated"
                f" {took(horizon)}: what would happen later, such as evictions, is not judged (a longer --horizon plays"
                " more)"
            )
        case EvictedByTaint(seconds=seconds, pods=pods):
            gone = "at once" if seconds == 0 else f"after {seconds} s"
            return f"a taint evicts {some(pods, 1)} again", (
                f"{some(pods)}: a NoExecute taint of the node is tolerated for {seconds} s only, so a pod is"
                f" evicted again {gone}"
            )
        case ResizeAssumed(pods=pods):
            return "what keeps kubelets from resizing pods is not known", (
                f"{some(pods)}: resized in place as if nothing else stood against it; the input does not show whether"
                " the kubelet has a static CPU or memory manager policy (then a Guaranteed pod is not resized), whether"
                " containers may swap, and whether a lower memory limit is below what is in use"
            )
        case ResizeEvicts(pods=pods):
            return "a kubelet may evict pods for a resize", (
                f"{some(pods)}: critical, and asks for more than its node has free; that its kubelet may evict others"
                " for it is not modelled: here it waits"
            )
        case OldRevisionsUnknown(workloads=workloads):
            return "old revisions are not in the input", (
                f"{some(workloads)}: the templates of older revisions are not in the input, so new pods are made"
                " of the newest one, and a changed template counts as one that there never was"
            )
        case Injected():
            return "webhooks add to new pods", _injected(caveat)
        case RecommendationIgnored(workloads=workloads):
            return "the webhook of VerticalPodAutoscalers is not registered", (
                f"new pods of {some(workloads)} keep the requests of their template: the input has"
                " MutatingWebhookConfigurations, and none is that of VerticalPodAutoscalers (vpa-webhook-config)"
            )
        case RequestsKept(source=source, workloads=kept):
            return (
                "some requests stay as they are",
                f"requests stay as they are where {source} says nothing about them: {some(kept)}",
            )
        case NodesNotAdded(objections=objections):
            return "no NodePool would add a node" if objections else "an autoscaler may add nodes", nodes_not_added(
                [caveat]
            )
        case LeftOutOfStory(what=what, objects=objects):
            short, full = _LEFT_OUT[what]
            return short, f"{some(objects)}: {full}"
        case UnknownController(workload=workload):
            return (
                "a controller is not known",
                f"{workload}: its controller is not known, so all its pods count as replaced",
            )
        case OrderedPodPending(workload=workload, pod=pod):
            return "a StatefulSet waits for a pod that is pending", (
                f"{workload}: {pod} is pending in the cluster, and until it runs no other pod is made or replaced: the"
                " answer takes it as running"
            )
        case OneOfEqualPods(workload=workload, count=count):
            return "one of equal pods was judged", f"{workload} makes {count} equal pods, of which one is judged alone"
    assert_never(caveat)


def nodes_not_added(caveats: Sequence[NodesNotAdded]) -> str:
    """Which nodes might be added, as far as is known, and the option that simulates it; one text for all caveats."""
    said = [f"{caveats[0].sign} shows that a node autoscaler runs, and no node is added here"]
    allowed = [f"{_pools(each.pools)} would allow one for {some(each.pods)}" for each in caveats if each.pools]
    if allowed:
        how = "--autoscaler karpenter goes on with what it adds, --instance-types FILE says what it chooses from"
        said.append(f"by requirements, taints and limits {listed(allowed)} ({how})")
    for each in caveats:
        if each.objections:
            why = "; ".join(f"{row.pool}: {row.why}" for row in each.objections)
            said.append(f"no NodePool would allow one for {some(each.pods)} ({why})")
        elif not each.pools:
            how = "--autoscaler auto goes on with what it adds, --node-groups FILE says its groups"
            said.append(f"what it would add for {some(each.pods)} depends on its node groups ({how})")
    return "; ".join(said)


def _pools(names: Sequence[str]) -> str:
    return f"NodePool{'s' * (len(names) > 1)} {listed(names)}"


def _injected(caveat: Injected) -> str:
    """The fields that new pods get, their source, and whether the running pods agree."""
    have = "has" if caveat.seen == 1 else "have"
    if caveat.like:
        known = f"as {plural(caveat.seen, 'pod')} of {some(caveat.like)} {have} with the same {listed(caveat.marks)}"
    else:
        known = f"as its {plural(caveat.seen, 'pod')} {have}, though not its template"
    more = "; they do not all have the same, and what all have is taken" if caveat.differ else ""
    whose = caveat.workload if ObjectRef.parse(caveat.workload).kind == "Pod" else f"new pods of {caveat.workload}"
    verb = "gets" if whose is caveat.workload else "get"
    return f"{whose} {verb} {listed(list(_parts(caveat)))}, {known}: webhooks add it{more}"


def _parts(caveat: Injected) -> Iterator[str]:
    yield from (f"container {each.name}{_requests(' (', each, ')')}" for each in caveat.containers)
    yield from (f"other requests of container {each.name}{_requests(' (', each, ')')}" for each in caveat.changed)
    yield from (f"volume {name}" for name in caveat.volumes)
    yield from (f"a toleration of {taint}" for taint in caveat.tolerations)
    yield from (f"node selector {label}" for label in caveat.node_selector)


def _requests(before: str, container: ContainerRequests, after: str) -> str:
    if not container.requests:
        return ""
    return before + ", ".join(f"{quantity} {name}" for name, quantity in container.requests) + after


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


def _autoscaler(caveat: AutoscalerNotModelled) -> str:
    low, high, count = caveat.min_replicas, caveat.max_replicas, caveat.replicas
    low = 1 if low is None else low
    bounds = f" ({low} to {high} replicas)" if high is not None else ""
    target = caveat.target or "what it scales"
    if count is None:
        counts = "counts with the replicas that it names, or has"
    elif count == 0:
        counts = "counts with none, which it leaves so"
    else:
        bound = ", the least that it allows" if count == low else ", the most that it allows" if count == high else ""
        counts = f"counts with {plural(count, 'replica')}{bound}"
    return f"HorizontalPodAutoscaler {caveat.name}{bounds}: what its metrics ask for is not modelled, {target} {counts}"
