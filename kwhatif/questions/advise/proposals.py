"""From the obstacles to one node to the changes that may remove them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.edits import made as edits
from kwhatif.kube.matching.nodes import UNSCHEDULABLE_TAINT
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Job
from kwhatif.questions.advise.blocking import (
    Resizable,
    delete_pods,
    job_done,
    least_important,
    may_be_enough,
    owner_of_pod,
    pods_of_job,
    replicas_of,
    scale_down,
    suspects,
)
from kwhatif.questions.advise.change import AdvisedChange, Amount, in_cluster
from kwhatif.questions.advise.manifest import (
    STATE_OF_NODE,
    OwnTerm,
    anywhere,
    in_manifest,
    soft_terms,
    ungated,
    with_scheduler,
)
from kwhatif.questions.advise.missing import missing_claims
from kwhatif.questions.advise.pod_attempt import Obstacle, PodAttempt, WhatIfTrial
from kwhatif.questions.advise.reserved import is_reserved
from kwhatif.scheduler.batch import result_of
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.evidence import (
    CordonedNode,
    Evidence,
    UnboundClaim,
    UnmatchedSelector,
    UntoleratedTaint,
    taint_text,
)
from kwhatif.scheduler.framework.profile import profile_of, scheduler_of
from kwhatif.state.change import Bind
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.comparison import unstarted

#: Labels that describe the node itself: these are not set to place a pod.
_OWN_LABELS = re.compile(r"(^|\.)(kubernetes|k8s)\.io/")
_PAIR = re.compile(r"(?P<key>[^=!<> ]+)=(?P<value>[^=!<> ]*)")
_MOST_NODES = 50


def on_node(evidence: Evidence | None, node: NodeInfo) -> Iterator[AdvisedChange]:
    """Changes of the node that remove this obstacle."""
    match evidence:
        case CordonedNode():
            yield in_cluster("uncordon", node.name, edits.uncordon([node.name]))
        case UntoleratedTaint() if evidence.key != UNSCHEDULABLE_TAINT.key and not is_reserved(evidence, node):
            yield _untaint(evidence, node.name)
        case UnmatchedSelector():
            yield from _labelled(evidence, node)


def _untaint(taint: UntoleratedTaint, node: str) -> AdvisedChange:
    """Without the taint; if it shows a problem of the node, once the node has recovered."""
    edit = edits.untaint(node, taint.key, taint.effect)
    if taint.key.startswith(STATE_OF_NODE):
        return in_cluster("node-ready", node, edit, about=taint_text(taint))
    return in_cluster("untaint", node, edit, about=taint_text(taint), extra=10 if "/" in taint.key else 0)


def _labelled(evidence: UnmatchedSelector, node: NodeInfo) -> Iterator[AdvisedChange]:
    """With the labels that the pod's node selector asks for."""
    pairs = [match for term in evidence.terms if (match := _PAIR.fullmatch(term))]
    wrong = {match["key"]: match["value"] for match in pairs if node.labels.get(match["key"]) != match["value"]}
    if len(pairs) != len(evidence.terms) or not wrong or any(map(_OWN_LABELS.search, wrong)):
        return
    said = " ".join(f"{key}={value}" for key, value in wrong.items())
    yield in_cluster("label-node", node.name, edits.label_node(node.name, wrong), about=said)


def add_nodes(like: str, count: int = 1) -> AdvisedChange:
    """More nodes like an existing one."""
    amount = Amount(count, _MOST_NODES, 1, lambda more: add_nodes(like, more))
    edit = edits.add_nodes(like, count)
    return in_cluster("add-nodes", like, edit, extra=10 * (count - 1), count=count, amount=amount)


#: The most pods to try one by one, and at once.
_MOST_TRIED = 24
_MOST_AT_ONCE = 12
#: The most workloads to try scaling down.
_MOST_WORKLOADS = 4


