"""The one place where causes that wake a pod become prose: a clause for each, that says what happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from kwhatif.kube.matching.requests import PODS
from kwhatif.report import queue as rows
from kwhatif.report.queue import WakeUpRow
from kwhatif.words.amounts import plural, quantity, some


def wake_up_sentence(row: WakeUpRow) -> str:
    """What happens, and what is to be said about it."""
    said = clause(row.cause)
    if not row.wakes:
        return f"{said} (it would help, but no event of it wakes the pod: the scheduler notices by the flush only)"
    if not row.enough and not isinstance(row.cause, rows.Flush | rows.BackoffEnds | rows.AnyEvent):
        return f"{said} (wakes it; something else keeps it out as well)"
    return said


def clause(cause: rows.Cause) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of cause, nothing else
    """What happens."""
    match cause:
        case rows.VictimsEnd(node=node, pods=pods):
            return f"{some(pods)} on {node} {'is' if len(pods) == 1 else 'are'} gone, which makes room for it"
        case rows.RoomFreed():
            return _room(cause)
        case rows.NodeGrows(wants=wants, nodes=nodes, more=more):
            return f"the allocatable {_names(wants)} of {_either(nodes, more)} grows to {_amounts(wants)}"
        case rows.NodeAdded():
            return _node(cause)
        case rows.NodeLabelled(nodes=nodes, terms=terms, keys=keys, more=more):
            return f"{_wanted((*terms, *keys))} is set on {_either(nodes, more)}"
        case rows.TaintRemoved(taint=taint, nodes=nodes, more=more):
            return f"taint {taint} is removed from {_either(nodes, more)}"
        case rows.Uncordoned(nodes=nodes, more=more):
            return f"{_either(nodes, more)} is uncordoned"
        case rows.FeaturesDeclared(features=features, nodes=nodes, more=more):
            return f"{_either(nodes, more)} declares {' and '.join(features)}"
        case rows.PodDeleted(pod=pod, holds=holds, node=node):
            return f"pod {pod} on {node}, which has {holds}, is deleted"
        case rows.MatchingPodsDeleted():
            return _matching_deleted(cause)
        case rows.MatchingPodComes(topology_key=key, selector=selector, least=least):
            where = f"to a {key} that has the fewest of them" if least else f"to a node with label {key}"
            return f"a pod{_matching(selector)} is assigned {where}"
        case rows.ObjectAdded(kind=kind, name=name):
            return f"{kind} {name} is created"
        case rows.ClaimBound(claim=claim):
            return f"PersistentVolumeClaim {claim} is bound"
        case rows.VolumeUsable(claim=claim, detail=detail):
            what = f"volume for PersistentVolumeClaim {claim}" if claim else "volume"
            return f"a {what} comes within reach ({detail})" if detail else f"a {what} comes within reach"
        case rows.VolumeDetached(driver=driver, count=count, nodes=nodes, more=more):
            volumes = f"{plural(count, 'volume')} of {driver} {'is' if count == 1 else 'are'}"
            return f"{volumes} detached from {_either(nodes, more)}"
        case rows.DevicesFreed():
            return _devices(cause)
        case rows.GateRemoved(gate=gate):
            return f"gate {gate} is removed"
        case rows.AnyEvent(plugin=plugin, events=events):
            return f"any of {', '.join(events)}, for {plugin}" if events else f"no event: {plugin} waits for none"
        case rows.BackoffEnds():
            return "its backoff ends, 1 s to 10 s after its last attempt"
        case rows.Flush(fits=fits):
            if fits:
                return "any event that wakes it, or five minutes after its last attempt: it fits now"
            return "nothing of that happens for five minutes after its last attempt: the scheduler then tries it anyway"
    assert_never(cause)


def _room(cause: rows.RoomFreed) -> str:
    one = bool(cause.pods)
    pods = "an assigned pod that frees" if one else "assigned pods that together free"
    alone = f" (such as {' or '.join(cause.pods)})" if one else ""
    freed = f"{pods} {_amounts(cause.frees)} on {_either(cause.nodes, cause.more)}"
    return f"{freed} {'is' if one else 'are'} deleted{alone}"


def _amounts(amounts: Mapping[str, int]) -> str:
    return " and ".join(
        f"the place of {plural(amount, 'pod')}" if name == PODS else f"{quantity(name, amount)} {name}"
        for name, amount in amounts.items()
    )


def _names(amounts: Mapping[str, int]) -> str:
    return " and ".join(amounts)


def _either(nodes: Sequence[str], more: int) -> str:
    """`a, b or c`: one of them is enough."""
    if more or len(nodes) > 4:
        return f"{', '.join(nodes[:3])} or one of {len(nodes) - 3 + more:,} more"
    *others, last = nodes
    return f"{', '.join(others)} or {last}" if others else last


def _wanted(terms: Sequence[str]) -> str:
    """`label disk=ssd`; other requirements as they are."""
    return " and ".join(f"label {term}" for term in terms)


def _node(cause: rows.NodeAdded) -> str:
    room = f"room for {_amounts(cause.requests)}" if cause.requests else ""
    wants = " and ".join(filter(None, (_wanted(cause.terms), room)))
    if cause.name:
        return f"node {cause.name}{f' with {wants}' * bool(wants)} is added"
    return f"node(s){f' with {wants}' * bool(wants)} are added"


def _matching(selector: str) -> str:
    return f" matching {selector}" if selector else " like it"


def _matching_deleted(cause: rows.MatchingPodsDeleted) -> str:
    where = f"in {cause.topology_key}={cause.domain}"
    pods = plural(cause.count, "pod")
    verb = "is" if cause.count == 1 else "are"
    if not cause.own:
        refuse = "refuses" if cause.count == 1 else "refuse"
        return f"{pods} {where} that {refuse} it by anti-affinity {verb} deleted"
    return f"{pods}{_matching(cause.selector)} {where} {verb} deleted"


def _devices(cause: rows.DevicesFreed) -> str:
    if not cause.claim:
        return "the pools of devices are complete again"
    what = (
        f"request {cause.request} of ResourceClaim {cause.claim}" if cause.request else f"ResourceClaim {cause.claim}"
    )
    untainted = ", or are not tainted any more" if cause.tainted else ""
    if cause.missing is None:
        return f"devices for {what} come or are given back{untainted}"
    count = plural(cause.missing, "more device")
    if cause.missing == 1:
        return f"{count} for {what} comes or is given back{untainted.replace('are', 'is')}"
    return f"{count} for {what} come or are given back{untainted}"
