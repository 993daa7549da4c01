"""`who-fits`: which pending pods, and which workloads' next pods, a node takes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kwhatif.admission.new_pod import with_priority
from kwhatif.edits.selection import Lookup
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.pods import ALL_PODS, PodChoice
from kwhatif.kube.matching.requests import PODS
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.capacity.room import free
from kwhatif.questions.judging.pending_pods import in_queue_order
from kwhatif.questions.rows import requests_of
from kwhatif.questions.session.session import Session
from kwhatif.questions.threats.arrivals import NextPod, next_pods, victims_of
from kwhatif.report import Report
from kwhatif.report.risks import TakerRow, WhoFitsRow
from kwhatif.scheduler.batch import result_of
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.profile import profile_of
from kwhatif.state.change import Delete
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


def ask_who_fits(session: Session, word: str, choice: PodChoice = ALL_PODS) -> Report:
    """Try each pending pod, and one more pod of each workload, and look at the node.

    Each is tried as if it were the only one.

    Raises:
        InputError: there is no such node.
    """
    lookup = Lookup(session.cluster, session.namespace)
    found = lookup.node(word)
    node = None if found is None else session.state.node(found.metadata.name)
    if node is None:
        raise InputError([Problem(word, wrong.message, hint=wrong.hint) for wrong in lookup.mistakes])
    session = session.with_owners()
    caveats: dict[Caveat, None] = dict.fromkeys(
        (*session.caveats, *session.inferred, *session.left_out(session.cluster, ()), *session.remarks())
    )
    takers = [*_pending(session, node, choice), *_templates(session, node, choice, caveats)]
    row = WhoFitsRow(node=node.name, free=_free(node), pods=len(node.pods), takers=tuple(takers))
    return replace(session.report("who-fits", (), caveats), who_fits=row)


def _free(node: NodeInfo) -> dict[str, int]:
    found = {name: free(node, name) for name in node.allocatable.asked}
    return {**found, PODS: max(node.allowed_pods - len(node.pods), 0)}


def _pending(session: Session, node: NodeInfo, choice: PodChoice) -> Iterator[TakerRow]:
    state = session.state
    for info in in_queue_order(state.pending.values(), session.cluster.facts.scheduling_events):
        profile = profile_of(info.pod, session.profiles)
        if profile is None or not choice.matches(info.pod):
            continue
        alone = state.fork()
        alone.apply(Delete(Pod, info.key))
        yield _row(f"Pod {info.key}", attempt(profile, info, alone), node, pending=True)


def _templates(session: Session, node: NodeInfo, choice: PodChoice, caveats: dict[Caveat, None]) -> Iterator[TakerRow]:
    for found in next_pods(session):
        if not isinstance(found, NextPod):
            caveats[found] = None
            continue
        pod = found.candidate.pod
        profile = profile_of(pod, session.profiles)
        if profile is None or not choice.matches(pod):
            continue
        if found.candidate.refusal:
            info = PodInfo(with_priority(pod, session.state.cluster))
            yield _taker(found.name, info, pending=False, message=found.candidate.refusal.message)
        else:
            yield _row(found.name, attempt(profile, PodInfo(pod), found.state), node, pending=False)


def _row(subject: str, result: Attempt, node: NodeInfo, *, pending: bool) -> TakerRow:
    """Whether the node takes the pod of the attempt."""
    cycle, short = result.cycle, result_of(result)
    row = _taker(subject, cycle.pod, pending=pending)
    elsewhere = None if short.node in (None, node.name) else short.node
    if result.gated is not None or result.failed:
        said = result.gated.status.message if result.gated is not None else result.message
        return replace(row, message=said, plugin=result.gated.plugin if result.gated is not None else "")
    if any(each.name == node.name for each in cycle.feasible):
        is_best = node.name in short.ties
        return replace(row, verdict="chosen" if is_best else "fits", elsewhere=None if is_best else elsewhere)
    if short.outcome == "Preempts" and node.name in short.ties:
        return replace(row, verdict="evicts", victims=victims_of(result, node.name))
    verdict = cycle.verdict_of(node.name)
    if verdict is None:
        return replace(row, elsewhere=elsewhere)
    return replace(row, message=verdict.status.message, plugin=verdict.plugin, elsewhere=elsewhere)


def _taker(subject: str, info: PodInfo, *, pending: bool, message: str = "") -> TakerRow:
    """A pod that does not fit."""
    return TakerRow(
        subject=subject,
        pending=pending,
        priority=info.priority,
        requests=requests_of(info.resources.requested),
        verdict="no",
        message=message,
    )