def proposals(
    scene: PodAttempt, made: Sequence[AdvisedChange], trial: WhatIfTrial, name: str, obstacles: Sequence[Obstacle]
) -> Iterator[AdvisedChange]:
    """Changes that may remove the first obstacle to the node; `made` are the changes so far."""
    first, pod = obstacles[0], trial.pod.pod
    node = trial.node(name)
    if first.plugin == "SchedulingGates":
        yield ungated(pod)
    elif first.evidence is None and first.plugin == "NodeAffinity":
        yield from anywhere(pod)
    elif (first.evidence is None or isinstance(first.evidence, UnboundClaim)) and pod.spec.volumes:
        yield from missing_claims(pod, trial.state)
    elif scheduler_of(pod) not in scene.profiles:
        yield with_scheduler(next(iter(scene.profiles)), pod.spec.scheduler_name)
    if node is None:
        return
    yield from in_manifest(pod, first.evidence, node)
    yield from _several_terms(scene, made, trial, name, first)
    if scene.state.node(name) is not None:  # not for a new node: it would be created with the change
        yield from on_node(first.evidence, node)
        yield from _without_pods(scene, made, trial, name, first)


def _several_terms(
    scene: PodAttempt, made: Sequence[AdvisedChange], trial: WhatIfTrial, name: str, first: Obstacle
) -> Iterator[AdvisedChange]:
    """All unmatched terms of affinity, or of anti-affinity: the filter names only the first."""
    objecting: list[OwnTerm] = []
    evidence = first.evidence
    side = type(evidence)
    while isinstance(evidence, OwnTerm) and isinstance(evidence, side) and evidence not in objecting:
        objecting.append(evidence)
        change = next(soft_terms(trial.pod.pod, objecting), None)
        softened = None if change is None else scene.trial((*made, change))
        obstacles = None if softened is None else softened.obstacles(name)
        evidence = next((each.evidence for each in obstacles or () if each.plugin == first.plugin), None)
    if len(objecting) > 1:
        yield from soft_terms(trial.pod.pod, objecting)


def _without_pods(
    scene: PodAttempt, made: Sequence[AdvisedChange], trial: WhatIfTrial, name: str, first: Obstacle
) -> Iterator[AdvisedChange]:
    node = trial.node(name)
    if node is None:
        return
    found = suspects(first.evidence, node, trial.pod, trial.state)
    ranked = least_important(found, trial.pod, first.evidence, trial.state)
    yield from _deletions(trial, name, first, ranked)
    yield from _completed(trial, name, first, ranked)
    yield from _scaled(scene, made, trial, name, first, ranked)


def _deletions(trial: WhatIfTrial, name: str, first: Obstacle, ranked: Sequence[PodInfo]) -> Iterator[AdvisedChange]:
    """The smallest set of pods to delete to remove the first obstacle."""
    dying = [pod for pod in ranked if pod.terminating]
    if dying and _is_gone(trial, name, first, dying):
        yield delete_pods([pod.pod for pod in _needed(trial, name, first, dying)], trial.pod)
    living = [pod for pod in ranked if not pod.terminating]
    large = [pod for pod in living if may_be_enough(pod, first.evidence)]
    helpful = _helpful(trial, name, first, large[:_MOST_TRIED])
    if helpful:
        yield _without([helpful[0]], trial)
        # A pod without a controller is lost: one that can move elsewhere may be better.
        yield from (_without([pod], trial) for pod in helpful[1:] if _is_owned(pod))
        return
    largest = living[:_MOST_AT_ONCE]
    if len(largest) > 1 and _is_gone(trial, name, first, largest):
        yield _without(_needed(trial, name, first, largest), trial)


def _helpful(trial: WhatIfTrial, name: str, first: Obstacle, pods: Sequence[PodInfo]) -> list[PodInfo]:
    """The first pod whose deletion removes all obstacles, and the first of these that has an owner.

    If there is none, the first whose deletion removes the first obstacle.
    """
    enough: PodInfo | None = None
    helps: PodInfo | None = None
    for pod in pods:
        obstacles = trial.without([pod]).obstacles(name)
        if obstacles is None or any(_is_same(each, first) for each in obstacles):
            continue
        helps = helps or pod
        if not obstacles:
            if _is_owned(pod):
                return [enough, pod] if enough is not None else [pod]
            enough = enough or pod
    found = enough or helps
    return [] if found is None else [found]


def _is_same(one: Obstacle, other: Obstacle) -> bool:
    return one.plugin == other.plugin and one.reason == other.reason


def _is_owned(pod: PodInfo) -> bool:
    return controller_of(pod.pod.metadata) is not None


