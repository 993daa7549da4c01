"""`kwhatif queue` in blocks: the queue as a table, and what would wake the pods in question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from kwhatif.kube.matching.requests import PODS
from kwhatif.render.amounts import age, plural, quantity, some
from kwhatif.render.blocks import Block, Cell, Item, Listing, Row, Sentence, Table, Tone, Verdict, name, number, words
from kwhatif.render.decisions import groups_first
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import verb
from kwhatif.render.verdict import verdict
from kwhatif.report import Report, causes
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.queue import AfterEditsRow, QueuedPodRow, QueueRow, QueueState, WakeUpRow

#: How many rows of a queue are shown, unless it is wide.
_MOST_ROWS = 100
#: The tone of an outcome.
_TONES: Mapping[Outcome, Tone] = {
    "Placed": "good",
    "Preempts": "warn",
    "Unschedulable": "bad",
    "Gated": "warn",
    "Denied": "bad",
    "Ignored": "faint",
    "Waits": "faint",
}

_STATES: dict[QueueState, str] = {
    "Active": "active",
    "BackingOff": "backing off",
    "Unschedulable": "unschedulable",
    "Gated": "gated",
    "OtherScheduler": "another scheduler's",
    "New": "new",
}


def queue(report: Report, row: QueueRow, detail: Detail) -> Iterator[Block]:
    """The summary line, the table, and what would wake the pods."""
    if not row.pods:
        yield Verdict("No pod is pending: the queue is empty.", tone="faint")
        return
    edited = any(pod.after is not None for pod in row.pods)
    own = Verdict(headline_after(row) if edited else headline(row), tone="strong")
    yield from groups_first(report.pod_groups, [own], detail, with_pods=False)
    if detail.quiet:
        return
    yield _table_after(row.pods) if edited else _table(row.pods, detail)
    decisions = {decision.pod: decision for decision in report.decisions}
    for pod in row.pods[: detail.rows(_MOST_ROWS)]:
        if pod.wake_ups is not None and _still_waits(pod):
            yield from _explained(pod, decisions[pod.pod], report, detail)


def _still_waits(pod: QueuedPodRow) -> bool:
    """Whether the pod is still pending after the edits."""
    return pod.after is None or (pod.after.fate != "Gone" and pod.after.node is None)


def headline(row: QueueRow) -> str:
    """`5 pods are pending: 1 active, 3 unschedulable, 1 gated; tried now, 2 fit`."""
    count = len(row.pods)
    states = Counter(_STATES[pod.state] for pod in row.pods)
    parts = ", ".join(f"{number:,} {state}" for state, number in states.items())
    of = (
        f"{count:,} of {plural(row.pending, 'pending pod')}"
        if count < row.pending
        else f"{plural(count, 'pod')} pending"
    )
    fit = sum(pod.outcome in ("Placed", "Preempts") for pod in row.pods)
    return f"{of}: {parts}; tried now, {fit or 'none'} would get a node"


def _table(rows: Sequence[QueuedPodRow], detail: Detail) -> Table:
    has_events = any(row.attempts for row in rows)
    columns = (
        number("#"),
        name("Pod"),
        number("Priority"),
        words("Age"),
        *([words("Tried")] if has_events else []),
        words("State"),
        words("Rejected by"),
        words("Now"),
    )
    made = [
        (
            row.position,
            row.pod,
            str(row.priority),
            age(row.created, detail.now),
            *([_tried(row, detail.now)] if has_events else []),
            _STATES[row.state],
            ", ".join(row.rejected_by),
            Cell(_now(row), _TONES.get(row.outcome, ""), row.outcome),
        )
        for row in rows
    ]
    return Table(columns, made, _MOST_ROWS)


def _tried(row: QueuedPodRow, now: int) -> str:
    """`40s (x17)`, as kubectl shows Events: the last known attempt, and their number."""
    return f"{age(row.last_attempt, now)} (x{row.attempts})" if row.attempts else ""


def _history(row: QueuedPodRow, now: int) -> str:
    """The attempts, as far as Events show them, in sentences."""
    evicted = f"It has evicted {some(row.evicted)}." if row.evicted else ""
    if not row.attempts:
        return evicted
    times = "once" if row.attempts == 1 else f"{row.attempts} times"
    last = f"{age(row.last_attempt, now)} ago"
    backoff = f"; it backs off until {row.backoff_ends}" if row.backoff_ends else ""
    return f"Tried at least {times}, the last known attempt {last}{backoff}. {evicted}".rstrip()


def headline_after(row: QueueRow) -> str:
    """`2 of 5 pods are woken, 1 sleeps on though it would get a node; tried then, 3 would get a node`."""
    afters = [pod.after for pod in row.pods if pod.after is not None]
    woken = sum(after.fate == "Woken" for after in afters)
    unnoticed = sum(after.fits_but_is_not_requeued for after in afters)
    served = sum(after.turn is not None and after.node is not None for after in afters)
    woke = f"{woken:,} of {plural(len(afters), 'pod')} {'is' if 1 in (woken, len(afters)) else 'are'} woken"
    slept = "sleeps on though it" if unnoticed == 1 else "sleep on though they"
    unaware = f", {unnoticed:,} {slept} would get a node" if unnoticed else ""
    return f"{woke}{unaware}; tried then, {served or 'none'} would get a node"


def _table_after(rows: Sequence[QueuedPodRow]) -> Table:
    columns = (number("Turn"), name("Pod"), number("Priority"), words("Before"), words("Woken by"), words("Then"))
    return Table(columns, [_after(row, row.after) for row in rows if row.after is not None], _MOST_ROWS)


def _after(row: QueuedPodRow, after: AfterEditsRow) -> Row:
    outcome: Outcome = "Preempts" if after.fits_but_is_not_requeued else after.outcome
    before = "new" if row.state == "New" else _now(row)
    return (
        after.turn,
        row.pod,
        str(row.priority),
        before,
        _woken_by(row, after),
        Cell(_then(after), _TONES.get(outcome, "")),
    )


def _woken_by(row: QueuedPodRow, after: AfterEditsRow) -> str:
    """`NodeAdd of Node new-1 (NodeResourcesFit)`; without a hint, why it is, or is not, tried."""
    match after.fate:
        case "Active":
            return "the end of its backoff" if row.state in ("Unschedulable", "BackingOff") else "not tried before"
        case "Asleep":
            return "nothing"
        case "Gated" | "OtherScheduler" | "Gone":
            return ""
    plugins: dict[str, list[str]] = {}
    for each in after.woken_by:
        plugins.setdefault(f"{each.event} of {each.object}", []).append(each.plugin)
    return some([f"{event} ({', '.join(names)})" for event, names in plugins.items()], 2)


def _then(after: AfterEditsRow) -> str:
    """The outcome in a few words."""
    if after.fate == "Gone":
        return "is deleted"
    if after.fits_but_is_not_requeued:
        would = "fit" if after.outcome == "Placed" else "evict pods"
        return f"sleeps on until the flush, though it would {would} on {after.node}"
    match after.outcome:
        case "Placed":
            return f"fits on {after.node}"
        case "Preempts":
            return f"evicts {some(after.victims)} on {after.node}"
        case "Gated" | "Ignored":
            return verb(after.outcome, 1)
    takes = "takes" if len(after.behind) == 1 else "take"
    behind = f": {some(after.behind)} {takes} the room" if after.behind else ""
    return f"{'sleeps on' if after.fate == 'Asleep' else 'stays pending'}{behind}"


def _now(row: QueuedPodRow) -> str:
    """The outcome of trying it now, in a few words."""
    match row.outcome:
        case "Placed":
            return f"fits on {row.node}"
        case "Preempts":
            return f"evicts pods on {row.node}"
        case outcome:
            return verb(outcome, 1)


def _worth_saying(wake_ups: Sequence[WakeUpRow]) -> list[WakeUpRow]:
    """The changes; if some of them make the pod fit, only these and the flush."""
    enough = any(row.enough for row in wake_ups)
    return [row for row in wake_ups if row.enough or not enough or isinstance(row.cause, causes.Flush)]


def _explained(row: QueuedPodRow, decision: Decision, report: Report, detail: Detail) -> Iterator[Block]:
    yield replace(verdict(decision, report), minor=True)
    if said := _history(row, detail.now):
        yield Sentence(said, "faint", depth=1)
    if row.wake_ups:
        yield Sentence("What would wake it, the most likely first:", depth=1)
        yield Listing([Item(wake_up_sentence(each), depth=1) for each in _worth_saying(row.wake_ups)])


# --- what wakes a pod ------------------------------------------------------------------------------------------------


def wake_up_sentence(row: WakeUpRow) -> str:
    """The change, and remarks about it."""
    said = clause(row.cause)
    if not row.wakes:
        return f"{said} (it would help, but no event of it wakes the pod: the scheduler notices by the flush only)"
    if not row.enough and not isinstance(row.cause, causes.Flush | causes.BackoffEnds | causes.AnyEvent):
        return f"{said} (wakes it; something else keeps it out as well)"
    return said


def clause(cause: causes.Cause) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of cause, nothing else
    """The change."""
    match cause:
        case causes.VictimsEnd(node=node, pods=pods):
            return f"{some(pods)} on {node} {'is' if len(pods) == 1 else 'are'} gone, which makes room for it"
        case causes.RoomFreed():
            return _room(cause)
        case causes.NodeGrows(wants=wants, nodes=nodes, more=more):
            return f"the allocatable {_names(wants)} of {_either(nodes, more)} grows to {_amounts(wants)}"
        case causes.NodeAdded():
            return _node(cause)
        case causes.NodeLabelled(nodes=nodes, terms=terms, keys=keys, more=more):
            return f"{_wanted((*terms, *keys))} is set on {_either(nodes, more)}"
        case causes.TaintRemoved(taint=taint, nodes=nodes, more=more):
            return f"taint {taint} is removed from {_either(nodes, more)}"
        case causes.Uncordoned(nodes=nodes, more=more):
            return f"{_either(nodes, more)} is uncordoned"
        case causes.FeaturesDeclared(features=features, nodes=nodes, more=more):
            return f"{_either(nodes, more)} declares {' and '.join(features)}"
        case causes.PodDeleted(pod=pod, holds=holds, node=node):
            return f"pod {pod} on {node}, which has {holds}, is deleted"
        case causes.MatchingPodsDeleted():
            return _matching_deleted(cause)
        case causes.MatchingPodComes(topology_key=key, selector=selector, least=least):
            where = f"to a {key} that has the fewest of them" if least else f"to a node with label {key}"
            return f"a pod{_matching(selector)} is assigned {where}"
        case causes.ObjectAdded(kind=kind, name=name):
            return f"{kind} {name} is created"
        case causes.ClaimBound(claim=claim):
            return f"PersistentVolumeClaim {claim} is bound"
        case causes.VolumeUsable(claim=claim, detail=detail):
            what = f"volume for PersistentVolumeClaim {claim}" if claim else "volume"
            return f"a {what} comes within reach ({detail})" if detail else f"a {what} comes within reach"
        case causes.VolumeDetached(driver=driver, count=count, nodes=nodes, more=more):
            volumes = f"{plural(count, 'volume')} of {driver} {'is' if count == 1 else 'are'}"
            return f"{volumes} detached from {_either(nodes, more)}"
        case causes.DevicesFreed():
            return _devices(cause)
        case causes.GateRemoved(gate=gate):
            return f"gate {gate} is removed"
        case causes.AnyEvent(plugin=plugin, events=events):
            return f"any of {', '.join(events)}, for {plugin}" if events else f"no event: {plugin} waits for none"
        case causes.BackoffEnds():
            return "its backoff ends, 1 s to 10 s after its last attempt"
        case causes.Flush(fits=fits):
            if fits:
                return "any event that wakes it, or five minutes after its last attempt: it fits now"
            return "nothing of that happens for five minutes after its last attempt: the scheduler then tries it anyway"
    assert_never(cause)


def _room(cause: causes.RoomFreed) -> str:
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
    """`label disk=ssd`; other requirements are not changed."""
    return " and ".join(f"label {term}" for term in terms)


def _node(cause: causes.NodeAdded) -> str:
    room = f"room for {_amounts(cause.requests)}" if cause.requests else ""
    wants = " and ".join(filter(None, (_wanted(cause.terms), room)))
    if cause.name:
        return f"node {cause.name}{f' with {wants}' * bool(wants)} is added"
    return f"node(s){f' with {wants}' * bool(wants)} are added"


def _matching(selector: str) -> str:
    return f" matching {selector}" if selector else " like it"


def _matching_deleted(cause: causes.MatchingPodsDeleted) -> str:
    where = f"in {cause.topology_key}={cause.domain}"
    pods = plural(cause.count, "pod")
    verb = "is" if cause.count == 1 else "are"
    if not cause.own:
        refuse = "refuses" if cause.count == 1 else "refuse"
        return f"{pods} {where} that {refuse} it by anti-affinity {verb} deleted"
    return f"{pods}{_matching(cause.selector)} {where} {verb} deleted"


def _devices(cause: causes.DevicesFreed) -> str:
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
