"""The caveats of a story: what would happen in the simulated time and is not modelled, and assumptions about pods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kwhatif.admission.disruption import SyncFailed, counted_status
from kwhatif.controllers.disruption import pods_selected_by
from kwhatif.controllers.pods import has_missed
from kwhatif.controllers.taint_eviction import ready_status, says_for_how_long
from kwhatif.kube.matching.cron import is_due
from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector
from kwhatif.kube.matching.volumes import claim_names
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import (
    AutoscalerNotModelled,
    CutAtHorizon,
    LeftOutOfStory,
    OldRevisionsUnknown,
    OwnersSilent,
    TolerationUnknown,
    TooManyPods,
    Unmodelled,
)
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of
from kwhatif.kube.model.kinds import find
from kwhatif.kube.model.meta import SECOND, LabelSelector
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_ready, is_static, is_terminal, pod_condition
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.kube.model.workload import POD_CONTROLLERS, CronJob, DaemonSet, Job, Namespace, StatefulSet
from kwhatif.questions.manifests.differences import caveats_of_resizes
from kwhatif.questions.manifests.new_pods import assumed_of_new
from kwhatif.questions.session.admission_hooks import admission_not_asked, new_pods
from kwhatif.questions.session.completeness import lacking_for_story
from kwhatif.questions.session.node_autoscalers import nodes_not_added
from kwhatif.questions.session.stand_ins import played_as
from kwhatif.questions.story.loops_and_rollouts import makes_pods
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.engine import NEAR, Engine
from kwhatif.workloads.counts import target_of, wanted
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.job import is_finished
from kwhatif.workloads.survey import survey_of


def not_started(api_server: ApiServer, before: Cluster) -> list[str]:
    """Pods that were starting at the beginning and have started, if pods were removed that may have waited for them."""
    pods = api_server.state.cluster.all(Pod)
    return [
        f"Pod {key}"
        for pod in (survey_of(before).restless if api_server.history.gone else ())
        if pod.status.phase == "Pending" and pod.spec.node_name and pod.metadata.deletion_timestamp is None
        if (now := pods.get(key := key_of(pod))) is not None and now.status.phase == "Running"
    ]


def behind_gates(api_server: ApiServer, before: Cluster) -> list[str]:
    """Pods with readiness gates that became ready, or were replaced: webhooks may add these gates."""
    pods, were = api_server.state.cluster.all(Pod), before.all(Pod)
    replaced = (
        gone.pod
        for gone in api_server.history.gone.values()
        if gone.initial and gone.owner is not None and gone.how not in ("ScaledDown", "Garbage")
    )
    concerned = [*map(pods.get, api_server.history.keys(Pod, "ready")), *map(were.get, replaced)]
    return [f"Pod {key_of(pod)}" for pod in concerned if pod is not None and pod.spec.readiness_gates]


def not_ready(api_server: ApiServer, before: Cluster) -> list[str]:
    """Pods that were not ready at the start and were replaced: the replacements become ready here."""
    pods, nodes = before.all(Pod), before.all(Node)
    return [
        f"Pod {gone.pod}"
        for gone in api_server.history.gone.values()
        if gone.initial and gone.owner is not None and ObjectRef.parse(gone.owner).kind != Job.__name__
        if (pod := pods.get(gone.pod)) is not None and pod.metadata.deletion_timestamp is None
        if pod.status.phase == "Running" and not is_ready(pod) and pod_condition(pod, "Ready") is not None
        if (node := nodes.get(pod.spec.node_name)) is None or ready_status(node) == "True"
    ]


def gaps_of(engine: Engine, before: Cluster) -> Iterator[Caveat]:
    """Caveats about what would act within the simulated time and is not modelled.

    Args:
        engine: a finished simulation.
        before: the cluster at its start.
    """
    api_server, cluster = engine.api_server, engine.api_server.state.cluster
    yield from assumed_of_new(api_server)
    yield from _missed(api_server)
    yield from _autoscalers(engine)
    yield from nodes_not_added(cluster, [info.pod for info in api_server.state.pending.values()])
    yield from played_as(cluster, filter(None, (gone.owner for gone in api_server.history.gone.values())))
    yield from _left_out(
        {
            "adoption": _orphans(api_server),
            "job-ttl": _expiring(engine),
            "volume-reclaim": _released(engine, before),
            "cron-jobs": _starting(engine),
            "namespaces": _terminating(cluster),
            "budgets": _uncounted(cluster, before),
            "not-started": not_started(api_server, before),
            "not-ready": not_ready(api_server, before),
            "readiness-gates": behind_gates(api_server, before),
            "deadlines": _late(api_server) if api_server.state.pending else [],
        }
    )


def gaps_of_verdict(engine: Engine, before: Cluster) -> Iterator[Caveat]:
    """Caveats that could change the outcome for manifests; only workloads of the story adopt pods.

    Args:
        engine: a finished simulation.
        before: the cluster at its start.
    """
    api_server = engine.api_server
    yield from assumed_of_new(api_server)
    yield from _missed(api_server)
    yield from _left_out(
        {
            "adoption": _orphans(api_server, api_server.history.touched()),
            "volume-reclaim": _released(engine, before),
            "budgets": _uncounted(api_server.state.cluster, before),
        }
    )


def _left_out(found: Mapping[Unmodelled, Sequence[str]]) -> Iterator[Caveat]:
    for what, objects in found.items():
        if objects:
            yield LeftOutOfStory(what=what, objects=tuple(dict.fromkeys(objects)))


def _missed(api_server: ApiServer) -> Iterator[Caveat]:
    """Caveats about workloads that needed the template of an unknown revision."""
    cluster = api_server.state.cluster
    workloads: tuple[StatefulSet | DaemonSet, ...] = (
        *cluster.all(StatefulSet).values(),
        *cluster.all(DaemonSet).values(),
    )
    missed = [str(ObjectRef.of(each)) for each in workloads if has_missed(each, api_server)]
    if missed:
        yield OldRevisionsUnknown(workloads=tuple(missed))


def _autoscalers(engine: Engine) -> Iterator[Caveat]:
    """Caveats about autoscalers of workloads that have changed, or have lost pods."""
    history = engine.api_server.history
    concerned = {*(gone.owner for gone in history.gone.values()), *map(str, history.touched())}
    cluster = engine.api_server.state.cluster
    for key, scaler in cluster.all(HorizontalPodAutoscaler).items():
        if scaler.target in concerned:
            target = target_of(scaler, cluster)
            yield AutoscalerNotModelled(
                name=key,
                target=scaler.target,
                min_replicas=scaler.spec.min_replicas,
                max_replicas=scaler.spec.max_replicas,
                replicas=None if target is None else replicas_of(target),
                missing=True,
            )


def _orphans(api_server: ApiServer, among: Collection[ObjectRef] | None = None) -> list[str]:
    """Caveats about pods without a controller that the selector of one matches; `among`: only these controllers."""
    found = (pod for pod in api_server.bare_pods() if not _is_settled(pod))
    bare = sorted(found, key=lambda pod: (pod.metadata.namespace, pod.metadata.name))
    adopters = _adopters(api_server.state.cluster, {pod.metadata.namespace for pod in bare}, among)
    return [
        f"Pod {key_of(pod)}"
        for pod in bare
        if any(each.matches(pod.metadata.labels) for each in adopters[pod.metadata.namespace])
    ]


def _is_settled(pod: Pod) -> bool:
    """Whether no controller would adopt the pod, whatever its labels."""
    return pod.metadata.deletion_timestamp is not None or is_terminal(pod)


def _adopters(
    cluster: Cluster, namespaces: Collection[str], among: Collection[ObjectRef] | None
) -> Mapping[str, Sequence[Selector]]:
    """The selectors of the controllers in these namespaces."""
    found: dict[str, list[Selector]] = {namespace: [] for namespace in namespaces}
    for kind in POD_CONTROLLERS.values() if found else ():
        for key, workload in cluster.all(kind).items():
            if workload.metadata.namespace not in found:
                continue
            if among is not None and ObjectRef(kind.__name__, key) not in among:
                continue
            given = workload.spec.selector
            if isinstance(given, dict):
                given = LabelSelector(match_labels=given)
            try:
                selector = compile_selector(given)
            except SelectorError:
                continue
            if not (selector.nothing or selector.empty):
                found[workload.metadata.namespace].append(selector)
    return found


def _expiring(engine: Engine) -> list[str]:
    """Caveats about Jobs that ended in the story, and whose TTL has expired."""
    cluster = engine.api_server.state.cluster
    found = []
    for event in engine.api_server.history.events:
        if event.verb in ("completed", "failed") and event.object.kind == Job.__name__:
            job = cluster.get(Job, event.object.key)
            kept = None if job is None else job.spec.ttl_seconds_after_finished
            if kept is not None and event.at + kept <= engine.clock.now:
                found.append(str(event.object))
    return found


def _released(engine: Engine, before: Cluster) -> list[str]:
    """Caveats about volumes of claims that were deleted."""
    cluster = engine.api_server.state.cluster
    made = engine.api_server.history.touched()
    found = []
    for name, volume in cluster.all(PersistentVolume).items():
        reference = volume.spec.claim_ref
        if reference is None:
            continue
        key = f"{reference.namespace}/{reference.name}"
        ref = ObjectRef("PersistentVolumeClaim", key)
        was_there = ref in made or before.get(PersistentVolumeClaim, key) is not None
        if was_there and cluster.get(PersistentVolumeClaim, key) is None:
            found.append(f"PersistentVolume {name}")
    return found


def _starting(engine: Engine) -> list[str]:
    """Caveats about CronJobs that are due."""
    now = engine.clock.nanoseconds
    start, end = (now - round(engine.clock.now * SECOND)) // SECOND, now // SECOND
    return [
        f"CronJob {key}"
        for key, each in engine.api_server.state.cluster.all(CronJob).items()
        if not each.spec.suspend and end > start and is_due(each.spec.schedule, each.spec.time_zone, start, end)
    ]


def _late(api_server: ApiServer) -> list[str]:
    """Caveats about Jobs with a deadline that is not waited for, though their pods take room that others need."""
    found = []
    for key, job in api_server.state.cluster.all(Job).items():
        seconds, started = job.spec.active_deadline_seconds, job.status.start_time
        if seconds is None or job.spec.suspend or is_finished(job):
            continue
        end = (api_server.at(started) if started else api_server.now) + seconds
        if end > api_server.now + NEAR and any(
            pod.spec.node_name and not is_terminal(pod) for pod in api_server.pods_of(job)
        ):
            found.append(f"Job {key}")
    return found


def _terminating(cluster: Cluster) -> list[str]:
    """Caveats about namespaces that are being deleted and have pods."""
    going = {key for key, each in cluster.all(Namespace).items() if each.metadata.deletion_timestamp is not None}
    full = {pod.metadata.namespace for pod in cluster.all(Pod).values()} if going else set()
    return [f"Namespace {name}" for name in sorted(going & full)]


def _uncounted(cluster: Cluster, before: Cluster) -> list[str]:
    """Budgets that allow no disruption as they cannot be counted here, though the cluster counted them.

    Budgets that were not recounted are as in the input.
    """
    return [
        f"PodDisruptionBudget {key}"
        for key, budget in cluster.all(PodDisruptionBudget).items()
        if (known := before.get(PodDisruptionBudget, key)) is not None
        and known is not budget
        and known.status is not None
        and known.status.disruptions_allowed > 0
        and isinstance(counted_status(budget, pods_selected_by(key, cluster), cluster), SyncFailed)
    ]


#: The ways of removal after which controllers replace pods.
_REPLACED = ("Preempted", "Evicted", "TaintEviction", "DeviceTaintEviction", "PodGC", "Deleted")


def caveats_of_story(engine: Engine, before: Cluster) -> Iterator[Caveat]:
    """The caveats of `caveats_of_end`, and those about what is not modelled, or missing in the input.

    Args:
        engine: a finished simulation.
        before: the cluster at its start.
    """
    yield from caveats_of_end(engine)
    yield from gaps_of(engine, before)
    was, now = before.all(Pod), engine.api_server.state.cluster
    made = (pod for key, pod in now.all(Pod).items() if key not in was or was[key].metadata.uid != pod.metadata.uid)
    yield from admission_not_asked(new_pods(made), now)
    evicts = any(gone.how in ("Preempted", "Evicted") for gone in engine.api_server.history.gone.values())
    yield from lacking_for_story(
        before, evicts=evicts, makes_pods=makes_pods(engine, before), uses_volumes=_uses_volumes(engine)
    )


def _uses_volumes(engine: Engine) -> bool:
    """Whether pods with claims were created."""
    pods = engine.api_server.state.cluster.all(Pod)
    made = map(pods.get, engine.api_server.history.keys(Pod, "created"))
    return any(pod is not None and any(claim_names(pod)) for pod in made)


def caveats_of_verdict(engine: Engine, before: Cluster) -> Iterator[Caveat]:
    """The caveats of `caveats_of_story` that could change the outcome for manifests, and do not exist without them.

    Without those about later events, such as runs of CronJobs, and about pods on nodes that were already lost.

    Args:
        engine: a finished simulation.
        before: the cluster at its start.
    """
    yield from caveats_of_end(engine, before)
    yield from gaps_of_verdict(engine, before)
    if any(gone.how in ("Preempted", "Evicted") for gone in engine.api_server.history.gone.values()):
        yield from lacking_for_story(before, evicts=True)


def caveats_of_end(engine: Engine, before: Cluster | None = None) -> Iterator[Caveat]:
    """Caveats about the end: owners that replaced no pods, pods that were not created or not evicted, and resizes.

    Args:
        engine: a finished simulation.
        before: pods on nodes with the same taints as in this cluster are left out.
    """
    silent = [gone.owner for gone in engine.api_server.history.gone.values() if gone.owner and gone.how in _REPLACED]
    seen = set(map(str, engine.api_server.history.touched())) if silent else set[str]()
    there = {owner: owner in seen or _is_there(owner, engine) for owner in dict.fromkeys(silent)}
    silent = [owner for owner in silent if not there[owner]]
    if silent:
        yield OwnersSilent(owners=tuple(sorted(set(silent))), count=len(silent))
    for name, workload in engine.api_server.limits.short.items():
        judged = len(engine.api_server.pods_of(workload))
        yield TooManyPods(workload=name, count=max(wanted(workload), judged), judged=judged)
    resizes = engine.kubelets.resizes
    yield from caveats_of_resizes(tuple(resizes.assumed), tuple(resizes.critical))
    left = tuple(_left(engine, before))
    if left:
        yield TolerationUnknown(pods=left)


def in_one(caveats: Iterable[Caveat]) -> Iterator[Caveat]:
    """The caveats, with one about all silent owners, and one about all what-ifs that were cut short."""
    owners: dict[str, None] = {}
    cut: dict[float, dict[str, None]] = {}
    count = 0
    for caveat in caveats:
        if isinstance(caveat, OwnersSilent):
            owners.update(dict.fromkeys(caveat.owners))
            count += caveat.count
        elif isinstance(caveat, CutAtHorizon):
            cut.setdefault(caveat.horizon, {}).update(dict.fromkeys(caveat.what_ifs))
        else:
            yield caveat
    for horizon, what_ifs in cut.items():
        yield CutAtHorizon(what_ifs=tuple(what_ifs), horizon=horizon)
    if owners:
        yield OwnersSilent(owners=tuple(sorted(owners)), count=count)


def _is_there(owner: str, engine: Engine) -> bool:
    """Whether the owner exists at the end."""
    return find(ObjectRef.parse(owner), engine.api_server.state.cluster) is not None


def _left(engine: Engine, before: Cluster | None) -> Iterator[str]:
    for node in [node for node in engine.api_server.state.nodes if node.taints]:
        known = before.get(Node, node.name) if before is not None else None
        if known is not None and known.spec.taints == node.node.spec.taints:
            continue
        for info in node.pods:
            if not (info.terminating or is_static(info.pod) or says_for_how_long(info.pod, node.node)):
                yield key_of(info.pod)
