"""`resize`: what the API server and the kubelet say to a resize in place, what it takes from others, what follows.

And what a VerticalPodAutoscaler does to give a pod what it recommends: in place, or by eviction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.admission.new_pod import workload_of
from kwhatif.admission.vertical_autoscaler import OFF, recommended, update_mode, vpas_of, with_recommended
from kwhatif.autoscaler.vertical_updater import DEFERRED_FOR, ROUND, UpdaterVerdict, updater_decides
from kwhatif.controllers.eviction import EvictionApi, EvictionRefused
from kwhatif.controllers.taint_eviction import ready_status
from kwhatif.edits.edit import Edit, EvictPods, Patch, Reference, Refusal, Resize, SourcedEdit, Wait
from kwhatif.edits.resolve import NotResolved, resolve
from kwhatif.edits.selection import Lookup
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.simulate import simulate
from kwhatif.report import Report
from kwhatif.report.deciders import ResizeRow, UpdaterRow
from kwhatif.simulation import resizing
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.parameters import Parameters
from kwhatif.state.change import Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


def ask_resize(session: Session, edit: Resize, parameters: Parameters, namespace: str) -> Report:
    """Ask the API server and the kubelet, and play what follows.

    Args:
        session: the cluster; it is not changed.
        edit: the resize.
        parameters: how long things take.
        namespace: of a pod that names none.

    Raises:
        InputError: there is no such pod or container, or it is on no node of the input.
    """
    row = _row(session, _pod(session, edit.pod, namespace), edit, namespace)
    if row.decision == "Refused":
        return _unplayed(session, row)
    report = simulate(session, (SourcedEdit(edit.text, edit),), parameters, namespace, None)
    return replace(report, command="resize", resize=row)


def ask_updater(session: Session, pod: Reference, parameters: Parameters, namespace: str, now: int) -> Report:
    """Ask what the pod's VerticalPodAutoscaler does about it, and play that.

    Args:
        session: the cluster; it is not changed.
        pod: which pod.
        parameters: how long things take.
        namespace: of a pod that names none.
        now: the moment, in nanoseconds since 1970.

    Raises:
        InputError: there is no such pod, no autoscaler recommends anything for it, or it is on no node of the input.
    """
    found = _pod(session, pod, namespace)
    every = vpas_of(workload_of(found, session.cluster), session.cluster)
    vpas = sorted(every, key=lambda vpa: update_mode(vpa) == OFF)
    rows = recommended(found, vpas[0], session.cluster) if vpas else {}
    if not rows:
        raise InputError([Problem(pod.text, "no VerticalPodAutoscaler of the input recommends anything for it")])
    (vpa, *_), key = vpas, key_of(found)
    wanted = msgspec.to_builtins(with_recommended(found, rows).spec)
    merge = {"spec": {name: wanted[name] for name in ("containers", "initContainers") if name in wanted}}
    text = f"resize pod/{key} as VerticalPodAutoscaler {key_of(vpa)} recommends"
    named = Reference(f"pod/{key}", pod.resource, found.metadata.name, found.metadata.namespace)
    edit = Patch(text=text, object=named, merge=merge)
    row = _row(session, found, edit, namespace)
    verdict = updater_decides(found, vpa, session.cluster, now)
    updater = UpdaterRow(vpa=key_of(vpa), mode=update_mode(vpa), **verdict._asdict())
    steps: list[Edit] = []
    if verdict.acts == "resizes":
        steps, updater = _tried(row, edit, updater)
    elif verdict == UpdaterVerdict("evicts", "deferred"):  # since when it has seen that is not known
        steps, updater = [_wait(DEFERRED_FOR)], replace(updater, after=DEFERRED_FOR)
    if updater.acts == "evicts":
        answer = EvictionApi(ApiServer.standing(session.state.fork())).evict(key)
        refused = answer.message if isinstance(answer, EvictionRefused) else ""
        updater = replace(updater, refused=refused)
        steps += [] if refused else [EvictPods(text=f"evict pod/{key}", pods=(named,))]
    row = replace(row, updater=updater)
    if not steps:
        return _unplayed(session, row)
    report = simulate(session, [SourcedEdit(each.text, each) for each in steps], parameters, namespace, None)
    return replace(report, command="resize", resize=row)


def _tried(row: ResizeRow, edit: Patch, updater: UpdaterRow) -> tuple[list[Edit], UpdaterRow]:
    """What the updater does first, and the result: it evicts the pod if the resize is not done in time."""
    if row.decision == "Fits":
        return [edit], updater
    if row.decision == "Refused":
        return [], replace(updater, acts="evicts", why="refused")
    deferred = row.decision == "Deferred"
    after = DEFERRED_FOR if deferred else ROUND
    late = replace(updater, acts="evicts", why="deferred" if deferred else "infeasible", after=after)
    return [edit, _wait(after)], late


def _wait(seconds: float) -> Wait:
    return Wait(text=f"wait {seconds:g}s", seconds=seconds)


def _pod(session: Session, reference: Reference, namespace: str) -> Pod:
    lookup = Lookup(session.cluster, namespace)
    pod = lookup.object(reference)
    if lookup.mistakes or not isinstance(pod, Pod):
        raise InputError([Problem(reference.text, wrong.message, hint=wrong.hint) for wrong in lookup.mistakes])
    return pod


def _unplayed(session: Session, row: ResizeRow) -> Report:
    caveats = dict.fromkeys((*session.caveats, *session.remarks()))
    return replace(session.report("resize", (), caveats), resize=row)


def _row(session: Session, pod: Pod, edit: Resize | Patch, namespace: str) -> ResizeRow:
    """The answer of the API server; if it accepts, that of the kubelet."""
    text = (edit.pod if isinstance(edit, Resize) else edit.object).text
    try:
        resolved = resolve(edit, session.state, namespace=namespace)
    except NotResolved as wrong:
        if not all(isinstance(each, Refusal) for each in wrong.mistakes):
            raise InputError([Problem(text, each.message, hint=each.hint) for each in wrong.mistakes]) from wrong
        message = "; ".join(each.message for each in wrong.mistakes)
        return ResizeRow(pod=key_of(pod), node=pod.spec.node_name, decision="Refused", message=message)
    asking = next((each.obj for each in resolved.changes if isinstance(each, Upsert)), pod)
    return _decided(asking, text, session)


def _decided(pod: Pod, text: str, session: Session) -> ResizeRow:
    """The first decision of the kubelet."""
    node = session.state.node(pod.spec.node_name)
    if node is None:
        raise InputError([Problem(text, f"node {pod.spec.node_name} is not in the input: its room is not known")])
    row = ResizeRow(pod=key_of(pod), node=node.name, decision="Fits", change=resizing.change_of(pod))
    if ready_status(node.node) == "Unknown":
        return replace(row, decision="Deferred", message=f"the kubelet of {node.name} is silent")
    verdict = resizing.decide(pod, node, session.cluster)
    row = replace(row, decision=verdict.decision, message=verdict.message)
    if verdict.decision == "Fits":
        return replace(row, restarts=resizing.restarts(pod))
    if verdict.decision == "Deferred":
        return replace(row, in_the_way=tuple(_in_the_way(pod, node, session.cluster)))
    return row


def _in_the_way(pod: Pod, node: NodeInfo, cluster: Cluster) -> Iterator[str]:
    """A minimal set of pods without which the resize fits, the least important ones first."""
    key, priority = key_of(pod), pod.spec.priority or 0
    may_go = sorted((each for each in node.pods if each.key != key and each.priority <= priority), key=_importance)

    def fits_without(gone: Sequence[PodInfo]) -> bool:
        left = [each for each in node.pods if each not in gone]
        return resizing.decide(pod, node.with_pods(left), cluster).decision == "Fits"

    gone: list[PodInfo] = []
    for each in may_go:
        if fits_without(gone):
            break
        gone.append(each)
    if not fits_without(gone):
        return
    for each in reversed(list(gone)):
        rest = [other for other in gone if other is not each]
        if fits_without(rest):
            gone = rest
    yield from (each.key for each in gone)


def _importance(info: PodInfo) -> tuple[int, str]:
    return info.priority, info.key
