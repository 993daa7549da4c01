"""`resize`: what the API server and the kubelet say to a resize in place, what it takes from others, what follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.controllers.taint_eviction import ready_status
from kwhatif.edits.edit import Refusal, Resize, SourcedEdit
from kwhatif.edits.resolve import NotResolved, resolve
from kwhatif.edits.selection import Lookup
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.simulate import simulate
from kwhatif.report import Report
from kwhatif.report.resize import ResizeRow
from kwhatif.simulation import resizing
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
    lookup = Lookup(session.cluster, namespace)
    pod = lookup.object(edit.pod)
    if lookup.mistakes or not isinstance(pod, Pod):
        raise InputError([Problem(edit.pod.text, wrong.message, hint=wrong.hint) for wrong in lookup.mistakes])
    try:
        resolved = resolve(edit, session.state, namespace=namespace)
    except NotResolved as wrong:
        if not all(isinstance(each, Refusal) for each in wrong.mistakes):
            problems = [Problem(edit.pod.text, each.message, hint=each.hint) for each in wrong.mistakes]
            raise InputError(problems) from wrong
        message = "; ".join(each.message for each in wrong.mistakes)
        row = ResizeRow(pod=key_of(pod), node=pod.spec.node_name, decision="Refused", message=message)
        caveats = dict.fromkeys((*session.caveats, *session.remarks()))
        return replace(session.report("resize", (), caveats), resize=row)
    asking = next((each.obj for each in resolved.changes if isinstance(each, Upsert)), pod)
    report = simulate(session, (SourcedEdit(edit.text, edit),), parameters, namespace, None)
    return replace(report, command="resize", resize=_decided(asking, edit.pod.text, session))


def _decided(pod: Pod, text: str, session: Session) -> ResizeRow:
    """What its kubelet says at once."""
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
    """Pods without which it fits, the least important first; none of them can stay."""
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