def _needed(trial: WhatIfTrial, name: str, first: Obstacle, pods: Sequence[PodInfo]) -> list[PodInfo]:
    """Without pods that need not be deleted: the most important ones are spared first."""
    needed = list(pods)
    for pod in reversed(pods):
        fewer = [other for other in needed if other is not pod]
        if fewer and _is_gone(trial, name, first, fewer):
            needed = fewer
    return needed


def _is_gone(trial: WhatIfTrial, name: str, first: Obstacle, pods: Sequence[PodInfo]) -> bool:
    """Whether the obstacle is gone without these pods; others may be left."""
    obstacles = trial.without(pods).obstacles(name)
    return obstacles is not None and not any(_is_same(each, first) for each in obstacles)


def _without(pods: Sequence[PodInfo], trial: WhatIfTrial) -> AdvisedChange:
    return delete_pods([pod.pod for pod in pods], trial.pod)


def landing_elsewhere(scene: PodAttempt, trial: WhatIfTrial, name: str, change: AdvisedChange) -> AdvisedChange:
    """The deletion of a pod that a controller replaces: where the replacement goes, once the pod has its room."""
    keys = change.target.split(", ")
    if change.kind != "delete-pod" or len(keys) != 1 or keys[0] not in scene.state.pods:
        return change
    gone = scene.state.pods[keys[0]].pod
    if controller_of(gone.metadata) is None:
        return change
    state = trial.state.fork()
    state.apply(Bind(trial.pod.pod, name))
    landed = _landing(scene, gone, state)
    return delete_pods([gone], trial.pod, moved_to=landed) if landed else change


def _landing(scene: PodAttempt, gone: Pod, state: State) -> str:
    """The node for another pod like it, without evictions; "" for none."""
    again = unstarted(gone)
    meta = replace(again.metadata, name=f"{again.metadata.name}-anew", uid="")
    pod = PodInfo(replace(again, metadata=meta))
    profile = profile_of(pod.pod, scene.profiles)
    result = None if profile is None else result_of(attempt(profile, pod, state))
    return result.node or "" if result is not None and result.outcome == "Placed" else ""


def _completed(trial: WhatIfTrial, name: str, first: Obstacle, ranked: Sequence[PodInfo]) -> Iterator[AdvisedChange]:
    """Wait for a Job of some of these: once it is complete, all its pods are gone."""
    jobs: dict[str, Job] = {}
    for pod in ranked:
        owner = None if pod.terminating else owner_of_pod(pod.pod, trial.state.cluster)
        if isinstance(owner, Job):
            jobs.setdefault(key_of(owner), owner)
    for job in list(jobs.values())[:_MOST_WORKLOADS]:
        pods = pods_of_job(job, trial.state)
        if _is_gone(trial, name, first, pods):
            yield job_done(job, [pod.pod for pod in pods])


def _scaled(
    scene: PodAttempt,
    made: Sequence[AdvisedChange],
    trial: WhatIfTrial,
    name: str,
    first: Obstacle,
    ranked: Sequence[PodInfo],
) -> Iterator[AdvisedChange]:
    """Scale down the workloads that own these; their controllers choose the pods."""
    workloads: dict[tuple[str, str], Resizable] = {}
    for pod in ranked:
        workload = None if pod.terminating else owner_of_pod(pod.pod, trial.state.cluster)
        if workload is not None:
            workloads.setdefault((type(workload).__name__, key_of(workload)), workload)
        if len(workloads) >= _MOST_WORKLOADS:
            break
    for workload in workloads.values():
        helps: AdvisedChange | None = None
        for by in _steps(replicas_of(workload)):
            change = scale_down(workload, by)
            scaled = scene.trial((*made, change))
            obstacles = None if scaled is None else scaled.obstacles(name)
            if obstacles is None or any(_is_same(each, first) for each in obstacles):
                continue
            helps = helps or change
            if not obstacles:
                helps = change
                break
        if helps is not None:
            yield helps


def _steps(replicas: int) -> list[int]:
    """One by one for a few, then by doubling; the proof finds the least that is enough."""
    steps = [by for by in (1, 2, 3, 4, 8, 16, 32) if by < replicas]
    return [*steps, replicas] if replicas > 0 else []
