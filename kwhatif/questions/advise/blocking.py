"""Pods that may block a pod, and the changes that remove them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kwhatif.edits import made as edits
from kwhatif.edits.edit import DeleteObjects
from kwhatif.kube.matching.requests import PODS
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import SCALABLE, Job, Scalable
from kwhatif.questions.advise.change import AdvisedChange, Amount, in_cluster
from kwhatif.questions.decisions.nearest_miss import lack
from kwhatif.report.advise import AdviceKind
from kwhatif.scheduler.framework.evidence import (
    DeviceShortage,
    Evidence,
    ExistingAntiAffinity,
    InsufficientResource,
    PodAntiAffinityMatched,
    PortConflict,
    SpreadSkew,
    VolumeConflict,
    VolumeLimit,
)
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: What the edit `scale` can make smaller.
Resizable = Scalable | Job
_RESIZABLE: tuple[type[Resizable], ...] = (*SCALABLE, Job)
#: Pods of these owners stay with their node: deleting them does not make room.
_STAY = ("DaemonSet", "Node")
_SYSTEM = "kube-system"


def suspects(evidence: Evidence | None, node: NodeInfo, pod: PodInfo, state: State) -> Sequence[PodInfo]:
    """The pods that may be the reason why the pod does not fit; some may be unrelated."""
    match evidence:
        case InsufficientResource() | PortConflict() | VolumeLimit() | DeviceShortage():
            found: Iterable[PodInfo] = (*node.pods, *state.nominated.get(node.name, ()))
        case PodAntiAffinityMatched() | ExistingAntiAffinity() | SpreadSkew():
            found = _in_domain(evidence.topology_key, node, state)
        case VolumeConflict():
            found = _users(evidence, pod, state)
        case _:
            return ()
    return [other for other in found if other.key != pod.key and _may_go(other.pod)]


def _in_domain(key: str, node: NodeInfo, state: State) -> Iterator[PodInfo]:
    value = node.labels.get(key)
    for other in state.nodes:
        if value is not None and other.labels.get(key) == value:
            yield from other.pods


def _users(evidence: VolumeConflict, pod: PodInfo, state: State) -> Iterator[PodInfo]:
    """The pods that the evidence names, and those that share a claim."""
    for other in state.pods.values():
        is_named = other.key in evidence.detail.split()
        shares = other.namespace == pod.namespace and not set(other.claim_names).isdisjoint(pod.claim_names)
        if is_named or (shares and other.pod.spec.node_name):
            yield other


def _may_go(pod: Pod) -> bool:
    owner = controller_of(pod.metadata)
    return (owner is None or owner.kind not in _STAY) and pod.metadata.annotations.mirror is None


def least_important(pods: Iterable[PodInfo], pod: PodInfo, evidence: Evidence | None, state: State) -> list[PodInfo]:
    """The pods in the order to delete them: terminating ones, less important ones, those that free just enough."""
    budgets = Budgets(state.cluster)
    short = lack(evidence)

    def rank(other: PodInfo) -> tuple[object, ...]:
        frees = _frees(other, evidence)
        split = budgets.split([other])
        return (
            not other.terminating,
            other.priority >= pod.priority and other.namespace == _SYSTEM,
            bool(short) and frees < short,
            bool(split.violating),
            other.priority,
            frees if frees >= short else -frees,
            other.key,
        )

    return sorted(pods, key=rank)


def may_be_enough(pod: PodInfo, evidence: Evidence | None) -> bool:
    """Whether this pod alone may be the reason: it has at least the missing amount of a resource."""
    return not isinstance(evidence, InsufficientResource) or _frees(pod, evidence) >= lack(evidence)


def _frees(pod: PodInfo, evidence: Evidence | None) -> int:
    if not isinstance(evidence, InsufficientResource):
        return 0
    return 1 if evidence.resource == PODS else pod.resources.requested.of(evidence.resource)


def owner_of_pod(pod: Pod, cluster: Cluster) -> Resizable | None:
    """The top-level owner with a number of replicas that can be set; None if there is none."""
    owner, namespace = controller_of(pod.metadata), pod.metadata.namespace
    found: Resizable | None = None
    while owner is not None:
        kind = next((kind for kind in _RESIZABLE if kind.__name__ == owner.kind), None)
        above: Resizable | None = None if kind is None else cluster.get(kind, f"{namespace}/{owner.name}")
        if above is None:
            return found
        found, owner = above, controller_of(above.metadata)
    return found


def replicas_of(workload: Resizable) -> int:
    """Its desired number of pods; of a Job, the parallelism."""
    count = workload.spec.parallelism if isinstance(workload, Job) else workload.spec.replicas
    return 1 if count is None else count


def scale_down(workload: Resizable, by: int = 1) -> AdvisedChange:
    """Scale down by this number of pods."""
    key, now = key_of(workload), replicas_of(workload)
    count = now - by
    return in_cluster(
        "scale-down",
        str(ObjectRef.of(workload)),
        edits.scale(edits.object_of(type(workload), key), count),
        extra=10 * by + 30 * (not count) + _extra(workload.metadata.namespace),
        before=str(now),
        after=str(count),
        count=by,
        amount=Amount(by, now, 1, lambda more: scale_down(workload, more)),
    )


def delete_pods(pods: Sequence[Pod], preemptor: PodInfo, *, moved_to: str = "") -> AdvisedChange:
    """Without these pods: they end, are deleted, or are replaced on another node."""
    keys = sorted(map(key_of, pods))
    kind: AdviceKind = "move-pod" if moved_to else "delete-pod"
    if all(pod.metadata.deletion_timestamp for pod in pods):
        kind = "wait"

    def less() -> Iterator[AdvisedChange]:
        for pod in pods:
            yield delete_pods([each for each in pods if each is not pod], preemptor)

    above = any((pod.spec.priority or 0) >= preemptor.priority for pod in pods)
    extra = 0 if kind == "wait" else sum(_extra(pod.metadata.namespace) for pod in pods) + 20 * above
    return in_cluster(
        kind,
        ", ".join(keys),
        _deletion(keys),
        extra=10 * (len(keys) - 1) + extra,
        after=moved_to,
        count=len(keys),
        less=less if len(pods) > 1 else None,
    )


def pods_of_job(job: Job, state: State) -> list[PodInfo]:
    """The Job's running and pending pods."""
    return [pod for pod in state.pods.values() if pod.namespace == job.metadata.namespace and _is_of(job, pod.pod)]


def _is_of(job: Job, pod: Pod) -> bool:
    owner = controller_of(pod.metadata)
    return owner is not None and owner.kind == "Job" and owner.name == job.metadata.name


def job_done(job: Job, pods: Sequence[Pod]) -> AdvisedChange:
    """Wait until the Job is complete, and these pods of it have ended."""
    keys = sorted(map(key_of, pods))
    return in_cluster("job-done", f"Job {key_of(job)}", _deletion(keys), count=len(keys))


def _deletion(keys: Sequence[str]) -> DeleteObjects:
    return edits.delete([edits.object_of(Pod, key) for key in keys])


def _extra(namespace: str) -> int:
    """The extra cost of system pods."""
    return 60 if namespace == _SYSTEM else 0
